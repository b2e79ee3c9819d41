//! The axes of a reduction, and the shape they leave.

use smallvec::SmallVec;

use crate::op::{Input, OpError, bail, ensure, normalize_axis};
use crate::tensor::{Dimension, PartialShape, ValueRange};

/// Whether one dimension of the data is reduced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Kept,
    /// Not known yet.
    Open,
    Reduced,
}

/// The shape of a reduction's output.
///
/// # Errors
/// When `axes` are not distinct axes of `data`.
pub(super) fn infer(
    data: &Input<'_>,
    axes: &Input<'_>,
    keep_dims: bool,
) -> Result<PartialShape, OpError> {
    axes.expect_integer("axes")?;
    axes.expect_at_most_1d("axes")?;
    let ranges = axes.ranges();
    let known = exact(ranges.as_deref().unwrap_or_default());
    if let Some(i) = (1..known.len()).find(|&i| known[..i].contains(&known[i])) {
        bail!("axes must be distinct, got {} twice", known[i]);
    }
    let count = match &ranges {
        Some(ranges) => Dimension::fixed(ranges.len()),
        None => axes.shape.elements(),
    };
    let Some(dims) = data.shape.dims() else {
        return Ok(of_unknown_rank(data, count, keep_dims));
    };
    let rank = dims.len();
    let fates = fates(rank, ranges.as_deref(), &known, count)?;
    if keep_dims {
        let dims = dims.iter().zip(&fates);
        return Ok(dims
            .map(|(dim, fate)| match fate {
                Fate::Kept => *dim,
                Fate::Open => dim.union(Dimension::fixed(1)),
                Fate::Reduced => Dimension::fixed(1),
            })
            .collect());
    }
    let left: Vec<(Dimension, Fate)> = dims
        .iter()
        .copied()
        .zip(fates)
        .filter(|&(_, fate)| fate != Fate::Reduced)
        .collect();
    if left.iter().all(|&(_, fate)| fate == Fate::Kept) {
        return Ok(left.into_iter().map(|(dim, _)| dim).collect());
    }
    match count.value() {
        // As many of the open dimensions as there are axes not accounted for are reduced.
        Some(count) => Ok(remove(&left, count - (rank - left.len()))),
        None => Ok(PartialShape::dynamic()),
    }
}

fn of_unknown_rank(data: &Input<'_>, count: Dimension, keep_dims: bool) -> PartialShape {
    if keep_dims || count.value() == Some(0) {
        data.shape.clone().into_owned()
    } else {
        PartialShape::dynamic()
    }
}

/// Which axes of `rank` are reduced.
///
/// # Errors
/// When one is out of range or named twice.
pub(super) fn mask(axes: &[i64], rank: usize) -> Result<SmallVec<[bool; 8]>, OpError> {
    let mut mask: SmallVec<[bool; 8]> = SmallVec::from_elem(false, rank);
    for &axis in axes {
        let index = normalize_axis(axis, rank)?;
        ensure!(
            !mask[index],
            "axes must be distinct, got {index} twice (axes {axes:?}, rank {rank})"
        );
        mask[index] = true;
    }
    Ok(mask)
}

fn exact(ranges: &[ValueRange]) -> Vec<i64> {
    ranges.iter().filter_map(|r| r.value()).collect()
}

fn fates(
    rank: usize,
    ranges: Option<&[ValueRange]>,
    known: &[i64],
    count: Dimension,
) -> Result<Vec<Fate>, OpError> {
    let reduced = mask(known, rank)?;
    ensure!(
        count.min() <= rank,
        "axes must be distinct, got {} of them for rank {rank}",
        count.min()
    );
    let open: Vec<ValueRange> = match ranges {
        Some(ranges) => ranges
            .iter()
            .filter(|r| r.value().is_none())
            .copied()
            .collect(),
        None if count.max() == Some(0) => Vec::new(),
        None => vec![ValueRange::UNKNOWN],
    };
    let all = count.min() == rank;
    Ok((0..rank)
        .map(|axis| {
            if all || reduced[axis] {
                Fate::Reduced
            } else if open.iter().any(|range| may_be(range, axis, rank)) {
                Fate::Open
            } else {
                Fate::Kept
            }
        })
        .collect())
}

fn may_be(range: &ValueRange, axis: usize, rank: usize) -> bool {
    let includes = |value: i64| range.min <= value && value <= range.max;
    match (i64::try_from(axis), i64::try_from(rank)) {
        (Ok(axis), Ok(rank)) => includes(axis) || includes(axis - rank),
        _ => true,
    }
}

