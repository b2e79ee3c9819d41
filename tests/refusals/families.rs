//! Operations that take memory of their own, one or more of each family.

use ovir::tensor::convert::convert;
use ovir::tensor::{Element, ElementType, Tensor};

/// Numbers of both signs, none far from zero.
pub(super) fn floats(dims: &[usize]) -> Tensor {
    let len = dims.iter().product();
    let all: Vec<f32> = (0..len)
        .map(|i: usize| (i * 37 % 101) as f32 / 50.0 - 1.0)
        .collect();
    Tensor::new(dims, &all).expect("as many")
}

/// Indices below `most`.
fn indices(dims: &[usize], most: usize) -> Tensor {
    let len = dims.iter().product();
    let all: Vec<i64> = (0..len).map(|i: usize| (i * 7 % most) as i64).collect();
    Tensor::new(dims, &all).expect("as many")
}

fn list<T: Element>(all: &[T]) -> Tensor {
    Tensor::vector(all)
}

/// Boxes `[x0, y0, x1, y1]`, some of which overlap.
fn boxes(dims: &[usize]) -> Tensor {
    let count: usize = dims.iter().product::<usize>() / 4;
    let corners = (0..count).flat_map(|i| {
        let (x, y) = ((i % 17) as f32, (i % 23) as f32);
        [x, y, x + 3.0, y + 2.0]
    });
    Tensor::new(dims, &corners.collect::<Vec<_>>()).expect("as many")
}

pub(super) type Family = (
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
    Vec<Tensor>,
);

