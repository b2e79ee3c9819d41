//! Folders of real IRs with inputs and outputs of the real runtime: read, inferred, evaluated,
//! compared. Shared by a test and by the example `conformance`.
//!
//! A case is a folder with `model.xml`, and `inputs.npz` and `outputs.npz` with arrays named by
//! index.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ovir::graph::{Body, Node};
use ovir::io;
use ovir::tensor::{ElementType, Shape, Tensor, convert};
use ovir::{CompileOptions, Control, InferRequest, Limits, Model, Observer, Outputs};

type Failure = Box<dyn std::error::Error>;

/// Floats may differ by this much of the expected element …
const RELATIVE: f64 = 1e-4;
/// … plus this much of the tensor's largest finite element.
const OF_SCALE: f64 = 1e-5;

/// Cases whose outputs differ for a reason, which `docs/deviations.md` tells at length, and how far
/// they may: as a multiple of what is allowed otherwise.
pub(crate) const EXCEPTIONS: &[(&str, f64, &str)] = &[
    (
        "BinaryConvolution-1",
        f64::INFINITY,
        "the runtime reads the bits of a byte from the lowest",
    ),
    (
        "Divide-1--i32-pythondiv",
        f64::INFINITY,
        "the runtime truncates where the document says floor",
    ),
    (
        "Interpolate-11--bicubic_pillow",
        f64::INFINITY,
        "the runtime ignores cube_coeff",
    ),
    (
        "Interpolate-11--linear-antialias",
        f64::INFINITY,
        "the runtime ignores antialias",
    ),
    (
        "Interpolate-4--linear-antialias",
        f64::INFINITY,
        "the runtime ignores antialias",
    ),
    (
        "Multinomial-13",
        f64::INFINITY,
        "the document leaves the random numbers open",
    ),
    (
        "ROIAlign-3--max",
        f64::INFINITY,
        "the runtime's maximum begins at 0",
    ),
    (
        "hf_gpt2_stateful_nobeam",
        f64::INFINITY,
        "the runtime loses a sequence to NaN where a token may see nothing",
    ),
    (
        "hf_llama_stateful_int4",
        250.0,
        "the runtime keeps keys and values in 8 bits, and does not round f16 weights",
    ),
    (
        "hf_llama_stateful_int8",
        250.0,
        "the runtime keeps keys and values in 8 bits, and does not round f16 weights",
    ),
    (
        "hf_llama_stateful_mxfp4",
        250.0,
        "the runtime keeps keys and values in 8 bits",
    ),
    (
        "hf_phi3_stateful_eager",
        250.0,
        "the runtime keeps keys and values in 8 bits",
    ),
    (
        "tflite_mobilenet_quant",
        20_000.0,
        "the runtime computes in 8 bits what the model quantises; layer by layer it agrees",
    ),
    (
        "tv_ssdlite320_mobilenet_v3",
        f64::INFINITY,
        "which of equal scores TopK takes is open; layer by layer all else agrees",
    ),
];

/// What came of a case.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// The largest difference, as a share of what is allowed.
    Agrees(f64),
    /// By so many times what is allowed.
    Differs(f64, String),
    /// It differs by so much, for this reason.
    Excepted(f64, &'static str),
    Unsupported(String),
    /// There is nothing to compare with, and perhaps nothing to evaluate it on.
    NoOutputs,
}

impl Verdict {
    fn failed(message: String) -> Self {
        Self::Differs(f64::NAN, message)
    }
}

/// What came of a case, and what it took.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) layers: usize,
    pub(crate) verdict: Verdict,
    /// Layers of which less is inferred than the file declares.
    pub(crate) imprecise: Vec<String>,
    pub(crate) load: Duration,
    pub(crate) evaluate: Duration,
}

/// The cases below a folder, in order.
pub(crate) fn cases(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        if folder.join("model.xml").exists() {
            found.push(folder);
            continue;
        }
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        folders.extend(entries.map(|e| e.path()).filter(|p| p.is_dir()));
    }
    found.sort();
    found
}

