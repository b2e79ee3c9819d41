//! Constants in every form that the format has for them.

use super::*;
use crate::Limits;
use crate::onnx::external::Folder;
use crate::onnx::proto::{EXTERNAL, SparseTensorProto, StringStringEntryProto};
use crate::onnx::tensor::{read, read_sparse};
use crate::tensor::convert::convert;
use crate::tensor::{ElementType, Tensor, Text};

fn tensor(data_type: i32, dims: &[i64]) -> TensorProto {
    TensorProto {
        data_type,
        dims: dims.to_vec(),
        ..TensorProto::default()
    }
}

fn constant(proto: &TensorProto) -> Result<Tensor, String> {
    let constant = read(proto, &mut Folder::of(None, &Limits::default()))
        .map_err(|refusal| refusal.message)?;
    constant.tensor().cloned().map_err(|e| e.message)
}

/// Type, shape and numbers as text, for types that Rust has none for.
fn shown(proto: &TensorProto) -> String {
    let tensor = constant(proto).expect("a good tensor");
    let numbers = convert(&tensor, ElementType::F64).expect("numbers");
    format!("{tensor:?} {:?}", numbers.as_slice::<f64>().expect("f64"))
}

#[test]
fn numbers_in_fields_of_their_own() {
    let int32 = |ty, dims: &[i64], numbers: &[i32]| TensorProto {
        int32_data: numbers.to_vec(),
        ..tensor(ty, dims)
    };
    for (proto, expected) in [
        (int32(2, &[2], &[0, 255]), "u8[2] [0.0, 255.0]"),
        (int32(3, &[2], &[-128, 127]), "i8[2] [-128.0, 127.0]"),
        (int32(4, &[1], &[65535]), "u16[1] [65535.0]"),
        (int32(5, &[2], &[-32768, 7]), "i16[2] [-32768.0, 7.0]"),
        (int32(6, &[1, 1], &[i32::MIN]), "i32[1,1] [-2147483648.0]"),
        (int32(9, &[3], &[0, 1, 2]), "boolean[3] [0.0, 1.0, 1.0]"),
        (int32(10, &[2], &[0x3c00, 0xc000]), "f16[2] [1.0, -2.0]"),
        (int32(16, &[1], &[0x3f80]), "bf16[1] [1.0]"),
        (int32(17, &[1], &[0x38]), "f8e4m3[1] [1.0]"),
        (int32(19, &[1], &[0xbc]), "f8e5m2[1] [-1.0]"),
        (int32(24, &[1], &[127]), "f8e8m0[1] [1.0]"),
        (int32(21, &[3], &[0x21, 0x0f]), "u4[3] [1.0, 2.0, 15.0]"),
        (int32(22, &[2], &[0xf8]), "i4[2] [-8.0, -1.0]"),
        (
            int32(25, &[4], &[0b11_10_01_00]),
            "u2[4] [0.0, 1.0, 2.0, 3.0]",
        ),
        (int32(23, &[2], &[0x42]), "f4e2m1[2] [1.0, 2.0]"),
        (int64s("", &[2], &[-7, 5]), "i64[2] [-7.0, 5.0]"),
        (floats("", &[], &[1.5]), "f32[] [1.5]"),
        (
            TensorProto {
                double_data: vec![0.1],
                ..tensor(11, &[1])
            },
            "f64[1] [0.1]",
        ),
        (
            TensorProto {
                uint64_data: vec![u32::MAX.into()],
                ..tensor(12, &[1])
            },
            "u32[1] [4294967295.0]",
        ),
        (tensor(11, &[0, 7]), "f64[0,7] []"),
    ] {
        assert_eq!(shown(&proto), expected);
    }
    let greatest = TensorProto {
        uint64_data: vec![u64::MAX],
        ..tensor(13, &[1])
    };
    assert_eq!(constant(&greatest), Ok(Tensor::vector(&[u64::MAX])));
    let texts = TensorProto {
        string_data: vec![Bytes::from_static(b"a"), Bytes::from_static(b"")],
        ..tensor(8, &[2])
    };
    let expected = Tensor::strings([2], vec![Text::from("a"), Text::from("")]);
    assert_eq!(constant(&texts), Ok(expected.expect("two")));
    let complex = TensorProto {
        float_data: vec![1.0, -2.0, 3.0, 4.0],
        ..tensor(14, &[2])
    };
    let complex = constant(&complex).expect("a good tensor");
    assert_eq!(complex, Tensor::vector(&[[1f32, -2.0], [3.0, 4.0]]));
    let complex = TensorProto {
        double_data: vec![1.0, -2.0],
        ..tensor(15, &[])
    };
    assert_eq!(constant(&complex), Ok(Tensor::scalar([1f64, -2.0])));
}

