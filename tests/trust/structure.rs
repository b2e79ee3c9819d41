//! Layers, ports and edges that make no graph.

use super::{Bad, Named, edited, table};

type Change = (&'static str, &'static str);

#[test]
fn structure() {
    let rows: &[(&str, &[Change], u8, &str, Named)] = &[
        (
            "no layers",
            &[("<layers>", "<lavers>"), ("</layers>", "</lavers>")],
            3,
            "the edge starts at layer 0, which does not exist",
            Named::Line,
        ),
        (
            "no edges",
            &[("<edges>", "<edgs>"), ("</edges>", "</edgs>")],
            3,
            "expected 1 input, got 0",
            Named::Line,
        ),
        (
            "version 3",
            &[("version=\"11\"", "version=\"3\"")],
            4,
            "IR version 3 is not supported, expected 10 or 11",
            Named::Line,
        ),
        (
            "version of a day to come",
            &[("version=\"11\"", "version=\"99999999999\"")],
            4,
            "IR version 99999999999 is not supported, expected 10 or 11",
            Named::Line,
        ),
        (
            "layer without id",
            &[("id=\"1\" name", "name")],
            3,
            "id",
            Named::Line,
        ),
        (
            "layer without name",
            &[("name=\"relu\" ", "")],
            3,
            "name",
            Named::Line,
        ),
        (
            "layer without type",
            &[("type=\"ReLU\" ", "")],
            3,
            "type",
            Named::Line,
        ),
        (
            "negative id",
            &[("id=\"1\" name", "id=\"-1\" name")],
            3,
            "id",
            Named::Line,
        ),
        (
            "id above u64",
            &[("id=\"1\" name", "id=\"18446744073709551616\" name")],
            3,
            "id",
            Named::Line,
        ),
        (
            "id twice",
            &[("id=\"1\" name", "id=\"0\" name")],
            3,
            "the layer id 0 stands twice",
            Named::Line,
        ),
        (
            "unknown type",
            &[("ReLU", "ReLUU")],
            4,
            "ReLUU",
            Named::File,
        ),
        (
            "unknown opset",
            &[("ReLU\" version=\"opset1\"", "ReLU\" version=\"opset99\"")],
            4,
            "opset99",
            Named::File,
        ),
        (
            "opset zero",
            &[("ReLU\" version=\"opset1\"", "ReLU\" version=\"opset0\"")],
            4,
            "opset0",
            Named::File,
        ),
        (
            "type with line breaks",
            &[("type=\"ReLU\"", "type=\"a&#10;b\"")],
            4,
            "a\\nb",
            Named::File,
        ),
        (
            "no input port",
            &[(
                "<input><port id=\"0\" precision=\"FP32\"><dim>2</dim><dim>3</dim></port></input>\n<output>",
                "<output>",
            )],
            3,
            "the layer has none as input port, the edge names 0",
            Named::Line,
        ),
        (
            "no output port",
            &[(
                "<output><port id=\"1\" precision=\"FP32\" names=\"y\"><dim>2</dim><dim>3</dim></port></output>",
                "",
            )],
            3,
            "the layer has none as output port, the edge names 1",
            Named::Line,
        ),
        (
            "port without id",
            &[("<port id=\"1\" precision", "<port precision")],
            3,
            "id",
            Named::Line,
        ),
        (
            "unknown precision",
            &[(
                "<port id=\"1\" precision=\"FP32\"",
                "<port id=\"1\" precision=\"FP33\"",
            )],
            3,
            "FP33",
            Named::Line,
        ),
        (
            "no edge to the result",
            &[(
                "<edge from-layer=\"1\" from-port=\"1\" to-layer=\"2\" to-port=\"0\"/>\n",
                "",
            )],
            3,
            "expected 1 input, got 0",
            Named::Layer,
        ),
        (
            "no edge to the layer",
            &[(
                "<edge from-layer=\"0\" from-port=\"0\" to-layer=\"1\" to-port=\"0\"/>\n",
                "",
            )],
            3,
            "expected 1 input, got 0",
            Named::Layer,
        ),
        (
            "edge from nowhere",
            &[("from-layer=\"0\"", "from-layer=\"77\"")],
            3,
            "77",
            Named::Line,
        ),
        (
            "edge to nowhere",
            &[("to-layer=\"1\"", "to-layer=\"77\"")],
            3,
            "77",
            Named::Line,
        ),
        (
            "edge from no port",
            &[("from-port=\"1\"", "from-port=\"5\"")],
            3,
            "5",
            Named::Line,
        ),
        (
            "edge to no port",
            &[(
                "to-layer=\"1\" to-port=\"0\"",
                "to-layer=\"1\" to-port=\"5\"",
            )],
            3,
            "5",
            Named::Line,
        ),
        (
            "edge without from-layer",
            &[("<edge from-layer=\"0\" ", "<edge ")],
            3,
            "from-layer",
            Named::Line,
        ),
        (
            "edge of words",
            &[("from-layer=\"0\"", "from-layer=\"zero\"")],
            3,
            "zero",
            Named::Line,
        ),
        (
            "two edges into a port",
            &[(
                "</edges>",
                "<edge from-layer=\"0\" from-port=\"0\" to-layer=\"2\" to-port=\"0\"/></edges>",
            )],
            3,
            "two edges end at input 0 (port 0)",
            Named::Line,
        ),
        (
            "self loop",
            &[(
                "<edge from-layer=\"0\" from-port=\"0\"",
                "<edge from-layer=\"1\" from-port=\"1\"",
            )],
            3,
            "its own output",
            Named::Line,
        ),
        (
            "result of nothing but itself",
            &[(
                "from-layer=\"1\" from-port=\"1\"",
                "from-layer=\"2\" from-port=\"0\"",
            )],
            3,
            "the layer has none as output port, the edge names 0",
            Named::Line,
        ),
        (
            "ReadValue without a variable",
            &[(
                "type=\"ReLU\" version=\"opset1\"",
                "type=\"ReadValue\" version=\"opset6\"",
            )],
            3,
            "variable_id",
            Named::Layer,
        ),
        (
            "Assign without a variable",
            &[(
                "type=\"ReLU\" version=\"opset1\"",
                "type=\"Assign\" version=\"opset6\"",
            )],
            3,
            "variable_id",
            Named::Layer,
        ),
        (
            "Loop without a body",
            &[(
                "type=\"ReLU\" version=\"opset1\"",
                "type=\"Loop\" version=\"opset5\"",
            )],
            3,
            "a Loop needs a `<body>`",
            Named::Layer,
        ),
        (
            "If without bodies",
            &[(
                "type=\"ReLU\" version=\"opset1\"",
                "type=\"If\" version=\"opset8\"",
            )],
            3,
            "an If needs a `<then_body>` and an `<else_body>`",
            Named::Layer,
        ),
        (
            "TensorIterator without a body",
            &[("type=\"ReLU\"", "type=\"TensorIterator\"")],
            3,
            "a TensorIterator needs a `<body>`",
            Named::Layer,
        ),
    ];
    table(rows.iter().map(|&(name, changes, code, phrase, named)| {
        Bad::new(name, edited(changes), code, phrase).named(named)
    }));
}

