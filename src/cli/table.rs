//! Columns aligned for reading.

use std::io::{self, Write};

use crate::error::plain;

/// Rows of cells. The first row may be a header.
pub(super) struct Table {
    indent: usize,
    rows: Vec<Vec<String>>,
    right: Vec<bool>,
}

/// Cells are not padded beyond this width: one long name must not push all others away.
const WIDEST: usize = 48;

impl Table {
    /// A table; `columns` says which are aligned at the right.
    pub(super) fn new(indent: usize, right: &[bool]) -> Self {
        Self {
            indent,
            rows: Vec::new(),
            right: right.to_vec(),
        }
    }

    pub(super) fn row<I: IntoIterator<Item = String>>(&mut self, cells: I) {
        self.rows
            .push(cells.into_iter().map(|c| plain(&c)).collect());
    }

    pub(super) fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        let columns = self.right.len();
        let mut widths = vec![0; columns];
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count().min(WIDEST));
            }
        }
        for row in &self.rows {
            let mut line = " ".repeat(self.indent);
            for ((cell, &width), &right) in row.iter().zip(&widths).zip(&self.right) {
                let pad = " ".repeat(width.saturating_sub(cell.chars().count()));
                if right {
                    line.push_str(&pad);
                    line.push_str(cell);
                } else {
                    line.push_str(cell);
                    line.push_str(&pad);
                }
                line.push_str("  ");
            }
            writeln!(out, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

/// A number with its digits in groups of three.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A number of bytes as people read it.
pub(super) fn bytes(number: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if number < 1024 {
        return format!("{number} bytes");
    }
    let mut unit = 0;
    let mut scaled = number / 1024;
    let mut rest = number % 1024;
    while scaled >= 1024 && unit + 1 < UNITS.len() {
        rest = scaled % 1024;
        scaled /= 1024;
        unit += 1;
    }
    format!("{scaled}.{} {}", rest * 10 / 1024, UNITS[unit])
}

/// A number with three digits and the prefix of a unit: `1.25 G`.
pub(super) fn scaled(number: f64) -> String {
    const PREFIXES: [&str; 6] = ["", "k", "M", "G", "T", "P"];
    let mut number = number;
    let mut at = 0;
    while number >= 999.5 && at + 1 < PREFIXES.len() {
        number /= 1000.0;
        at += 1;
    }
    let digits = match number {
        n if n < 9.995 => 2,
        n if n < 99.95 => 1,
        _ => 0,
    };
    format!("{number:.digits$} {}", PREFIXES[at])
}

/// How long a bar is that stands for all.
const BAR: f64 = 20.0;

/// A bar for a share of the whole.
pub(super) fn bar(share: f64) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // between 0 and 160
    let eighths = (share.clamp(0.0, 1.0) * BAR * 8.0).round() as usize;
    "█".repeat(eighths / 8) + EIGHTHS[eighths % 8]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(1234567), "1,234,567");
        assert_eq!(bytes(1023), "1023 bytes");
        assert_eq!(bytes(1536), "1.5 KiB");
        assert_eq!(bytes(3 << 30), "3.0 GiB");
        assert_eq!(scaled(0.0), "0.00 ");
        assert_eq!(scaled(1_254_000.0), "1.25 M");
        assert_eq!(scaled(99_960.0), "100 k");
        assert_eq!(scaled(999_700.0), "1.00 M");
        assert_eq!(bar(0.5), "██████████");
        assert_eq!(bar(0.01), "▎");
        assert_eq!(bar(7.0).chars().count(), 20);
        assert_eq!(bar(-1.0), "");
    }
}
