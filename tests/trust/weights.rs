//! Constants whose bytes are missing or wrong.

use ovir::{Kind, Model};

use super::{Bad, Named, table};

/// A constant that goes to a result through an operation, so that its elements are looked at.
fn constant(data: &str) -> String {
    format!(
        "<net name='n' version='11'>\n<layers>\n<layer id='0' name='c' type='Const' \
         version='opset1'>\n<data {data}/>\n<output><port id='0' precision='FP32'/></output>\n</layer>\n\
         <layer id='1' name='r' type='Result' version='opset1'><input><port id='0'/></input>\
         </layer>\n</layers>\n<edges><edge from-layer='0' from-port='0' to-layer='1' \
         to-port='0'/></edges>\n</net>\n"
    )
}

#[test]
fn weights() {
    let rows: &[(&str, &str, u8, &str)] = &[
        (
            "short",
            "element_type='f32' shape='4' offset='0' size='16'",
            3,
            "needs 16 bytes",
        ),
        (
            "past the end",
            "element_type='f32' shape='1' offset='8' size='4'",
            3,
            "the file has 8",
        ),
        (
            "sum above u64",
            "element_type='f32' shape='1' offset='18446744073709551615' size='4'",
            3,
            "attribute `offset`: `18446744073709551615` is not a 64-bit integer",
        ),
        (
            "offset above u64",
            "element_type='f32' shape='1' offset='18446744073709551616' size='4'",
            3,
            "offset",
        ),
        (
            "offset negative",
            "element_type='f32' shape='1' offset='-4' size='4'",
            3,
            "offset",
        ),
        (
            "offset hexadecimal",
            "element_type='f32' shape='1' offset='0x4' size='4'",
            3,
            "offset",
        ),
        (
            "offset a fraction",
            "element_type='f32' shape='1' offset='4.0' size='4'",
            3,
            "offset",
        ),
        (
            "offset missing",
            "element_type='f32' shape='1' size='4'",
            3,
            "offset",
        ),
        (
            "size missing",
            "element_type='f32' shape='1' offset='0'",
            3,
            "size",
        ),
        (
            "size negative",
            "element_type='f32' shape='1' offset='0' size='-4'",
            3,
            "size",
        ),
        (
            "size too small",
            "element_type='f32' shape='2' offset='0' size='4'",
            3,
            "8",
        ),
        (
            "size enormous",
            "element_type='f32' shape='1' offset='0' size='18446744073709551615'",
            3,
            "attribute `size`: `18446744073709551615` is not a 64-bit integer",
        ),
        (
            "shape missing",
            "element_type='f32' offset='0' size='4'",
            3,
            "shape",
        ),
        (
            "shape open",
            "element_type='f32' shape='?' offset='0' size='4'",
            3,
            "shape",
        ),
        (
            "shape negative",
            "element_type='f32' shape='-1' offset='0' size='4'",
            3,
            "shape",
        ),
        (
            "shape an interval",
            "element_type='f32' shape='1..2' offset='0' size='4'",
            3,
            "shape",
        ),
        (
            "shape of words",
            "element_type='f32' shape='one' offset='0' size='4'",
            3,
            "shape",
        ),
        (
            "shape above u64",
            "element_type='f32' shape='4294967296,4294967296,2' offset='0' size='4'",
            3,
            "attribute `shape`: the number of elements is too large",
        ),
        (
            "bits above u64",
            "element_type='f64' shape='2305843009213693952' offset='0' size='8'",
            3,
            "attribute `shape`: the number of elements is too large",
        ),
        (
            "type missing",
            "shape='1' offset='0' size='4'",
            3,
            "element_type",
        ),
        (
            "type unknown",
            "element_type='f33' shape='1' offset='0' size='4'",
            3,
            "f33",
        ),
        (
            "type dynamic",
            "element_type='dynamic' shape='1' offset='0' size='4'",
            3,
            "attribute `element_type`: a constant cannot be dynamic",
        ),
    ];
    table(rows.iter().map(|&(name, data, code, phrase)| {
        let bad = Bad::new(name, constant(data), code, phrase).named(Named::Layer);
        bad.weights(vec![0; 8])
    }));
}

/// Strings: how many, then where each begins, then where the last ends, then the bytes.
#[test]
fn strings() {
    let words = |words: &[u32]| -> Vec<u8> { words.iter().flat_map(|w| w.to_le_bytes()).collect() };
    let rows: Vec<(&str, usize, Vec<u8>)> = vec![
        ("no header", 1, vec![]),
        ("half a count", 1, vec![1, 0]),
        ("no offsets", 1, words(&[1])),
        ("one offset", 1, words(&[1, 0])),
        ("fewer than the shape", 2, words(&[1, 0, 0])),
        ("a count that overflows", 1, words(&[u32::MAX, 0, 0])),
        ("a shape of many", 1 << 40, words(&[1, 0, 0])),
        ("decreasing", 2, words(&[2, 0, 4, 2, 0])),
        ("end past the bytes", 1, words(&[1, 0, 400])),
        ("begin past the bytes", 1, words(&[1, u32::MAX, u32::MAX])),
    ];
    table(rows.into_iter().map(|(name, count, bytes)| {
        let size = bytes.len();
        let data = format!("element_type='string' shape='{count}' offset='0' size='{size}'");
        Bad::new(name, constant(&data), 3, "string")
            .named(Named::Layer)
            .weights(bytes)
    }));
}

#[test]
fn what_is_no_file_of_weights() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("m.xml");
    let data = "element_type='f32' shape='1' offset='0' size='4'";
    std::fs::write(&path, constant(data)).expect("written");
    let read = || {
        let model = Model::read(&path)?;
        model.evaluate(Vec::<(usize, ovir::tensor::Tensor)>::new())
    };
    let missing = read().expect_err("no weights");
    assert_eq!(missing.kind(), Kind::Weights, "{missing}");
    std::fs::create_dir(path.with_extension("bin")).expect("a folder");
    let directory = read().expect_err("a folder for weights");
    assert_eq!(directory.kind(), Kind::Weights, "{directory}");
    for error in [missing, directory] {
        let text = error.to_string();
        assert!(text.contains("m.xml:") && text.contains("m.bin"), "{text}");
    }
}