/// Reads and infers the model of a case, and evaluates it if `evaluate`, under these limits.
pub(crate) fn check(case: &Path, evaluate: bool, limits: &Limits) -> Report {
    let mut report = Report {
        layers: 0,
        verdict: Verdict::NoOutputs,
        imprecise: Vec::new(),
        load: Duration::ZERO,
        evaluate: Duration::ZERO,
    };
    let start = Instant::now();
    let model = match Model::read_with(case.join("model.xml"), limits) {
        Ok(model) => model,
        Err(error) => {
            report.verdict = Verdict::failed(format!("does not load: {error}"));
            return report;
        }
    };
    report.load = start.elapsed();
    report.layers = model.graphs().iter().map(|g| g.nodes().len()).sum();
    if let Some(layer) = model.unsupported().first() {
        report.verdict = Verdict::Unsupported(format!("{} ({})", layer.type_name, layer.opset));
        return report;
    }
    report.imprecise = imprecise(&model);
    if evaluate {
        let name = case.file_name().unwrap_or_default().to_string_lossy();
        let exception = EXCEPTIONS.iter().find(|(case, ..)| *case == name);
        let verdict = compare(case, &model, limits, &mut report.evaluate);
        report.verdict = match (verdict, exception) {
            (Ok(Verdict::Differs(share, _)), Some((_, most, reason))) if share <= *most => {
                Verdict::Excepted(share, reason)
            }
            (Ok(verdict), _) => verdict,
            (Err(error), _) => Verdict::failed(error.to_string()),
        };
    }
    report
}

/// The outputs of which the file declares more than is inferred.
fn imprecise(model: &Model) -> Vec<String> {
    let mut found = Vec::new();
    for (graph, nodes) in model.graphs().iter().enumerate() {
        for (id, node) in nodes.nodes() {
            for (index, port) in node.outputs().iter().enumerate() {
                let inferred = model.inferred_in(graph, id).get(index);
                let (Some((_, declared)), Some(inferred)) = (&port.declared, inferred) else {
                    continue;
                };
                let less = match (declared.dims(), inferred.shape.dims()) {
                    (Some(declared), Some(inferred)) => {
                        let mut pairs = declared.iter().zip(inferred);
                        pairs.any(|(d, i)| d.is_static() && !i.is_static())
                    }
                    (declared, inferred) => declared.is_some() && inferred.is_none(),
                };
                if less {
                    found.push(format!(
                        "{node} output {index}: declared {declared}, inferred {}",
                        inferred.shape
                    ));
                }
            }
        }
    }
    found
}

fn compare(
    case: &Path,
    model: &Model,
    limits: &Limits,
    took: &mut Duration,
) -> Result<Verdict, Failure> {
    let inputs = case.join("inputs.npz");
    let mut request = model.infer_request();
    let compiled = model.compile(&CompileOptions::default())?;
    let mut fast = compiled.infer_request();
    if !inputs.exists() {
        let types = (0..model.inputs().len()).map(|index| model.input_type(index));
        if types
            .into_iter()
            .flatten()
            .any(|t| !t.element_type.is_static())
        {
            // Nothing says what such an input might be.
            return Ok(Verdict::NoOutputs);
        }
        let start = Instant::now();
        let drawn = drawn(model)?;
        let given = drawn.iter().cloned().enumerate();
        return Ok(match request.infer_with(given, limits, &mut []) {
            Ok(outputs) => {
                *took = start.elapsed();
                match same_when_compiled(&mut fast, &drawn, limits, &outputs)? {
                    Some(text) => Verdict::failed(text),
                    None => Verdict::NoOutputs,
                }
            }
            Err(error) => Verdict::failed(format!("does not evaluate: {error}")),
        });
    }
    let (inputs, expected) = (entries(&inputs)?, entries(&case.join("outputs.npz"))?);
    // A model with variables is evaluated several times: entries are named `step0/input_ids`.
    let steps = inputs.iter().filter_map(|(name, _)| name.split_once('/'));
    let mut steps: Vec<String> = steps.map(|(step, _)| format!("{step}/")).collect();
    steps.sort();
    steps.dedup();
    if steps.is_empty() {
        steps.push(String::new());
    }
    let mut worst = 0f64;
    for step in steps {
        let mut given = Vec::new();
        for index in 0..model.inputs().len() {
            let ty = model.input_type(index).map(|t| t.element_type);
            let names = &model.inputs()[index].names;
            let named = names.iter().map(|name| format!("{step}{name}"));
            let keys = [format!("{step}{index}")].into_iter().chain(named);
            given.push(find(&inputs, keys, ty.unwrap_or_default())?);
        }
        let start = Instant::now();
        let outputs = match request.infer_with(given.iter().cloned().enumerate(), limits, &mut []) {
            Ok(outputs) => outputs,
            Err(error) => return Ok(Verdict::failed(format!("does not evaluate: {error}"))),
        };
        *took += start.elapsed();
        if let Some(text) = same_when_compiled(&mut fast, &given, limits, &outputs)? {
            return Ok(Verdict::failed(text));
        }
        let outputs = outputs.into_tensors();
        for (index, found) in outputs.iter().enumerate() {
            let key = format!("{step}{index}");
            let expected = find(&expected, [key.clone()].into_iter(), found.element_type())?;
            match difference(found, &expected)? {
                Ok(share) => worst = worst.max(share),
                Err((share, text)) => {
                    return Ok(Verdict::Differs(share, format!("output {key}: {text}")));
                }
            }
        }
    }
    Ok(Verdict::Agrees(worst))
}

