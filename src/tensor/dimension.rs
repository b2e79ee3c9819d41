//! One dimension that is only partly known, and one number.

use std::fmt;
use std::ops::{Add, Mul};

/// The identity of an unknown size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Symbol(pub u32);

/// One dimension: a size, or the interval the size lies in.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Dimension {
    min: usize,
    max: usize,
    symbol: Option<Symbol>,
}

/// `usize::MAX` is no size a tensor can have: it stands for "no upper bound".
const UNBOUNDED: usize = usize::MAX;

impl Dimension {
    /// The largest size there is: IR counts in signed numbers of 64 bits, of which the last stands
    /// for "no upper bound". Sums and products beyond it are held at `usize::MAX`.
    pub const LARGEST: usize = isize::MAX.unsigned_abs() - 1;

    /// Any size.
    pub const fn dynamic() -> Self {
        Self {
            min: 0,
            max: UNBOUNDED,
            symbol: None,
        }
    }

    /// Exactly this size.
    pub const fn fixed(size: usize) -> Self {
        Self {
            min: size,
            max: size,
            symbol: None,
        }
    }

    /// A size of at least `min` and at most `max`; no bound for `None`.
    pub fn range(min: usize, max: Option<usize>) -> Self {
        Self {
            min,
            max: max.unwrap_or(UNBOUNDED).max(min),
            symbol: None,
        }
    }

    /// The same interval, known by a symbol. A fixed size needs none and stays as it is.
    #[must_use]
    pub fn with_symbol(self, symbol: Option<Symbol>) -> Self {
        Self {
            symbol: if self.is_static() { None } else { symbol },
            ..self
        }
    }

    /// The smallest possible size.
    pub const fn min(self) -> usize {
        self.min
    }

    /// The largest possible size, if there is a bound.
    pub fn max(self) -> Option<usize> {
        (self.max != UNBOUNDED).then_some(self.max)
    }

    /// The symbol of an unknown size.
    pub const fn symbol(self) -> Option<Symbol> {
        self.symbol
    }

    /// The size, when only one is possible.
    pub fn value(self) -> Option<usize> {
        self.is_static().then_some(self.min)
    }

    /// Whether only one size is possible.
    pub const fn is_static(self) -> bool {
        self.min == self.max && self.max != UNBOUNDED
    }

    /// Whether even the smallest size is larger than any tensor has.
    pub const fn is_too_large(self) -> bool {
        self.min > Self::LARGEST
    }

    /// Whether the size is possible.
    pub const fn contains(self, size: usize) -> bool {
        self.min <= size && size <= self.max
    }

    /// Whether the two may be equal.
    pub fn compatible(self, other: Self) -> bool {
        self.min <= other.max && other.min <= self.max
    }

    /// Whether the two are known to be equal.
    pub fn is_same(self, other: Self) -> bool {
        match (self.value(), other.value()) {
            (Some(a), Some(b)) => a == b,
            (None, None) => self.symbol.is_some() && self.symbol == other.symbol,
            _ => false,
        }
    }

    /// Both at once, or `None` if no size is possible for both.
    pub fn intersect(self, other: Self) -> Option<Self> {
        self.compatible(other).then(|| {
            Self {
                min: self.min.max(other.min),
                max: self.max.min(other.max),
                symbol: None,
            }
            .with_symbol(self.symbol.or(other.symbol))
        })
    }

    /// One or the other: the smallest interval around both.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        Self {
            min: self.min.min(other.min),
            max: self.max.max(other.max),
            symbol: None,
        }
        .with_symbol(if self.symbol == other.symbol {
            self.symbol
        } else {
            None
        })
    }

    /// NumPy's rule for one axis: equal, or one of them 1. `None` if no sizes agree.
    pub fn broadcast(self, other: Self) -> Option<Self> {
        match (self.value(), other.value()) {
            (Some(1), _) => Some(other),
            (_, Some(1)) => Some(self),
            (Some(a), Some(b)) => (a == b).then_some(self),
            // Not 1, so the other is this or 1.
            (Some(a), None) => (other.contains(a) || other.contains(1)).then_some(self),
            (None, Some(b)) => (self.contains(b) || self.contains(1)).then_some(other),
            (None, None) if self.symbol.is_some() && self.symbol == other.symbol => Some(self),
            (None, None) => {
                if !self.contains(1) && !other.contains(1) {
                    return self.intersect(other);
                }
                if !self.contains(1) {
                    return Some(self);
                }
                if !other.contains(1) {
                    return Some(other);
                }
                // Both may be 1: the result is either of the two.
                let min = self.min.min(other.min);
                Some(Self {
                    min,
                    max: self.max.max(other.max),
                    symbol: None,
                })
            }
        }
    }
}

