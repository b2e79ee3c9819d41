//! A tensor as text to read: nested brackets and aligned columns, as NumPy prints arrays.
//!
//! The text of a small tensor is a literal that [`Value`](super::Value) reads back.

use super::text_float::FloatStyle;
use crate::tensor::{Class, ElementType, Shape, Tensor, Text, convert};

/// Deeper nesting is printed flat: NumPy has no such arrays, and nobody could read it.
const MAX_RANK: usize = 32;
/// Characters of a string that are printed if not all are.
const MAX_TEXT: usize = 200;

/// How a tensor is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Tensors with more elements are abbreviated.
    pub threshold: usize,
    /// The elements printed at each end of an abbreviated axis, at least 1.
    pub edge_items: usize,
    /// The most digits after the point; `None` for as many as a float needs to be read back.
    pub precision: Option<usize>,
    /// Rows are broken to stay inside, if they can.
    pub line_width: usize,
    /// Nothing is abbreviated.
    pub full: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            threshold: 1000,
            edge_items: 3,
            precision: Some(8),
            line_width: 80,
            full: false,
        }
    }
}

impl Options {
    /// Everything, in a form that is read back bit for bit (NaNs but for their payload).
    pub fn exact() -> Self {
        Self {
            precision: None,
            full: true,
            ..Self::default()
        }
    }
}

/// The text of a tensor, without its type and shape, and without a line break at the end.
pub fn format(tensor: &Tensor, options: &Options) -> String {
    if tensor.is_empty() {
        return "[]".to_owned();
    }
    let mut shape = tensor.shape().clone();
    if shape.rank() > MAX_RANK {
        shape = Shape::from([tensor.len()]);
    }
    let mut printer = Printer {
        tensor,
        cuts: cuts(&shape, options),
        strides: shape.strides().to_vec(),
        parts: tensor.complex_parts(),
        shape,
        options,
        style: Style::Text,
        out: String::new(),
    };
    printer.style = printer.find_style();
    printer.print();
    printer.out
}

/// Of each axis, how many items are printed at its two ends.
fn cuts(shape: &Shape, options: &Options) -> Vec<(usize, usize)> {
    let whole = |&dim: &usize| (dim, 0);
    if options.full || shape.elements().is_some_and(|n| n <= options.threshold) {
        return shape.iter().map(whole).collect();
    }
    let mut edge = options.edge_items.max(1);
    let cut = |edge: usize| -> Vec<_> {
        let cut = |dim: &usize| match *dim / 2 >= edge && *dim > 2 * edge {
            true => (edge, edge),
            false => whole(dim),
        };
        shape.iter().map(cut).collect()
    };
    let limit = options.threshold.max(1);
    let visible = |cuts: &[(usize, usize)]| {
        let sizes = cuts.iter().map(|&(head, tail)| head.saturating_add(tail));
        sizes.fold(1usize, usize::saturating_mul)
    };
    let mut cuts = cut(edge);
    while visible(&cuts) > limit && edge > 1 {
        edge -= 1;
        cuts = cut(edge);
    }
    // Many axes: of the outer ones only the first item.
    for axis in 0..cuts.len() {
        if visible(&cuts) <= limit {
            break;
        }
        cuts[axis] = (1, 0);
    }
    cuts
}

/// How elements are printed so that columns align.
enum Style {
    Integer {
        width: usize,
    },
    Boolean {
        width: usize,
    },
    Float(FloatStyle),
    /// The styles of the two parts, and the characters of the longest element.
    Complex {
        parts: [FloatStyle; 2],
        width: usize,
    },
    Text,
}

#[derive(Clone, Copy)]
enum Cell<'a> {
    Integer(i128),
    Boolean(bool),
    Float(f64),
    Complex([f64; 2]),
    Text(&'a Text),
}

struct Printer<'a> {
    tensor: &'a Tensor,
    /// The parts of its elements, if they are complex.
    parts: Option<Tensor>,
    shape: Shape,
    strides: Vec<usize>,
    cuts: Vec<(usize, usize)>,
    options: &'a Options,
    style: Style,
    out: String,
}

