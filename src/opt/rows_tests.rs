//! Gathers of rows that are widened, beside the same in the evaluator.

use std::collections::HashSet;

use crate::graph::{Builder, Graph, Port};
use crate::opt::draft::Draft;
use crate::tensor::convert::convert;
use crate::tensor::{ElementType, Shape, Tensor};
use crate::{CompileOptions, Model};

const COUNT: usize = 2100;
const WIDTH: usize = 512;

/// Whole numbers from 0 to 15.
fn numbers(ty: ElementType, shape: &[usize], seed: usize) -> Tensor {
    let len: usize = shape.iter().product();
    let values: Vec<f32> = (0..len)
        .map(|i| ((i * 37 + i / 91 + seed * 11) % 16) as f32)
        .collect();
    let tensor = Tensor::new(Shape::from(shape), &values).expect("fits");
    convert(&tensor, ty).expect("memory")
}

#[derive(Default)]
struct Written(Builder);

impl Written {
    fn add(&mut self, name: &str, kind: &str, attributes: &[(&str, &str)], of: &[Port]) -> Port {
        let opset = if kind == "Gather" { "opset8" } else { "opset1" };
        self.0.add(name, kind, opset, attributes, of).expect("fits")
    }

    fn constant(&mut self, name: &str, ty: ElementType, shape: &[usize]) -> Port {
        let seed = name.len();
        self.0.constant(name, numbers(ty, shape, seed))
    }

    fn convert(&mut self, name: &str, to: &str, of: Port) -> Port {
        self.add(name, "Convert", &[("destination_type", to)], &[of])
    }

    /// Weights that are stored in eight or four bits, in groups if they are of so many, and computed in `f16`.
    fn compressed(&mut self, ty: ElementType, groups: &[usize], scales: &[usize]) -> Port {
        let shape = match groups {
            [] => vec![COUNT, WIDTH],
            &[groups, ..] => vec![COUNT, groups, WIDTH / groups],
        };
        let codes = self.constant("codes", ty, &shape);
        let codes = self.convert("halves", "f16", codes);
        let zeros = self.constant("zeros", ty, scales);
        let zeros = self.convert("half_zeros", "f16", zeros);
        let scale = self.constant("scale", ElementType::F16, scales);
        let less = self.add("less", "Subtract", &[], &[codes, zeros]);
        let mut table = self.add("scaled", "Multiply", &[], &[less, scale]);
        if !groups.is_empty() {
            let shape = Tensor::vector(&[COUNT as i64, WIDTH as i64]);
            let shape = self.0.constant("shape", shape);
            let attributes = [("special_zero", "false")];
            table = self.add("merged", "Reshape", &attributes, &[table, shape]);
        }
        self.convert("table", "f32", table)
    }

    /// A model that gathers from a table twice, the second time what the first result says.
    fn gathers(mut self, table: Port, axis: i64) -> Model {
        let indices =
            self.0
                .parameter("indices", ElementType::I64, "?,3".parse().expect("a shape"));
        let axis = self.0.constant("axis", Tensor::scalar(axis));
        let rows = self.add("rows", "Gather", &[], &[table, indices, axis]);
        self.0.result("y", rows);
        let again = self.convert("again", "i32", rows);
        let others = self.add("others", "Gather", &[], &[table, again, axis]);
        self.0.result("z", others);
        // Another operation of three inputs.
        let ends = [0.0, 1.0, 1.0].map(|end: f32| self.0.constant("end", Tensor::scalar(end)));
        let range = self
            .0
            .add("range", "Range", "opset4", &[("output_type", "f32")], &ends);
        self.0.result("range", range.expect("fits"));
        self.0.build("table").expect("fits")
    }
}

/// Compares a model with the evaluator, and tells which layers it has when it is compiled, and the bytes of
/// its constants.
fn compiled(model: &Model) -> (Vec<String>, usize) {
    let compiled = model.compile(&CompileOptions::default()).expect("compiles");
    for rows in [1, 3, 1] {
        let end = COUNT as i64;
        let indices = [0, 7, -1, end - 1, end, -end - 1, 1 << 40, 300, 0];
        let indices = Tensor::new([rows, 3], &indices[..3 * rows]).expect("fits");
        let expected = model.evaluate([(0, indices.clone())]).expect("evaluates");
        let found = compiled.infer_request().infer([(0, indices)]);
        let found = found.expect("evaluates");
        for ((name, found), (_, expected)) in found.iter().zip(expected.iter()) {
            assert!(found == expected, "{name}: {found:?} {expected:?}");
        }
    }
    let graph = compiled.compiled().graph();
    let constants = graph
        .nodes()
        .filter_map(|(_, node)| node.op()?.constant()?.ok());
    let bytes = constants.map(Tensor::byte_len).sum();
    let kinds = graph.nodes().map(|(_, node)| node.type_name().to_owned());
    let kinds = kinds.filter(|kind| kind != "Const" && kind != "Parameter" && kind != "Result");
    (kinds.collect(), bytes)
}

/// The layers that compute rows of [`Written::compressed`].
fn all(groups: &[usize]) -> impl Iterator<Item = &'static str> {
    // Inference knows zero points that are few, converted too.
    let zeros = groups.iter().any(|groups| groups * COUNT > 4096);
    let zeros = ["Gather"].into_iter().chain(zeros.then_some("Convert"));
    let scaled = ["Subtract", "Gather", "Multiply"];
    let merged = (!groups.is_empty()).then_some("Reshape");
    let all = ["Gather", "Convert"].into_iter().chain(zeros);
    all.chain(scaled).chain(merged).chain(["Convert"])
}

