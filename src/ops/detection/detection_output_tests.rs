//! Tests of DetectionOutput.

use super::*;
use crate::op::attrs::{Attr, read};
use crate::ops::testing::{infer_dims, run, shape};
use crate::tensor::ElementType;

fn op(attributes: &[(&'static str, &'static str)]) -> DetectionOutput {
    let mut all = attributes.to_vec();
    for (name, value) in [
        ("keep_top_k", "4"),
        ("nms_threshold", "0.5"),
        ("normalized", "true"),
        ("confidence_threshold", "0.25"),
        ("variance_encoded_in_target", "true"),
    ] {
        if all.iter().all(|(known, _)| *known != name) {
            all.push((name, value));
        }
    }
    let all: Vec<_> = all
        .iter()
        .map(|(name, value)| Attr::new(name, *value))
        .collect();
    read(&all).expect("good").0
}

/// One image with three priors, of which the first two overlap, and three classes.
fn inputs() -> [Tensor; 3] {
    let priors = [
        0.0f32, 0.0, 0.5, 0.5, 0.0, 0.0, 0.5, 0.375, 0.5, 0.5, 1.0, 1.25,
    ];
    let scores = [0.875f32, 0.5, 0.125, 0.0, 0.75, 0.25, 0.0, 0.25, 0.625];
    [
        Tensor::zeros(ElementType::F32, [1, 12]).expect("small"),
        Tensor::new([1, 9], &scores).expect("9"),
        Tensor::new([1, 1, 12], &priors).expect("12"),
    ]
}

/// Image, class, score and last coordinate of the rows before the end.
fn rows(op: &DetectionOutput, inputs: &[Tensor]) -> Vec<[f32; 4]> {
    let out = run(op, inputs).expect("fits");
    let rows = out.as_slice::<f32>().expect("f32").as_chunks::<7>().0;
    let found = rows.iter().take_while(|row| row[0] >= 0.0);
    let found: Vec<_> = found.map(|r| [r[0], r[1], r[2], r[6]]).collect();
    assert!(
        rows.iter()
            .skip(found.len() + 1)
            .all(|row| *row == [0.0; 7])
    );
    found
}

#[test]
fn by_class() {
    let both = [[0.0, 1.0, 0.75, 0.375], [0.0, 2.0, 0.625, 1.25]];
    assert_eq!(rows(&op(&[]), &inputs()), both);
    let background = op(&[("background_label_id", "-1"), ("keep_top_k", "2")]);
    let first = [0.0, 0.0, 0.875, 0.5];
    assert_eq!(rows(&background, &inputs()), [first, both[0]]);
    let clipped = op(&[
        ("clip_after_nms", "true"),
        ("confidence_threshold", "0.1"),
        ("top_k", "1"),
    ]);
    let cut = [0.0, 2.0, 0.625, 1.0];
    assert_eq!(rows(&clipped, &inputs()), [both[0], cut]);
    // The best class of each prior alone, counted from 0.
    let decreased = op(&[("decrease_label_id", "true")]);
    let all = [[0.0, 0.0, 0.75, 0.375], [0.0, 1.0, 0.625, 1.25]];
    assert_eq!(rows(&decreased, &inputs()), all);
}

#[test]
fn codes_and_places() {
    let [_, scores, priors] = inputs();
    let mut logits = [0.0f32; 36];
    // The third prior's box of class 2 moves down by half its height and grows.
    logits[33..36].copy_from_slice(&[0.5, 0.0, 2f32.ln()]);
    let logits = Tensor::new([1, 36], &logits).expect("36");
    let moved = [logits, scores, priors];
    let last = |code| {
        rows(
            &op(&[("share_location", "false"), ("code_type", code)]),
            &moved,
        )[1]
    };
    let center = last("caffe.PriorBoxParameter.CENTER_SIZE");
    assert!((center[3] - 2.0).abs() < 1e-6, "{center:?}");
    let corner = last("caffe.priorboxparameter.corner");
    assert!((corner[3] - (1.25 + 2f32.ln())).abs() < 1e-6, "{corner:?}");
}

#[test]
fn of_another_network() {
    let [logits, scores, priors] = inputs();
    let objects = Tensor::new([1, 6], &[0.0f32, 0.5, 0.0, 0.25, 0.0, 0.75]).expect("6");
    let mut moves = [0.0f32; 12];
    moves[11] = -0.25;
    let moves = Tensor::new([1, 12], &moves).expect("12");
    let all = [logits, scores, priors, objects, moves];
    let found = rows(&op(&[("objectness_score", "0.5")]), &all);
    assert_eq!(found, [[0.0, 1.0, 0.5, 0.5], [0.0, 2.0, 0.625, 1.0]]);
}

#[test]
fn priors_in_pixels_with_variances() {
    let [_, scores, _] = inputs();
    let logits = [
        1.0f32, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.0,
    ];
    let boxes = [
        9.0f32, 0.0, 0.0, 4.0, 4.0, 9.0, 0.0, 0.0, 4.0, 3.0, 9.0, 4.0, 4.0, 8.0, 10.0,
    ];
    let mut variances = [0.5f32; 15];
    variances[11] = 0.125;
    let pixels = [
        Tensor::new([1, 12], &logits).expect("12"),
        scores,
        Tensor::new([1, 2, 15], &[boxes, variances].concat()).expect("30"),
    ];
    let op = op(&[
        ("normalized", "false"),
        ("input_width", "8"),
        ("input_height", "8"),
        ("variance_encoded_in_target", "false"),
    ]);
    assert_eq!(rows(&op, &pixels).last(), Some(&[0.0, 2.0, 0.625, 1.5]));
}

#[test]
fn rows_of_the_output() {
    let shapes = ["?,8", "2..3,6", "1,1,8"].map(shape);
    let inputs = shapes.each_ref().map(|s| Input::new(ElementType::F32, s));
    assert_eq!(infer_dims(&op(&[]), &inputs), "[1,1,8..12,7]");
    let all = [("keep_top_k", "-1"), ("top_k", "5")];
    assert_eq!(infer_dims(&op(&all), &inputs), "[1,1,30..45,7]");
    assert_eq!(infer_dims(&op(&all[..1]), &inputs), "[1,1,12..18,7]");
    let unknown = ["...", "...", "..."].map(shape);
    let unknown = unknown.each_ref().map(|s| Input::new(ElementType::F32, s));
    assert_eq!(infer_dims(&op(&[]), &unknown), "[1,1,?,7]");
    let other = op(&[("num_classes", "4")]);
    assert!(other.infer(&inputs).is_err());
    assert!(op(&[("keep_top_k", "")]).infer(&inputs).is_err());
    assert!(op(&[("share_location", "false")]).infer(&inputs).is_err());
    assert!(op(&[("normalized", "false")]).infer(&inputs).is_err());
}

#[test]
fn required() {
    let message = |read: fn(&LayerData<'_>) -> ReadResult, attributes: &[Attr<'_>]| {
        let layer = LayerData {
            attributes,
            weights: &crate::op::NoWeights,
        };
        read(&layer)
            .map(|_| ())
            .map_err(|error| format!("{error:?}"))
    };
    let keep = Attr::new("keep_top_k", "1");
    let threshold = Attr::new("nms_threshold", "1");
    let both = [keep, threshold];
    assert!(message(read_8, &both).is_ok());
    let error = message(read_1, &both).expect_err("no num_classes");
    assert!(
        error.contains("attribute `num_classes` is missing"),
        "{error}"
    );
    let error = message(read_8, &both[1..]).expect_err("no keep_top_k");
    assert!(
        error.contains("attribute `keep_top_k` is missing"),
        "{error}"
    );
}
