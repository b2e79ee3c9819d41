//! All operations of the folder: what they infer holds what they make, and no range that is
//! wrong does more than fail.

use proptest::prelude::*;

use crate::op::attrs::Attr;
use crate::op::{LayerData, NoWeights, Op, OpErrorKind};
use crate::ops::testing::{dynamic, run_all};
use crate::tensor::{ElementType, Tensor};

fn made(name: &str, attributes: &[(&str, &str)]) -> Box<dyn Op> {
    let attributes: Vec<_> = attributes.iter().map(|&(n, v)| Attr::new(n, v)).collect();
    let layer = LayerData {
        attributes: &attributes,
        weights: &NoWeights,
    };
    let row = crate::ops::resolve(name, "extension").expect("a row").def;
    let (op, unknown) = row.read(&layer).expect("good attributes");
    assert!(unknown.is_empty(), "{name}");
    op
}

fn strings(texts: &[&str]) -> Vec<Tensor> {
    let (mut begins, mut ends, mut symbols) = (Vec::new(), Vec::new(), Vec::new());
    for text in texts {
        begins.push(symbols.len() as i32);
        symbols.extend_from_slice(text.as_bytes());
        ends.push(symbols.len() as i32);
    }
    vec![
        Tensor::vector(&begins),
        Tensor::vector(&ends),
        Tensor::vector(&symbols),
    ]
}

fn rows(lengths: &[i32]) -> Vec<Tensor> {
    let ends = lengths.iter().scan(0, |sum, length| {
        *sum += length;
        Some(*sum)
    });
    let ends: Vec<i32> = ends.collect();
    let begins: Vec<i32> = ends.iter().zip(lengths).map(|(e, l)| e - l).collect();
    vec![Tensor::vector(&begins), Tensor::vector(&ends)]
}

fn text(text: &str) -> Tensor {
    Tensor::vector(text.as_bytes())
}

