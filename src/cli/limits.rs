//! What a model may ask for: `--limit`, `--untrusted`, `--timeout`, and Ctrl-C.

use std::time::{Duration, Instant};

use super::outside::Outside;
use super::select::nearest;
use super::{Failure, interrupt};
use crate::limits::Limits;

/// Bounds of a command that reads a model.
#[derive(Debug, clap::Args)]
pub(super) struct LimitArgs {
    /// Bound what the model may ask for, such as `tensor-bytes=512MiB` or `layers=1000`; keys are
    /// document-bytes, layers, nesting, rank, file-bytes, tensor-bytes, live-bytes, output-bytes,
    /// loop-trips
    #[arg(long = "limit", value_name = "KEY=VALUE", value_parser = setting, help_heading = "Limits")]
    settings: Vec<Setting>,
    /// Begin with tight bounds, for files from strangers
    #[arg(long, help_heading = "Limits")]
    untrusted: bool,
    /// End with exit code 124 after this time, such as `250ms`, `10s`, `2m` or `1h`
    #[arg(long, value_name = "DURATION", value_parser = duration, help_heading = "Limits")]
    timeout: Option<Duration>,
    #[command(flatten)]
    outside: Outside,
    /// Compute the same bits on every machine, not only with every number of threads; slower
    #[arg(long)]
    deterministic: bool,
}

impl LimitArgs {
    /// The limits; from now on the time runs, and Ctrl-C ends what they are given to. A command asks
    /// for them once, first of all.
    pub(super) fn begin(&self) -> Result<Limits, Failure> {
        let mut limits = if self.untrusted {
            Limits::untrusted()
        } else {
            Limits::default()
        };
        for setting in &self.settings {
            setting.apply(&mut limits);
        }
        self.outside.apply(&mut limits);
        limits.deterministic = self.deterministic;
        // A time that no clock can tell is no limit.
        limits.deadline = self.timeout.and_then(|t| Instant::now().checked_add(t));
        limits.cancel = Some(interrupt::watch(limits.deadline)?);
        Ok(limits)
    }
}

/// A limit and its value.
#[derive(Debug, Clone)]
struct Setting {
    key: Key,
    value: u64,
}

/// A field of [`Limits`].
#[derive(Debug, Clone, Copy)]
enum Key {
    /// Bytes.
    Bytes(fn(&mut Limits) -> &mut u64),
    /// A number of something that has no place in memory.
    Number(fn(&mut Limits) -> &mut u64),
    /// A number of things in memory.
    Count(fn(&mut Limits) -> &mut usize),
}

const KEYS: &[(&str, Key)] = &[
    ("document-bytes", Key::Bytes(|l| &mut l.document_bytes)),
    ("layers", Key::Count(|l| &mut l.layers)),
    ("nesting", Key::Count(|l| &mut l.nesting)),
    ("rank", Key::Count(|l| &mut l.rank)),
    ("file-bytes", Key::Bytes(|l| &mut l.file_bytes)),
    ("tensor-bytes", Key::Bytes(|l| &mut l.tensor_bytes)),
    ("live-bytes", Key::Bytes(|l| &mut l.live_bytes)),
    ("output-bytes", Key::Bytes(|l| &mut l.output_bytes)),
    ("loop-trips", Key::Number(|l| &mut l.loop_trips)),
];

impl Setting {
    fn apply(&self, limits: &mut Limits) {
        match self.key {
            Key::Bytes(field) | Key::Number(field) => *field(limits) = self.value,
            Key::Count(field) => {
                *field(limits) = usize::try_from(self.value).unwrap_or(usize::MAX);
            }
        }
    }
}

fn setting(text: &str) -> Result<Setting, String> {
    let Some((name, value)) = text.split_once('=') else {
        return Err("expected KEY=VALUE, such as tensor-bytes=512MiB".to_owned());
    };
    let names = || KEYS.iter().map(|(name, _)| *name);
    let Some((_, key)) = KEYS.iter().find(|(known, _)| *known == name) else {
        let hint = nearest(name, names()).map(|name| format!("did you mean `{name}`? "));
        return Err(format!(
            "there is no limit `{name}`; {}the limits are {}",
            hint.unwrap_or_default(),
            names().collect::<Vec<_>>().join(", ")
        ));
    };
    let value = match key {
        Key::Bytes(_) => bytes(value).ok_or("expected bytes, such as 1000000 or 512MiB")?,
        Key::Number(_) | Key::Count(_) => value.parse().map_err(|_| "expected a whole number")?,
    };
    Ok(Setting { key: *key, value })
}

/// `1000`, `512KiB`, `2GiB`.
fn bytes(text: &str) -> Option<u64> {
    let units = [("KiB", 10), ("MiB", 20), ("GiB", 30), ("TiB", 40)];
    let unit = units.iter().find_map(|(unit, shift)| {
        let at = text.len().checked_sub(unit.len())?;
        let (number, end) = text.split_at_checked(at)?;
        end.eq_ignore_ascii_case(unit).then_some((number, *shift))
    });
    let (number, shift) = unit.unwrap_or((text, 0));
    number
        .trim_end()
        .parse::<u64>()
        .ok()?
        .checked_mul(1 << shift)
}

/// `250ms`, `1.5s`, `2m`, `1h`.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || "expected a time, such as 250ms, 10s or 2m".to_owned();
    let at = text.find(|c: char| c.is_ascii_alphabetic());
    let (number, unit) = text.split_at(at.ok_or_else(wrong)?);
    let seconds = match unit {
        "ms" => 1e-3,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return Err(wrong()),
    };
    let number: f64 = number.trim_end().parse().map_err(|_| wrong())?;
    Duration::try_from_secs_f64(number * seconds).map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_limit_has_a_key() {
        let shown = format!("{:#?}", Limits::default());
        let numbers = shown.lines().filter_map(|line| {
            let (field, value) = line.trim().split_once(": ")?;
            let value: u64 = value.trim_end_matches(',').parse().ok()?;
            Some((field, value))
        });
        let mut found = 0;
        for (field, value) in numbers {
            found += 1;
            let name = field.replace('_', "-");
            let setting = setting(&format!("{name}={}", value + 1)).expect("a key");
            let mut limits = Limits::default();
            setting.apply(&mut limits);
            let expected = shown.replace(
                &format!("{field}: {value},"),
                &format!("{field}: {},", value + 1),
            );
            assert_eq!(format!("{limits:#?}"), expected);
        }
        assert_eq!(found, KEYS.len());
    }

    #[test]
    fn values() {
        let texts = ["7", "3KiB", "512mib", "2 GiB", "0", "17000000TiB"];
        let values = texts.map(bytes);
        let expected = [
            Some(7),
            Some(3072),
            Some(1 << 29),
            Some(1 << 31),
            Some(0),
            None,
        ];
        assert_eq!(values, expected);
        for wrong in ["", "MiB", "1.5GiB", "-1", "1 kilo", "99999999999999999999"] {
            assert_eq!(bytes(wrong), None, "{wrong}");
        }
        let texts = ["250ms", "10s", "2m", "1h", "1.5s", "0s"];
        let times = texts.map(|text| duration(text).map(|time| time.as_millis()));
        assert_eq!(times, [250, 10_000, 120_000, 3_600_000, 1500, 0].map(Ok));
        for wrong in ["", "5", "s", "-1s", "nan s", "1d", "1e400s", "infs"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
        let error = setting("tensor_byte=1").expect_err("no such key");
        assert!(error.contains("did you mean `tensor-bytes`? the limits are document-bytes, "));
        assert!(setting("rank").is_err() && setting("rank=1KiB").is_err());
    }
}
