//! Random graphs that are valid: what `evaluate` and `compile` make of them is the same.
//!
//! `OVIR_FUZZ_SHOW=1` prints each graph before it is evaluated.

mod binary;
mod bodies;
mod catalogue;
mod compare;
mod document;
mod grow;
mod movement;
pub mod recipe;
mod sums;

use arbitrary::Unstructured;
use ovir::{CompileOptions, CompiledModel, InferRequest, Kind, Model};

use super::paths::limits;
pub use recipe::Recipe;

/// The graph that the bytes stand for, if there is anything in it.
pub fn graph(bytes: &[u8]) -> Option<Recipe> {
    grow::Grower::new(Unstructured::new(bytes)).grow()
}

/// Evaluates the graph in every way there is, and panics where the results differ.
pub fn check(bytes: &[u8]) {
    let Some(recipe) = graph(bytes) else { return };
    if std::env::var_os("OVIR_FUZZ_SHOW").is_some() {
        eprintln!("{recipe}");
    }
    let fail = |what: &str| panic!("{what}\n{recipe}");
    let exact = recipe
        .build(true)
        .unwrap_or_else(|e| fail_with(&recipe, &e));
    // What inference accepts for exact shapes, it accepts for intervals around them.
    let open = recipe
        .build(false)
        .unwrap_or_else(|e| fail_with(&recipe, &e));
    for index in 0..exact.outputs().len() {
        let (exact, open) = (exact.output_type(index), open.output_type(index));
        let (exact, open) = (exact.expect("an output"), open.expect("an output"));
        let inside = exact
            .shape
            .to_shape()
            .is_none_or(|s| open.shape.contains(&s));
        if !inside || (open.element_type.is_static() && exact.element_type != open.element_type) {
            fail(&format!(
                "output {index}: {exact} inferred exactly, {open} openly"
            ));
        }
    }
    let inputs = recipe.inputs();
    let with_index = || inputs.iter().cloned().enumerate();
    let reference = exact.evaluate_with(with_index(), &limits(), &mut []);
    let same = |way: &str, found: ovir::Result<ovir::Outputs>| match (&reference, found) {
        (Ok(expected), Ok(found)) => {
            for (index, result) in recipe.results.iter().enumerate() {
                let rounded = recipe.rounded(*result);
                if let Err(why) = compare::same(&expected[index], &found[index], rounded) {
                    fail(&format!(
                        "{way}, output {index} (step {}): {why}",
                        result.step
                    ));
                }
            }
        }
        (Err(one), Ok(_)) if !at_limit(one) && needed(&recipe, one) => {
            fail(&format!("{way} gives what is refused: {one}"))
        }
        (Ok(_), Err(other)) if !at_limit(&other) => fail(&format!("{way} refuses: {other}")),
        _ => {}
    };
    same(
        "open shapes",
        open.evaluate_with(with_index(), &limits(), &mut []),
    );
    for (way, model) in [("compiled", &exact), ("compiled with open shapes", &open)] {
        let mut request = compiled(model).infer_request();
        // The second evaluation packs weights and knows the shapes, the third reuses memory.
        for _ in 0..3 {
            same(way, infer(&mut request, &inputs));
        }
    }
}

fn fail_with<T>(recipe: &Recipe, error: &ovir::Error) -> T {
    panic!("{error}\n{recipe}")
}

fn compiled(model: &Model) -> CompiledModel {
    let mut options = CompileOptions::default();
    options.folded_bytes = 1 << 20;
    model.compile(&options).expect("every layer is supported")
}

fn infer(
    request: &mut InferRequest,
    inputs: &[ovir::tensor::Tensor],
) -> ovir::Result<ovir::Outputs> {
    request.infer_with(inputs.iter().cloned().enumerate(), &limits(), &mut [])
}

/// Whether a result depends on the layer that refuses: compiled models do not evaluate others.
fn needed(recipe: &Recipe, error: &ovir::Error) -> bool {
    let layers = error.place().layers.iter();
    let names: Vec<&str> = layers.map(|layer| layer.name.as_str()).collect();
    recipe.needs(&names)
}

fn at_limit(error: &ovir::Error) -> bool {
    matches!(error.kind(), Kind::Limit | Kind::Deadline)
}