/// Operations that take memory of their own, on inputs for which it is more than a little.
#[allow(clippy::too_many_lines)]
pub(super) fn families() -> Vec<Family> {
    let half = |tensor: Tensor| convert(&tensor, ElementType::F16).expect("floats");
    let long = |tensor: Tensor| convert(&tensor, ElementType::F64).expect("floats");
    let cell = |gates: usize, n: usize| {
        vec![
            floats(&[2, 5, 24]),
            floats(&[2, 2, n]),
            list(&[5i64, 3]),
            floats(&[2, gates * n, 24]),
            floats(&[2, gates * n, n]),
            floats(&[2, gates * n]),
        ]
    };
    let both = &[("direction", "bidirectional"), ("hidden_size", "32")];
    let mut lstm = cell(4, 32);
    lstm.insert(2, floats(&[2, 2, 32]));
    let resize = |mode| -> &'static [(&'static str, &'static str)] {
        match mode {
            0 => &[("mode", "nearest"), ("shape_calculation_mode", "sizes")],
            1 => &[("mode", "linear"), ("shape_calculation_mode", "sizes")],
            2 => &[("mode", "cubic"), ("shape_calculation_mode", "sizes")],
            3 => &[("mode", "linear_onnx"), ("shape_calculation_mode", "sizes")],
            _ => &[
                ("mode", "bicubic_pillow"),
                ("shape_calculation_mode", "sizes"),
            ],
        }
    };
    let mut all: Vec<Family> = vec![
        ("LSTMSequence", "opset5", both, lstm),
        ("GRUSequence", "opset5", both, cell(3, 32)),
        ("RNNSequence", "opset5", both, cell(1, 32)),
        (
            "ReduceSum",
            "opset1",
            &[("keep_dims", "false")],
            vec![half(floats(&[3, 3000])), list(&[0i64])],
        ),
        (
            "ReduceMax",
            "opset1",
            &[("keep_dims", "true")],
            vec![floats(&[300, 1500]), list(&[0i64])],
        ),
        (
            "EmbeddingBagPackedSum",
            "opset3",
            &[],
            vec![
                half(floats(&[50, 1000])),
                indices(&[600, 3], 50),
                half(floats(&[600, 3])),
            ],
        ),
        (
            "EmbeddingBagOffsetsSum",
            "opset3",
            &[],
            vec![
                floats(&[50, 1000]),
                indices(&[900], 50),
                list(&(0..700).collect::<Vec<i64>>()),
            ],
        ),
        (
            "SoftMax",
            "opset8",
            &[("axis", "0")],
            vec![floats(&[40, 4000])],
        ),
        (
            "LogSoftmax",
            "opset5",
            &[("axis", "0")],
            vec![floats(&[40, 4000])],
        ),
        (
            "TopK",
            "opset11",
            &[("axis", "1"), ("mode", "max"), ("sort", "value")],
            vec![floats(&[4, 3000]), Tensor::scalar(700i64)],
        ),
        (
            "DFT",
            "opset7",
            &[],
            vec![floats(&[40, 30, 2]), list(&[0i64, 1])],
        ),
        (
            "IDFT",
            "opset7",
            &[],
            vec![long(floats(&[40, 30, 2])), list(&[0i64])],
        ),
        (
            "Unique",
            "opset10",
            &[("sorted", "false")],
            vec![indices(&[3000], 900)],
        ),
        (
            "Unique",
            "opset10",
            &[("sorted", "true")],
            vec![floats(&[30, 70]), list(&[1i64])],
        ),
        (
            "SearchSorted",
            "opset15",
            &[],
            vec![
                half(list(&(0..2000).map(|i| i as f32).collect::<Vec<_>>())),
                half(floats(&[800])),
            ],
        ),
        (
            "Bucketize",
            "opset3",
            &[],
            vec![floats(&[50, 20]), list(&(0..900).collect::<Vec<i32>>())],
        ),
        (
            "CumSum",
            "opset3",
            &[],
            vec![floats(&[5, 2000]), Tensor::scalar(0i64)],
        ),
        (
            "LRN",
            "opset1",
            &[
                ("alpha", "1"),
                ("beta", "0.75"),
                ("bias", "1"),
                ("size", "3"),
            ],
            vec![floats(&[1, 30, 10, 10]), list(&[1i64])],
        ),
        (
            "MVN",
            "opset6",
            &[
                ("normalize_variance", "true"),
                ("eps", "1e-6"),
                ("eps_mode", "inside_sqrt"),
            ],
            vec![floats(&[10, 700]), list(&[0i64])],
        ),
        (
            "MatMul",
            "opset1",
            &[],
            vec![floats(&[70, 90]), floats(&[90, 110])],
        ),
        (
            "MatMul",
            "opset1",
            &[("transpose_b", "true")],
            vec![indices(&[30, 40], 9), indices(&[50, 40], 9)],
        ),
        (
            "Einsum",
            "opset7",
            &[("equation", "abc,cbd->da")],
            vec![floats(&[20, 10, 30]), floats(&[30, 10, 40])],
        ),
        ("Inverse", "opset14", &[], vec![floats(&[2, 40, 40])]),
        (
            "ScaledDotProductAttention",
            "opset13",
            &[("causal", "true")],
            vec![
                floats(&[2, 3, 40, 32]),
                floats(&[2, 3, 50, 32]),
                floats(&[2, 3, 50, 32]),
            ],
        ),
        (
            "Pad",
            "opset1",
            &[("pad_mode", "reflect")],
            vec![
                floats(&[400, 300]),
                list(&[20i64, 200]),
                list(&[30i64, 100]),
            ],
        ),
        (
            "Reverse",
            "opset1",
            &[("mode", "index")],
            vec![floats(&[400, 300]), list(&[0i64, 1])],
        ),
        (
            "Gather",
            "opset8",
            &[],
            vec![
                floats(&[2, 300, 4]),
                indices(&[500], 300),
                Tensor::scalar(1i64),
            ],
        ),
        (
            "ScatterElementsUpdate",
            "opset12",
            &[("reduction", "mean"), ("use_init_val", "false")],
            vec![
                half(floats(&[50, 60])),
                indices(&[40, 50], 50),
                half(floats(&[40, 50])),
                Tensor::scalar(0i64),
            ],
        ),
        (
            "ScatterElementsUpdate",
            "opset12",
            &[("reduction", "prod"), ("use_init_val", "false")],
            vec![
                floats(&[10, 300]),
                indices(&[900, 300], 10),
                floats(&[900, 300]),
                Tensor::scalar(0i64),
            ],
        ),
        (
            "ScatterNDUpdate",
            "opset15",
            &[("reduction", "sum")],
            vec![
                half(floats(&[70, 60])),
                indices(&[900, 1], 70),
                half(floats(&[900, 60])),
            ],
        ),
        (
            "GridSample",
            "opset9",
            &[("mode", "bilinear")],
            vec![floats(&[2, 3, 20, 20]), floats(&[2, 15, 15, 2])],
        ),
        (
            "GridSample",
            "opset9",
            &[("mode", "nearest")],
            vec![floats(&[2, 3, 20, 20]), floats(&[2, 15, 15, 2])],
        ),
        (
            "ROIAlign",
            "opset9",
            &[
                ("pooled_h", "6"),
                ("pooled_w", "6"),
                ("sampling_ratio", "2"),
                ("spatial_scale", "1"),
                ("mode", "avg"),
            ],
            vec![floats(&[1, 4, 30, 30]), boxes(&[40, 4]), indices(&[40], 1)],
        ),
        (
            "NonMaxSuppression",
            "opset9",
            &[("box_encoding", "corner")],
            vec![
                boxes(&[2, 300, 4]),
                floats(&[2, 3, 300]),
                Tensor::scalar(200i64),
                Tensor::scalar(0.9f32),
                Tensor::scalar(-2.0f32),
                Tensor::scalar(0.5f32),
            ],
        ),
        (
            "MulticlassNms",
            "opset9",
            &[],
            vec![boxes(&[2, 300, 4]), floats(&[2, 3, 300])],
        ),
        (
            "MatrixNms",
            "opset8",
            &[],
            vec![boxes(&[2, 300, 4]), floats(&[2, 3, 300])],
        ),
        (
            "CTCLoss",
            "opset4",
            &[],
            vec![
                floats(&[1, 900, 5]),
                list(&[900i64]),
                indices(&[1, 900], 3),
                list(&[400i64]),
                Tensor::scalar(4i64),
            ],
        ),
        (
            "Multinomial",
            "opset13",
            &[
                ("convert_type", "i64"),
                ("with_replacement", "true"),
                ("log_probs", "true"),
                ("global_seed", "1"),
                ("op_seed", "1"),
            ],
            vec![floats(&[2, 900]), list(&[700i64])],
        ),
        (
            "MaxPool",
            "opset8",
            &[
                ("kernel", "3,3"),
                ("strides", "2,2"),
                ("pads_begin", "0,0"),
                ("pads_end", "0,0"),
                ("rounding_type", "floor"),
            ],
            vec![floats(&[1, 2, 9, 1500])],
        ),
        (
            "AdaptiveAvgPool",
            "opset8",
            &[],
            vec![floats(&[1, 2, 700, 3]), list(&[600i64, 2])],
        ),
        (
            "Convolution",
            "opset1",
            &[
                ("strides", "1,1"),
                ("dilations", "1,1"),
                ("pads_begin", "1,1"),
                ("pads_end", "1,1"),
            ],
            vec![floats(&[1, 40, 20, 20]), floats(&[36, 40, 3, 3])],
        ),
        (
            "Convolution",
            "opset1",
            &[
                ("strides", "2,1"),
                ("dilations", "1,2"),
                ("pads_begin", "0,0"),
                ("pads_end", "0,0"),
            ],
            vec![long(floats(&[1, 4, 20, 20])), long(floats(&[6, 4, 3, 3]))],
        ),
        (
            "GroupConvolution",
            "opset1",
            &[
                ("strides", "1,1"),
                ("dilations", "1,1"),
                ("pads_begin", "1,1"),
                ("pads_end", "1,1"),
            ],
            vec![floats(&[1, 20, 30, 40]), floats(&[20, 1, 1, 3, 3])],
        ),
        (
            "ConvolutionBackpropData",
            "opset1",
            &[
                ("strides", "2,2"),
                ("dilations", "1,1"),
                ("pads_begin", "1,1"),
                ("pads_end", "1,1"),
            ],
            vec![floats(&[1, 10, 20, 20]), floats(&[10, 6, 4, 4])],
        ),
        (
            "DeformableConvolution",
            "opset8",
            &[
                ("strides", "1,1"),
                ("dilations", "1,1"),
                ("pads_begin", "0,0"),
                ("pads_end", "0,0"),
            ],
            vec![
                floats(&[1, 4, 20, 20]),
                floats(&[1, 18, 18, 18]),
                floats(&[6, 4, 3, 3]),
            ],
        ),
        (
            "SpaceToBatch",
            "opset2",
            &[],
            vec![
                floats(&[2, 40, 30]),
                list(&[1i64, 2, 3]),
                list(&[0i64, 1, 0]),
                list(&[0i64, 1, 3]),
            ],
        ),
    ];
    for mode in 0..5 {
        all.push((
            "Interpolate",
            "opset11",
            resize(mode),
            vec![
                floats(&[2, 3, 30, 200]),
                list(&[50i64, 400]),
                list(&[2i64, 3]),
            ],
        ));
    }
    all
}