/// A TensorIterator around one ReLU, as it should be.
const ITERATOR: &str = "<port_map>\n<input external_port_id='0' internal_layer_id='0' axis='0' \
start='0' end='-1' stride='1' part_size='1'/>\n<output external_port_id='1' internal_layer_id='2' \
axis='0' start='0' end='-1' stride='1' part_size='1'/>\n</port_map>\n<back_edges>\n\
<edge from-layer='2' to-layer='9'/>\n</back_edges>\n<body>\n<layers>\n\
<layer id='0' name='a' type='Parameter' version='opset1'><data shape='1,3' element_type='f32'/>\
<output><port id='0' precision='FP32'/></output></layer>\n\
<layer id='1' name='b' type='ReLU' version='opset1'><input><port id='0'/></input>\
<output><port id='1' precision='FP32'/></output></layer>\n\
<layer id='2' name='c' type='Result' version='opset1'><input><port id='0'/></input></layer>\n\
</layers>\n<edges>\n<edge from-layer='0' from-port='0' to-layer='1' to-port='0'/>\n\
<edge from-layer='1' from-port='1' to-layer='2' to-port='0'/>\n</edges>\n</body>";

const BACK: &str = "<back_edges>\n<edge from-layer='2' to-layer='9'/>\n</back_edges>\n";

