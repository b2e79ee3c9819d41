//! Tensors from files that are not what the model takes, or no tensors at all.

use std::path::Path;

use ovir::Limits;
use ovir::io::{Value, Wanted};
use ovir::tensor::ElementType;

/// The file of one array with this header and these bytes.
fn npy(header: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    let length = u16::try_from(header.len() + 1).expect("a short header");
    bytes.extend(length.to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.push(b'\n');
    bytes.extend(data);
    bytes
}

fn header(descr: &str, shape: &str) -> String {
    format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}")
}

fn safetensors(header: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

/// Writes a file, reads it as an input `f32[2]`, and gives the message.
fn refused(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), String> {
    let path = folder.join(name);
    std::fs::write(&path, bytes).expect("written");
    let shape = "2".parse().expect("a shape");
    let wanted = Wanted {
        element_type: ElementType::F32,
        shape: &shape,
        range: None,
    };
    let value = Value::parse(&path.display().to_string()).expect("a file's value");
    match value.load(&wanted, &Limits::untrusted()) {
        Ok(tensor) => Err(format!("is read as {tensor:?}")),
        Err(error) => {
            let text = error.to_string();
            let named = text.contains(name) && !text.contains('\n');
            named.then_some(()).ok_or(text)
        }
    }
}

#[test]
fn files_of_tensors() {
    let whole = [1f32, 2.0].map(f32::to_le_bytes).concat();
    let good = npy(&header("<f4", "(2,)"), &whole);
    let mut rows: Vec<(&str, &str, Vec<u8>)> = vec![
        ("empty", "a.npy", vec![]),
        ("no magic", "a.npy", b"hello, world".to_vec()),
        (
            "other shape",
            "a.npy",
            npy(&header("<f4", "(3,)"), &[0; 12]),
        ),
        ("other rank", "a.npy", npy(&header("<f4", "(1, 2)"), &whole)),
        (
            "pickled",
            "a.npy",
            npy(&header("|O", "(2,)"), b"cos\nsystem\n(S'true'\ntR."),
        ),
        (
            "structured",
            "a.npy",
            npy(
                "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}",
                &whole,
            ),
        ),
        ("unknown type", "a.npy", npy(&header("<q7", "(2,)"), &whole)),
        (
            "no shape",
            "a.npy",
            npy("{'descr': '<f4', 'fortran_order': False}", &whole),
        ),
        (
            "code for a header",
            "a.npy",
            npy("__import__('os').system('true')", &whole),
        ),
        (
            "negative size",
            "a.npy",
            npy(&header("<f4", "(-2,)"), &whole),
        ),
        (
            "size above u64",
            "a.npy",
            npy(&header("<f4", "(99999999999999999999,)"), &whole),
        ),
        (
            "product above u64",
            "a.npy",
            npy(&header("<f4", "(4294967296, 4294967296, 4)"), &whole),
        ),
        (
            "more than the limit",
            "a.npy",
            npy(&header("<f4", "(400000000,)"), &whole),
        ),
        (
            "a header of 64 kB",
            "a.npy",
            npy(&" ".repeat(65_000), &whole),
        ),
        (
            "unknown version",
            "a.npy",
            b"\x93NUMPY\x09\x00\x10\x00".to_vec(),
        ),
        (
            "a length beyond the file",
            "a.npy",
            b"\x93NUMPY\x02\x00\xff\xff\xff\xff".to_vec(),
        ),
        ("no zip", "a.npz", b"PK\x03\x04 and then nothing".to_vec()),
        ("empty zip", "a.npz", vec![]),
        ("short safetensors", "a.safetensors", vec![1, 2, 3]),
        (
            "a header beyond the file",
            "a.safetensors",
            u64::MAX.to_le_bytes().to_vec(),
        ),
        ("no json", "a.safetensors", safetensors("hello", &whole)),
        (
            "offsets beyond the file",
            "a.safetensors",
            safetensors(
                "{\"x\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,800]}}",
                &whole,
            ),
        ),
        (
            "offsets backwards",
            "a.safetensors",
            safetensors(
                "{\"x\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,0]}}",
                &whole,
            ),
        ),
        (
            "offsets of another shape",
            "a.safetensors",
            safetensors(
                "{\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,8]}}",
                &whole,
            ),
        ),
        (
            "a shape that overflows",
            "a.safetensors",
            safetensors(
                "{\"x\":{\"dtype\":\"F32\",\"shape\":[4611686018427387904,4],\"data_offsets\":[0,8]}}",
                &whole,
            ),
        ),
        (
            "another type",
            "a.safetensors",
            safetensors(
                "{\"x\":{\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[0,8]}}",
                &whole,
            ),
        ),
    ];
    rows.extend(
        (0..good.len())
            .step_by(8)
            .map(|end| ("cut off", "a.npy", good[..end].to_vec())),
    );
    let folder = tempfile::tempdir().expect("a temporary folder");
    assert!(
        refused(folder.path(), "a.npy", &good).is_err(),
        "the whole file is right"
    );
    let found: Vec<String> = rows
        .into_iter()
        .filter_map(|(what, name, bytes)| {
            let outcome = refused(folder.path(), name, &bytes);
            outcome.err().map(|text| format!("{what}: {text}"))
        })
        .collect();
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

/// Column order and big-endian elements are read as what they mean.
#[test]
fn order_and_endianness() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.npy");
    let mut head = header(">f4", "(2, 3)").replace("False", "True");
    let elements: Vec<u8> = (0..6u8).flat_map(|i| f32::from(i).to_be_bytes()).collect();
    std::fs::write(&path, npy(&head, &elements)).expect("written");
    let tensor = ovir::io::npy::read(&path, &Limits::untrusted()).expect("an array");
    let rows = tensor.as_slice::<f32>().expect("f32");
    assert_eq!(rows, [0., 2., 4., 1., 3., 5.]);
    head.push('}');
    std::fs::write(&path, npy(&head, &elements)).expect("written");
    assert!(ovir::io::npy::read(&path, &Limits::untrusted()).is_err());
}
