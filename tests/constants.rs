//! Constants in every layout of elements.

use ovir::Model;
use ovir::tensor::{ElementType, Tensor, convert};

use crate::reader::{edge, layer, net};

#[test]
fn constants_of_every_layout() {
    // Two bytes of something else, so that nothing is aligned.
    let read_const = |ty: &str, shape: &str, bytes: &[u8]| {
        let layers = [
            layer(
                0,
                "c",
                "type='Const' version='opset1'",
                &format!(
                    "element_type='{ty}' shape='{shape}' offset='2' size='{}'",
                    bytes.len()
                ),
                "<output><port id='0' precision='FP32'/></output>",
            ),
            layer(
                1,
                "r",
                "type='Result' version='opset1'",
                "",
                "<input><port id='0'/></input>",
            ),
        ];
        let text = net(11, &layers, &[edge((0, 0), (1, 0))], "");
        let weights = [&[0xff, 0xff], bytes].concat();
        let model = Model::from_bytes("m.xml", text.into(), weights).expect("a model");
        let none: [(&str, Tensor); 0] = [];
        model.evaluate(none).expect("a result")[0].clone()
    };
    for (ty, bytes, values) in [
        (
            "u1",
            &[0x80, 0xC0][..],
            &[1., 0., 0., 0., 0., 0., 0., 0., 1., 1.][..],
        ),
        ("u2", &[0x39, 0x03], &[1., 2., 3., 0., 3.]),
        ("u4", &[0x21, 0x43, 0x05], &[1., 2., 3., 4., 5.]),
        ("i4", &[0xF1, 0x08], &[1., -1., -8.]),
        ("u3", &[0x1B, 0x1B, 0x0F], &[0., 1., 2., 3., 4., 5., 6., 7.]),
        ("u6", &[0x12, 0x4F, 0x9E], &[33., 18., 52., 47.]),
        ("nf4", &[0xF0], &[-1., 1.]),
        ("f4e2m1", &[0x27, 0x0F], &[6., 1., -6.]),
        ("f8e4m3", &[0x7E, 0xB8], &[448., -1.]),
        ("f8e5m2", &[0x7B, 0x3C], &[57344., 1.]),
        ("f8e8m0", &[0x7F, 0x80], &[1., 2.]),
        ("boolean", &[0, 1, 2, 255], &[0., 1., 1., 1.]),
        ("f16", &[0x00, 0x3C, 0x00, 0xC0], &[1., -2.]),
        ("bf16", &[0x80, 0x3F], &[1.]),
        ("i16", &[0xFE, 0xFF], &[-2.]),
        ("f64", &[0, 0, 0, 0, 0, 0, 0xF0, 0x3F], &[1.]),
        // What is behind the last element is not looked at.
        ("f32", &[0, 0, 0x80, 0x3F, 9, 9, 9], &[1.]),
    ] {
        let tensor = read_const(ty, &values.len().to_string(), bytes);
        assert_eq!(tensor.element_type().name(), ty);
        let wide = convert::convert(&tensor, ElementType::F64).expect("numbers");
        assert_eq!(wide.as_slice::<f64>().expect("f64"), values, "{ty}");
    }
    let strings = b"\x03\0\0\0\0\0\0\0\x02\0\0\0\x02\0\0\0\x08\0\0\0abxyz\xE2\x82\xAC";
    let tensor = read_const("string", "3", strings);
    let found: Vec<_> = tensor
        .as_strings()
        .expect("strings")
        .iter()
        .map(|s| s.to_str())
        .collect();
    assert_eq!(found, ["ab", "", "xyz€"]);
}