fn iterator(changes: &[Change]) -> String {
    let inside = changes
        .iter()
        .fold(ITERATOR.to_owned(), |text, (from, to)| {
            assert!(text.contains(from), "no `{from}` to change");
            text.replacen(from, to, 1)
        });
    let layer = "name=\"relu\" type=\"TensorIterator\" version=\"opset1\">";
    edited(&[(
        "name=\"relu\" type=\"ReLU\" version=\"opset1\">",
        &format!("{layer}\n{inside}"),
    )])
}

#[test]
fn bodies() {
    let none: Change = (BACK, "");
    let rows: &[(&str, &[Change], &str)] = &[
        ("back edge to nowhere", &[], "9"),
        (
            "back edge from nowhere",
            &[("from-layer='2' to-layer='9'", "from-layer='9' to-layer='0'")],
            "9",
        ),
        (
            "back edge into a layer",
            &[("to-layer='9'", "to-layer='1'")],
            "",
        ),
        (
            "part_size 0",
            &[none, ("part_size='1'", "part_size='0'")],
            "part_size",
        ),
        (
            "part_size negative",
            &[none, ("part_size='1'", "part_size='-3'")],
            "part_size",
        ),
        ("stride 0", &[none, ("stride='1'", "stride='0'")], "stride"),
        (
            "stride i64::MIN",
            &[none, ("stride='1'", "stride='-9223372036854775808'")],
            "",
        ),
        (
            "axis out of range",
            &[none, ("axis='0'", "axis='7'")],
            "axis",
        ),
        (
            "start far out",
            &[none, ("start='0'", "start='9223372036854775807'")],
            "",
        ),
        (
            "end far out",
            &[none, ("end='-1'", "end='-9223372036854775808'")],
            "",
        ),
        (
            "input to nowhere",
            &[none, ("internal_layer_id='0'", "internal_layer_id='8'")],
            "8",
        ),
        (
            "input to a result",
            &[none, ("internal_layer_id='0'", "internal_layer_id='2'")],
            "",
        ),
        (
            "output of nowhere",
            &[none, ("internal_layer_id='2'", "internal_layer_id='8'")],
            "8",
        ),
        (
            "external port there is not",
            &[none, ("external_port_id='0'", "external_port_id='6'")],
            "6",
        ),
        (
            "input twice",
            &[
                none,
                (
                    "<port_map>",
                    "<port_map><input external_port_id='0' internal_layer_id='0'/>",
                ),
            ],
            "",
        ),
        (
            "words for a port",
            &[none, ("external_port_id='0'", "external_port_id='x'")],
            "x",
        ),
        (
            "a cycle in the body",
            &[
                none,
                (
                    "<edge from-layer='0' from-port='0'",
                    "<edge from-layer='1' from-port='1'",
                ),
            ],
            "",
        ),
        (
            "an unknown attribute value",
            &[none, ("shape='1,3'", "shape='1,x'")],
            "shape",
        ),
    ];
    table(rows.iter().map(|&(name, changes, phrase)| {
        let mut bad = Bad::new(name, iterator(changes), 3, phrase).named(Named::Layer);
        bad.inputs = vec![super::floats(&[2, 3])];
        bad
    }));
}

#[test]
fn cycles_of_any_length() {
    for length in [2usize, 3, 1000] {
        let layers: String = (0..length)
            .map(|id| {
                format!(
                    "<layer id='{id}' name='l{id}' type='Add' version='opset1'><input>\
                     <port id='0'/><port id='1'/></input><output><port id='2' precision='FP32'/></output></layer>\n"
                )
            })
            .collect();
        let edges: String = (0..length)
            .map(|id| {
                let next = (id + 1) % length;
                format!(
                    "<edge from-layer='{id}' from-port='2' to-layer='{next}' to-port='0'/>\
                     <edge from-layer='{id}' from-port='2' to-layer='{next}' to-port='1'/>\n"
                )
            })
            .collect();
        let result = "<layer id='99999' name='r' type='Result' version='opset1'><input>\
                      <port id='0'/></input></layer>";
        let text = format!(
            "<net name='n' version='11'><layers>{layers}{result}</layers><edges>{edges}\
             <edge from-layer='0' from-port='2' to-layer='99999' to-port='0'/></edges></net>"
        );
        table([Bad::new("cycle", text, 3, "its own output").named(Named::Layer)]);
    }
}
