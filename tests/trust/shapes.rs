//! Shapes that no tensor can have.

use super::{Bad, Named, edited, table};

#[test]
fn shapes() {
    let many = vec!["1"; 10_000].join(",");
    let declared: Vec<(&str, String, u8, &str)> = vec![
        ("negative", "2,-3".into(), 3, "shape"),
        ("below -1", "-2".into(), 3, "shape"),
        ("words", "two,three".into(), 3, "shape"),
        ("a trailing comma", "2,3,".into(), 3, "shape"),
        ("an empty item", "2,,3".into(), 3, "shape"),
        ("above u64", "99999999999999999999".into(), 3, "shape"),
        ("a backward interval", "7..3".into(), 3, "shape"),
        ("a fraction", "2.5".into(), 3, "shape"),
        ("hexadecimal", "0x10".into(), 3, "shape"),
        ("not a number", "NaN".into(), 3, "shape"),
        ("a line break", "2&#10;3".into(), 3, "shape"),
        ("rank 10,000", many, 5, "10000"),
    ];
    table(declared.into_iter().map(|(name, shape, code, phrase)| {
        let text = edited(&[("shape=\"2,3\"", &format!("shape=\"{shape}\""))]);
        Bad::new(name, text, code, phrase).named(Named::Line)
    }));
}

#[test]
fn dimensions_of_ports() {
    let rows: Vec<(&str, String, u8)> = vec![
        ("words", "<dim>two</dim>".into(), 3),
        ("empty", "<dim></dim>".into(), 3),
        ("a fraction", "<dim>2.0</dim>".into(), 3),
        ("below -1", "<dim>-2</dim>".into(), 3),
        ("above u64", "<dim>18446744073709551616</dim>".into(), 3),
        ("an element inside", "<dim><dim>2</dim></dim>".into(), 3),
    ];
    table(rows.into_iter().map(|(name, dims, code)| {
        let from = "names=\"y\"><dim>2</dim>";
        let text = edited(&[(from, &format!("names=\"y\">{dims}"))]);
        Bad::new(name, text, code, "dimension `").named(Named::Line)
    }));
}

/// Sizes that are numbers, but whose product is not, or is more than any machine holds.
#[test]
fn products_of_dimensions() {
    let rows = [
        ("product above u64", "4294967296,4294967296,4294967296"),
        ("bytes above u64", "4611686018427387904,2"),
        ("more than any machine has", "4294967296,4294967296"),
    ];
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("m.xml");
    for (name, shape) in rows {
        let text = edited(&[("shape=\"2,3\"", &format!("shape=\"{shape}\""))]);
        std::fs::write(&path, text).expect("written");
        // Reading may succeed: nothing is allocated for an input that nobody gives.
        if let Ok(model) = ovir::Model::read_with(&path, &super::limits()) {
            let error = model.evaluate([(0, super::floats(&[1]))]).expect_err(name);
            assert_eq!(error.kind().exit_code(), 3, "{name}: {error}");
            assert!(
                model.compile(&ovir::CompileOptions::default()).is_ok(),
                "{name}"
            );
        }
    }
}

/// A file may declare what it likes: what is inferred counts.
#[test]
fn declared_shapes_are_not_believed() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("m.xml");
    for dims in ["9223372036854775807", "0", "1</dim><dim>7"] {
        let text = edited(&[(
            "names=\"y\"><dim>2</dim>",
            &format!("names=\"y\"><dim>{dims}</dim>"),
        )]);
        std::fs::write(&path, text).expect("written");
        let outputs = super::run(&path, &[super::floats(&[2, 3])]).expect("a result");
        assert_eq!(&**outputs[0].shape(), [2, 3]);
        let problems = ovir::Model::read(&path).expect("a model").warnings().len();
        assert!(problems > 0, "{dims}: no warning");
    }
}
