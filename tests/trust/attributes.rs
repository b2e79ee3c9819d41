//! Attributes that say what no operation understands.

use super::{Bad, Named, floats, operation, table};
use ovir::tensor::Tensor;

#[test]
fn attributes() {
    let image = || floats(&[1, 2, 5, 5]);
    let filter = || floats(&[2, 2, 3, 3]);
    let conv = |strides: &str, pads: &str, dilations: &str, auto: &str| {
        format!(
            "strides='{strides}' pads_begin='{pads}' pads_end='0,0' dilations='{dilations}' auto_pad='{auto}'"
        )
    };
    let pool = |kernel: &str, strides: &str, auto: &str| {
        format!(
            "kernel='{kernel}' strides='{strides}' pads_begin='0,0' pads_end='0,0' \
             exclude-pad='true' rounding_type='floor' auto_pad='{auto}'"
        )
    };
    let long = vec!["1"; 100_000].join(",");
    let two = || vec![image(), filter()];
    let one = || vec![image()];
    let rows: Vec<(&str, &str, String, Vec<Tensor>, &str)> = vec![
        (
            "stride 0",
            "Convolution-1",
            conv("0,1", "0,0", "1,1", "explicit"),
            two(),
            "strides has 0, expected 1 or more",
        ),
        (
            "stride negative",
            "Convolution-1",
            conv("-1,1", "0,0", "1,1", "explicit"),
            two(),
            "strides has -1, expected 1 or more",
        ),
        (
            "dilation 0",
            "Convolution-1",
            conv("1,1", "0,0", "0,0", "explicit"),
            two(),
            "dilations has 0, expected 1 or more",
        ),
        (
            "dilation huge",
            "Convolution-1",
            conv("1,1", "0,0", "9223372036854775807,1", "explicit"),
            two(),
            "dilations has 9223372036854775807, expected at most 72057594037927936",
        ),
        (
            "pad far below",
            "Convolution-1",
            conv("1,1", "-9223372036854775808,0", "1,1", "explicit"),
            two(),
            "pads_begin has -9223372036854775808, expected 0 or more",
        ),
        (
            "pad above i64",
            "Convolution-1",
            conv("1,1", "9223372036854775808,0", "1,1", "explicit"),
            two(),
            "attribute `pads_begin`: `9223372036854775808` is not a 64-bit integer",
        ),
        (
            "strides too many",
            "Convolution-1",
            conv("1,1,1", "0,0", "1,1", "explicit"),
            two(),
            "the attributes has 3 spatial axes, expected 2",
        ),
        (
            "strides 100,000",
            "Convolution-1",
            conv(&long, "0,0", "1,1", "explicit"),
            two(),
            "the attributes has 100000 spatial axes, expected 2",
        ),
        (
            "auto_pad of nonsense",
            "Convolution-1",
            conv("1,1", "0,0", "1,1", "diagonal"),
            two(),
            "attribute `auto_pad`: `diagonal` is not one of explicit, same_upper, s",
        ),
        (
            "kernel 0",
            "AvgPool-1",
            pool("0,0", "1,1", "explicit"),
            one(),
            "kernel has 0, expected 1 or more",
        ),
        (
            "kernel negative",
            "AvgPool-1",
            pool("-2,2", "1,1", "explicit"),
            one(),
            "kernel has -2, expected 1 or more",
        ),
        (
            "kernel too large",
            "AvgPool-1",
            pool("9,9", "1,1", "explicit"),
            one(),
            "the kernel spans 9 elements of axis 0, expected at most 5",
        ),
        (
            "kernel huge",
            "AvgPool-1",
            pool("18446744073709551615,1", "1,1", "explicit"),
            one(),
            "attribute `kernel`: `18446744073709551615` is not a 64-bit integer",
        ),
        (
            "pool stride 0",
            "MaxPool-1",
            "kernel='2,2' strides='0,0' pads_begin='0,0' pads_end='0,0'".into(),
            one(),
            "strides has 0, expected 1 or more",
        ),
        (
            "not a number",
            "Elu-1",
            "alpha='abc'".into(),
            one(),
            "attribute `alpha`: `abc` is not a number",
        ),
        (
            "missing number",
            "Elu-1",
            String::new(),
            one(),
            "attribute `alpha` is missing",
        ),
        (
            "empty number",
            "Elu-1",
            "alpha=''".into(),
            one(),
            "attribute `alpha`: `` is not a number",
        ),
        (
            "boolean of nonsense",
            "MatMul-1",
            "transpose_a='maybe'".into(),
            two(),
            "attribute `transpose_a`: `maybe` is not true or false",
        ),
        (
            "unknown element type",
            "Convert-1",
            "destination_type='f31'".into(),
            one(),
            "attribute `destination_type`: `f31` is not an element type, expected o",
        ),
        (
            "element type missing",
            "Convert-1",
            String::new(),
            one(),
            "attribute `destination_type` is missing",
        ),
        (
            "clamp backwards",
            "Clamp-1",
            "min='2' max='1'".into(),
            one(),
            "min is 2 and max is 1, expected no more than max",
        ),
        (
            "clamp of NaN",
            "Clamp-1",
            "min='nan' max='1'".into(),
            one(),
            "min is NaN and max is 1, expected no more than max",
        ),
        (
            "axis of words",
            "Concat-1",
            "axis='last'".into(),
            one(),
            "attribute `axis`: `last` is not an integer",
        ),
        (
            "axis far out",
            "Concat-1",
            "axis='9223372036854775807'".into(),
            one(),
            "axis 9223372036854775807 is out of range for rank 4",
        ),
        (
            "axis i64::MIN",
            "Concat-1",
            "axis='-9223372036854775808'".into(),
            one(),
            "axis -9223372036854775808 is out of range for rank 4",
        ),
        (
            "axis above i64",
            "Concat-1",
            "axis='9223372036854775808'".into(),
            one(),
            "attribute `axis`: `9223372036854775808` is not a 64-bit integer",
        ),
        (
            "axis a fraction",
            "Concat-1",
            "axis='1.5'".into(),
            one(),
            "attribute `axis`: `1.5` is not an integer",
        ),
        (
            "axis missing",
            "Concat-1",
            String::new(),
            one(),
            "attribute `axis` is missing",
        ),
        (
            "softmax axis far out",
            "SoftMax-8",
            "axis='-5'".into(),
            one(),
            "axis -5 is out of range for rank 4",
        ),
        (
            "group 0",
            "ShuffleChannels-1",
            "axis='1' group='0'".into(),
            one(),
            "group is 0, expected at least 1",
        ),
        (
            "group not dividing",
            "ShuffleChannels-1",
            "axis='1' group='3'".into(),
            one(),
            "axis 1 of size 2 cannot be divided by 3",
        ),
        (
            "block 0",
            "DepthToSpace-1",
            "block_size='0' mode='blocks_first'".into(),
            one(),
            "block_size is 0, expected at least 1",
        ),
        (
            "block huge",
            "SpaceToDepth-1",
            "block_size='9223372036854775807' mode='blocks_first'".into(),
            one(),
            "axis 2 of size 5 cannot be divided by 9223372036854775807",
        ),
        (
            "mode of nonsense",
            "DepthToSpace-1",
            "block_size='1' mode='blocks_last'".into(),
            one(),
            "attribute `mode`: `blocks_last` is not one of blocks_first, depth_firs",
        ),
        (
            "LRN without size",
            "LRN-1",
            "alpha='1' beta='1' bias='1'".into(),
            one(),
            "attribute `size` is missing",
        ),
        (
            "patches of stride 0",
            "ExtractImagePatches-3",
            "sizes='1,1' strides='0,0' rates='1,1' auto_pad='valid'".into(),
            one(),
            "strides is [0, 0], expected two numbers of at least 1",
        ),
        (
            "quantized to 1 level",
            "FakeQuantize-1",
            "levels='1'".into(),
            (0..5).map(|_| floats(&[1])).collect(),
            "levels is 1, expected at least 2",
        ),
        (
            "quantized to -1 levels",
            "FakeQuantize-1",
            "levels='-1'".into(),
            (0..5).map(|_| floats(&[1])).collect(),
            "attribute `levels`: `-1` is not in the range of u32",
        ),
        (
            "grn without bias",
            "GRN-1",
            String::new(),
            one(),
            "attribute `bias` is missing",
        ),
        (
            "ROI negative",
            "PSROIPooling-1",
            "output_dim='-1' group_size='0' spatial_scale='1' mode='average'".into(),
            vec![image(), floats(&[1, 5])],
            "output_dim must be positive, got -1",
        ),
    ];
    table(rows.into_iter().map(|(name, of, data, inputs, phrase)| {
        let (text, weights) = operation(of, &data, &inputs, |_| false);
        let mut bad = Bad::new(name, text, 3, phrase)
            .named(Named::Layer)
            .weights(weights);
        bad.inputs = inputs;
        bad
    }));
}