type Example = (&'static str, Vec<(&'static str, &'static str)>, Vec<Tensor>);

/// Rows of five strings.
fn ragged() -> Vec<Tensor> {
    [rows(&[2, 0, 3]), strings(&["a b", "", "ba", "漢", "ab a"])].concat()
}

fn of_strings() -> Vec<Example> {
    let words = || strings(&["Aé", "", "b c"]);
    let flags = Tensor::vector(&[true, false, false, true, false]);
    let form = vec![("normalization_form", "nfkc"), ("case_fold", "true")];
    let pattern = |p: &str, to: &str| vec![text(p), text(to)];
    vec![
        ("ByteFallback", vec![], words()),
        (
            "BytesToChars",
            vec![],
            [ragged(), vec![flags.clone()]].concat(),
        ),
        ("CaseFold", vec![], words()),
        ("CharsMapNormalization", form, words()),
        ("CharsToBytes", vec![], ragged()),
        (
            "ContribStringJoin",
            vec![],
            [words(), vec![text(", "), Tensor::scalar(0i64)]].concat(),
        ),
        (
            "ContribStringSplit",
            vec![],
            [words(), vec![text(" "), Tensor::scalar(true)]].concat(),
        ),
        ("EqualStr", vec![], [words(), strings(&["Aé"])].concat()),
        ("NormalizeUnicode", vec![], words()),
        (
            "RegexNormalization",
            vec![],
            [words(), pattern(r"\s", "_")].concat(),
        ),
        (
            "RegexSplit",
            vec![],
            [ragged(), vec![flags.clone(), text(" ")]].concat(),
        ),
        (
            "SpecialTokensSplit",
            vec![],
            [ragged(), vec![flags, text("(b)")]].concat(),
        ),
        ("StringTensorPack", vec![("mode", "begins_ends")], words()),
        ("StringToHashBucket", vec![("num_buckets", "7")], words()),
        ("UTF8Validate", vec![("replace_mode", "true")], words()),
    ]
}

fn of_vocabularies() -> Vec<Example> {
    let words = || strings(&["a", "b", " ", "漢", "ab", "<s>"]);
    let merges = || [strings(&["a"]), strings(&["b"])].concat();
    let ids = || Tensor::vector(&[1, 2, 3, 4, 5, 6]);
    let scores = Tensor::vector(&[-1f32, -2., -3., -4., -2.5, 0.]);
    let added = [strings(&["<x>"]), vec![Tensor::vector(&[9])]].concat();
    let sequences = Tensor::new([2, 2], &[0i32, 5, 4, 99]).expect("four");
    let skip = Tensor::vector(&[5]);
    vec![
        (
            "BPETokenizer",
            vec![("unk_token", "<s>")],
            [ragged(), words(), merges(), added].concat(),
        ),
        (
            "TrieTokenizer",
            vec![],
            [ragged(), words(), vec![ids()]].concat(),
        ),
        (
            "UnigramTokenizer",
            vec![("min_score", "inf")],
            [ragged(), words(), vec![scores]].concat(),
        ),
        (
            "VocabDecoder",
            vec![("skip_tokens", "")],
            [vec![sequences], words(), vec![skip]].concat(),
        ),
        (
            "VocabEncoder",
            vec![],
            [
                strings(&["ab", "x"]),
                words(),
                vec![ids(), Tensor::scalar(0i32)],
            ]
            .concat(),
        ),
        (
            "WordpieceTokenizer",
            vec![],
            [ragged(), words(), vec![Tensor::scalar(5i32)]].concat(),
        ),
    ]
}

fn of_rows() -> Vec<Example> {
    let elements = || Tensor::vector(&[1, 2, 3, 4, 5]);
    let three = || [rows(&[2, 0, 3]), vec![elements()]].concat();
    let one = || {
        vec![
            Tensor::scalar(0i32),
            Tensor::scalar(1i32),
            Tensor::vector(&[7]),
        ]
    };
    let ids = vec![Tensor::vector(&[0, 1])];
    let options = vec![Tensor::scalar(3i32), text("left"), text("longest_first")];
    let padding = vec![Tensor::scalar(2i32), Tensor::scalar(-1i32)];
    let places = vec![Tensor::vector(&[0, 0, 2]), Tensor::scalar(4i32)];
    vec![
        ("CombineSegments", vec![], [one(), three(), ids].concat()),
        (
            "FuzeRagged",
            vec![],
            [rows(&[2, 3]), rows(&[1, 2, 0, 3, 1])].concat(),
        ),
        ("RaggedTensorPack", vec![], three()),
        (
            "RaggedToDense",
            vec![("pad_right", "false")],
            [three(), padding].concat(),
        ),
        ("RaggedToRagged", vec![], places),
        ("RaggedToSparse", vec![], rows(&[2, 0, 3])),
        (
            "Truncate",
            vec![("m_num_inputs", "2")],
            [three(), three(), options].concat(),
        ),
    ]
}

fn examples() -> Vec<Example> {
    [of_strings(), of_vocabularies(), of_rows()].concat()
}

#[test]
fn inference_holds_what_is_made() {
    for (name, attributes, inputs) in examples() {
        let op = made(name, &attributes);
        let out = run_all(&*op, &inputs).unwrap_or_else(|e| panic!("{name}: {e}"));
        for mask in (0..400).map(|i: u32| i.wrapping_mul(0x9E37_79B9)) {
            assert!(
                dynamic(&*op, &inputs, mask).contains(out[0].shape()),
                "{name}"
            );
        }
        assert!(run_all(&*op, &inputs[..1]).is_err(), "{name}");
        for count in 2..inputs.len() {
            let _ = run_all(&*op, &inputs[..count]);
        }
    }
    let names: Vec<_> = examples().iter().map(|e| e.0).collect();
    for row in super::OPS
        .iter()
        .filter(|row| row.name != "StringTensorUnpack")
    {
        assert!(names.contains(&row.name), "{} has no example", row.name);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Any number in place of another: an error or an answer, but no panic.
    #[test]
    fn any_number_anywhere(at in 0usize..64, value in prop_oneof![-2..9i32, any::<i32>()], byte: u8) {
        for (name, attributes, mut inputs) in examples() {
            let op = made(name, &attributes);
            let all: usize = inputs.iter().map(Tensor::len).sum();
            let mut place = at * all / 64;
            for input in &mut inputs {
                if place >= input.len() {
                    place -= input.len();
                    continue;
                }
                match input.element_type() {
                    ElementType::I32 => input.as_mut_slice::<i32>().expect("i32")[place] = value,
                    ElementType::U8 => input.as_mut_slice::<u8>().expect("u8")[place] = byte,
                    _ => {}
                }
                break;
            }
            // A dense tensor of that many columns is what was asked for.
            if name != "RaggedToDense" && name != "RaggedToRagged" || value < 1000 {
                let _ = run_all(&*op, &inputs);
            }
        }
    }
}

#[test]
fn what_overlaps_is_limited() {
    let many = 20_000;
    let symbols = Tensor::vector(&vec![b'a'; 1 << 18]);
    let (zeros, ends) = (vec![0i32; many], vec![1i32 << 18; many]);
    let (begins, ends) = (Tensor::vector(&zeros), Tensor::vector(&ends));
    let (row_begins, row_ends) = (
        Tensor::vector(&zeros),
        Tensor::vector(&vec![many as i32; many]),
    );
    let long = [
        row_begins.clone(),
        row_ends.clone(),
        begins.clone(),
        ends,
        symbols.clone(),
        text("b"),
    ];
    let short = [
        row_begins,
        row_ends,
        begins.clone(),
        begins,
        symbols,
        text("b"),
    ];
    for inputs in [long, short] {
        let error = run_all(&*made("RegexSplit", &[]), &inputs).expect_err("too much");
        assert_eq!(error.kind, OpErrorKind::Limit);
    }
    let sparse = [Tensor::vector(&[0; 9]), Tensor::vector(&[i32::MAX; 9])];
    let error = run_all(&*made("RaggedToSparse", &[]), &sparse).expect_err("too much");
    assert_eq!(error.kind, OpErrorKind::Limit);
}

#[test]
fn where_the_real_runtime_fails() {
    // Rows of nothing but empty strings stay rows.
    let empty = [rows(&[1, 1]), strings(&["", ""]), vec![text(" ")]].concat();
    let out = run_all(&*made("RegexSplit", &[]), &empty).expect("rows");
    assert_eq!(out[0].len(), 2);
    // A row of no strings behind the last.
    let none = [rows(&[1, 0]), rows(&[3])].concat();
    let out = run_all(&*made("FuzeRagged", &[]), &none).expect("rows");
    assert_eq!(out[0].as_slice::<i32>().expect("i32"), [0, 0]);
    assert_eq!(out[1].as_slice::<i32>().expect("i32"), [3, 0]);
    // Flags of strings to skip.
    let inputs = [
        ragged(),
        vec![
            Tensor::vector(&[false, true, true, true, false]),
            text("(b)"),
        ],
    ]
    .concat();
    let out = run_all(&*made("SpecialTokensSplit", &[]), &inputs).expect("flags");
    let special = out[5].as_slice::<bool>().expect("flags");
    assert_eq!(special, [false, true, true, true, true, false, true, false]);
    // No word matches.
    let words = [
        rows(&[1]),
        strings(&["ax"]),
        strings(&["a"]),
        vec![Tensor::vector(&[1])],
    ]
    .concat();
    assert!(run_all(&*made("TrieTokenizer", &[]), &words).is_err());
}
