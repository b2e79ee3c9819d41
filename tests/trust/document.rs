//! Bytes that are no document, or one that means harm.

use ovir::{Kind, Limits, Model};

use super::{Bad, Named, PLAIN, edited, limits, table};

#[test]
fn documents() {
    let long = "a".repeat(1 << 20);
    let mut rows = vec![
        Bad::new("empty", "", 3, "the document has no element").named(Named::File),
        Bad::new(
            "not xml",
            "hello, world",
            3,
            "the file is not an XML document",
        ),
        Bad::new(
            "json",
            "{\"a\": [1, 2]}",
            3,
            "the file is not an XML document",
        ),
        Bad::new(
            "zeros",
            vec![0u8; 300],
            3,
            "the control character U+0000 is not allowed",
        )
        .named(Named::File),
        Bad::new(
            "two roots",
            format!("{PLAIN}<net/>"),
            3,
            "a second root element",
        ),
        Bad::new(
            "text after",
            format!("{PLAIN}more"),
            3,
            "text outside the root element",
        ),
        Bad::new(
            "other root",
            "<html><body/></html>",
            3,
            "expected the root element `net`, found `html`",
        ),
        Bad::new(
            "broken utf-8",
            {
                let mut bytes = PLAIN.as_bytes().to_vec();
                bytes[200] = 0xff;
                bytes
            },
            3,
            "the document is not valid UTF-8 at byte 200",
        )
        .named(Named::File),
        Bad::new(
            "half a utf-16 unit",
            [0xff, 0xfe, 0x3c].to_vec(),
            3,
            "the document is not valid UTF-16LE",
        )
        .named(Named::File),
        Bad::new(
            "NUL in a name",
            edited(&[("\"relu\"", "\"re\0lu\"")]),
            3,
            "the control character U+0000 is not allowed",
        ),
        Bad::new(
            "escape in a name",
            edited(&[("\"relu\"", "\"\u{1b}[2J\"")]),
            3,
            "the control character U+001B is not allowed",
        ),
        Bad::new(
            "NUL reference",
            edited(&[("\"relu\"", "\"&#0;\"")]),
            3,
            "attribute `name`: invalid character reference: 0x0 character is not pe",
        ),
        Bad::new(
            "reference out of range",
            edited(&[("\"relu\"", "\"&#x110000;\"")]),
            3,
            "attribute `name`: invalid character reference: `1114112` is not a vali",
        ),
        Bad::new(
            "attribute twice",
            edited(&[("id=\"1\" name", "id=\"1\" id=\"1\" name")]),
            3,
            "an attribute stands twice",
        ),
        Bad::new(
            "unknown entity",
            edited(&[("\"relu\"", "\"&lol;\"")]),
            3,
            "attribute `name`: `&lol;` is not a known reference",
        ),
        Bad::new(
            "entities of entities",
            edited(&[
                (
                    "<net ",
                    "<!DOCTYPE net [<!ENTITY a \"lol\"><!ENTITY b \"&a;&a;&a;&a;&a;&a;\">\
                  <!ENTITY c \"&b;&b;&b;&b;&b;&b;\">]>\n<net ",
                ),
                ("\"relu\"", "\"&c;\""),
            ]),
            3,
            "attribute `name`: `&c;` is not a known reference",
        ),
        Bad::new(
            "an entity from a file",
            edited(&[
                (
                    "<net ",
                    "<!DOCTYPE net [<!ENTITY f SYSTEM \"file:///etc/passwd\">]>\n<net ",
                ),
                ("\"relu\"", "\"&f;\""),
            ]),
            3,
            "attribute `name`: `&f;` is not a known reference",
        ),
        Bad::new(
            "tag not closed",
            edited(&[("</net>", "<net>")]),
            3,
            "the document ends inside 2 open elements",
        ),
        Bad::new(
            "comment not closed",
            edited(&[("</net>", "<!-- </net>")]),
            3,
            "syntax error: comment not closed: `-->` not found before end of input",
        ),
        Bad::new(
            "crossed tags",
            edited(&[("</layers>", "</edges>")]),
            3,
            "expected `</layers>`, found `</edges>`",
        ),
        Bad::new(
            "very long attribute",
            edited(&[("type=\"ReLU\"", &format!("type=\"{long}\""))]),
            4,
            "",
        )
        .named(Named::File),
        Bad::new(
            "deep elements",
            {
                let deep = "<a>".repeat(100_000);
                edited(&[("<edges>", &format!("{deep}<edges>"))])
            },
            3,
            "expected `</a>`, found `</net>`",
        ),
        Bad::new(
            "deep rt_info",
            {
                let deep = format!("{}{}", "<a>".repeat(100_000), "</a>".repeat(100_000));
                edited(&[("</net>", &format!("<rt_info>{deep}</rt_info></net>"))])
            },
            5,
            "rt_info is nested deeper than 256",
        ),
    ];
    for end in (0..PLAIN.trim_end().len()).step_by(64) {
        let name = format!("cut off after {end}");
        let named = if end == 0 { Named::File } else { Named::Line };
        rows.push(Bad::new(&name, &PLAIN.as_bytes()[..end], 3, "").named(named));
    }
    table(rows);
}

