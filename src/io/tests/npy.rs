//! `.npy` files: every type, every damage.

use super::*;
use crate::io::Random;

fn shared(bytes: Vec<u8>) -> SharedBytes {
    SharedBytes::new(Arc::new(bytes))
}

fn read_bytes(bytes: Vec<u8>) -> Result<Tensor, IoError> {
    parse(shared(bytes), &Limits::default())
}

/// A file with this header text.
fn file_of(version: u8, header: &str, data: &[u8]) -> Vec<u8> {
    let mut out = b"\x93NUMPY".to_vec();
    out.extend([version, 0]);
    match version {
        1 => out.extend((header.len() as u16).to_le_bytes()),
        _ => out.extend((header.len() as u32).to_le_bytes()),
    }
    out.extend(header.as_bytes());
    out.extend(data);
    out
}

fn array(descr: &str, fortran: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let header =
        format!("{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}   \n");
    file_of(1, &header, data)
}

fn error(bytes: Vec<u8>) -> String {
    read_bytes(bytes).expect_err("damaged").to_string()
}

#[test]
fn every_type_and_shape_there_and_back() {
    let shapes: [&[usize]; 7] = [
        &[],
        &[0],
        &[5],
        &[3, 0, 2],
        &[3, 7],
        &[1, 1, 1, 1],
        &[9, 2, 5],
    ];
    for ty in ElementType::ALL {
        for shape in shapes {
            let tensor = Random::default()
                .fill(ty, &Shape::from(shape), None, &Limits::default())
                .expect("random");
            let mut bytes = Vec::new();
            write_to(&mut bytes, &tensor).expect("written");
            let read = read_bytes(bytes).expect("read");
            let adapted = crate::io::adapt(&read, ty).expect("adapted");
            assert_eq!(adapted, tensor, "{ty} {shape:?}");
        }
    }
}

#[test]
fn every_bit_pattern_there_and_back() {
    let codes: Vec<u8> = (0..=255).collect();
    for ty in [
        ElementType::F8e4m3,
        ElementType::F8e5m2,
        ElementType::F8e8m0,
    ] {
        let tensor = Tensor::from_bytes(ty, [256], shared(codes.clone())).expect("codes");
        let mut bytes = Vec::new();
        write_to(&mut bytes, &tensor).expect("written");
        let read = read_bytes(bytes).expect("read");
        assert_eq!(crate::io::adapt(&read, ty).expect("adapted"), tensor);
    }
    let nans = Tensor::vector(&[
        f32::from_bits(0x7fc0_1234),
        f32::from_bits(0xff80_0001),
        -0.0,
    ]);
    let mut bytes = Vec::new();
    write_to(&mut bytes, &nans).expect("written");
    assert_eq!(read_bytes(bytes).expect("read"), nans);
}

#[test]
fn a_file_of_numpy() {
    // np.save of np.asfortranarray([[1, 2, 3], [4, 5, 6]]).astype(">i2")
    let mut file =
        b"\x93NUMPY\x01\x00v\x00{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3), }"
            .to_vec();
    file.resize(127, b' ');
    file.push(b'\n');
    file.extend([0, 1, 0, 4, 0, 2, 0, 5, 0, 3, 0, 6]);
    let expected = Tensor::new([2, 3], &[1i16, 2, 3, 4, 5, 6]).expect("six");
    assert_eq!(read_bytes(file.clone()).expect("read"), expected);
    // The same header as NumPy's is written.
    let mut written = Vec::new();
    write_to(&mut written, &expected).expect("written");
    assert_eq!(written.len(), file.len());
    assert_eq!(&written[..10], &file[..10]);
    for (shape, text) in [
        (Shape::scalar(), "()"),
        (Shape::from([3]), "(3,)"),
        (Shape::from([2, 3, 4]), "(2, 3, 4)"),
    ] {
        let header = Header::encode("<f4", &shape).expect("a header");
        let expected = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {text}, }}");
        assert_eq!(&header[10..10 + expected.len()], expected.as_bytes());
        assert_eq!(header.len(), 128);
    }
}