/// Layers without an attribute that the documents require.
#[test]
fn required_attributes() {
    let slides = "strides='1,1' dilations='1,1' pads_begin='0,0' pads_end='0,0'";
    let pool = "kernel='1,1' strides='1,1'";
    let rows: &[(&str, &str)] = &[
        ("Convolution-1", slides),
        ("GroupConvolution-1", slides),
        ("BinaryConvolution-1", slides),
        ("DeformableConvolution-1", slides),
        ("DeformableConvolution-8", slides),
        ("ConvolutionBackpropData-1", "strides='1,1'"),
        ("GroupConvolutionBackpropData-1", "strides='1,1'"),
        ("AvgPool-1", pool),
        ("AvgPool-14", pool),
        ("AvgPool-16", pool),
        ("MaxPool-1", pool),
        ("MaxPool-8", pool),
        ("MaxPool-14", pool),
        (
            "ExtractImagePatches-3",
            "sizes='1,1' strides='1,1' rates='1,1' auto_pad='valid'",
        ),
        (
            "ROIPooling-2",
            "pooled_h='1' pooled_w='1' spatial_scale='1'",
        ),
        ("PSROIPooling-1", "output_dim='1' spatial_scale='1'"),
        (
            "DeformablePSROIPooling-1",
            "output_dim='1' spatial_scale='1'",
        ),
        ("ReorgYolo-2", "stride='1'"),
        ("GroupNormalization-12", "num_groups='1' epsilon='0.1'"),
        ("LRN-1", "alpha='1' beta='1' bias='1' size='1'"),
        ("GRN-1", "bias='1'"),
        ("Split-1", "num_splits='1'"),
        ("Concat-1", "axis='0'"),
        ("LSTMCell-4", "hidden_size='1'"),
        ("GRUCell-3", "hidden_size='1'"),
        ("Einsum-7", "equation='a->a'"),
        ("Elu-1", "alpha='1'"),
        ("Clamp-1", "min='0' max='1'"),
        ("Convert-1", "destination_type='f32'"),
        ("RandomUniform-8", "output_type='f32'"),
        ("Assign-6", "variable_id='v'"),
    ];
    let one = [floats(&[1, 1, 1, 1])];
    table(rows.iter().flat_map(|(of, data)| {
        let all: Vec<&str> = data.split(' ').collect();
        let one = &one;
        (0..all.len()).map(move |left_out| {
            let mut rest = all.clone();
            let (name, _) = rest.remove(left_out).split_once('=').expect("a value");
            let (text, _) = operation(of, &rest.join(" "), one, |_| false);
            let phrase = format!("attribute `{name}` is missing");
            let mut bad = Bad::new(&format!("{of} without {name}"), text, 3, &phrase);
            bad.inputs = one.to_vec();
            bad.named(Named::Layer)
        })
    }));
}
