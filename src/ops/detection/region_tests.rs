//! The operations that pool regions, on maps that are easy to add up.

use crate::op::attrs::Attr;
use crate::op::{Input, LayerData, NoWeights, Op};
use crate::ops::testing::{infer_dims, run, shape};
use crate::tensor::{ElementType, Tensor};

fn make(name: &str, version: u8, attributes: &[(&'static str, &'static str)]) -> Box<dyn Op> {
    let attributes: Vec<Attr<'_>> = attributes.iter().map(|&(n, v)| Attr::new(n, v)).collect();
    let (row, _) = crate::ops::find(version, name).expect("registered");
    let layer = LayerData {
        attributes: &attributes,
        weights: &NoWeights,
    };
    row.read(&layer).expect("good attributes").0
}

const ALIGN: [(&str, &str); 5] = [
    ("pooled_h", "2"),
    ("pooled_w", "2"),
    ("sampling_ratio", "2"),
    ("spatial_scale", "1"),
    ("mode", "avg"),
];

/// Maps of `10 * row + column`, plus 100 for each channel.
fn planes(images: usize, channels: usize, size: usize) -> Tensor {
    let data: Vec<f32> = (0..images * channels * size * size)
        .map(|i| (i / (size * size) * 100 + i / size % size * 10 + i % size) as f32)
        .collect();
    Tensor::new([images, channels, size, size], &data).expect("its length")
}

fn rois(width: usize, values: &[f32]) -> Tensor {
    Tensor::new([values.len() / width, width], values).expect("whole rows")
}

fn values(tensor: &Tensor) -> Vec<f32> {
    tensor.as_slice::<f32>().expect("f32").to_vec()
}

#[test]
fn aligned_averages_are_those_of_the_middle() {
    let boxes = rois(4, &[1.0, 2.0, 3.0, 4.0, 0.0, 0.0, 4.0, 2.0]);
    let inputs = [planes(1, 2, 6), boxes, Tensor::vector(&[0i32, 0])];
    let op = make("ROIAlign", 9, &ALIGN);
    let result = values(&run(&*op, &inputs).expect("good"));
    // The mean of a plane over a bin is its value in the middle.
    assert_eq!(result[..4], [26.5, 27.5, 36.5, 37.5]);
    assert_eq!(result[4..8], [126.5, 127.5, 136.5, 137.5]);
    assert_eq!(result[8..12], [6.0, 8.0, 16.0, 18.0]);
    let mut attributes = ALIGN.to_vec();
    attributes.push(("aligned_mode", "half_pixel"));
    let half = make("ROIAlign", 9, &attributes);
    assert_eq!(
        values(&run(&*half, &inputs).expect("good"))[..4],
        result[..4]
    );
    let old = make("ROIAlign", 3, &attributes);
    assert_eq!(values(&run(&*old, &inputs).expect("good")), result);
    attributes[5].1 = "half_pixel_for_nn";
    let nearest = make("ROIAlign", 9, &attributes);
    let moved: Vec<f32> = result[..4].iter().map(|x| x - 5.5).collect();
    assert_eq!(values(&run(&*nearest, &inputs).expect("good"))[..4], moved);
}

#[test]
fn maxima_may_be_negative() {
    let data = planes(1, 1, 4);
    let below: Vec<f32> = values(&data).iter().map(|x| x - 100.0).collect();
    let data = Tensor::new([1, 1, 4, 4], &below).expect("16");
    let mut attributes = ALIGN.to_vec();
    attributes[4].1 = "max";
    attributes[2].1 = "1";
    let op = make("ROIAlign", 3, &attributes);
    let inputs = [
        data,
        rois(4, &[0.0, 0.0, 2.0, 2.0]),
        Tensor::vector(&[0i64]),
    ];
    let result = values(&run(&*op, &inputs).expect("good"));
    assert_eq!(result, [-94.5, -93.5, -84.5, -83.5]);
}

#[test]
fn what_is_asked_for_must_be_there() {
    let op = make("ROIAlign", 9, &ALIGN);
    let (data, one) = (planes(1, 1, 4), rois(4, &[0.0, 0.0, 2.0, 2.0]));
    for batch in [1i64, -1] {
        assert!(run(&*op, &[data.clone(), one.clone(), Tensor::vector(&[batch])]).is_err());
    }
    let two = Tensor::vector(&[0i64, 0]);
    assert!(run(&*op, &[data.clone(), one, two]).is_err());
    let mut attributes = ALIGN.to_vec();
    attributes[2].1 = "0";
    let adaptive = make("ROIAlign", 9, &attributes);
    let huge = rois(4, &[0.0, 0.0, 1e30, 2.0]);
    let result = run(&*adaptive, &[data.clone(), huge, Tensor::vector(&[0i64])]);
    assert!(
        result
            .expect_err("no memory")
            .message
            .contains("too many samples")
    );
    let nothing = rois(4, &[f32::NAN, 0.0, f32::NAN, 2.0]);
    assert!(
        run(
            &*adaptive,
            &[data.clone(), nothing, Tensor::vector(&[0i64])]
        )
        .is_ok()
    );
    let pooling = [("pooled_h", "1"), ("pooled_w", "1"), ("spatial_scale", "1")];
    let pooling = make("ROIPooling", 2, &pooling);
    let outside = rois(5, &[1.0, 0.0, 0.0, 1.0, 1.0]);
    assert!(run(&*pooling, &[data, outside]).is_err());
    let f32 = ElementType::F32;
    let (maps, boxes, batches) = (shape("?,7,?,?"), shape("?,4"), shape("9"));
    let inputs = [
        Input::new(f32, &maps),
        Input::new(f32, &boxes),
        Input::new(ElementType::I32, &batches),
    ];
    assert_eq!(infer_dims(&*op, &inputs), "[9,7,2,2]");
    let unknown = shape("...");
    let inputs = [&unknown; 3].map(|s| Input::new(ElementType::Dynamic, s));
    assert_eq!(infer_dims(&*op, &inputs), "[?,?,2,2]");
}