#[test]
fn fortran_order_of_many_axes() {
    let shape = [2usize, 3, 1, 4];
    for width in [1usize, 2, 4, 8, 12, 16] {
        let count = 24;
        let item = |i: usize| (0..width).map(move |b| (i * 7 + b) as u8);
        let mut data = Vec::new();
        for i in 0..count {
            data.extend(item(i));
        }
        let out = to_row_major(&data, &Shape::from(shape), width).expect("memory");
        let mut expected = Vec::new();
        for a in 0..2 {
            for b in 0..3 {
                for d in 0..4 {
                    expected.extend(item(a + 2 * (b + 3 * d)));
                }
            }
        }
        assert_eq!(out, expected, "{width}");
    }
}

#[test]
fn strings() {
    let points: Vec<u8> = ['a', '\0', 'b', 'é', '𝄞', '\0']
        .iter()
        .flat_map(|&c| u32::from(c).to_le_bytes())
        .collect();
    let tensor = read_bytes(array("'<U3'", "False", "(2,)", &points)).expect("read");
    let expected = Tensor::strings([2], vec!["a\0b".into(), "é𝄞".into()]).expect("two");
    assert_eq!(tensor, expected);
    let swapped: Vec<u8> = points
        .chunks_exact(4)
        .flat_map(|c| c.iter().rev().copied())
        .collect();
    let tensor = read_bytes(array("'>U3'", "False", "(2,)", &swapped)).expect("read");
    assert_eq!(tensor, expected);
    let tensor = read_bytes(array("'|S2'", "False", "(3,)", b"a\0\xff\0\0\0")).expect("read");
    let texts = tensor.as_strings().expect("strings");
    assert_eq!(&*texts[0], b"a");
    assert_eq!(&*texts[1], b"\xff");
    assert_eq!(&*texts[2], b"");
    // Not UTF-8: as bytes, and back.
    let mut bytes = Vec::new();
    write_to(&mut bytes, &tensor).expect("written");
    assert_eq!(read_bytes(bytes).expect("read"), tensor);
    let wrong = array("'<U1'", "False", "()", &0xd800u32.to_le_bytes());
    assert_eq!(
        error(wrong),
        "U+D800 in a string is not a Unicode character"
    );
    let nul = Tensor::strings([1], vec!["a\0".into()]).expect("one");
    assert!(write_to(&mut Vec::new(), &nul).is_err());
    // Strings of no bytes take no bytes in the file, but memory.
    let many = array("'<U0'", "False", "(1000000000000,)", b"");
    assert!(error(many).contains("limit"));
    assert_eq!(
        read_bytes(array("'|S0'", "False", "(3,)", b""))
            .expect("read")
            .len(),
        3
    );
}

#[test]
fn complex_numbers() {
    let expected = Tensor::vector(&[[1f32, 2.0], [-0.5, 3.0]]);
    let numbers = [1f32, 2.0, -0.5, 3.0];
    let little = numbers.map(f32::to_le_bytes).concat();
    let big = numbers.map(f32::to_be_bytes).concat();
    for (descr, data) in [("'<c8'", &little), ("'>c8'", &big)] {
        let read = read_bytes(array(descr, "False", "(2,)", data)).expect("read");
        assert_eq!(read, expected, "{descr}");
    }
    let wide = crate::io::adapt(&expected, ElementType::Complex128).expect("fits");
    assert_eq!(wide, Tensor::vector(&[[1f64, 2.0], [-0.5, 3.0]]));
    let narrow = crate::io::adapt(&wide, ElementType::Complex64).expect("fits");
    assert_eq!(narrow, expected);
    let large = Tensor::vector(&[[0f64, 1e300]]);
    assert!(crate::io::adapt(&large, ElementType::Complex64).is_err());
    assert!(crate::io::adapt(&wide, ElementType::F64).is_err());
    assert!(crate::io::adapt(&Tensor::vector(&[1f32]), ElementType::Complex64).is_err());
}

