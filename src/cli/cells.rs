//! Numbers and bars in the cells of a table about tensors.

use super::table::grouped;
use crate::metrics::{Histogram, Narrowing, Statistics};

/// What sorts tensors by their rounding errors; those that overflow come first.
pub(super) fn weight(narrowing: &Narrowing) -> f64 {
    if narrowing.overflow > 0 {
        f64::INFINITY
    } else {
        narrowing.relative_error()
    }
}

#[allow(clippy::cast_precision_loss)] // counts
pub(super) fn share(count: u64, of: &Statistics) -> f64 {
    count as f64 / of.elements.max(1) as f64
}

pub(super) fn percent(share: f64) -> String {
    match share {
        0.0 => String::new(),
        share if share < 0.001 => "<0.1 %".to_owned(),
        share => format!("{:.1} %", 100.0 * share),
    }
}

pub(super) fn odd(statistics: &Statistics) -> String {
    let counts = [(statistics.nan, "NaN"), (statistics.infinite(), "inf")];
    let shown = counts.iter().filter(|(count, _)| *count > 0);
    let shown: Vec<String> = shown
        .map(|(count, what)| format!("{} {what}", grouped(*count)))
        .collect();
    shown.join(" ")
}

/// What a narrower type would do, the worst of it.
pub(super) fn narrowing(narrowing: &Narrowing, of: &Statistics) -> String {
    let small = share(narrowing.flushed + narrowing.subnormal, of);
    if narrowing.overflow > 0 {
        format!("{} overflow", grouped(narrowing.overflow))
    } else if small >= 0.01 {
        format!("{} small", percent(small))
    } else {
        short(narrowing.relative_error())
    }
}

/// Three digits.
pub(super) fn short(x: f64) -> String {
    match x.abs() {
        0.0 => "0".to_owned(),
        size if (0.001..10_000.0).contains(&size) => {
            let digits = if size < 10.0 {
                3
            } else if size < 100.0 {
                2
            } else {
                1
            };
            format!("{x:.digits$}")
        }
        _ => format!("{x:.2e}"),
    }
}

pub(super) const UNICODE: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
pub(super) const ASCII: [char; 9] = [' ', '.', '.', ':', '-', '=', '+', '*', '#'];

/// A bar for each bin, as high as the root of its share, so that few are seen beside many.
#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss
)]
pub(super) fn sparkline(histogram: &Histogram, bars: [char; 9]) -> String {
    let most = histogram.counts.iter().copied().max().unwrap_or(0).max(1) as f64;
    let bar = |&count: &u64| bars[((count as f64 / most).sqrt() * 8.0).ceil() as usize];
    let bars: String = histogram.counts.iter().map(bar).collect();
    format!("|{bars}|")
}

/// Whether the terminal is said to take UTF-8.
pub(super) fn speaks_unicode() -> bool {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let locale = set("LC_ALL")
        .or_else(|| set("LC_CTYPE"))
        .or_else(|| set("LANG"));
    let utf8 = |locale: String| {
        let locale = locale.to_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    };
    locale.is_some_and(utf8)
}
