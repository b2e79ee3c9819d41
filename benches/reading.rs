//! Reading a large document.

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use ovir::Model;

/// A document of about 5 MB and 10,000 layers.
fn document() -> String {
    use std::fmt::Write;

    let port = |id: usize, names: &str| {
        let dims = "\n          <dim>1</dim>\n          <dim>64</dim>\n          <dim>56</dim>";
        format!("\n        <port id=\"{id}\" precision=\"FP32\"{names}>{dims}\n        </port>")
    };
    let mut text =
        String::from("<?xml version=\"1.0\"?>\n<net name=\"chain\" version=\"11\">\n  <layers>\n");
    write!(
        text,
        "    <layer id=\"0\" name=\"x\" type=\"Parameter\" version=\"opset1\">\n      \
         <data shape=\"1,64,56\" element_type=\"f32\"/>\n      <output>{}\n      </output>\n    </layer>\n",
        port(0, "")
    )
    .expect("a string grows");
    let count = 9_999;
    for id in 1..count {
        write!(
            text,
            "    <layer id=\"{id}\" name=\"model/block.{id}/add\" type=\"Add\" version=\"opset1\">\n      \
             <data auto_broadcast=\"numpy\"/>\n      <input>{}{}\n      </input>\n      <output>{}\n      </output>\n    </layer>\n",
            port(0, ""),
            port(1, ""),
            port(2, &format!(" names=\"t{id}\""))
        )
        .expect("a string grows");
    }
    write!(
        text,
        "    <layer id=\"{count}\" name=\"y\" type=\"Result\" version=\"opset1\">\n      <input>{}\n      </input>\n    </layer>\n  </layers>\n  <edges>\n",
        port(0, "")
    )
    .expect("a string grows");
    for id in 1..=count {
        let from = if id == 1 { 0 } else { 2 };
        for to in 0..=usize::from(id < count) {
            writeln!(
                text,
                "    <edge from-layer=\"{}\" from-port=\"{from}\" to-layer=\"{id}\" to-port=\"{to}\"/>",
                id - 1
            )
            .expect("a string grows");
        }
    }
    text.push_str("  </edges>\n</net>\n");
    text
}

#[divan::bench]
fn load_ten_thousand_layers(bencher: Bencher<'_, '_>) {
    let document = document();
    bencher.counter(BytesCount::new(document.len())).bench(|| {
        let text = document.clone().into_bytes();
        black_box(Model::from_bytes("chain.xml", text, Vec::new()).expect("a model"))
    });
}