/// XML 1.0, 4.3.3: a document in another encoding than it declares is in error.
#[test]
fn encodings() {
    let declared = |label: &str| edited(&[("?>", &format!(" encoding='{label}'?>"))]);
    let wide = |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_le_bytes).collect() };
    let marked = |label: &str| format!("\u{feff}{}", declared(label));
    let rows = [
        (
            "UTF-16 that is not",
            declared("UTF-16").into_bytes(),
            "`UTF-16`, but it is in UTF-8",
        ),
        (
            "UTF-8 that is not",
            wide(&declared("UTF-8")),
            "`UTF-8`, but it is in UTF-16LE",
        ),
        (
            "marked otherwise",
            marked("latin1").into_bytes(),
            "`latin1`, but it is in UTF-8",
        ),
        (
            "unknown",
            declared("klingon").into_bytes(),
            "the unknown encoding `klingon`",
        ),
        (
            "no name",
            declared("").into_bytes(),
            "the unknown encoding ``",
        ),
        (
            "terminal codes",
            declared("\u{1b}[2J").into_bytes(),
            "the unknown encoding `\\u{1b}[2J`",
        ),
    ];
    table(rows.map(|(name, bytes, phrase)| Bad::new(name, bytes, 3, phrase).named(Named::File)));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("m.xml");
    for bytes in [wide(&declared("utf-16")), marked("utf-8").into_bytes()] {
        std::fs::write(&path, bytes).expect("written");
        Model::read(&path).expect("a document that is what it says");
    }
}

#[test]
fn ports() {
    let port = "<port id=\"0\" precision=\"FP32\" names=\"x\"><dim>2</dim><dim>3</dim></port>";
    let many = "<dim>1</dim>".repeat(10_000);
    table([
        Bad::new(
            "two outputs of one id",
            edited(&[(port, &format!("{port}{port}"))]),
            3,
            "two output ports have the id 0",
        )
        .named(Named::Layer),
        Bad::new(
            "two inputs of one id",
            edited(&[("<input>", "<input><port id=\"0\"/>")]),
            3,
            "two input ports have the id 0",
        )
        .named(Named::Layer),
        Bad::new(
            "an output of rank 10,002",
            edited(&[("<dim>2</dim>", &format!("<dim>2</dim>{many}"))]),
            5,
            "more dimensions than the limit of 32",
        ),
        Bad::new(
            "an input of rank 10,002",
            edited(&[(
                "<input><port id=\"0\" precision=\"FP32\">",
                &format!("<input><port id=\"0\" precision=\"FP32\">{many}"),
            )]),
            5,
            "more dimensions than the limit of 32",
        ),
    ]);
}

#[test]
fn what_is_no_file() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (path, phrase) in [
        (folder.path().to_owned(), "is a directory, expected a file"),
        (folder.path().join("nothing.xml"), "No such file"),
        (folder.path().join("nothing/m.xml"), "No such file"),
    ] {
        let error = Model::read(&path).expect_err("no file");
        assert_eq!(error.kind(), Kind::Io, "{error}");
        let text = error.to_string();
        assert!(text.contains(phrase), "{text}");
        assert!(text.contains(path.to_str().expect("UTF-8")), "{text}");
    }
}

#[test]
fn limits_of_documents() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("m.xml");
    std::fs::write(&path, PLAIN).expect("written");
    let fails = |change: fn(&mut Limits)| {
        let mut limits = limits();
        change(&mut limits);
        let error = Model::read_with(&path, &limits).expect_err("over the limit");
        assert_eq!(error.kind(), Kind::Limit, "{error}");
        assert!(error.to_string().contains("m.xml"), "{error}");
    };
    Model::read_with(&path, &limits()).expect("a model");
    fails(|l| l.document_bytes = PLAIN.len() as u64 - 1);
    fails(|l| l.layers = 2);
    fails(|l| l.rank = 1);
}
