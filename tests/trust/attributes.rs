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
    let rows: Vec<(&str, &str, String, Vec<Tensor>)> = vec![
        (
            "stride 0",
            "Convolution-1",
            conv("0,1", "0,0", "1,1", "explicit"),
            two(),
        ),
        (
            "stride negative",
            "Convolution-1",
            conv("-1,1", "0,0", "1,1", "explicit"),
            two(),
        ),
        (
            "dilation 0",
            "Convolution-1",
            conv("1,1", "0,0", "0,0", "explicit"),
            two(),
        ),
        (
            "dilation huge",
            "Convolution-1",
            conv("1,1", "0,0", "9223372036854775807,1", "explicit"),
            two(),
        ),
        (
            "pad far below",
            "Convolution-1",
            conv("1,1", "-9223372036854775808,0", "1,1", "explicit"),
            two(),
        ),
        (
            "pad above i64",
            "Convolution-1",
            conv("1,1", "9223372036854775808,0", "1,1", "explicit"),
            two(),
        ),
        (
            "strides too many",
            "Convolution-1",
            conv("1,1,1", "0,0", "1,1", "explicit"),
            two(),
        ),
        (
            "strides 100,000",
            "Convolution-1",
            conv(&long, "0,0", "1,1", "explicit"),
            two(),
        ),
        (
            "auto_pad of nonsense",
            "Convolution-1",
            conv("1,1", "0,0", "1,1", "diagonal"),
            two(),
        ),
        (
            "kernel 0",
            "AvgPool-1",
            pool("0,0", "1,1", "explicit"),
            one(),
        ),
        (
            "kernel negative",
            "AvgPool-1",
            pool("-2,2", "1,1", "explicit"),
            one(),
        ),
        (
            "kernel too large",
            "AvgPool-1",
            pool("9,9", "1,1", "explicit"),
            one(),
        ),
        (
            "kernel huge",
            "AvgPool-1",
            pool("18446744073709551615,1", "1,1", "explicit"),
            one(),
        ),
        (
            "pool stride 0",
            "MaxPool-1",
            "kernel='2,2' strides='0,0' pads_begin='0,0' pads_end='0,0'".into(),
            one(),
        ),
        ("not a number", "Elu-1", "alpha='abc'".into(), one()),
        ("missing number", "Elu-1", String::new(), one()),
        ("empty number", "Elu-1", "alpha=''".into(), one()),
        (
            "boolean of nonsense",
            "MatMul-1",
            "transpose_a='maybe'".into(),
            two(),
        ),
        (
            "unknown element type",
            "Convert-1",
            "destination_type='f31'".into(),
            one(),
        ),
        ("element type missing", "Convert-1", String::new(), one()),
        (
            "clamp backwards",
            "Clamp-1",
            "min='2' max='1'".into(),
            one(),
        ),
        ("clamp of NaN", "Clamp-1", "min='nan' max='1'".into(), one()),
        ("axis of words", "Concat-1", "axis='last'".into(), one()),
        (
            "axis far out",
            "Concat-1",
            "axis='9223372036854775807'".into(),
            one(),
        ),
        (
            "axis i64::MIN",
            "Concat-1",
            "axis='-9223372036854775808'".into(),
            one(),
        ),
        (
            "axis above i64",
            "Concat-1",
            "axis='9223372036854775808'".into(),
            one(),
        ),
        ("axis a fraction", "Concat-1", "axis='1.5'".into(), one()),
        ("axis missing", "Concat-1", String::new(), one()),
        (
            "softmax axis far out",
            "SoftMax-8",
            "axis='-5'".into(),
            one(),
        ),
        (
            "group 0",
            "ShuffleChannels-1",
            "axis='1' group='0'".into(),
            one(),
        ),
        (
            "group not dividing",
            "ShuffleChannels-1",
            "axis='1' group='3'".into(),
            one(),
        ),
        (
            "block 0",
            "DepthToSpace-1",
            "block_size='0' mode='blocks_first'".into(),
            one(),
        ),
        (
            "block huge",
            "SpaceToDepth-1",
            "block_size='9223372036854775807' mode='blocks_first'".into(),
            one(),
        ),
        (
            "mode of nonsense",
            "DepthToSpace-1",
            "block_size='1' mode='blocks_last'".into(),
            one(),
        ),
        (
            "LRN without size",
            "LRN-1",
            "alpha='1' beta='1' bias='1'".into(),
            one(),
        ),
        (
            "patches of stride 0",
            "ExtractImagePatches-3",
            "sizes='1,1' strides='0,0' rates='1,1' auto_pad='valid'".into(),
            one(),
        ),
        (
            "quantized to 1 level",
            "FakeQuantize-1",
            "levels='1'".into(),
            (0..5).map(|_| floats(&[1])).collect(),
        ),
        (
            "quantized to -1 levels",
            "FakeQuantize-1",
            "levels='-1'".into(),
            (0..5).map(|_| floats(&[1])).collect(),
        ),
        ("grn without bias", "GRN-1", String::new(), one()),
        (
            "ROI negative",
            "PSROIPooling-1",
            "output_dim='-1' group_size='0' spatial_scale='1' mode='average'".into(),
            vec![image(), floats(&[1, 5])],
        ),
    ];
    table(rows.into_iter().map(|(name, of, data, inputs)| {
        let (text, weights) = operation(of, &data, &inputs, |_| false);
        let mut bad = Bad::new(name, text, 3, "")
            .named(Named::Layer)
            .weights(weights);
        bad.inputs = inputs;
        bad
    }));
}
