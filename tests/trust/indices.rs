//! Operations with indices or axes, each around the place where one of them stands.

use ovir::tensor::{ElementType, Tensor};

use super::{at, floats, int, ints};

/// An operation with one input, or one attribute, that says which element or axis is meant.
pub(super) struct Rule {
    /// Type and opset.
    pub(super) of: &'static str,
    pub(super) data: String,
    pub(super) inputs: Vec<Tensor>,
    /// The input with the indices; the last is no input if it is an attribute.
    pub(super) index: Option<usize>,
}

fn rule(of: &'static str, data: &str, inputs: Vec<Tensor>, index: usize) -> Rule {
    Rule {
        of,
        data: data.to_owned(),
        inputs,
        index: Some(index),
    }
}

/// Integers of this shape, all different.
fn data(shape: &[usize]) -> Tensor {
    let count = i32::try_from(shape.iter().product::<usize>()).expect("a few");
    Tensor::new(shape, &(0..count).collect::<Vec<_>>()).expect("as many")
}

/// A tensor of this shape, filled with the index: i64 if that holds it, else u64.
pub(super) fn filled(index: i128, shape: &[usize]) -> Tensor {
    let count = shape.iter().product();
    match i64::try_from(index) {
        Ok(index) => Tensor::new(shape, &vec![index; count]),
        Err(_) => {
            let index = u64::try_from(index).expect("an index of 64 bits");
            Tensor::new(shape, &vec![index; count])
        }
    }
    .expect("as many")
}

