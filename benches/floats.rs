//! Arithmetic, functions, products of matrices and convolutions.

use divan::Bencher;
use ovir::graph::Port;
use ovir::tensor::{ElementType, Tensor};

use crate::operation::{Case, Compiled, Evaluator, Way, random};

/// Pairs of elements, the second of which are broadcast: as many, one, one a channel, one a column.
#[divan::bench(types = [Evaluator, Compiled], args = ["64,128,56,56", "", "128,1,1", "56", "64,128,56,1"])]
fn add_broadcast<W: Way>(bencher: Bencher<'_, '_>, shape: &str) {
    let sizes = shape.split(',').filter_map(|size| size.parse().ok());
    let inputs = [
        random(ElementType::F32, &[64, 128, 56, 56], None),
        random(ElementType::F32, &sizes.collect::<Vec<_>>(), None),
    ];
    Case::operation(["Add", "opset1"], &[], &inputs, &[]).bench::<W>(bencher);
}

/// Images with their three channels last, less a mean for each.
#[divan::bench(types = [Evaluator, Compiled], args = [ElementType::F32, ElementType::F16])]
fn subtract_channels_last<W: Way>(bencher: Bencher<'_, '_>, ty: ElementType) {
    let inputs = [random(ty, &[8, 512, 512, 3], None), random(ty, &[3], None)];
    Case::operation(["Subtract", "opset1"], &[], &inputs, &[]).bench::<W>(bencher);
}

/// Powers with a usual exponent, and with another.
#[divan::bench(types = [Evaluator, Compiled], args = [2.0, 0.5, 2.5])]
fn power<W: Way>(bencher: Bencher<'_, '_>, exponent: f32) {
    let data = random(ElementType::F32, &[1 << 22], None);
    let exponent = Tensor::scalar(exponent);
    Case::operation(["Power", "opset1"], &[], &[data], &[exponent]).bench::<W>(bencher);
}

/// Functions of single elements.
#[divan::bench(types = [Evaluator, Compiled], args = ["Exp", "Tanh", "Erf", "Sigmoid", "Gelu"])]
fn function<W: Way>(bencher: Bencher<'_, '_>, type_name: &str) {
    let data = random(ElementType::F32, &[1 << 20], None);
    let version = if type_name == "Gelu" {
        "opset7"
    } else {
        "opset1"
    };
    Case::operation([type_name, version], &[], &[data], &[]).bench::<W>(bencher);
}

/// The weights of an attention, and long rows.
#[divan::bench(types = [Evaluator, Compiled], args = [&[12, 128, 128][..], &[4096, 1024]])]
fn softmax<W: Way>(bencher: Bencher<'_, '_>, shape: &[usize]) {
    let data = random(ElementType::F32, shape, None);
    let attributes = [("axis", "-1")];
    Case::operation(["SoftMax", "opset8"], &attributes, &[data], &[]).bench::<W>(bencher);
}

/// Rows, inner size, columns: of transformers, of convolutions, a vector, a square.
const PRODUCTS: [[usize; 3]; 5] = [
    [128, 768, 3072],
    [1, 768, 3072],
    [8, 768, 768],
    [64, 576, 3136],
    [512, 512, 512],
];

/// Products with weights, which are packed once.
#[divan::bench(types = [Evaluator, Compiled], args = PRODUCTS)]
fn matmul_weights<W: Way>(bencher: Bencher<'_, '_>, [m, k, n]: [usize; 3]) {
    let left = random(ElementType::F32, &[m, k], None);
    let weights = random(ElementType::F32, &[k, n], None);
    Case::operation(["MatMul", "opset1"], &[], &[left], &[weights])
        .computes(2 * m * k * n)
        .bench::<W>(bencher);
}