impl Add for Dimension {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        if other.value() == Some(0) {
            return self;
        }
        if self.value() == Some(0) {
            return other;
        }
        Self {
            min: self.min.saturating_add(other.min),
            max: self.max.saturating_add(other.max),
            symbol: None,
        }
    }
}

impl Mul for Dimension {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        if other.value() == Some(1) {
            return self;
        }
        if self.value() == Some(1) {
            return other;
        }
        let max = match (self.max(), other.max()) {
            (Some(0), _) | (_, Some(0)) => 0,
            (Some(a), Some(b)) => a.saturating_mul(b),
            _ => UNBOUNDED,
        };
        Self {
            min: self.min.saturating_mul(other.min),
            max,
            symbol: None,
        }
    }
}

impl From<usize> for Dimension {
    fn from(size: usize) -> Self {
        Self::fixed(size)
    }
}

impl fmt::Display for Dimension {
    /// IR's spelling: `3`, `?`, `1..10`, `..10`, `1..`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.min, self.max()) {
            (min, Some(max)) if min == max => write!(f, "{min}"),
            (0, None) => f.write_str("?"),
            (0, Some(max)) => write!(f, "..{max}"),
            (min, None) => write!(f, "{min}.."),
            (min, Some(max)) => write!(f, "{min}..{max}"),
        }
    }
}

impl fmt::Debug for Dimension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)?;
        match self.symbol {
            Some(Symbol(id)) => write!(f, "#{id}"),
            None => Ok(()),
        }
    }
}

/// What is known of one element of an integer tensor: the interval it lies in, and the symbol of
/// the size it is, if it is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ValueRange {
    /// The smallest possible value; `i64::MIN` for no bound.
    pub min: i64,
    /// The largest possible value; `i64::MAX` for no bound.
    pub max: i64,
    /// The size it equals.
    pub symbol: Option<Symbol>,
}

impl ValueRange {
    /// Any value.
    pub const UNKNOWN: Self = Self {
        min: i64::MIN,
        max: i64::MAX,
        symbol: None,
    };

    /// Exactly this value.
    pub const fn exact(value: i64) -> Self {
        Self {
            min: value,
            max: value,
            symbol: None,
        }
    }

    /// The value, when only one is possible.
    pub fn value(self) -> Option<i64> {
        (self.min == self.max).then_some(self.min)
    }

    /// The dimension of this size; negative values are left out.
    pub fn to_dimension(self) -> Dimension {
        let max = usize::try_from(self.max.max(0)).unwrap_or(UNBOUNDED);
        Dimension::range(
            usize::try_from(self.min.max(0)).unwrap_or(0),
            (self.max != i64::MAX).then_some(max),
        )
        .with_symbol(self.symbol)
    }
}

impl From<Dimension> for ValueRange {
    fn from(dim: Dimension) -> Self {
        Self {
            min: i64::try_from(dim.min).unwrap_or(i64::MAX),
            max: i64::try_from(dim.max).unwrap_or(i64::MAX),
            symbol: dim.symbol,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn dimension() -> impl Strategy<Value = Dimension> {
        (0usize..4, prop::option::of(0usize..4))
            .prop_map(|(min, more)| Dimension::range(min, more.map(|m| min + m)))
    }

    proptest! {
        /// Whatever two sizes agree under the rule, their result lies in the inferred interval.
        #[test]
        fn arithmetic_encloses(a in dimension(), b in dimension(), x in 0usize..8, y in 0usize..8) {
            prop_assume!(a.contains(x) && b.contains(y));
            prop_assert!((a + b).contains(x + y));
            prop_assert!((a * b).contains(x * y));
            prop_assert!(a.union(b).contains(x) && a.union(b).contains(y));
            if x == y {
                prop_assert!(a.intersect(b).is_some_and(|d| d.contains(x)));
            }
            let broadcast = if x == 1 { Some(y) } else if y == 1 || x == y { Some(x) } else { None };
            if let Some(size) = broadcast {
                prop_assert!(a.broadcast(b).is_some_and(|d| d.contains(size)), "{a} {b} {x} {y}");
            }
        }
    }
}