/// How the outputs of a compiled model differ from those of the evaluator.
fn same_when_compiled(
    request: &mut InferRequest,
    given: &[Tensor],
    limits: &Limits,
    expected: &Outputs,
) -> Result<Option<String>, Failure> {
    let state = request.clone();
    // Shapes are compiled for when they are seen again; variables begin anew each time.
    for time in 0..2 {
        if time > 0 {
            *request = state.clone();
        }
        let found = match request.infer_with(given.iter().cloned().enumerate(), limits, &mut []) {
            Ok(found) => found,
            Err(error) => return Ok(Some(format!("compiled, does not evaluate: {error}"))),
        };
        for ((name, found), (_, expected)) in found.iter().zip(expected.iter()) {
            if let Err((_, text)) = difference(found, expected)? {
                return Ok(Some(format!("compiled, output {name}: {text}")));
            }
        }
    }
    Ok(None)
}

/// Evaluates every layer of a model on what the real runtime gives its inputs, and compares: what
/// a model makes of the last bits of an early layer does not count. `layers` is a file that
/// `tests/vectors/layers.py` writes.
pub(crate) fn check_layers(case: &Path, layers: &Path) -> Result<Vec<String>, Failure> {
    let model = Model::read(case.join("model.xml"))?;
    let inputs = entries(&case.join("inputs.npz"))?;
    let mut given = Vec::new();
    for index in 0..model.inputs().len() {
        let ty = model.input_type(index).map(|t| t.element_type);
        let key = [index.to_string()].into_iter();
        given.push((index, find(&inputs, key, ty.unwrap_or_default())?));
    }
    let mut corrector = Corrector {
        reference: entries(layers)?.into_iter().collect(),
        depth: 0,
        compared: 0,
        differing: Vec::new(),
    };
    model.evaluate_with(given, &Limits::default(), &mut [&mut corrector])?;
    let mut lines = corrector.differing;
    lines.push(format!("{} tensors compared", corrector.compared));
    Ok(lines)
}

/// Puts the reference in place of each layer's outputs, once they are compared with it.
struct Corrector {
    reference: HashMap<String, Tensor>,
    /// How many bodies are being evaluated: they have no reference of their own.
    depth: usize,
    compared: usize,
    differing: Vec<String>,
}

impl Observer for Corrector {
    fn enter(&mut self, _: &Node, _: &Body, _: u64) {
        self.depth += 1;
    }

    fn leave(&mut self, _: &Node, _: &Body, _: u64) {
        self.depth -= 1;
    }

    fn after(&mut self, node: &Node, outputs: &[Tensor]) -> Control {
        if self.depth > 0 {
            return Control::Continue;
        }
        let mut corrected = Vec::new();
        for (index, found) in outputs.iter().enumerate() {
            let name = format!("{}/{index}", node.name());
            let expected = self.reference.get(&name);
            let expected = expected.and_then(|t| io::adapt(t, found.element_type()).ok());
            let Some(expected) = expected else {
                corrected.push(found.clone());
                continue;
            };
            self.compared += 1;
            match difference(found, &expected) {
                Ok(Ok(_)) => {}
                Ok(Err((_, text))) => self
                    .differing
                    .push(format!("{node} output {index}: {text}")),
                Err(error) => self
                    .differing
                    .push(format!("{node} output {index}: {error}")),
            }
            corrected.push(expected);
        }
        Control::Replace(corrected)
    }
}

/// Inputs for a model that comes with none: small sizes, numbers that its layers allow.
fn drawn(model: &Model) -> Result<Vec<Tensor>, Failure> {
    let draw = |index: usize| {
        let Some(wanted) = model.input_type(index) else {
            return Err("an input without a type".into());
        };
        let dims = wanted.shape.dims().unwrap_or_default().iter();
        let shape: Shape = dims.map(|d| d.value().unwrap_or(d.min().max(1))).collect();
        let range = model.allowed_values(index);
        let random = io::Random {
            seed: u64::try_from(index)?,
            ..io::Random::default()
        };
        Ok(random.fill(wanted.element_type, &shape, range, &Limits::default())?)
    };
    (0..model.inputs().len()).map(draw).collect()
}