/// Indices into an axis of `n` elements.
pub(super) fn indices(n: usize, index: i128) -> Vec<Rule> {
    let fill = |shape: &[usize]| filled(index, shape);
    let source = || data(&[n, 2]);
    let table = || floats(&[n, 2]);
    let updates = || data(&[1, 2]);
    let depth = i64::try_from(n).expect("a small size");
    vec![
        rule("Gather-1", "", vec![source(), fill(&[2]), int(0)], 1),
        rule("Gather-7", "", vec![source(), fill(&[2]), int(0)], 1),
        rule("Gather-8", "", vec![source(), fill(&[2]), int(0)], 1),
        rule(
            "Gather-8",
            "batch_dims='1'",
            vec![data(&[2, n]), fill(&[2, 1]), int(1)],
            1,
        ),
        rule(
            "GatherElements-6",
            "axis='0'",
            vec![source(), fill(&[1, 2])],
            1,
        ),
        rule("GatherND-5", "", vec![source(), fill(&[1, 1])], 1),
        rule("GatherND-8", "", vec![source(), fill(&[1, 1])], 1),
        rule(
            "ScatterUpdate-3",
            "",
            vec![source(), fill(&[1]), updates(), int(0)],
            1,
        ),
        rule(
            "ScatterElementsUpdate-3",
            "",
            vec![source(), fill(&[1, 2]), updates(), int(0)],
            1,
        ),
        rule(
            "ScatterElementsUpdate-12",
            "",
            vec![source(), fill(&[1, 2]), updates(), int(0)],
            1,
        ),
        rule(
            "ScatterElementsUpdate-12",
            "reduction='sum'",
            vec![source(), fill(&[1, 2]), updates(), int(0)],
            1,
        ),
        rule(
            "ScatterNDUpdate-4",
            "",
            vec![source(), fill(&[1, 1]), updates()],
            1,
        ),
        rule(
            "ScatterNDUpdate-15",
            "reduction='sum'",
            vec![source(), fill(&[1, 1]), updates()],
            1,
        ),
        rule(
            "OneHot-1",
            "axis='-1'",
            vec![fill(&[2]), int(depth), int(1), int(0)],
            0,
        ),
        rule(
            "OneHot-16",
            "axis='0'",
            vec![fill(&[2]), int(depth), int(1), int(0)],
            0,
        ),
        rule(
            "EmbeddingBagOffsetsSum-3",
            "",
            vec![table(), fill(&[2]), ints(&[0])],
            1,
        ),
        rule(
            "EmbeddingBagOffsetsSum-3",
            "",
            vec![floats(&[2, 2]), at(&[n], &vec![0; n]), fill(&[1])],
            2,
        ),
        rule(
            "EmbeddingBagOffsets-15",
            "",
            vec![table(), fill(&[2]), ints(&[0])],
            1,
        ),
        rule(
            "EmbeddingBagPackedSum-3",
            "",
            vec![table(), fill(&[1, 2])],
            1,
        ),
        rule("EmbeddingBagPacked-15", "", vec![table(), fill(&[1, 2])], 1),
        rule(
            "EmbeddingSegmentsSum-3",
            "",
            vec![table(), fill(&[2]), ints(&[0, 0]), int(1)],
            1,
        ),
        rule(
            "EmbeddingSegmentsSum-3",
            "",
            vec![floats(&[2, 2]), ints(&[0]), fill(&[1]), int(depth)],
            2,
        ),
        rule(
            "ReverseSequence-1",
            "batch_axis='1' seq_axis='0'",
            vec![source(), fill(&[2])],
            1,
        ),
        rule(
            "Slice-8",
            "",
            vec![source(), fill(&[1]), ints(&[100]), ints(&[1])],
            1,
        ),
        rule(
            "Slice-8",
            "",
            vec![source(), ints(&[0]), fill(&[1]), ints(&[1])],
            2,
        ),
        rule(
            "Slice-8",
            "",
            vec![source(), ints(&[0]), ints(&[100]), fill(&[1])],
            3,
        ),
        rule(
            "SliceScatter-15",
            "",
            vec![source(), updates(), fill(&[1]), ints(&[100]), ints(&[1])],
            2,
        ),
        rule(
            "StridedSlice-1",
            "begin_mask='0' end_mask='0'",
            vec![source(), fill(&[1]), ints(&[100]), ints(&[1])],
            1,
        ),
        rule(
            "StridedSlice-1",
            "begin_mask='0' end_mask='0' shrink_axis_mask='1'",
            vec![source(), fill(&[1]), ints(&[100]), ints(&[1])],
            1,
        ),
        rule(
            "StridedSlice-1",
            "begin_mask='1' end_mask='1'",
            vec![source(), ints(&[0]), ints(&[0]), fill(&[1])],
            3,
        ),
        rule(
            "TopK-11",
            "axis='0' mode='max' sort='value'",
            vec![source(), fill(&[])],
            1,
        ),
        rule("Roll-7", "", vec![source(), fill(&[1]), ints(&[0])], 1),
        rule(
            "GatherTree-1",
            "",
            vec![
                at(&[2, 1, n], &vec![0; 2 * n]),
                filled(index, &[2, 1, n]),
                ints(&[2]),
                int(0),
            ],
            1,
        ),
        rule(
            "CTCLoss-4",
            "",
            vec![
                floats(&[1, 2, n]),
                ints(&[2]),
                fill(&[1, 2]),
                ints(&[1]),
                int(0),
            ],
            2,
        ),
        rule(
            "CTCLoss-4",
            "",
            vec![
                floats(&[1, 2, 3]),
                ints(&[2]),
                at(&[1, 2], &[0, 1]),
                fill(&[1]),
                int(2),
            ],
            3,
        ),
        rule(
            "CTCLoss-4",
            "",
            vec![
                floats(&[1, 2, n]),
                ints(&[2]),
                at(&[1, 2], &[0, 0]),
                ints(&[0]),
                fill(&[]),
            ],
            4,
        ),
        rule("VariadicSplit-1", "", vec![source(), int(0), fill(&[1])], 2),
        rule(
            "Reshape-1",
            "special_zero='true'",
            vec![source(), fill(&[1])],
            1,
        ),
    ]
}