#[test]
fn headers() {
    for version in [1, 2, 3] {
        let header = "{\"shape\": (2L, ), 'fortran_order':False,'descr':'=u1'}";
        let tensor = read_bytes(file_of(version, header, &[1, 2])).expect("read");
        assert_eq!(tensor, Tensor::vector(&[1u8, 2]), "{version}");
    }
    let refused = [
        ("'|O'", "pickled Python objects"),
        ("[('a', '<f4')]", "structured"),
        ("('<f4', (2,))", "structured"),
        ("'<c32'", "extended complex"),
        ("'<c4'", "unknown type"),
        ("'<M8[ns]'", "dates"),
        ("'|V12'", "structures"),
        ("'<f16'", "extended floats"),
        ("'<f3'", "unknown type"),
        ("'é'", "plain string"),
        ("''", "unknown type"),
        ("'<'", "unknown type"),
        ("'<U99999999999999999999'", "unknown type"),
        ("'<U9223372036854775807'", "unknown type"),
        ("'<i+4'", "unknown type"),
    ];
    for (descr, expected) in refused {
        let found = error(array(descr, "False", "(1,)", &[0; 16]));
        assert!(found.contains(expected), "{descr}: {found}");
    }
    let shapes = [
        ("(3,)", "needs 12 bytes after the header, the file has 8"),
        ("(1,)", "needs 4 bytes after the header, the file has 8"),
        ("(9223372036854775807, 9)", "larger than the limit"),
        ("(99999999999999999999,)", "expected a size"),
        ("(-1,)", "expected a size"),
        ("(1.0,)", "expected"),
        ("3", "expected `(`"),
        ("(2,", "expected"),
    ];
    for (shape, expected) in shapes {
        let found = error(array("'<f4'", "False", shape, &[0; 8]));
        assert!(found.contains(expected), "{shape}: {found}");
    }
    let deep = format!("({})", "1,".repeat(65));
    assert!(error(array("'<f4'", "False", &deep, &[0; 4])).contains("64 dimensions"));
    let big = format!("({})", "4294967296,".repeat(8));
    assert!(error(array("'<f4'", "False", &big, &[])).contains("limit"));
    assert!(error(array("'<f4'", "1", "()", &[0; 4])).contains("`True` or `False`"));
    assert!(error(file_of(1, "{'descr': '<f4', 'descr': '<f4'}", b"")).contains("twice"));
    assert!(error(file_of(1, "{'descr': '<f4'}", b"")).contains("no `fortran_order`"));
    assert!(error(file_of(1, "{'a': 1}", b"")).contains("one of `descr`"));
    assert!(error(file_of(4, "{}", b"")).contains("version 4.0"));
    let mut long = b"\x93NUMPY\x02\x00".to_vec();
    long.extend(u32::MAX.to_le_bytes());
    assert!(error(long).contains("limit"));
}

#[test]
fn every_cut_and_every_damaged_byte() {
    let mut whole = Vec::new();
    let tensor = Tensor::new([2, 3], &[1i32, 2, 3, 4, 5, 6]).expect("six");
    write_to(&mut whole, &tensor).expect("written");
    for end in 0..whole.len() {
        assert!(read_bytes(whole[..end].to_vec()).is_err(), "{end}");
    }
    for at in 0..whole.len() {
        for byte in [0, b'\'', b'(', b'9', b' ', 0xff] {
            let mut damaged = whole.clone();
            damaged[at] = byte;
            // An error or another tensor, no panic.
            let _ = read_bytes(damaged);
        }
    }
    whole.push(0);
    assert!(error(whole).contains("needs 24 bytes after the header, the file has 25"));
}

#[test]
fn files() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("x.npy");
    let tensor = Tensor::vector(&[1.5f32, 2.5]);
    write(&path, &tensor).expect("written");
    write(&path, &tensor).expect("written again");
    assert_eq!(read(&path, &Limits::default()).expect("read"), tensor);
    // Nothing is left beside it.
    assert_eq!(
        std::fs::read_dir(directory.path()).expect("listed").count(),
        1
    );
    let tight = Limits {
        file_bytes: 100,
        ..Limits::default()
    };
    let error = read(&path, &tight).expect_err("too large").to_string();
    assert!(
        error.ends_with("x.npy: has 136 bytes, the limit is 100"),
        "{error}"
    );
    // What cannot be written leaves what was there.
    let nul = Tensor::strings([1], vec!["\0".into()]).expect("one");
    assert!(write(&path, &nul).is_err());
    assert_eq!(read(&path, &Limits::default()).expect("read"), tensor);
    assert_eq!(
        std::fs::read_dir(directory.path()).expect("listed").count(),
        1
    );
    assert!(read(directory.path(), &Limits::default()).is_err());
    assert!(write(&directory.path().join("no/x.npy"), &tensor).is_err());
    assert!(read(&directory.path().join("no.npy"), &Limits::default()).is_err());
}