/// Products with weights of four bits, as language models store them: a zero point and a scale for each group
/// of 128 terms of a column, all in f16. Layer by layer the weights are widened anew each time.
#[divan::bench(types = [Compiled], args = [1, 8, 128])]
fn matmul_compressed<W: Way>(bencher: Bencher<'_, '_>, rows: usize) {
    let (size, group) = (2048, 128);
    let groups = size / group;
    let half = [("destination_type", "f16")];
    let single = [("destination_type", "f32")];
    let left = random(ElementType::F32, &[rows, size], None);
    Case::new(&[left], |graph, ports| {
        let codes = random(ElementType::U4, &[size, groups, group], None);
        let codes = graph.constant("codes", codes);
        let zero = graph.constant("zero", random(ElementType::U4, &[size, groups, 1], None));
        let scale = graph.constant("scale", random(ElementType::F16, &[size, groups, 1], None));
        let whole = Tensor::vector(&[size as i64, size as i64]);
        let whole = graph.constant("whole", whole);
        let mut add = |name: &str, operation: &str, attributes: &[_], inputs: &[Port]| {
            let output = graph.add(name, operation, "opset1", attributes, inputs);
            output.expect("an operation")
        };
        let codes = add("wide codes", "Convert", &half, &[codes]);
        let zero = add("wide zero", "Convert", &half, &[zero]);
        let shifted = add("shifted", "Subtract", &[], &[codes, zero]);
        let scaled = add("scaled", "Multiply", &[], &[shifted, scale]);
        let plain = [("special_zero", "false")];
        let matrix = add("matrix", "Reshape", &plain, &[scaled, whole]);
        let weights = add("weights", "Convert", &single, &[matrix]);
        let turned = [("transpose_a", "false"), ("transpose_b", "true")];
        add("y", "MatMul", &turned, &[ports[0], weights])
    })
    .computes(2 * rows * size * size)
    .bench::<W>(bencher);
}

/// Products of two inputs.
#[divan::bench(types = [Evaluator, Compiled], args = PRODUCTS)]
fn matmul_inputs<W: Way>(bencher: Bencher<'_, '_>, [m, k, n]: [usize; 3]) {
    let inputs = [[m, k], [k, n]].map(|shape| random(ElementType::F32, &shape, None));
    Case::operation(["MatMul", "opset1"], &[], &inputs, &[])
        .computes(2 * m * k * n)
        .bench::<W>(bencher);
}

/// Channels, filters, side of the image, side of the kernel.
#[divan::bench(types = [Evaluator, Compiled], args = [[64, 64, 56, 3], [256, 64, 56, 1], [256, 256, 14, 3]])]
fn convolution<W: Way>(bencher: Bencher<'_, '_>, [channels, filters, side, kernel]: [usize; 4]) {
    let data = random(ElementType::F32, &[1, channels, side, side], None);
    let weights = random(ElementType::F32, &[filters, channels, kernel, kernel], None);
    convolve::<W>(bencher, "Convolution", data, weights);
}

/// A filter of its own for each channel: channels, side of the image, side of the kernel.
#[divan::bench(types = [Evaluator, Compiled], args = [[144, 56, 3], [240, 28, 5]])]
fn convolution_by_channel<W: Way>(bencher: Bencher<'_, '_>, [channels, side, kernel]: [usize; 3]) {
    let data = random(ElementType::F32, &[1, channels, side, side], None);
    let weights = random(ElementType::F32, &[channels, 1, 1, kernel, kernel], None);
    convolve::<W>(bencher, "GroupConvolution", data, weights);
}

/// Convolves an image with a frame that keeps its size.
fn convolve<W: Way>(bencher: Bencher<'_, '_>, type_name: &str, data: Tensor, weights: Tensor) {
    let (image, kernel): (&[usize], &[usize]) = (data.shape(), weights.shape());
    let operations = 2 * image[2] * image[3] * kernel.iter().product::<usize>();
    let pad = kernel[kernel.len() - 1] / 2;
    let pads = format!("{pad},{pad}");
    let attributes = [
        ("strides", "1,1"),
        ("dilations", "1,1"),
        ("pads_begin", &pads),
        ("pads_end", &pads),
    ];
    Case::operation([type_name, "opset1"], &attributes, &[data], &[weights])
        .computes(operations)
        .bench::<W>(bencher);
}