impl<'a> Printer<'a> {
    fn find_style(&self) -> Style {
        let ty = self.tensor.element_type();
        match ty.class() {
            None if ty.is_complex() => self.find_complex_style(),
            None => Style::Text,
            _ if ty == ElementType::Boolean => {
                let mut width = 4;
                self.each(0, 0, &mut |cell| {
                    if matches!(cell, Cell::Boolean(false)) {
                        width = 5;
                    }
                });
                Style::Boolean { width }
            }
            Some(Class::I64 | Class::U64) => {
                let mut width = 0;
                self.each(0, 0, &mut |cell| {
                    if let Cell::Integer(x) = cell {
                        width = width.max(x.to_string().len());
                    }
                });
                Style::Integer { width }
            }
            Some(Class::F32 | Class::F64) => {
                let mut style = FloatStyle::new(ty, self.options.precision);
                self.each(0, 0, &mut |cell| {
                    if let Cell::Float(x) = cell {
                        style.see(x);
                    }
                });
                style.decide();
                self.each(0, 0, &mut |cell| {
                    if let Cell::Float(x) = cell {
                        style.measure(x);
                    }
                });
                Style::Float(style)
            }
        }
    }

    fn find_complex_style(&self) -> Style {
        let ty = self.tensor.element_type().part().unwrap_or_default();
        let mut parts = [0, 1].map(|_| FloatStyle::new(ty, self.options.precision));
        self.each(0, 0, &mut |cell| {
            if let Cell::Complex(x) = cell {
                parts.iter_mut().zip(x).for_each(|(part, x)| part.see(x));
            }
        });
        parts.iter_mut().for_each(FloatStyle::decide);
        let mut width = 0;
        self.each(0, 0, &mut |cell| {
            if let Cell::Complex(x) = cell {
                width = width.max(complex(&parts, x).len());
            }
        });
        Style::Complex { parts, width }
    }