/// Axes of tensors of two dimensions, as inputs.
pub(super) fn axes(index: i128) -> Vec<Rule> {
    let one = || filled(index, &[]);
    let list = || filled(index, &[1]);
    let source = || data(&[2, 3]);
    let real = || floats(&[2, 3]);
    let complex = || floats(&[2, 3, 2]);
    let truth = || Tensor::zeros(ElementType::Boolean, [2, 3]).expect("six");
    let mut rules = vec![
        rule("Gather-1", "", vec![source(), ints(&[0]), one()], 2),
        rule("Gather-8", "", vec![source(), ints(&[0]), one()], 2),
        rule(
            "ScatterUpdate-3",
            "",
            vec![data(&[3, 3]), ints(&[0]), data(&[1, 3]), one()],
            3,
        ),
        rule(
            "ScatterElementsUpdate-12",
            "",
            vec![source(), at(&[1, 1], &[0]), data(&[1, 1]), one()],
            3,
        ),
        rule("Split-1", "num_splits='1'", vec![source(), one()], 1),
        rule("VariadicSplit-1", "", vec![source(), one(), ints(&[-1])], 1),
        rule("CumSum-3", "", vec![source(), one()], 1),
        rule("Squeeze-1", "", vec![data(&[1, 1]), list()], 1),
        rule("Unsqueeze-1", "", vec![source(), list()], 1),
        rule("Reverse-1", "mode='index'", vec![source(), list()], 1),
        rule("Roll-7", "", vec![source(), ints(&[1]), list()], 2),
        rule(
            "Slice-8",
            "",
            vec![source(), ints(&[0]), ints(&[1]), ints(&[1]), list()],
            4,
        ),
        rule(
            "SliceScatter-15",
            "",
            vec![
                data(&[1, 1]),
                data(&[1, 1]),
                ints(&[0]),
                ints(&[1]),
                ints(&[1]),
                list(),
            ],
            5,
        ),
        rule(
            "MVN-6",
            "eps='1' eps_mode='inside_sqrt' normalize_variance='true'",
            vec![real(), list()],
            1,
        ),
        rule(
            "NormalizeL2-1",
            "eps='1' eps_mode='add'",
            vec![real(), list()],
            1,
        ),
        rule("DFT-7", "", vec![complex(), list()], 1),
        rule("IDFT-7", "", vec![complex(), list()], 1),
        rule("RDFT-9", "", vec![real(), list()], 1),
        rule("IRDFT-9", "", vec![complex(), list()], 1),
        rule(
            "Interpolate-11",
            "mode='nearest' shape_calculation_mode='sizes'",
            vec![real(), ints(&[2]), list()],
            2,
        ),
        rule("Unique-10", "", vec![source(), one()], 1),
        rule(
            "Broadcast-1",
            "mode='explicit'",
            vec![data(&[2]), ints(&[2, 2]), list()],
            2,
        ),
        rule(
            "Broadcast-3",
            "mode='explicit'",
            vec![data(&[2]), ints(&[2, 2]), list()],
            2,
        ),
        rule("Transpose-1", "", vec![data(&[3]), list()], 1),
        rule("ReduceLogicalAnd-1", "", vec![truth(), list()], 1),
        rule(
            "ReduceLogicalOr-1",
            "keep_dims='true'",
            vec![truth(), list()],
            1,
        ),
    ];
    for of in [
        "ReduceSum-1",
        "ReduceMean-1",
        "ReduceMax-1",
        "ReduceMin-1",
        "ReduceProd-1",
        "ReduceL1-4",
        "ReduceL2-4",
    ] {
        rules.push(rule(of, "keep_dims='true'", vec![real(), list()], 1));
        rules.push(rule(of, "", vec![real(), list()], 1));
    }
    rules
}

/// Axes of tensors of two dimensions, as attributes.
pub(super) fn axis_attributes(index: i128) -> Vec<Rule> {
    let source = || data(&[2, 3]);
    let real = || floats(&[2, 3]);
    let rule = |of, more: &str, inputs| Rule {
        of,
        data: format!("axis='{index}' {more}"),
        inputs,
        index: None,
    };
    vec![
        rule("Concat-1", "", vec![source(), source()]),
        rule("SoftMax-1", "", vec![real()]),
        rule("SoftMax-8", "", vec![real()]),
        rule("LogSoftmax-5", "", vec![real()]),
        rule("GatherElements-6", "", vec![source(), at(&[1, 1], &[0])]),
        rule("OneHot-1", "", vec![ints(&[0]), int(2), int(1), int(0)]),
        rule("OneHot-16", "", vec![ints(&[0]), int(2), int(1), int(0)]),
        rule("TopK-1", "mode='max' sort='value'", vec![source(), int(1)]),
        rule("TopK-3", "mode='max' sort='value'", vec![source(), int(1)]),
        rule("TopK-11", "mode='max' sort='value'", vec![source(), int(1)]),
        rule("ShuffleChannels-1", "group='1'", vec![source()]),
    ]
}
