//! Arithmetic on what is known of integers.
//!
//! The ends of `i64` stand for "no bound". A size without a bound is taken to fit a type of 32 bits
//! or more, as every real shape computation does; narrower types bound their elements themselves.

use crate::tensor::{ElementType, ValueRange};

/// No bound, far beyond what sums and products of bounds reach.
const INFINITE: i128 = 1 << 120;

/// A boolean of which nothing is known.
pub(crate) const BOOLEAN: ValueRange = ValueRange {
    min: 0,
    max: 1,
    symbol: None,
};

/// The smallest and largest number of an integer type (`i64::MAX` for `u64`).
pub(crate) fn bounds(ty: ElementType) -> (i64, i64) {
    match ty {
        ElementType::Boolean => (0, 1),
        ElementType::I64 => (i64::MIN, i64::MAX),
        ElementType::U64 => (0, i64::MAX),
        _ if ty.is_signed_integer() => (-1 << (ty.bits() - 1), (1 << (ty.bits() - 1)) - 1),
        _ => (0, (1 << ty.bits()) - 1),
    }
}

/// What is known of an element when its type is known as well.
pub(crate) fn of_type(range: ValueRange, ty: ElementType) -> ValueRange {
    if ty.bits() >= 32 {
        return range;
    }
    let (min, max) = bounds(ty);
    ValueRange {
        min: range.min.clamp(min, max),
        max: range.max.clamp(min, max),
        ..range
    }
}

/// The range, unless numbers in it do not fit the type and wrap.
pub(crate) fn fit(range: ValueRange, ty: ElementType) -> ValueRange {
    let (min, max) = bounds(ty);
    let unbounded = ty.bits() >= 32;
    let below = range.min < min && !(unbounded && min < 0 && range.min == i64::MIN);
    let above = range.max > max && !(unbounded && range.max == i64::MAX);
    // At the wrong end of i64 there is no number that was meant.
    if below || above || range.min == i64::MAX || range.max == i64::MIN {
        ValueRange::UNKNOWN
    } else {
        range
    }
}

fn widen(range: ValueRange) -> (i128, i128) {
    let min = match range.min {
        i64::MIN => -INFINITE,
        min => min.into(),
    };
    let max = match range.max {
        i64::MAX => INFINITE,
        max => max.into(),
    };
    (min, max)
}

fn narrow(value: i128) -> i64 {
    i64::try_from(value).unwrap_or(if value < 0 { i64::MIN } else { i64::MAX })
}

/// The range of a function that is monotonic in each argument, from its values at the corners.
fn corners(a: ValueRange, b: ValueRange, f: impl Fn(i128, i128) -> i128) -> ValueRange {
    let ((a_min, a_max), (b_min, b_max)) = (widen(a), widen(b));
    let values = [
        f(a_min, b_min),
        f(a_min, b_max),
        f(a_max, b_min),
        f(a_max, b_max),
    ];
    ValueRange {
        min: narrow(values.into_iter().fold(i128::MAX, i128::min)),
        max: narrow(values.into_iter().fold(i128::MIN, i128::max)),
        symbol: None,
    }
}

fn same(a: ValueRange, b: ValueRange) -> bool {
    a.symbol.is_some() && a.symbol == b.symbol
}

pub(crate) fn add(a: ValueRange, b: ValueRange) -> ValueRange {
    match (a.value(), b.value()) {
        (Some(0), _) => b,
        (_, Some(0)) => a,
        _ => corners(a, b, |a, b| a + b),
    }
}

pub(crate) fn subtract(a: ValueRange, b: ValueRange) -> ValueRange {
    match b.value() {
        Some(0) => a,
        _ if same(a, b) => ValueRange::exact(0),
        _ => corners(a, b, |a, b| a - b),
    }
}

pub(crate) fn multiply(a: ValueRange, b: ValueRange) -> ValueRange {
    match (a.value(), b.value()) {
        (Some(1), _) => b,
        (_, Some(1)) => a,
        _ => corners(a, b, i128::saturating_mul),
    }
}

