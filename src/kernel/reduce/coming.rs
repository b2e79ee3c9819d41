//! Memory that a reduction asks for before it comes there.

use crate::kernel::simd::prefetch_far;
use crate::tensor::LINE;

/// Rows that are asked for while those of another group are folded, line by line in the order in which they
/// lie. All is in bytes.
pub(super) struct Coming<'a, T> {
    from: &'a [T],
    at: usize,
    end_of_row: usize,
    width: usize,
    stride: usize,
}

impl<'a, T> Coming<'a, T> {
    /// So many rows of some width and stride, of which the first begins `start` elements after others.
    pub(super) fn new(from: &'a [T], start: usize, [count, width, stride]: [usize; 3]) -> Self {
        let [at, width, stride] = [start, width, stride].map(|n| n * size_of::<T>());
        let (width, stride) = match width == stride {
            // Rows without gaps are one.
            true => (count * width, count * width),
            false => (width, stride),
        };
        Self {
            from,
            at,
            end_of_row: at + width,
            width,
            stride,
        }
    }

    /// Asks for the lines of so many elements.
    #[inline(always)]
    pub(super) fn ask(&mut self, elements: usize) {
        for _ in 0..elements * size_of::<T>() / LINE {
            prefetch_far::<u8>(self.from.as_ptr().cast(), self.line());
        }
    }

    /// Where the next line is.
    #[inline(always)]
    fn line(&mut self) -> usize {
        let line = self.at;
        self.at += LINE;
        if self.at >= self.end_of_row {
            self.at = self.end_of_row - self.width + self.stride;
            self.end_of_row = self.at + self.width;
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines<const N: usize>(rows: [usize; 3]) -> [usize; N] {
        let mut coming = Coming::new(&[0.0_f32; 0], 100, rows);
        std::array::from_fn(|_| coming.line())
    }

    #[test]
    fn one_row_after_another() {
        assert_eq!(
            lines([8, 40, 1000]),
            [400, 464, 528, 4400, 4464, 4528, 8400]
        );
        assert_eq!(lines([8, 16, 1000]), [400, 4400, 8400, 12400, 16400]);
    }

    #[test]
    fn rows_without_gaps_are_one() {
        assert_eq!(lines([8, 40, 40]), [400, 464, 528, 592, 656, 720]);
    }
}
