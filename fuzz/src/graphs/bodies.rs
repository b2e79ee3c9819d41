//! If and Loop, whose bodies are graphs grown like the one they stand in.

use ovir::tensor::Tensor;

use super::grow::{Draft, Grower, layer};
use super::recipe::{Body, Layer, Recipe, Value};

/// The most layers of a body.
const LAYERS: usize = 4;
/// The most iterations of a Loop.
const TRIPS: i64 = 3;
/// How deep bodies are nested.
const DEPTH: usize = 2;

/// What a Loop says of its condition and of the number of iterations.
fn scalar(g: &mut Grower<'_>, tensor: Tensor) -> Value {
    if g.one_in(3) {
        g.input(tensor)
    } else {
        g.tensor(tensor)
    }
}

/// Values from outside; a body may make small errors large, so that they are exact.
fn captured(g: &mut Grower<'_>) -> Vec<Value> {
    (0..=g.below(2)).map(|_| g.any()).collect()
}

/// An If whose branches take the same values and give one of the same element type.
pub(super) fn branches(g: &mut Grower<'_>) -> Draft {
    if g.depth == DEPTH {
        return None;
    }
    let chosen = Tensor::scalar(g.one_in(2));
    let mut inputs = vec![scalar(g, chosen)];
    inputs.extend(captured(g));
    let ty = g.ty(inputs[1]);
    let mut made = layer("If", &inputs).of("opset8");
    for tag in ["then_body", "else_body"] {
        let facts: Vec<_> = inputs[1..].iter().map(|&v| g.fact(v)).collect();
        let (mut recipe, outputs) = g.body(&facts, LAYERS, false);
        // The last there is: the first parameter has the type.
        let mut found = None;
        for (step, outputs) in outputs.iter().enumerate() {
            if outputs[0].element_type == ty {
                found = Some(Value { step, output: 0 });
            }
        }
        recipe.results.push(found?);
        let mut ports = String::new();
        for input in 1..inputs.len() {
            ports += &entry("input", input as i64, input - 1, "");
        }
        ports += &entry("output", inputs.len() as i64, recipe.steps.len(), "");
        made.bodies.push(Body {
            tag,
            recipe,
            ports,
            back: String::new(),
        });
    }
    Some(made)
}

/// A Loop of a state, of values that stay, and of the number of the iteration.
pub(super) fn loops(g: &mut Grower<'_>) -> Draft {
    if g.depth == DEPTH {
        return None;
    }
    let trips = Tensor::scalar(g.between(0, TRIPS));
    let mut inputs = vec![scalar(g, trips)];
    let go = Tensor::scalar(!g.one_in(8));
    inputs.push(scalar(g, go));
    inputs.extend(captured(g));
    let (state, count) = (g.fact(inputs[2]), inputs.len());
    let mut facts: Vec<_> = inputs[2..].iter().map(|&v| g.fact(v)).collect();
    let counts = g.one_in(2);
    if counts {
        facts.push(Tensor::scalar(0i64));
    }
    let (mut recipe, outputs) = g.body(&facts, LAYERS, true);
    let values = || {
        let all = outputs.iter().enumerate().skip(facts.len());
        all.map(|(step, outputs)| (Value { step, output: 0 }, &outputs[0]))
    };
    let next = values()
        .filter(|(_, o)| o.element_type == state.element_type())
        .rfind(|(_, o)| o.shape.to_shape().as_ref() == Some(state.shape()));
    let next = next.map_or(Value { step: 0, output: 0 }, |(value, _)| value);
    let kept = values().rfind(|(_, o)| o.shape.to_shape().is_some_and(|s| !s.is_empty()));
    let steps = recipe.steps.len();
    // The condition of the next iteration is that of the first, or false.
    let again = Tensor::scalar(!g.one_in(4));
    recipe.steps.push(super::recipe::Step::Constant(again));
    recipe.results = vec![
        Value {
            step: steps,
            output: 0,
        },
        next,
    ];
    let result = |index: usize| steps + 1 + index;
    let mut ports = String::new();
    for index in 0..count - 2 {
        ports += &entry("input", index as i64 + 2, index, "");
    }
    if counts {
        ports += &entry("input", -1, count - 2, " purpose='current_iteration'");
    }
    ports += &entry("output", -1, result(0), " purpose='execution_condition'");
    ports += &entry("output", count as i64, result(1), "");
    if let Some((value, output)) = kept {
        recipe.results.push(value);
        let size = output.shape.to_shape().map_or(1, |s| s[0]);
        let along = format!(" axis='0' part_size='{}' stride='{0}'", size.max(1));
        ports += &entry("output", count as i64 + 1, result(2), &along);
    }
    let back = format!("<edge from-layer='{}' to-layer='0'/>", result(1));
    let mut made: Layer = layer("Loop", &inputs).of("opset5");
    made.bodies.push(Body {
        tag: "body",
        recipe,
        ports,
        back,
    });
    Some(made)
}

fn entry(tag: &str, outside: i64, inside: usize, more: &str) -> String {
    format!("<{tag} external_port_id='{outside}' internal_layer_id='{inside}'{more}/>")
}

impl Grower<'_> {
    /// A value of the shape and type of another, for the parameter of a body.
    fn fact(&self, value: Value) -> Tensor {
        let shape = self.dims(value);
        Tensor::zeros(self.ty(value), &shape[..]).expect("small")
    }
}

/// Whether anything in a body is a sum of floats.
pub(super) fn sums(recipe: &Recipe) -> bool {
    recipe.results.iter().any(|&value| recipe.rounded(value))
}
