//! Bytes that are no document, or one that means harm.

use ovir::{Kind, Limits, Model};

use super::{Bad, Named, PLAIN, edited, limits, table};

#[test]
fn documents() {
    let long = "a".repeat(1 << 20);
    let mut rows = vec![
        Bad::new("empty", "", 3, "").named(Named::File),
        Bad::new("not xml", "hello, world", 3, ""),
        Bad::new("json", "{\"a\": [1, 2]}", 3, ""),
        Bad::new("zeros", vec![0u8; 300], 3, "").named(Named::File),
        Bad::new("two roots", format!("{PLAIN}<net/>"), 3, ""),
        Bad::new("text after", format!("{PLAIN}more"), 3, ""),
        Bad::new("other root", "<html><body/></html>", 3, ""),
        Bad::new(
            "broken utf-8",
            {
                let mut bytes = PLAIN.as_bytes().to_vec();
                bytes[200] = 0xff;
                bytes
            },
            3,
            "",
        )
        .named(Named::File),
        Bad::new("half a utf-16 unit", [0xff, 0xfe, 0x3c].to_vec(), 3, "").named(Named::File),
        Bad::new(
            "NUL in a name",
            edited(&[("\"relu\"", "\"re\0lu\"")]),
            3,
            "",
        ),
        Bad::new(
            "escape in a name",
            edited(&[("\"relu\"", "\"\u{1b}[2J\"")]),
            3,
            "",
        ),
        Bad::new("NUL reference", edited(&[("\"relu\"", "\"&#0;\"")]), 3, ""),
        Bad::new(
            "reference out of range",
            edited(&[("\"relu\"", "\"&#x110000;\"")]),
            3,
            "",
        ),
        Bad::new(
            "attribute twice",
            edited(&[("id=\"1\" name", "id=\"1\" id=\"1\" name")]),
            3,
            "",
        ),
        Bad::new(
            "unknown entity",
            edited(&[("\"relu\"", "\"&lol;\"")]),
            3,
            "",
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
            "",
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
            "",
        ),
        Bad::new("tag not closed", edited(&[("</net>", "<net>")]), 3, ""),
        Bad::new(
            "comment not closed",
            edited(&[("</net>", "<!-- </net>")]),
            3,
            "",
        ),
        Bad::new("crossed tags", edited(&[("</layers>", "</edges>")]), 3, ""),
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
            "",
        ),
        Bad::new(
            "deep rt_info",
            {
                let deep = format!("{}{}", "<a>".repeat(100_000), "</a>".repeat(100_000));
                edited(&[("</net>", &format!("<rt_info>{deep}</rt_info></net>"))])
            },
            5,
            "",
        ),
    ];
    for end in (0..PLAIN.trim_end().len()).step_by(64) {
        let name = format!("cut off after {end}");
        let named = if end == 0 { Named::File } else { Named::Line };
        rows.push(Bad::new(&name, &PLAIN.as_bytes()[..end], 3, "").named(named));
    }
    table(rows);
}

#[test]
fn what_is_no_file() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (path, phrase) in [
        (folder.path().to_owned(), ""),
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
