//! Normalization written out beside the one operation it becomes.

use super::super::written::Written;
use crate::tensor::{ElementType, Tensor};
use crate::{CompileOptions, Model};

const ROWS: usize = 6;
const WIDTH: usize = 21;

/// How a model writes it.
#[derive(Debug, Clone, Copy)]
struct Form {
    /// Whether squares are powers, not products.
    power: bool,
    inverse: Inverse,
    axis: i64,
    scale: Scale,
    /// Whether somebody else takes what is scaled.
    looked_at: bool,
    /// Whether squares are those of other numbers.
    of_others: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Inverse {
    /// `x / sqrt(mean)`.
    Quotient,
    /// `x * (1 / sqrt(mean))`.
    Reciprocal,
    /// `sqrt(mean)^-1 * x`.
    PowerOfRoot,
    /// `x * mean^-0.5`.
    Power,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Scale {
    None,
    /// One number for each place of the last axis.
    Last,
    /// One for each row.
    Rows,
}

fn model(form: Form) -> Model {
    let mut written = Written::default();
    let shape = format!("2,{ROWS},{WIDTH}").parse().expect("a shape");
    let x = written.graph.parameter("x", ElementType::F32, shape);
    let squared = if form.of_others {
        written.add("Exp", &[], &[x])
    } else {
        x
    };
    let squares = if form.power {
        let two = written.number(2.0);
        written.add("Power", &[], &[squared, two])
    } else {
        written.add("Multiply", &[], &[squared, squared])
    };
    let axes = written.graph.constant("axes", Tensor::vector(&[form.axis]));
    let mean = written.add("ReduceMean", &[("keep_dims", "true")], &[squares, axes]);
    let epsilon = written.number(0.25);
    let mean = written.add("Add", &[], &[epsilon, mean]);
    let mut out = match form.inverse {
        Inverse::Quotient => {
            let root = written.add("Sqrt", &[], &[mean]);
            written.add("Divide", &[], &[x, root])
        }
        Inverse::Reciprocal => {
            let root = written.add("Sqrt", &[], &[mean]);
            let one = written.number(1.0);
            let factor = written.add("Divide", &[], &[one, root]);
            written.add("Multiply", &[], &[x, factor])
        }
        Inverse::PowerOfRoot => {
            let half = written.number(0.5);
            let root = written.add("Power", &[], &[mean, half]);
            let exponent = written.number(-1.0);
            let factor = written.add("Power", &[], &[root, exponent]);
            written.add("Multiply", &[], &[factor, x])
        }
        Inverse::Power => {
            let exponent = written.number(-0.5);
            let factor = written.add("Power", &[], &[mean, exponent]);
            written.add("Multiply", &[], &[x, factor])
        }
    };
    if form.looked_at {
        written.graph.result("unscaled", out);
    }
    let scale = match form.scale {
        Scale::None => None,
        Scale::Last => Some((vec![WIDTH], WIDTH)),
        Scale::Rows => Some((vec![ROWS, 1], ROWS)),
    };
    if let Some((shape, len)) = scale {
        let values: Vec<f32> = (0..len).map(|i| i as f32 / 7.0 - 1.0).collect();
        let scale = Tensor::new(&shape[..], &values).expect("as many");
        let scale = written.graph.constant("scale", scale);
        out = written.add("Multiply", &[], &[scale, out]);
    }
    written.graph.result("out", out);
    written.graph.build("rms").expect("fits")
}

/// Evaluates the model as it is and compiled; the names of the compiled operations.
fn kinds(form: Form) -> Vec<String> {
    let model = model(form);
    let values: Vec<f32> = (0..2 * ROWS * WIDTH)
        .map(|i| (i * 31 % 47) as f32 / 9.0 - 2.3)
        .collect();
    let input = Tensor::new([2, ROWS, WIDTH], &values).expect("as many");
    let expected = model.evaluate([(0, input.clone())]).expect("evaluates");
    let compiled = model.compile(&CompileOptions::default()).expect("compiles");
    let found = compiled.infer_request().infer([(0, input)]);
    for ((_, found), (_, expected)) in found.expect("evaluates").iter().zip(expected.iter()) {
        assert_eq!(found.shape(), expected.shape());
        let (found, expected) = (found.as_slice::<f32>(), expected.as_slice::<f32>());
        for (a, b) in found.expect("f32").iter().zip(expected.expect("f32")) {
            assert!(
                (a - b).abs() <= 1e-6 * b.abs().max(1.0),
                "{form:?}: {a} {b}"
            );
        }
    }
    let nodes = compiled.compiled().graph().nodes();
    nodes
        .map(|(_, node)| node.type_name().to_owned())
        .filter(|kind| !matches!(&kind[..], "Parameter" | "Const" | "Result"))
        .collect()
}

#[test]
fn every_form() {
    for power in [false, true] {
        for inverse in [
            Inverse::Quotient,
            Inverse::Reciprocal,
            Inverse::PowerOfRoot,
            Inverse::Power,
        ] {
            for axis in [-1, 2] {
                for scale in [Scale::None, Scale::Last] {
                    let form = Form {
                        power,
                        inverse,
                        axis,
                        scale,
                        looked_at: false,
                        of_others: false,
                    };
                    assert_eq!(kinds(form), ["RMS"], "{form:?}");
                }
            }
        }
    }
}

#[test]
fn scales_that_stay() {
    let form = Form {
        power: true,
        inverse: Inverse::Reciprocal,
        axis: -1,
        scale: Scale::Last,
        looked_at: true,
        of_others: false,
    };
    assert_eq!(kinds(form), ["RMS", "Multiply"]);
    let form = Form {
        scale: Scale::Rows,
        looked_at: false,
        ..form
    };
    assert_eq!(kinds(form), ["RMS", "Multiply"]);
}

#[test]
fn other_axes_and_other_squares_are_left_as_they_are() {
    let form = Form {
        power: true,
        inverse: Inverse::Quotient,
        axis: 1,
        scale: Scale::None,
        looked_at: false,
        of_others: false,
    };
    let left = |form| kinds(form).iter().all(|kind| kind != "RMS");
    assert!(left(form));
    let form = Form {
        axis: -1,
        of_others: true,
        ..form
    };
    assert!(left(form));
}