    /// Calls `f` with every element that is printed.
    fn each(&self, axis: usize, offset: usize, f: &mut dyn FnMut(Cell<'a>)) {
        if axis + 1 < self.shape.rank() {
            for i in self.items(axis) {
                self.each(axis + 1, offset + i * self.strides[axis], f);
            }
            return;
        }
        let ranges = match self.shape.rank() {
            0 => [0..1, 0..0],
            _ => {
                let (head, tail) = self.cuts[axis];
                [0..head, self.shape[axis] - tail..self.shape[axis]]
            }
        };
        for range in ranges {
            self.run(offset + range.start, range.len(), f);
        }
    }

    fn items(&self, axis: usize) -> impl Iterator<Item = usize> + use<> {
        let ((head, tail), dim) = (self.cuts[axis], self.shape[axis]);
        (0..head).chain(dim - tail..dim)
    }

    /// Elements that lie side by side, some at a time.
    fn run(&self, start: usize, len: usize, f: &mut dyn FnMut(Cell<'a>)) {
        const BLOCK: usize = 64;
        if let Ok(texts) = self.tensor.as_strings() {
            texts[start..start + len]
                .iter()
                .for_each(|t| f(Cell::Text(t)));
            return;
        }
        if let Some(parts) = &self.parts {
            for at in (start..start + len).step_by(BLOCK) {
                let mut block = [[0f64; 2]; BLOCK];
                let block = &mut block[..BLOCK.min(start + len - at)];
                convert::widen(parts, at * 2, block.as_flattened_mut());
                block.iter().for_each(|&x| f(Cell::Complex(x)));
            }
            return;
        }
        let ty = self.tensor.element_type();
        let class = ty.class().unwrap_or(Class::I64);
        for at in (start..start + len).step_by(BLOCK) {
            let count = BLOCK.min(start + len - at);
            if matches!(class, Class::F32 | Class::F64) {
                let mut block = [0f64; BLOCK];
                convert::widen(self.tensor, at, &mut block[..count]);
                block[..count].iter().for_each(|&x| f(Cell::Float(x)));
                continue;
            }
            let mut block = [0i64; BLOCK];
            convert::widen(self.tensor, at, &mut block[..count]);
            for &x in &block[..count] {
                f(match (ty, class) {
                    (ElementType::Boolean, _) => Cell::Boolean(x != 0),
                    (_, Class::U64) => Cell::Integer(i128::from(x.cast_unsigned())),
                    _ => Cell::Integer(i128::from(x)),
                });
            }
        }
    }

    fn cell(&self, cell: Cell<'_>) -> String {
        match (cell, &self.style) {
            (Cell::Integer(x), Style::Integer { width }) => format!("{x:>width$}"),
            (Cell::Boolean(x), Style::Boolean { width }) => format!("{x:>width$}"),
            (Cell::Float(x), Style::Float(style)) => style.format(x),
            (Cell::Complex(x), Style::Complex { parts, width }) => {
                format!("{:>width$}", complex(parts, x))
            }
            (Cell::Text(text), _) => {
                let limit = if self.options.full {
                    usize::MAX
                } else {
                    MAX_TEXT
                };
                quote(text, limit)
            }
            // One class has one style.
            _ => String::new(),
        }
    }

    fn print(&mut self) {
        if self.shape.is_empty() {
            let mut text = String::new();
            self.run(0, 1, &mut |cell| text = self.cell(cell));
            self.out = text.trim().to_owned();
            return;
        }
        self.axis(0, 0);
    }

    fn axis(&mut self, axis: usize, offset: usize) {
        let rank = self.shape.rank();
        if axis + 1 == rank {
            self.row(offset);
            return;
        }
        let (head, tail) = self.cuts[axis];
        let cut = head + tail < self.shape[axis];
        let blank_lines = rank - axis - 2;
        self.out.push('[');
        for (n, i) in self.items(axis).enumerate() {
            if n > 0 {
                self.line(axis + 1, blank_lines);
            }
            if cut && n == head {
                self.out.push_str("...");
                self.line(axis + 1, blank_lines);
            }
            self.axis(axis + 1, offset + i * self.strides[axis]);
        }
        if cut && tail == 0 {
            self.line(axis + 1, blank_lines);
            self.out.push_str("...");
        }
        self.out.push(']');
    }

    /// A comma and a new line.
    fn line(&mut self, indent: usize, blank_lines: usize) {
        self.out.push(',');
        self.out.extend(std::iter::repeat_n('\n', 1 + blank_lines));
        self.out.extend(std::iter::repeat_n(' ', indent));
    }

    fn row(&mut self, offset: usize) {
        let axis = self.shape.rank() - 1;
        let ((head, tail), dim) = (self.cuts[axis], self.shape[axis]);
        let indent = axis + 1;
        let mut out = std::mem::take(&mut self.out);
        let mut column = indent;
        out.push('[');
        let mut first = true;
        let mut push = |text: &str| {
            let width = text.chars().count();
            if !std::mem::take(&mut first) {
                out.push(',');
                // The comma, the space, the item, and what closes it.
                if column + width + 3 > self.options.line_width {
                    out.push('\n');
                    out.extend(std::iter::repeat_n(' ', indent));
                    column = indent;
                } else {
                    out.push(' ');
                    column += 2;
                }
            }
            out.push_str(text);
            column += width;
        };
        self.run(offset, head, &mut |cell| push(&self.cell(cell)));
        if head + tail < dim {
            push("...");
        }
        self.run(offset + dim - tail, tail, &mut |cell| {
            push(&self.cell(cell))
        });
        out.push(']');
        self.out = out;
    }
}

/// `1+2j`, without spaces between the parts, which a literal has not either.
fn complex(parts: &[FloatStyle; 2], [re, im]: [f64; 2]) -> String {
    let (re, im) = (parts[0].plain_text(re), parts[1].plain_text(im));
    let plus = if im.starts_with('-') { "" } else { "+" };
    format!("{re}{plus}{im}j")
}

/// A string in quotes, control characters and bytes that are not UTF-8 escaped; if it has more
/// characters than the limit, its beginning and its length.
pub(super) fn quote(bytes: &[u8], limit: usize) -> String {
    let mut out = String::from("\"");
    let mut left = limit;
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            if left == 0 {
                return out + &format!("\"... ({} bytes)", bytes.len());
            }
            left -= 1;
            match c {
                '"' => out.push_str("\\\""),
                '\\' => out.push_str("\\\\"),
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                '\t' => out.push_str("\\t"),
                c if u32::from(c) < 0x20 || u32::from(c) == 0x7f => {
                    out.push_str(&format!("\\x{:02x}", u32::from(c)));
                }
                c if crate::error::is_hidden(c) => {
                    out.push_str(&format!("\\u{{{:x}}}", u32::from(c)));
                }
                c => out.push(c),
            }
        }
        for &byte in chunk.invalid() {
            left = left.saturating_sub(1);
            out.push_str(&format!("\\x{byte:02x}"));
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
#[path = "tests/text.rs"]
mod tests;
