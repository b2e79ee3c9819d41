//! The `.bin` file: the bytes of constants one behind the other, equal ones once.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, Write};

use crate::op::OpError;
use crate::ops::infrastructure::Const;

/// Every constant begins at a multiple of this many bytes: vectors of any machine are aligned then.
const ALIGNMENT: u64 = 64;

/// Why a constant is not written.
#[derive(Debug)]
pub(super) enum Failed {
    Constant(OpError),
    System(io::Error),
}

impl From<OpError> for Failed {
    fn from(error: OpError) -> Self {
        Self::Constant(error)
    }
}

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}

/// A file of constants that is being written.
pub(super) struct Constants<'g, 'w> {
    out: &'w mut dyn Write,
    len: u64,
    /// Where the constants of a hash lie. Their bytes stay where they were: in the mapped file.
    seen: HashMap<(u64, u64), Vec<(u64, &'g Const)>>,
}

impl<'g, 'w> Constants<'g, 'w> {
    pub(super) fn new(out: &'w mut dyn Write) -> Self {
        Self {
            out,
            len: 0,
            seen: HashMap::new(),
        }
    }

    /// Where the bytes of a constant lie in the file, and how many there are: written now, unless
    /// an earlier constant has the same.
    pub(super) fn place(&mut self, constant: &'g Const) -> Result<(u64, u64), Failed> {
        let stored = constant.stored_bytes()?;
        // The real runtime writes an empty constant as one byte.
        let bytes = match stored.as_bytes() {
            [] => &[0],
            bytes => bytes,
        };
        let size = bytes.len() as u64;
        let mut hasher = DefaultHasher::new();
        hasher.write(bytes);
        let places = self.seen.entry((hasher.finish(), size)).or_default();
        for (offset, other) in places.iter() {
            let other = other.stored_bytes()?;
            if other.as_bytes() == bytes || (other.as_bytes().is_empty() && bytes == [0]) {
                return Ok((*offset, size));
            }
        }
        let offset = self.len.next_multiple_of(ALIGNMENT);
        let padding = [0; ALIGNMENT as usize];
        let before = usize::try_from(offset - self.len).unwrap_or_default();
        self.out.write_all(&padding[..before])?;
        self.out.write_all(bytes)?;
        self.len = offset + size;
        places.push((offset, constant));
        Ok((offset, size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::{Tensor, Text};

    #[test]
    fn equal_bytes_are_written_once() {
        let tensors = [
            Tensor::vector(&[1i32, 2]),
            Tensor::scalar(0f32),
            Tensor::new([0], &[0f64; 0]).expect("nothing"),
            Tensor::vector(&[1u32, 2]),
            Tensor::vector(&[0i8]),
            Tensor::scalar(0i32),
            Tensor::strings([2], vec![Text::from("a"), Text::from("é")]).expect("two"),
        ];
        let constants: Vec<Const> = tensors.into_iter().map(Const::new).collect();
        let mut bytes = Vec::new();
        let mut file = Constants::new(&mut bytes);
        let places: Vec<_> = constants
            .iter()
            .map(|c| file.place(c).expect("written"))
            .collect();
        let expected = [
            (0, 8),
            (64, 4),
            (128, 1),
            (0, 8),
            (128, 1),
            (64, 4),
            (192, 19),
        ];
        assert_eq!(places, expected);
        assert_eq!(bytes.len(), 192 + 19);
        assert_eq!(bytes[..8], [1, 0, 0, 0, 2, 0, 0, 0]);
        let strings = [2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0, b'a'];
        assert_eq!(bytes[192..209], strings);
    }
}