/// Division, rounded down or towards zero.
pub(crate) fn divide(a: ValueRange, b: ValueRange, floor: bool) -> ValueRange {
    if b.value() == Some(1) {
        return a;
    }
    if b.min <= 0 && b.max >= 0 {
        return ValueRange::UNKNOWN;
    }
    if same(a, b) {
        return ValueRange::exact(1);
    }
    corners(a, b, |a, b| {
        let toward_zero = a / b;
        let down = floor && a % b != 0 && (a < 0) != (b < 0);
        toward_zero - i128::from(down)
    })
}

pub(crate) fn maximum(a: ValueRange, b: ValueRange) -> ValueRange {
    if a.min >= b.max || same(a, b) {
        return a;
    }
    if b.min >= a.max {
        return b;
    }
    corners(a, b, i128::max)
}

pub(crate) fn minimum(a: ValueRange, b: ValueRange) -> ValueRange {
    if a.max <= b.min || same(a, b) {
        return a;
    }
    if b.max <= a.min {
        return b;
    }
    corners(a, b, i128::min)
}

/// The square, whose two factors are the same number.
pub(crate) fn square(a: ValueRange) -> ValueRange {
    let squares = corners(a, a, i128::saturating_mul);
    let min = if a.min <= 0 && a.max >= 0 {
        0
    } else {
        let (min, max) = widen(a);
        narrow(min.saturating_mul(min).min(max.saturating_mul(max)))
    };
    ValueRange { min, ..squares }
}

/// A power, if its exponent is small and known.
pub(crate) fn power(a: ValueRange, b: ValueRange) -> ValueRange {
    match b.value() {
        Some(0) => ValueRange::exact(1),
        Some(1) => a,
        Some(2) => square(a),
        _ => ValueRange::UNKNOWN,
    }
}

/// The remainder of a division rounded down: it has the sign of the divisor.
pub(crate) fn floor_modulo(a: ValueRange, b: ValueRange) -> ValueRange {
    if b.min <= 0 && b.max >= 0 {
        return ValueRange::UNKNOWN;
    }
    if let (Some(a), Some(b)) = (a.value(), b.value()) {
        let rest = a.wrapping_rem(b);
        let wraps = rest != 0 && (rest < 0) != (b < 0);
        return ValueRange::exact(rest + if wraps { b } else { 0 });
    }
    let smaller = b.min > 0 && a.min >= 0 && a.max < b.min;
    match same(a, b) {
        true => ValueRange::exact(0),
        false if smaller => a,
        false if b.min > 0 => within(0, i128::from(b.max) - 1),
        false => within(i128::from(b.min) + 1, 0),
    }
}

/// The remainder of a division rounded towards zero: it has the sign of the dividend.
pub(crate) fn modulo(a: ValueRange, b: ValueRange) -> ValueRange {
    if b.min <= 0 && b.max >= 0 {
        return ValueRange::UNKNOWN;
    }
    if same(a, b) {
        return ValueRange::exact(0);
    }
    let ((a_min, a_max), (b_min, b_max)) = (widen(a), widen(b));
    let most = b_min.abs().max(b_max.abs()) - 1;
    let least = b_min.abs().min(b_max.abs());
    if a_min.abs().max(a_max.abs()) < least {
        return a;
    }
    if let (Some(a), Some(b)) = (a.value(), b.value()) {
        return ValueRange::exact(a.wrapping_rem(b));
    }
    within(a_min.max(-most).min(0), a_max.min(most).max(0))
}

fn within(min: i128, max: i128) -> ValueRange {
    ValueRange {
        min: narrow(min),
        max: narrow(max),
        symbol: None,
    }
}

/// Whether the first number is less than the second, if that is the same for all.
pub(crate) fn less(a: ValueRange, b: ValueRange) -> Option<bool> {
    if a.max < b.min {
        return Some(true);
    }
    // The ends of i64 also stand for numbers beyond them.
    let bounded = a.min != i64::MIN && b.max != i64::MAX;
    (same(a, b) || bounded && a.min >= b.max).then_some(false)
}