#[test]
fn turned_by_a_quarter() {
    let attributes = |clockwise| {
        let mut attributes = ALIGN[..4].to_vec();
        attributes.push(("clockwise_mode", clockwise));
        make("ROIAlignRotated", 15, &attributes)
    };
    let turn = std::f32::consts::FRAC_PI_2;
    let boxes = rois(5, &[3.0, 3.0, 2.0, 2.0, 0.0, 3.0, 3.0, 2.0, 2.0, turn]);
    let inputs = [planes(1, 1, 6), boxes, Tensor::vector(&[0i32, 0])];
    for clockwise in ["false", "true"] {
        let result = values(&run(&*attributes(clockwise), &inputs).expect("good"));
        // Around (2.5, 2.5).
        assert_eq!(result[..4], [22.0, 23.0, 32.0, 33.0]);
        // Counterclockwise, the left upper bin takes the left lower place.
        let turned = match clockwise {
            "false" => [result[2], result[0], result[3], result[1]],
            _ => [result[1], result[3], result[0], result[2]],
        };
        for (a, b) in result[4..].iter().zip(turned) {
            assert!((a - b).abs() < 1e-4, "{clockwise} {result:?}");
        }
    }
}

#[test]
fn pooled_to_a_size() {
    let attributes = |method| {
        let list = [
            ("pooled_h", "2"),
            ("pooled_w", "2"),
            ("spatial_scale", "0.5"),
            ("method", method),
        ];
        make("ROIPooling", 2, &list)
    };
    // The second ends the list.
    let boxes = rois(5, &[1.0, 2.0, 2.0, 6.0, 8.0, -1.0, 0.0, 0.0, 8.0, 8.0]);
    let inputs = [planes(2, 1, 6), boxes];
    let result = values(&run(&*attributes("max"), &inputs).expect("good"));
    // Rows 1 to 4 and columns 1 to 3, of which the middle one is in both bins.
    assert_eq!(result, [122.0, 123.0, 142.0, 143.0, 0.0, 0.0, 0.0, 0.0]);
    let boxes = rois(5, &[0.0, 0.2, 0.0, 0.6, 1.0, 0.0, 0.5, 0.5, 1.5, 1.0]);
    let result = values(&run(&*attributes("bilinear"), &[planes(1, 1, 6), boxes]).expect("good"));
    assert_eq!(result, [1.0, 3.0, 51.0, 53.0, 27.5, 0.0, 52.5, 0.0]);
}

#[test]
fn pooled_by_position() {
    let attributes = |mode, bins| {
        let list = [
            ("output_dim", "2"),
            ("group_size", "2"),
            ("spatial_scale", "1"),
            ("mode", mode),
            ("spatial_bins_x", bins),
            ("spatial_bins_y", bins),
        ];
        make("PSROIPooling", 1, &list)
    };
    let boxes = rois(5, &[0.0, 0.0, 0.0, 3.0, 3.0]);
    let inputs = [planes(1, 8, 6), boxes.clone()];
    let result = values(&run(&*attributes("average", "1"), &inputs).expect("good"));
    let bins = [5.5, 107.5, 225.5, 327.5, 405.5, 507.5, 625.5, 727.5];
    assert_eq!(result, bins);
    assert!(run(&*attributes("average", "1"), &[planes(1, 7, 6), boxes]).is_err());
    let boxes = rois(5, &[0.0, 0.0, 0.0, 0.8, 0.8]);
    let result =
        values(&run(&*attributes("bilinear", "2"), &[planes(1, 8, 6), boxes]).expect("good"));
    // Of each quarter a corner, in channels 0, 2, 4, 6.
    let mean = |y: f32, x: f32| 300.0 + y * 10.0 + x;
    assert_eq!(
        result[..4],
        [
            mean(1.0, 1.0),
            mean(1.0, 3.0),
            mean(3.0, 1.0),
            mean(3.0, 3.0)
        ]
    );
    assert_eq!(
        result[4..],
        [
            mean(1.0, 1.0) + 100.0,
            mean(1.0, 3.0) + 100.0,
            mean(3.0, 1.0) + 100.0,
            mean(3.0, 3.0) + 100.0
        ]
    );
}

#[test]
fn moved_bins() {
    let list = [
        ("output_dim", "1"),
        ("group_size", "2"),
        ("spatial_scale", "1"),
        ("trans_std", "0.5"),
        ("part_size", "2"),
    ];
    let op = make("DeformablePSROIPooling", 1, &list);
    let boxes = rois(5, &[0.0, 1.0, 1.0, 2.0, 2.0]);
    let data = planes(1, 4, 6);
    // From 0.5, two wide: bins begin at 0.5 and 1.5.
    let result = values(&run(&*op, &[data.clone(), boxes.clone()]).expect("good"));
    assert_eq!(result, [5.5, 106.5, 215.5, 316.5]);
    // One bin moved a whole element to the right, one half an element down, one out of the map.
    let offsets = [1.0, 0.0, 0.0, 9.0, 0.0, 0.5, 0.0, 0.0];
    let offsets = Tensor::new([1, 2, 2, 2], &offsets.map(|x: f32| x)).expect("eight");
    let result = values(&run(&*op, &[data.clone(), boxes.clone(), offsets]).expect("good"));
    assert_eq!(result, [6.5, 111.5, 215.5, 0.0]);
    let wrong = Tensor::new([1, 3, 2, 2], &[0f32; 12]).expect("twelve");
    assert!(run(&*op, &[data, boxes, wrong]).is_err());
}
