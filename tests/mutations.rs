//! Samples with random damage: whatever happens to them ends with a result or an error.

use ovir::io::Random;
use ovir::tensor::{ElementType, Shape, Tensor};
use ovir::{Limits, Model};

use crate::support::{files, project};

/// A stream of numbers, the same on every machine.
struct Dice {
    numbers: Vec<u64>,
    next: usize,
}

impl Dice {
    fn new(seed: u64) -> Self {
        let random = Random {
            seed,
            min: None,
            max: None,
        };
        let range = Some((0, i64::MAX));
        let shape = Shape::from([64]);
        let tensor = random
            .fill(ElementType::U64, &shape, range, &Limits::default())
            .expect("random numbers");
        Self {
            numbers: tensor.as_slice::<u64>().expect("u64").to_vec(),
            next: 0,
        }
    }

    fn below(&mut self, end: usize) -> usize {
        let number = self.numbers[self.next % self.numbers.len()];
        self.next += 1;
        usize::try_from(number % end.max(1) as u64).expect("below a usize")
    }
}

/// Pieces that documents are made of, and values at the edges.
const PIECES: &[&str] = &[
    "<",
    ">",
    "\"",
    "&",
    "/>",
    "-1",
    "0",
    "1",
    "?",
    "..",
    ",",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551616",
    "4294967296",
    "1e400",
    "nan",
    "i64",
    "u1",
    "string",
    "u64",
    "f8e8m0",
    "<dim>",
    "</port>",
    "opset1",
    "Concat",
    "Gather",
    "Const",
    "Parameter",
    "Reshape",
    "Broadcast",
    "Convert",
    "ReduceSum",
    "Result",
    "batch_dims=\"-1\"",
    "axis=\"-2\"",
    "mode=\"bidirectional\"",
    "shape=\"1..5,?\"",
    "shape=\"0\"",
    "\u{1b}",
    "é",
];

fn damage(text: &str, dice: &mut Dice) -> String {
    let mut text = text.to_owned();
    for _ in 0..=dice.below(3) {
        let at = text.floor_char_boundary(dice.below(text.len() + 1));
        let end = text.floor_char_boundary((at + dice.below(12)).min(text.len()));
        match dice.below(4) {
            0 => text.replace_range(at..end, ""),
            1 => text.replace_range(at..end, PIECES[dice.below(PIECES.len())]),
            2 => text.insert_str(at, PIECES[dice.below(PIECES.len())]),
            _ => {
                let copy = text[at..end].to_owned();
                let to = text.floor_char_boundary(dice.below(text.len() + 1));
                text.insert_str(to, &copy);
            }
        }
    }
    text
}

/// Evaluates on zeros of whatever the inputs became.
fn evaluate(model: &Model, limits: &Limits) -> Option<()> {
    let mut inputs = Vec::new();
    for index in 0..model.inputs().len() {
        let expected = model.input_type(index)?;
        let dims = expected.shape.dims()?;
        let shape: Shape = dims.iter().map(|d| d.min()).collect();
        if shape.elements().is_none_or(|n| n > 1 << 16) || !expected.element_type.is_static() {
            return None;
        }
        inputs.push((index, Tensor::zeros(expected.element_type, shape).ok()?));
    }
    model
        .evaluate_with(inputs, limits, &mut [])
        .ok()
        .map(|_| ())
}

#[test]
fn damaged_samples_never_panic() {
    let mut limits = Limits::default();
    limits.tensor_bytes = 1 << 20;
    limits.live_bytes = 1 << 22;
    let samples: Vec<(String, Vec<u8>)> = ["ops", "fragments", "broken"]
        .iter()
        .flat_map(|folder| files(&project("ir-samples").join(folder), "xml"))
        .map(|path| {
            let weights = std::fs::read(path.with_extension("bin")).unwrap_or_default();
            (std::fs::read_to_string(&path).unwrap_or_default(), weights)
        })
        .collect();
    let (mut loaded, mut evaluated) = (0, 0);
    for (number, (text, weights)) in samples.iter().enumerate() {
        for round in 0..40 {
            let mut dice = Dice::new((number * 10_000 + round) as u64);
            let text = damage(text, &mut dice);
            let mut weights = weights.clone();
            if !weights.is_empty() && dice.below(2) == 0 {
                let at = dice.below(weights.len());
                weights[at] = u8::try_from(dice.below(256)).expect("a byte");
            }
            if let Ok(model) = Model::from_bytes("damaged.xml", text.into_bytes(), weights) {
                loaded += 1;
                evaluated += usize::from(evaluate(&model, &limits).is_some());
            }
        }
    }
    // The damage is mild enough for some to pass, or the test would only test the parser.
    assert!(
        loaded > 100 && evaluated > 25,
        "{loaded} loaded, {evaluated} evaluated"
    );
}
