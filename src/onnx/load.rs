//! From a file to a graph: messages decoded, names resolved, operators mapped, shapes inferred.

use std::path::Path;
use std::sync::Arc;

use prost::Message;
use prost::bytes::Bytes;

use super::build::Builder;
use super::external::Folder;
use super::problem::{Problems, Refusal};
use super::proto::ModelProto;
use super::scan::{self, scan};
use crate::error::{Error, Kind, Place};
use crate::graph::Graph;
use crate::graph::infer::{Facts, Refused, disagreements};
use crate::ir::Problem;
use crate::limits::Limits;
use crate::tensor::SharedBytes;

/// The domain of the operators that every model may use.
pub(super) const DEFAULT_DOMAIN: &str = "ai.onnx";

/// What a file holds, as far as it could be read.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// The name of the graph.
    pub(crate) name: String,
    /// The version of the format.
    pub(crate) ir_version: i64,
    /// The domains whose operators are used, with their versions.
    pub(crate) opsets: Vec<(String, i64)>,
    pub(crate) graph: Graph,
    /// Types and shapes, if asked for.
    pub(crate) facts: Option<Facts>,
    /// Nodes of the file, those that nothing needs included.
    pub(crate) nodes: usize,
    /// Bytes of the files beside the model.
    pub(crate) external_bytes: u64,
}

/// Reads a model. With errors among the problems, what is loaded is only fit to be looked at;
/// without a graph there is nothing.
pub(crate) fn load(
    file: &Arc<str>,
    path: Option<&Path>,
    bytes: SharedBytes,
    limits: &Limits,
    infer: bool,
) -> (Option<Loaded>, Vec<Problem>) {
    let mut problems = Problems::new(Arc::clone(file));
    let model = match decode(bytes, limits) {
        Ok(model) => model,
        Err(refusal) => {
            problems.refuse(None, refusal);
            return (None, problems.into_vec());
        }
    };
    let Some(graph) = &model.graph else {
        problems.error(Kind::Onnx, None, "the model has no graph");
        return (None, problems.into_vec());
    };
    let opsets = opsets(&model, &mut problems);
    let mut folder = Folder::of(path, limits);
    let built = Builder::new(graph, &opsets, limits, &mut folder, &mut problems).build();
    let facts = infer.then(|| infer_graph(std::slice::from_ref(&built), &mut problems));
    let loaded = Loaded {
        name: graph.name.clone(),
        ir_version: model.ir_version,
        opsets,
        graph: built,
        facts,
        nodes: graph.node.len(),
        external_bytes: folder.bytes(),
    };
    (Some(loaded), problems.into_vec())
}

/// The owner of the bytes, in the form that decoding shares them.
struct Owner(SharedBytes);

impl AsRef<[u8]> for Owner {
    fn as_ref(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

fn decode(bytes: SharedBytes, limits: &Limits) -> Result<ModelProto, Refusal> {
    let not = |why: &str| {
        let message = format!("the file is not an ONNX model: {why}");
        Refusal::new(Kind::Onnx, message)
    };
    let contents = scan(bytes.as_bytes(), limits).map_err(|refusal| match refusal {
        scan::Refusal::Malformed(why) => not(&why),
        scan::Refusal::Limit(message) => Refusal::new(Kind::Limit, message),
    })?;
    if !contents.graph {
        return Err(not("there is no graph in it"));
    }
    let model = ModelProto::decode(Bytes::from_owner(Owner(bytes)));
    let model = model.map_err(|e| not(&e.to_string()))?;
    let layers = model.graph.as_ref().map_or(0, |g| {
        g.node.len() + g.initializer.len() + g.sparse_initializer.len() + g.input.len()
    });
    if layers > limits.layers {
        let message = format!(
            "the model has {layers} nodes, initialisers and inputs, the limit is {}",
            limits.layers
        );
        return Err(Refusal::new(Kind::Limit, message));
    }
    Ok(model)
}

/// The domains whose operators are used, with their versions.
fn opsets(model: &ModelProto, problems: &mut Problems) -> Vec<(String, i64)> {
    let name = |domain: &str| match domain {
        "" => DEFAULT_DOMAIN.to_owned(),
        domain => domain.to_owned(),
    };
    let mut opsets: Vec<(String, i64)> = Vec::new();
    for import in &model.opset_import {
        let (domain, version) = (name(&import.domain), import.version);
        if version < 1 {
            let message = format!("opset {domain} {version} does not exist");
            problems.error(Kind::Structure, None, message);
        }
        match opsets.iter().find(|(d, _)| *d == domain) {
            None => opsets.push((domain, version)),
            Some((_, other)) if *other == version => {}
            Some((_, other)) => {
                let message = format!("opset {domain} is imported as {other} and as {version}");
                problems.error(Kind::Structure, None, message);
            }
        }
    }
    // Before version 3 of the format there was one opset.
    if model.ir_version < 3 && opsets.is_empty() {
        opsets.push((DEFAULT_DOMAIN.to_owned(), 1));
    }
    opsets
}

fn infer_graph(graphs: &[Graph], problems: &mut Problems) -> Facts {
    let (facts, refused) = Facts::infer(graphs);
    for Refused { graph, node, error } in refused {
        let layer = graphs[graph].node(node).layer_ref();
        let error = Error::from_op(Place::default(), Kind::Shape, error);
        problems.error(error.kind(), Some(layer), error.message());
    }
    for (id, message) in disagreements(&graphs[0], &facts) {
        problems.warn(Kind::Shape, Some(graphs[0].node(id).layer_ref()), message);
    }
    facts
}
