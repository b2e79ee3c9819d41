//! Sizes beyond what tensors have: a limit, with the sizes.

use ovir::tensor::Tensor;

use super::operations::both;
use super::{Bad, Named, floats, int, ints, operation, table};

#[test]
fn sizes_that_are_too_large() {
    let most = i64::MAX;
    let number = Tensor::scalar::<f32>;
    let pads = |begin: i64, end: i64| vec![floats(&[3]), ints(&[begin]), ints(&[end])];
    let pad = "pad_mode='constant'";
    both(vec![
        (
            "tile to usize::MAX",
            "Tile-1",
            "",
            vec![floats(&[3]), ints(&[6_148_914_691_236_517_205])],
            5,
            "size 3 cannot be repeated 6148914691236517205 times",
        ),
        (
            "tile below usize::MAX",
            "Tile-1",
            "",
            vec![floats(&[2]), ints(&[most])],
            5,
            "size 2 cannot be repeated 9223372036854775807",
        ),
        (
            "tile to i64::MAX",
            "Tile-1",
            "",
            vec![floats(&[7]), ints(&[most / 7])],
            5,
            "size 7 cannot be repeated 1317624576693539401 times",
        ),
        (
            "pads",
            "Pad-12",
            pad,
            pads(most, most),
            5,
            "a size of 18446744073709551617 is too large",
        ),
        (
            "pad to i64::MAX",
            "Pad-12",
            pad,
            pads(most - 3, 0),
            5,
            "a size of 9223372036854775807 is too large",
        ),
        (
            "range",
            "Range-4",
            "output_type='i64'",
            vec![int(most), int(i64::MIN), int(-1)],
            5,
            "18446744073709551615",
        ),
        (
            "range of floats",
            "Range-4",
            "output_type='f32'",
            vec![number(0.0), number(1e30), number(1.0)],
            5,
            "too large",
        ),
        (
            "one hot",
            "OneHot-1",
            "axis='-1'",
            vec![ints(&[0]), int(most), number(1.0), number(0.0)],
            5,
            "axis 1 is too large",
        ),
        (
            "eye",
            "Eye-9",
            "output_type='f32'",
            vec![int(most), int(1), int(0)],
            5,
            "axis 0 is too large",
        ),
        (
            "broadcast",
            "Broadcast-3",
            "mode='numpy'",
            vec![floats(&[]), ints(&[most])],
            5,
            "axis 0 is too large",
        ),
        (
            "space to batch",
            "SpaceToBatch-2",
            "",
            vec![
                floats(&[1, 1]),
                ints(&[1, 1]),
                ints(&[0, most]),
                ints(&[0, most]),
            ],
            5,
            "a size of 18446744073709551615 is too large",
        ),
    ]);
}

/// Segments of nothing take no memory, however many there are.
#[test]
fn segments_of_nothing() {
    both(vec![(
        "segments",
        "EmbeddingSegmentsSum-3",
        "",
        vec![floats(&[3, 0]), ints(&[0]), ints(&[0]), int(1 << 62)],
        5,
        "cannot allocate",
    )]);
}

#[test]
fn outputs_without_elements() {
    both(vec![
        (
            "crop beyond the beginning",
            "Pad-12",
            "pad_mode='constant'",
            vec![floats(&[3]), ints(&[-9]), ints(&[0])],
            3,
            "the pads of axis 0, of size 3, leave -6 elements",
        ),
        (
            "crop beyond the end",
            "Pad-12",
            "pad_mode='edge'",
            vec![floats(&[3]), ints(&[1]), ints(&[-5])],
            3,
            "leave -1 elements",
        ),
    ]);
    let rois = [floats(&[1, 1, 4, 4]), floats(&[1, 5])];
    table(["0", "-1"].map(|height| {
        let data = format!("pooled_h='{height}' pooled_w='2' spatial_scale='1' method='max'");
        let (text, _) = operation("ROIPooling-2", &data, &rois, |_| false);
        let mut bad = Bad::new(height, text, 3, "pooled_h and pooled_w must be positive");
        bad.inputs = rois.to_vec();
        bad.named(Named::Layer)
    }));
}