/// The shape left when `count` of the open dimensions disappear, whichever they are.
fn remove(dims: &[(Dimension, Fate)], count: usize) -> PartialShape {
    let open = |dims: &[(Dimension, Fate)]| {
        let open = dims.iter().filter(|&&(_, fate)| fate == Fate::Open);
        open.count()
    };
    (0..dims.len().saturating_sub(count))
        .map(|out| {
            // Dimension `out` of the output is one of these: some disappear before it, the
            // others after it.
            (out..=out + count)
                .filter(|&i| open(&dims[..i]) >= i - out)
                .filter(|&i| open(&dims[i + 1..]) >= out + count - i)
                .map(|i| dims[i].0)
                .reduce(Dimension::union)
                .unwrap_or(Dimension::dynamic())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tensor::{ElementType, Symbol, Tensor};

    fn shape(text: &str) -> PartialShape {
        text.parse().expect("a shape")
    }

    fn of_known(data: &str, axes: &[i64], keep_dims: bool) -> Result<String, String> {
        let data = shape(data);
        let axes = Tensor::vector(axes);
        let data = Input::new(ElementType::F32, &data);
        infer(&data, &Input::of(&axes), keep_dims)
            .map(|shape| shape.to_string())
            .map_err(|e| e.message)
    }

    fn of_ranges(data: &str, ranges: &[ValueRange], keep_dims: bool) -> String {
        let (data, axes) = (shape(data), PartialShape::from([ranges.len()]));
        let data = Input::new(ElementType::F32, &data);
        let mut axes = Input::new(ElementType::I64, &axes);
        axes.ranges = Some(ranges);
        let shape = infer(&data, &axes, keep_dims).expect("good axes");
        shape.to_string()
    }

    fn of_unknown(data: &str, axes: &str, keep_dims: bool) -> Result<String, String> {
        let (data, axes) = (shape(data), shape(axes));
        let data = Input::new(ElementType::F32, &data);
        infer(&data, &Input::new(ElementType::I32, &axes), keep_dims)
            .map(|shape| shape.to_string())
            .map_err(|e| e.message)
    }

    #[test]
    fn known_axes() {
        for (data, axes, kept, removed) in [
            ("6,12,10,24", &[2, 3][..], "[6,12,1,1]", "[6,12]"),
            ("6,12,10,24", &[1], "[6,1,10,24]", "[6,10,24]"),
            ("6,12,10,24", &[-2], "[6,12,1,24]", "[6,12,24]"),
            ("6,12,10,24", &[], "[6,12,10,24]", "[6,12,10,24]"),
            ("?,2..5,0", &[-1, 0], "[1,2..5,1]", "[2..5]"),
            ("2,3", &[1, 0], "[1,1]", "[]"),
            ("", &[], "[]", "[]"),
            ("...", &[0], "[...]", "[...]"),
        ] {
            assert_eq!(of_known(data, axes, true), Ok(kept.to_owned()));
            assert_eq!(of_known(data, axes, false), Ok(removed.to_owned()));
        }
    }

    #[test]
    fn wrong_axes() {
        for (data, axes, message) in [
            ("2,3", &[2][..], "axis 2 is out of range for rank 2"),
            ("2,3", &[0, -3], "axis -3 is out of range for rank 2"),
            (
                "2,3",
                &[i64::MIN],
                "axis -9223372036854775808 is out of range for rank 2",
            ),
            (
                "2,3",
                &[i64::MAX],
                "axis 9223372036854775807 is out of range for rank 2",
            ),
            ("", &[0], "axis 0 is out of range for rank 0"),
            ("2,3", &[1, 1], "axes must be distinct, got 1 twice"),
            ("...", &[-1, 2, -1], "axes must be distinct, got -1 twice"),
            (
                "2,3",
                &[1, -1],
                "axes must be distinct, got 1 twice (axes [1, -1], rank 2)",
            ),
        ] {
            for keep_dims in [false, true] {
                assert_eq!(of_known(data, axes, keep_dims), Err(message.to_owned()));
            }
        }
        assert_eq!(
            of_unknown("2,3", "3", true),
            Err("axes must be distinct, got 3 of them for rank 2".to_owned())
        );
        assert!(of_unknown("2,3", "1,1", true).is_err());
    }

    #[test]
    fn unknown_axes() {
        for (data, axes, kept, removed) in [
            ("2,3,?", "?", "[1..2,1..3,?]", "[...]"),
            ("2,3,8", "", "[1..2,1..3,1..8]", "[2..3,3..8]"),
            ("2,3,8", "2", "[1..2,1..3,1..8]", "[2..8]"),
            ("2,3,8", "3", "[1,1,1]", "[]"),
            ("2,3,8", "3..", "[1,1,1]", "[]"),
            ("2,3,8", "0", "[2,3,8]", "[2,3,8]"),
            ("?,?", "1", "[?,?]", "[?]"),
            ("0,3", "...", "[..1,1..3]", "[...]"),
            ("...", "0", "[...]", "[...]"),
        ] {
            assert_eq!(of_unknown(data, axes, true), Ok(kept.to_owned()));
            assert_eq!(of_unknown(data, axes, false), Ok(removed.to_owned()));
        }
    }

    #[test]
    fn partly_known_axes() {
        let range = |min, max| ValueRange {
            min,
            max,
            symbol: None,
        };
        for (ranges, kept, removed) in [
            (
                &[ValueRange::exact(0), ValueRange::UNKNOWN][..],
                "[1,1..3,1..4,1..5]",
                "[3..4,4..5]",
            ),
            (&[range(1, 2)], "[2,1..3,1..4,5]", "[2,3..4,5]"),
            (&[range(-2, -1)], "[2,3,1..4,1..5]", "[2,3,4..5]"),
            (
                &[range(0, 1), ValueRange::exact(3)],
                "[1..2,1..3,4,1]",
                "[2..3,4]",
            ),
        ] {
            assert_eq!(of_ranges("2,3,4,5", ranges, true), kept);
            assert_eq!(of_ranges("2,3,4,5", ranges, false), removed);
        }
    }

    #[test]
    fn symbols_stay() {
        let n = Dimension::dynamic().with_symbol(Some(Symbol(7)));
        let data = PartialShape::from(&[n, Dimension::fixed(3), n][..]);
        let data = Input::new(ElementType::F32, &data);
        let axes = Tensor::vector(&[1i32]);
        let removed = infer(&data, &Input::of(&axes), false).expect("good axes");
        assert_eq!(removed, PartialShape::from(&[n, n][..]));
        let kept = infer(&data, &Input::of(&axes), true).expect("good axes");
        assert_eq!(kept, PartialShape::from(&[n, Dimension::fixed(1), n][..]));
    }

    proptest! {
        /// What is inferred from less holds for every case it may be.
        #[test]
        fn knowing_less_encloses(
            dims in prop::collection::vec((0usize..4, 0usize..2, 0usize..2, any::<bool>()), 0..5),
            slack in prop::collection::vec((0i64..3, 0i64..3), 5),
            keep_dims in any::<bool>(),
            from_end in any::<bool>(),
        ) {
            let rank = dims.len();
            let exact: PartialShape = dims.iter().map(|d| d.0).collect();
            let loose: PartialShape = dims
                .iter()
                .map(|&(d, below, above, _)| {
                    Dimension::range(d.saturating_sub(below), Some(d + above))
                })
                .collect();
            let axes: Vec<i64> = (0..rank)
                .filter(|&axis| dims[axis].3)
                .map(|axis| axis as i64 - if from_end { rank as i64 } else { 0 })
                .collect();
            let ranges: Vec<ValueRange> = axes
                .iter()
                .zip(&slack)
                .map(|(axis, (below, above))| ValueRange {
                    min: axis - below,
                    max: axis + above,
                    symbol: None,
                })
                .collect();
            let tensor = Tensor::vector(&axes);
            let truth = infer(&Input::new(ElementType::F32, &exact), &Input::of(&tensor), keep_dims);
            let truth = truth.expect("good axes").to_shape().expect("exact inputs");
            let length = PartialShape::from([axes.len()]);
            for data in [&exact, &loose, &PartialShape::dynamic()] {
                for length in [&length, &PartialShape::of_rank(1), &PartialShape::dynamic()] {
                    let mut input = Input::new(ElementType::I64, length);
                    if length.is_static() {
                        input.ranges = Some(&ranges);
                    }
                    let less = infer(&Input::new(ElementType::F32, data), &input, keep_dims);
                    let less = less.expect("good axes");
                    prop_assert!(less.contains(&truth), "{less} {truth} {data} {axes:?} {ranges:?}");
                }
            }
        }
    }
}
