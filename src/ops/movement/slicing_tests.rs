//! What follows from partly known slices.

use proptest::prelude::*;

use super::*;
use crate::tensor::Symbol;

/// The places that Python's slice gives.
pub(in crate::ops::movement) fn python(
    size: usize,
    start: i64,
    stop: i64,
    step: i64,
) -> Vec<usize> {
    let n = size as i128;
    let (least, most) = if step < 0 { (-1, n - 1) } else { (0, n) };
    let place = |x: i64| {
        let x = i128::from(x);
        (if x < 0 { x + n } else { x }).clamp(least, most)
    };
    let (mut i, stop) = (place(start), place(stop));
    let mut places = Vec::new();
    while (step > 0 && i < stop) || (step < 0 && i > stop) {
        places.push(usize::try_from(i).expect("in the axis"));
        i += i128::from(step);
    }
    places
}

fn size(dim: &str, start: (i64, i64), stop: (i64, i64), step: i64) -> String {
    let range = |(min, max)| ValueRange {
        min,
        max,
        symbol: None,
    };
    let dims: crate::tensor::PartialShape = dim.parse().expect("a dimension");
    let slice = Slice {
        start: range(start),
        stop: range(stop),
        step: ValueRange::exact(step),
    };
    slice
        .size(dims.dims().expect("a rank")[0], Before::Empty)
        .to_string()
}

#[test]
fn intervals() {
    let end = (i64::MAX, i64::MAX);
    assert_eq!(size("?", (0, 0), (3, 3), 1), "..3");
    assert_eq!(size("2..", (0, 0), (3, 3), 1), "2..3");
    assert_eq!(size("?", (1, 1), end, 1), "?");
    assert_eq!(size("5..9", (1, 1), end, 2), "2..4");
    assert_eq!(size("5..9", (0, 0), (-2, -2), 1), "3..7");
    assert_eq!(size("?", (-3, -3), end, 1), "..3");
    assert_eq!(size("5..", (-3, -3), end, 1), "3");
    assert_eq!(size("2..9", (-3, -3), (6, 6), 1), "..3");
    assert_eq!(size("?", (0, 0), (i64::MIN, i64::MAX), 1), "?");
    assert_eq!(size("7", (0, 2), (4, 5), 1), "2..5");
    assert_eq!(size("7", (-1, 1), (7, 7), 1), "1..7");
    assert_eq!(size("?", end, (i64::MIN, i64::MIN), -1), "?");
    assert_eq!(size("4..6", end, (0, 0), -1), "3..5");
}

#[test]
fn symbols_stay_where_nothing_is_cut() {
    let dim = |min, max| Dimension::range(min, max).with_symbol(Some(Symbol(4)));
    let all = dim(0, None);
    let to = |stop| Slice::exact(0, stop, 1).size(all, Before::Empty).symbol();
    assert_eq!(to(i64::MAX), Some(Symbol(4)));
    assert_eq!(to(i32::MAX.into()), Some(Symbol(4)));
    assert_eq!(to(100), None);
    let turned = Slice::exact(-1, i32::MIN.into(), -1);
    assert_eq!(turned.size(all, Before::Empty), all);
    let few = dim(0, Some(9));
    assert_eq!(Slice::exact(-9, 9, 1).size(few, Before::Empty), few);
    assert_eq!(
        Slice::exact(-8, 9, 1).size(few, Before::Empty).symbol(),
        None
    );
    // An axis of a known size cut to an unknown one has it; so has an axis cut to its own.
    let stop = |dim: Dimension| Slice {
        stop: dim.into(),
        ..Slice::exact(0, 0, 1)
    };
    assert_eq!(stop(few).size(Dimension::fixed(512), Before::Empty), few);
    assert_eq!(
        stop(few).size(Dimension::fixed(8), Before::Empty).symbol(),
        None
    );
    assert_eq!(stop(all).size(all, Before::Empty), all);
}

fn range() -> impl Strategy<Value = (i64, i64)> {
    (-9i64..9, 0i64..6).prop_map(|(min, more)| (min, min + more))
}

proptest! {
    #[test]
    fn exactly_what_can_be(
        dim in (0usize..7, 0usize..5),
        start in range(),
        stop in range(),
        step in (-4i64..4, 0i64..3).prop_map(|(min, more)| (min, min + more)),
        first in any::<bool>(),
    ) {
        let before = if first { Before::First } else { Before::Empty };
        let known = |(min, max)| ValueRange { min, max, symbol: None };
        let slice = Slice { start: known(start), stop: known(stop), step: known(step) };
        let (mut min, mut max) = (usize::MAX, 0);
        for n in dim.0..=dim.0 + dim.1 {
            for a in start.0..=start.1 {
                for b in stop.0..=stop.1 {
                    for s in (step.0..=step.1).filter(|&s| s != 0) {
                        let a_in = if s < 0 && first { a.max(-(n as i64)) } else { a };
                        let places = python(n, a_in, b, s);
                        min = min.min(places.len());
                        max = max.max(places.len());
                        let exact = Slice::exact(a, b, s).size(n.into(), before);
                        prop_assert_eq!(exact.value(), Some(places.len()));
                        if let Some(&place) = places.first() {
                            prop_assert_eq!(cut(n, a, s, places.len(), before).first, place);
                        }
                    }
                }
            }
        }
        prop_assume!(min <= max);
        let size = slice.size(Dimension::range(dim.0, Some(dim.0 + dim.1)), before);
        prop_assert_eq!(size, Dimension::range(min, Some(max)));
    }
}