/// Whether two numbers are equal, if that is the same for all.
pub(crate) fn equal(a: ValueRange, b: ValueRange) -> Option<bool> {
    if a.max < b.min || b.max < a.min {
        return Some(false);
    }
    let exact = |r: ValueRange| r.value().filter(|&x| x != i64::MIN && x != i64::MAX);
    let alike = exact(a).is_some() && exact(a) == exact(b);
    (same(a, b) || alike).then_some(true)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tensor::Symbol;

    fn range(min: i64, max: i64) -> ValueRange {
        ValueRange {
            min,
            max,
            symbol: None,
        }
    }

    #[test]
    fn symbols_survive_what_changes_nothing() {
        let size = ValueRange {
            symbol: Some(Symbol(7)),
            ..range(1, i64::MAX)
        };
        let exact = ValueRange::exact;
        assert_eq!(add(size, exact(0)), size);
        assert_eq!(add(exact(0), size), size);
        assert_eq!(subtract(size, exact(0)), size);
        assert_eq!(subtract(size, size), exact(0));
        assert_eq!(multiply(exact(1), size), size);
        assert_eq!(divide(size, exact(1), true), size);
        assert_eq!(divide(size, size, true), exact(1));
        assert_eq!(maximum(size, exact(1)), size);
        assert_eq!(minimum(size, exact(9)), range(1, 9));
        assert_eq!(add(size, exact(1)), range(2, i64::MAX));
        assert_eq!(multiply(size, exact(-2)), range(i64::MIN, -2));
        assert_eq!(divide(size, exact(2), true), range(0, i64::MAX));
        assert_eq!(modulo(exact(3), size), range(0, 3));
        assert_eq!(floor_modulo(range(0, 3), exact(7)), range(0, 3));
        assert_eq!(floor_modulo(size, exact(8)), range(0, 7));
        assert_eq!(modulo(size, size), exact(0));
        assert_eq!(less(exact(0), size), Some(true));
        assert_eq!(less(size, size), Some(false));
        assert_eq!(equal(size, exact(-1)), Some(false));
        assert_eq!(equal(size, size), Some(true));
        assert_eq!(equal(size, exact(4)), None);
    }

    #[test]
    fn what_wraps_is_unknown() {
        let fits = |min, max, ty| fit(range(min, max), ty) != ValueRange::UNKNOWN;
        assert!(fits(-128, 127, ElementType::I8));
        assert!(!fits(0, 128, ElementType::I8));
        assert!(!fits(-1, 3, ElementType::U32));
        assert!(!fits(0, i64::MAX, ElementType::U8));
        assert!(fits(0, i64::MAX, ElementType::I32));
        assert!(!fits(0, 1 << 31, ElementType::I32));
        assert!(fits(0, i64::MAX, ElementType::U64));
        assert!(!fits(i64::MAX, i64::MAX, ElementType::I64));
    }

    /// A range and a number in it.
    fn interval() -> impl Strategy<Value = (ValueRange, i64)> {
        (-9i64..9, 0i64..9, 0i64..30, 0..4).prop_map(|(min, more, pick, open)| match open {
            0 => (range(i64::MIN, min), min - pick),
            1 => (range(min, i64::MAX), min + pick),
            _ => (range(min, min + more), min + pick % (more + 1)),
        })
    }

    proptest! {
        #[test]
        fn enclose((a, x) in interval(), (b, y) in interval()) {
            let inside = |r: ValueRange, v: i64| r.min <= v && v <= r.max;
            prop_assert!(inside(add(a, b), x + y));
            prop_assert!(inside(subtract(a, b), x - y));
            prop_assert!(inside(multiply(a, b), x * y));
            prop_assert!(inside(maximum(a, b), x.max(y)));
            prop_assert!(inside(minimum(a, b), x.min(y)));
            let decided = |known: Option<bool>, holds: bool| known.is_none_or(|known| known == holds);
            prop_assert!(decided(less(a, b), x < y));
            prop_assert!(decided(equal(a, b), x == y));
            prop_assert!(inside(square(a), x * x));
            if y != 0 {
                prop_assert!(inside(modulo(a, b), x % y), "{x} {y}");
                let rest = x.rem_euclid(y);
                let down = if y < 0 && rest != 0 { rest + y } else { rest };
                prop_assert!(inside(floor_modulo(a, b), down), "{x} {y}");
                prop_assert!(inside(divide(a, b, false), x / y));
                let floor = x.div_euclid(y) - i64::from(y < 0 && x.rem_euclid(y) != 0);
                prop_assert!(inside(divide(a, b, true), floor), "{x} {y}");
            }
        }
    }
}