#[test]
fn raw_bytes_are_shared_in_any_place() {
    let numbers: Vec<u8> = [1.5f32, -2.0]
        .iter()
        .flat_map(|x| x.to_le_bytes())
        .collect();
    for shift in 0..4 {
        let mut bytes = vec![0; shift];
        bytes.extend_from_slice(&numbers);
        let proto = TensorProto {
            raw_data: Bytes::from(bytes).slice(shift..),
            ..tensor(FLOAT, &[2])
        };
        assert_eq!(constant(&proto), Ok(Tensor::vector(&[1.5f32, -2.0])));
    }
}

#[test]
fn sizes_are_checked_against_the_bytes() {
    let raw = |ty, dims: &[i64], len: usize| TensorProto {
        raw_data: vec![0; len].into(),
        ..tensor(ty, dims)
    };
    let mut both = int64s("", &[1], &[1]);
    both.int32_data = vec![1];
    for (proto, message) in [
        (raw(FLOAT, &[2], 4), "f32[2] needs 8 bytes, got 4"),
        (raw(21, &[3], 1), "u4[3] needs 2 bytes, got 1"),
        (raw(9, &[1 << 40], 1), "needs 1099511627776 bytes, got 1"),
        (raw(FLOAT, &[i64::MAX, 4], 1), "is too large"),
        (raw(FLOAT, &[-1], 4), "dimension -1 is negative"),
        (
            raw(8, &[1], 4),
            "the elements of string are in raw_data, expected string_data",
        ),
        (
            raw(18, &[1], 1),
            "elements of float8e4m3fnuz are not supported",
        ),
        (raw(0, &[1], 1), "elements of undefined are not supported"),
        (tensor(FLOAT, &[1]), "f32[1] has no data"),
        (tensor(FLOAT, &[1 << 50]), "has no data"),
        (
            int64s("", &[3], &[1, 2]),
            "i64[3] needs 3 numbers, int64_data has 2",
        ),
        (both, "the tensor has data in int32_data and in int64_data"),
        (
            TensorProto {
                float_data: vec![1.0],
                ..tensor(INT64, &[1])
            },
            "the elements of i64 are in float_data, expected int64_data or raw_data",
        ),
        (
            TensorProto {
                int32_data: vec![0, 256],
                ..tensor(2, &[2])
            },
            "number 1 is 256, which is none of u8",
        ),
        (
            TensorProto {
                uint64_data: vec![1 << 32],
                ..tensor(12, &[1])
            },
            "number 0 is 4294967296, which is none of u32",
        ),
        (
            TensorProto {
                data_location: EXTERNAL,
                external_data: vec![StringStringEntryProto {
                    key: "location".to_owned(),
                    value: "w.bin".to_owned(),
                }],
                ..tensor(FLOAT, &[1])
            },
            "the model is in no folder",
        ),
    ] {
        let error = constant(&proto).expect_err(message);
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn external_data_is_read_from_the_models_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let entry = |key: &str, value: &str| StringStringEntryProto {
        key: key.to_owned(),
        value: value.to_owned(),
    };
    let weights = TensorProto {
        name: "w".to_owned(),
        data_location: EXTERNAL,
        external_data: vec![entry("location", "data/w.bin"), entry("offset", "4")],
        ..tensor(FLOAT, &[2])
    };
    let sum = node("Add", &["x", "w"], "y", vec![]);
    let graph = graph(sum, vec![value("x", FLOAT, &["2"])], vec![weights]);
    let path = folder.path().join("model.onnx");
    std::fs::write(&path, model(13, graph).encode_to_vec()).expect("written");
    let error = Model::read(&path).expect_err("there is no such file");
    assert_eq!(error.kind(), crate::Kind::Weights);
    std::fs::create_dir(folder.path().join("data")).expect("made");
    let numbers = [9f32, 1.0, 2.0].map(f32::to_le_bytes).concat();
    std::fs::write(folder.path().join("data/w.bin"), numbers).expect("written");
    let model = Model::read(&path).expect("a good model");
    let y = model.evaluate([("x", Tensor::vector(&[10f32, 20.0]))]);
    let y = y.expect("numbers");
    assert_eq!(y[0].as_slice::<f32>().expect("f32"), [11.0, 22.0]);
}

#[test]
fn sparse_tensors_become_dense() {
    let sparse = |values: &[f32], dims: &[i64], indices: TensorProto| SparseTensorProto {
        values: Some(floats("s", &[values.len() as i64], values)),
        indices: Some(indices),
        dims: dims.to_vec(),
    };
    let made = |proto: &SparseTensorProto| {
        let read = read_sparse(
            proto,
            &mut Folder::of(None, &Limits::default()),
            &Limits::default(),
        );
        let tensor = read.map_err(|refusal| refusal.message)?;
        tensor.tensor().cloned().map_err(|e| e.message)
    };
    let expected = Tensor::new([2, 2], &[0f32, 7.0, 8.0, 0.0]);
    let expected = expected.expect("four");
    let flat = sparse(&[7.0, 8.0], &[2, 2], int64s("", &[2], &[1, 2]));
    assert_eq!(made(&flat).as_ref(), Ok(&expected));
    let rows = sparse(&[7.0, 8.0], &[2, 2], int64s("", &[2, 2], &[0, 1, 1, 0]));
    assert_eq!(made(&rows), Ok(expected));
    for (proto, message) in [
        (
            sparse(&[7.0], &[2, 2], int64s("", &[1], &[4])),
            "index 4 is out of range",
        ),
        (
            sparse(&[7.0], &[2, 2], int64s("", &[1, 2], &[0, -1])),
            "index -1 is out",
        ),
        (
            sparse(&[7.0], &[2, 2], int64s("", &[2], &[0, 1])),
            "expected [1] or [1,2]",
        ),
        (
            sparse(&[7.0], &[1 << 40], int64s("", &[1], &[0])),
            "larger than the limit",
        ),
        (SparseTensorProto::default(), "needs values and indices"),
    ] {
        let error = made(&proto).expect_err(message);
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn constants_have_many_forms() {
    let strings = AttributeProto {
        strings: vec![Bytes::from_static(b"a"), Bytes::from_static(b"b")],
        ..attribute("value_strings", 8)
    };
    let dense = AttributeProto {
        t: Some(Box::new(int64s("", &[1], &[5]))),
        ..attribute("value", 4)
    };
    let float = AttributeProto {
        f: 0.5,
        ..attribute("value_float", 1)
    };
    let many = AttributeProto {
        floats: vec![0.5, 1.0],
        ..attribute("value_floats", 6)
    };
    let text_scalar = Tensor::strings(crate::tensor::Shape::scalar(), vec![Text::from("hi")]);
    let texts = Tensor::strings([2], vec![Text::from("a"), Text::from("b")]);
    for (form, expected) in [
        (dense, Tensor::vector(&[5i64])),
        (int("value_int", -3), Tensor::scalar(-3i64)),
        (ints("value_ints", &[1, 2]), Tensor::vector(&[1i64, 2])),
        (float, Tensor::scalar(0.5f32)),
        (many, Tensor::vector(&[0.5f32, 1.0])),
        (text("value_string", "hi"), text_scalar.expect("one")),
        (strings, texts.expect("two")),
    ] {
        let graph = graph(node("Constant", &[], "y", vec![form]), vec![], vec![]);
        let model = load(&model(13, graph)).expect("a good model");
        let none: [(&str, Tensor); 0] = [];
        let outputs = model.evaluate(none).expect("a constant");
        assert_eq!(outputs[0], expected);
    }
    let two = vec![int("value_int", 1), ints("value_ints", &[1])];
    for (opset, forms, message) in [
        (13, vec![], "attribute `value` is missing"),
        (13, two, "expected one value, got 2"),
        (
            11,
            vec![int("value_int", 1)],
            "attribute `value` is missing",
        ),
    ] {
        let graph = graph(node("Constant", &[], "y", forms), vec![], vec![]);
        let error = refused(&model(opset, graph));
        assert!(error.ends_with(message), "{error}");
    }
}
