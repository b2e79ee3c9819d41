//! Seeds of random operations.

use std::hash::{BuildHasher, RandomState};

use crate::kernel::random::Philox;

/// The two seeds of an operation.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seeds {
    pub(super) global: i64,
    pub(super) op: i64,
}

impl Seeds {
    /// Whether every evaluation gives the same.
    pub(super) fn are_fixed(self) -> bool {
        self.global != 0 || self.op != 0
    }

    /// The global seed, or another each time where none is given.
    pub(super) fn global(self) -> u64 {
        if self.are_fixed() {
            self.global.cast_unsigned()
        } else {
            RandomState::new().hash_one(0)
        }
    }

    pub(super) fn philox(self) -> Philox {
        Philox {
            key: self.global(),
            counter: self.op.cast_unsigned(),
        }
    }
}

/// A number in `[0, 1)` whose mantissa is given by two random words.
pub(super) fn unit(high: u32, low: u32) -> f64 {
    let mantissa = u64::from(high & 0xF_FFFF) << 32 | u64::from(low);
    f64::from_bits(1023 << 52 | mantissa) - 1.0
}