#[test]
fn rows_are_widened_after_they_are_gathered() {
    let mut graph = Written::default();
    let halves = graph.constant("halves", ElementType::F16, &[COUNT, WIDTH]);
    let table = graph.convert("table", "f32", halves);
    let (kinds, bytes) = compiled(&graph.gathers(table, 0));
    assert_eq!(kinds, ["Gather", "Convert", "Convert", "Gather", "Convert"]);
    assert_eq!(bytes, COUNT * WIDTH * 2 + 8 + 4);
    for (ty, groups) in [
        (ElementType::U8, &[][..]),
        (ElementType::I8, &[4]),
        (ElementType::U4, &[]),
        (ElementType::U4, &[8]),
    ] {
        let mut graph = Written::default();
        let scales = [&[COUNT], groups, &[1]].concat();
        let table = graph.compressed(ty, groups, &scales);
        let (kinds, bytes) = compiled(&graph.gathers(table, 0));
        let twice: Vec<&str> = all(groups).chain(["Convert"]).chain(all(groups)).collect();
        assert_eq!(kinds, twice, "{ty} {groups:?}");
        assert!(bytes < COUNT * WIDTH * 2, "{bytes}");
    }
}

#[test]
fn bodies_know_where_their_layers_went() {
    let mut graph = Written::default();
    let halves = graph.constant("halves", ElementType::F16, &[COUNT, WIDTH]);
    let table = graph.convert("table", "f32", halves);
    let model = graph.gathers(table, 0);
    let mut drafts: Vec<Draft> = Draft::all(model.graphs(), model.facts()).collect();
    let find = |drafts: &[Draft], name| drafts[0].graph.find(name).expect("it is there");
    for name in ["indices", "again", "range"] {
        let node = find(&drafts, name);
        let graph = Graph {
            parent: Some((0, node)),
            ..Graph::default()
        };
        let facts = Vec::new();
        drafts.push(Draft { graph, facts });
    }
    let before = find(&drafts, "range");
    super::rows(&mut drafts);
    assert_eq!(find(&drafts, "range").index(), before.index() + 2);
    for (body, name) in (1..).zip(["indices", "again", "range"]) {
        assert_eq!(drafts[body].graph.parent, Some((0, find(&drafts, name))));
    }
    let ids: HashSet<u64> = drafts[0].graph.nodes().map(|(_, node)| node.id()).collect();
    assert_eq!(ids.len(), drafts[0].len());
}

#[test]
fn tables_that_are_better_computed_ahead() {
    let wide = COUNT * WIDTH * 4;
    let halves = |columns: usize| {
        let mut graph = Written::default();
        let halves = graph.constant("halves", ElementType::F16, &[COUNT, columns]);
        let table = graph.convert("table", "f32", halves);
        (graph, table)
    };
    // Along another axis, and those that are small.
    let (graph, table) = halves(WIDTH);
    assert!(compiled(&graph.gathers(table, 1)).1 > wide);
    let (graph, table) = halves(16);
    assert!(compiled(&graph.gathers(table, 0)).1 > COUNT * 16 * 4);
    // Of which a row that is out of range would not be zeros.
    let mut graph = Written::default();
    let codes = graph.constant("codes", ElementType::Nf4, &[COUNT, WIDTH]);
    let table = graph.convert("table", "f32", codes);
    assert!(compiled(&graph.gathers(table, 0)).1 > wide);
    // A zero point for all rows would make rows out of range other than zeros.
    for scales in [&[1, 1][..], &[WIDTH]] {
        let mut graph = Written::default();
        let table = graph.compressed(ElementType::U8, &[], scales);
        assert!(compiled(&graph.gathers(table, 0)).1 > wide);
    }
    // One that is computed in many steps, the more if each takes the one before twice.
    let (mut graph, mut table) = halves(WIDTH);
    for i in 0..40 {
        let half = graph
            .0
            .constant("half", numbers(ElementType::F32, &[COUNT, 1], i));
        let sum = graph.add("sum", "Add", &[], &[table, table]);
        table = graph.add("product", "Multiply", &[], &[sum, half]);
    }
    assert!(compiled(&graph.gathers(table, 0)).1 > wide);
    // One that is needed whole.
    let (mut graph, table) = halves(WIDTH);
    graph.0.result("all", table);
    assert!(compiled(&graph.gathers(table, 0)).1 > wide);
    // One of which as many rows are taken as it has.
    let (mut graph, table) = halves(WIDTH);
    let indices = format!("3,{}", COUNT / 3).parse().expect("a shape");
    let indices = graph.0.parameter("indices", ElementType::I32, indices);
    let axis = graph.0.constant("axis", Tensor::scalar(0i64));
    let rows = graph.add("rows", "Gather", &[], &[table, indices, axis]);
    graph.0.result("y", rows);
    let model = graph.0.build("table").expect("fits");
    let compiled = model.compile(&CompileOptions::default()).expect("compiles");
    assert_eq!(compiled.compiled().graph().nodes().len(), 5);
}