type Entries = Vec<(String, Tensor)>;

fn entries(path: &Path) -> Result<Entries, Failure> {
    if !path.exists() {
        return Ok(Entries::new());
    }
    Ok(io::read_all(path, &Limits::default())?)
}

fn find(
    entries: &Entries,
    mut keys: impl Iterator<Item = String>,
    ty: ElementType,
) -> Result<Tensor, Failure> {
    let found = keys.find_map(|key| entries.iter().find(|(name, _)| *name == key));
    let (_, tensor) = found.ok_or("an array is missing")?;
    Ok(io::adapt(tensor, ty)?)
}

/// The largest difference as a share of what is allowed, or the element that is furthest off.
fn difference(found: &Tensor, expected: &Tensor) -> Result<Result<f64, (f64, String)>, Failure> {
    let wrong = |text: String| Ok(Err((f64::INFINITY, text)));
    if found.shape() != expected.shape() {
        let (found, expected) = (found.shape(), expected.shape());
        return wrong(format!("shape {found}, expected {expected}"));
    }
    if !found.element_type().is_float() {
        if found == expected {
            return Ok(Ok(0.0));
        }
        let Ok(a) = convert::convert(found, ElementType::F64) else {
            return wrong("the values differ".to_owned());
        };
        let b = convert::convert(expected, ElementType::F64)?;
        let (a, b) = (a.as_slice::<f64>()?, b.as_slice::<f64>()?);
        let differing = a.iter().zip(b).enumerate().filter(|(_, (a, b))| a != b);
        let first = differing.clone().next();
        let first = first.map(|(at, (a, b))| format!("element {at} is {a}, expected {b}"));
        return wrong(format!(
            "{} of {} elements differ: {}",
            differing.count(),
            a.len(),
            first.unwrap_or_default()
        ));
    }
    let (found, expected) = (
        convert::convert(found, ElementType::F64)?,
        convert::convert(expected, ElementType::F64)?,
    );
    let (found, expected) = (found.as_slice::<f64>()?, expected.as_slice::<f64>()?);
    let finite = expected.iter().filter(|x| x.is_finite());
    let scale = finite.fold(0f64, |scale, x| scale.max(x.abs()));
    let mut worst = (0f64, 0);
    for (at, (a, b)) in found.iter().zip(expected).enumerate() {
        if a == b || (a.is_nan() && b.is_nan()) {
            continue;
        }
        let share = (a - b).abs() / (RELATIVE * b.abs() + OF_SCALE * scale);
        let share = if share.is_nan() { f64::INFINITY } else { share };
        if share > worst.0 {
            worst = (share, at);
        }
    }
    let (share, at) = worst;
    if share <= 1.0 {
        return Ok(Ok(share));
    }
    let (found, expected) = (found[at], expected[at]);
    let text =
        format!("element {at} is {found}, expected {expected}: {share:.1} times what is allowed");
    Ok(Err((share, text)))
}

/// Walks the folder that the environment variable `OVIR_IRS` names.
#[cfg(test)]
mod tests {
    use super::*;
    use crate::support::project;

    #[test]
    fn real_models_agree() {
        let named = std::env::var_os("OVIR_IRS").map(PathBuf::from);
        let folder = named.clone().unwrap_or_else(|| project("../shared/irs"));
        let mut failed = Vec::new();
        let cases = cases(&folder);
        assert!(
            named.is_none() || !cases.is_empty(),
            "OVIR_IRS names {}, which holds no cases",
            folder.display()
        );
        for case in cases {
            let small = case.parent().is_some_and(|parent| parent.ends_with("ops"));
            // Without optimisation whole models take too long to evaluate.
            let report = check(&case, small || !cfg!(debug_assertions), &Limits::default());
            let name = case.display();
            match report.verdict {
                Verdict::Differs(_, reason) => failed.push(format!("{name}: {reason}")),
                Verdict::Unsupported(operation) => {
                    failed.push(format!("{name}: {operation} is not supported"));
                }
                Verdict::Agrees(_) if EXCEPTIONS.iter().any(|(n, ..)| case.ends_with(n)) => {
                    failed.push(format!(
                        "{name} agrees, though it is listed as an exception"
                    ));
                }
                _ => {}
            }
            let imprecise = report.imprecise.iter();
            failed.extend(imprecise.map(|line| format!("{name}: {line}")));
        }
        assert!(failed.is_empty(), "\n{}", failed.join("\n"));
    }
}
