//! Small files that ask for more memory or time than there is.

use ovir::tensor::Tensor;

use super::operations::both;
use super::{Bad, Named, floats, int, ints, table};

#[test]
fn bombs() {
    let scalar = || floats(&[]);
    let huge = 200_000;
    both(vec![
        (
            "square",
            "Broadcast-3",
            "mode='numpy'",
            vec![scalar(), ints(&[huge, huge])],
            5,
            "an output f32[200000,200000] needs 160000000000 bytes, the limit of",
        ),
        (
            "beyond u64",
            "Broadcast-3",
            "mode='numpy'",
            vec![scalar(), ints(&[1 << 62, 1 << 62])],
            5,
            "an output f32[4611686018427387904,4611686018427387904] needs 184467440",
        ),
        (
            "tile",
            "Tile-1",
            "",
            vec![floats(&[1, 1]), ints(&[huge, huge])],
            5,
            "an output f32[200000,200000] needs 160000000000 bytes, the limit of",
        ),
        (
            "range",
            "Range-4",
            "output_type='i64'",
            vec![int(0), int(i64::MAX), int(1)],
            5,
            "a size of 9223372036854775807 is too large, the limit is 9223372036854",
        ),
        (
            "pad",
            "Pad-1",
            "pad_mode='constant'",
            vec![floats(&[1, 1]), ints(&[huge, 0]), ints(&[0, huge])],
            5,
            "an output f32[200001,200001] needs 160001600004 bytes, the limit of",
        ),
        (
            "edge",
            "Pad-1",
            "pad_mode='edge'",
            vec![floats(&[1, 1]), ints(&[huge, 0]), ints(&[0, huge])],
            5,
            "an output f32[200001,200001] needs 160001600004 bytes, the limit of",
        ),
        (
            "eye",
            "Eye-9",
            "output_type='f32'",
            vec![int(huge), int(huge), int(0)],
            5,
            "an output f32[200000,200000] needs 160000000000 bytes, the limit of on",
        ),
        (
            "random",
            "RandomUniform-8",
            "output_type='f32' global_seed='1' op_seed='1'",
            vec![ints(&[huge, huge]), scalar(), Tensor::scalar(1f32)],
            5,
            "an output f32[200000,200000] needs 160000000000 bytes, the limit of on",
        ),
        (
            "resize",
            "Interpolate-11",
            "mode='nearest' shape_calculation_mode='sizes'",
            vec![floats(&[1, 1, 2, 2]), ints(&[huge, huge]), ints(&[2, 3])],
            5,
            "an output f32[1,1,200000,200000] needs 160000000000 bytes, the limit o",
        ),
    ]);
}

/// A loop that nothing ends but the limit.
#[test]
fn endless_loops() {
    let text = "<net name='n' version='11'>\n<layers>\n\
        <layer id='0' name='trips' type='Const' version='opset1'><data shape='' element_type='i64' \
        offset='0' size='8'/><output><port id='0' precision='FP32'/></output></layer>\n\
        <layer id='1' name='go' type='Const' version='opset1'><data shape='' \
        element_type='boolean' offset='8' size='1'/><output><port id='0' precision='FP32'/></output></layer>\n\
        <layer id='2' name='x' type='Parameter' version='opset1'><data shape='2' \
        element_type='f32'/><output><port id='0' precision='FP32'/></output></layer>\n\
        <layer id='3' name='loop' type='Loop' version='opset5'>\n<port_map>\
        <input external_port_id='2' internal_layer_id='0'/>\
        <output external_port_id='3' internal_layer_id='2'/>\
        <output external_port_id='-1' internal_layer_id='4' purpose='execution_condition'/>\
        </port_map>\n<back_edges><edge from-layer='2' to-layer='0'/></back_edges>\n\
        <input><port id='0'/><port id='1'/><port id='2'/></input>\
        <output><port id='3' precision='FP32'/></output>\n<body><layers>\n\
        <layer id='0' name='a' type='Parameter' version='opset1'><data shape='2' \
        element_type='f32'/><output><port id='0' precision='FP32'/></output></layer>\n\
        <layer id='1' name='b' type='ReLU' version='opset1'><input><port id='0'/></input>\
        <output><port id='1' precision='FP32'/></output></layer>\n\
        <layer id='2' name='c' type='Result' version='opset1'><input><port id='0'/></input>\
        </layer>\n<layer id='3' name='yes' type='Const' version='opset1'><data shape='' \
        element_type='boolean' offset='8' size='1'/><output><port id='0' precision='FP32'/></output></layer>\n\
        <layer id='4' name='d' type='Result' version='opset1'><input><port id='0'/></input>\
        </layer>\n</layers>\n<edges>\
        <edge from-layer='0' from-port='0' to-layer='1' to-port='0'/>\
        <edge from-layer='1' from-port='1' to-layer='2' to-port='0'/>\
        <edge from-layer='3' from-port='0' to-layer='4' to-port='0'/></edges></body>\n</layer>\n\
        <layer id='4' name='r' type='Result' version='opset1'><input><port id='0'/></input>\
        </layer>\n</layers>\n<edges>\
        <edge from-layer='0' from-port='0' to-layer='3' to-port='0'/>\
        <edge from-layer='1' from-port='0' to-layer='3' to-port='1'/>\
        <edge from-layer='2' from-port='0' to-layer='3' to-port='2'/>\
        <edge from-layer='3' from-port='3' to-layer='4' to-port='0'/></edges>\n</net>";
    table([-1i64, i64::MAX, i64::MIN].map(|trips| {
        let weights = [&trips.to_le_bytes()[..], &[1]].concat();
        let name = format!("{trips} iterations");
        let mut bad = Bad::new(&name, text, 5, "1000")
            .named(Named::Layer)
            .weights(weights);
        bad.inputs = vec![floats(&[2])];
        bad
    }));
}
