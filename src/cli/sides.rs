//! The sides of a comparison: models, saved runs, installed runtimes, and the inputs of all.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{Failure, inputs};
use crate::compare::{About, Backend, Python, Run, Source};
use crate::error::{Error, Kind, plain, quoted};
use crate::io::{self, npz};
use crate::limits::Limits;
use crate::metrics::{Difference, Tolerance, Tolerances, Values};
use crate::model::Model;
use crate::tensor::Tensor;

/// Tensors of inner layers may take so much memory before they are kept in files.
pub(super) const IN_MEMORY: u64 = 1 << 30;

/// What commands that compare have in common.
#[derive(Debug, clap::Args)]
pub(super) struct SideArgs {
    /// The value of an input, by name or by index; or one file for all inputs. As `ovir eval` takes
    /// them. What is not given is random, the same each time
    #[arg(short, long = "input", value_name = "NAME=VALUE|FILE")]
    pub(super) inputs: Vec<String>,
    /// How much tensors may differ, such as `rel_l2=1e-4,abs=1e-5` or `exact`
    ///
    /// An element passes if it differs by at most `abs + rel * |expected| + scale * max |expected|`,
    /// or by at most `ulp` units in the last place. `rel_l2` bounds the norm of the difference as a
    /// part of the norm of what is expected, `cosine` is the least cosine of the angle between both.
    /// `max_exceeding` elements (`10`, or `0.1%`) may exceed. All that is given must hold.
    ///
    /// By default what suits the element types: f64 rel=1e-10,scale=1e-11; f32 rel=1e-4,scale=1e-5;
    /// f16 rel=1e-2,scale=2e-3; bf16 rel=5e-2,scale=1e-2; 8 bits rel=0.25,scale=0.1; integers,
    /// booleans and strings exact.
    #[arg(long = "tol", value_name = "BOUNDS", value_parser = Tolerance::parse)]
    pub(super) tolerance: Option<Tolerance>,
    /// A TOML file of tolerances: a section `["encoder/*"]` for the tensors that a glob matches,
    /// `[default]` for all others
    #[arg(long, value_name = "FILE")]
    pub(super) tolerances: Option<PathBuf>,
    /// The Python that has the packages of a runtime
    #[arg(
        long,
        value_name = "PATH",
        default_value = "python3",
        help_heading = "Runtimes"
    )]
    pub(super) python: PathBuf,
    /// An option of the runtime, such as `INFERENCE_PRECISION_HINT=bf16`. By default OpenVINO
    /// computes in f32, keeps keys and values in f32 and quantizes nothing by itself
    #[arg(long, value_name = "KEY=VALUE", value_parser = setting, help_heading = "Runtimes")]
    pub(super) config: Vec<(String, String)>,
}

fn setting(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("expected KEY=VALUE")?;
    Ok((key.to_owned(), value.to_owned()))
}

impl SideArgs {
    pub(super) fn tolerances(&self, limits: &Limits) -> Result<Tolerances, Failure> {
        let mut tolerances = Tolerances::all(self.tolerance);
        if let Some(path) = &self.tolerances {
            tolerances.read(path, limits)?;
        }
        Ok(tolerances)
    }

    /// A runtime for a model.
    pub(super) fn python(
        &self,
        runtime: &crate::compare::Runtime,
        model: &Path,
        limits: &Limits,
    ) -> Result<Python, Failure> {
        Ok(Python::new(
            &self.python,
            runtime.clone(),
            model,
            &self.config,
            limits,
        )?)
    }

    /// The inputs of a model: what is given, what a saved run holds under their names, and random
    /// values for the rest.
    pub(super) fn inputs(
        &self,
        model: &Model,
        saved: Option<&Run>,
        limits: &Limits,
    ) -> Result<Inputs, Failure> {
        let mut given = inputs::read(model, &self.inputs, limits)?;
        let mut origins: Vec<(usize, &'static str)> =
            given.iter().map(|(index, _)| (*index, "given")).collect();
        for (index, input) in model.inputs().iter().enumerate() {
            let mut names = input.names.iter().chain(&input.aliases);
            let named = saved.and_then(|run| names.find_map(|name| run.layer(name)));
            if let Some(named) = named.filter(|_| given.iter().all(|(known, _)| *known != index)) {
                let tensor = named.load(limits)?;
                let ty = model
                    .input_type(index)
                    .map(|t| t.element_type)
                    .unwrap_or_default();
                let tensor = io::adapt(&tensor, ty).map_err(|e| {
                    let message = format!("input {}: {e}", quoted(input.name()));
                    Error::new(Kind::Input, message)
                })?;
                given.push((index, tensor));
                origins.push((index, "saved"));
            }
        }
        let before = given.len();
        let mut all = inputs::random_where_missing(model, given, 0, limits)?;
        origins.extend(all[before..].iter().map(|(index, _)| (*index, "random")));
        all.sort_by_key(|(index, _)| *index);
        origins.sort_by_key(|(index, _)| *index);
        let names = model.inputs().iter().map(|input| input.name().to_owned());
        Ok(Inputs {
            names: names.collect(),
            tensors: all,
            origins: origins.into_iter().map(|(_, origin)| origin).collect(),
        })
    }
}

/// The inputs of a run, in order, and where they come from.
pub(super) struct Inputs {
    pub(super) names: Vec<String>,
    pub(super) tensors: Vec<(usize, Tensor)>,
    pub(super) origins: Vec<&'static str>,
}

impl Inputs {
    fn rows(&self) -> impl Iterator<Item = (&str, &Tensor, &'static str)> {
        let tensors = self.tensors.iter().zip(&self.origins);
        tensors.map(|((index, tensor), origin)| (self.names[*index].as_str(), tensor, *origin))
    }

    /// A line for people: where inputs are not given, they should know.
    pub(super) fn to_line(&self) -> Option<String> {
        let random = self.rows().filter(|(.., origin)| *origin == "random");
        let random: Vec<String> = random
            .map(|(name, tensor, _)| format!("{} {tensor:?}", plain(name)))
            .collect();
        match random.len() {
            0 => None,
            1..=8 => Some(format!("random inputs: {}", random.join(", "))),
            more => Some(format!(
                "random inputs: {}, …, {more} in all",
                random[..3].join(", ")
            )),
        }
    }

    pub(super) fn to_json(&self) -> Value {
        let rows = self.rows().map(|(name, tensor, origin)| {
            json!({
                "name": name,
                "element_type": tensor.element_type().name(),
                "shape": &tensor.shape()[..],
                "origin": origin,
            })
        });
        rows.collect()
    }

    /// Writes all of them to an .npz file under their names, or under their numbers where names are
    /// missing or not unique.
    pub(super) fn write(&self, path: &Path) -> Result<(), Failure> {
        let names = io::entry_names(self.rows().map(|(name, ..)| name));
        let tensors = self.rows().map(|(_, tensor, _)| tensor);
        let entries = names.iter().map(String::as_str).zip(tensors);
        npz::write(path, entries).map_err(super::eval::file_error)
    }
}

/// A folder for tensors that do not fit in memory, removed in the end.
pub(super) fn folder() -> Result<tempfile::TempDir, Failure> {
    tempfile::tempdir().map_err(|e| {
        let message = format!("cannot make a temporary folder: {e}");
        Failure::Error(Error::new(Kind::Io, message))
    })
}

/// A side by its text.
pub(super) fn source(text: &str) -> Result<Source, Failure> {
    Source::parse(text).map_err(Failure::Usage)
}

/// What a side is, on one line.
pub(super) fn describe(title: &str, about: Option<&About>) -> String {
    let Some(about) = about else {
        return plain(title);
    };
    let versions = about.versions.iter().filter(|(name, _)| name != "numpy");
    let versions: Vec<String> = versions
        .map(|(name, version)| format!("{} {}", plain(name), plain(version)))
        .collect();
    format!(
        "{}  ({}; {})",
        plain(title),
        versions.join(", "),
        plain(&about.device)
    )
}

pub(super) fn about_json(title: &str, about: Option<&About>) -> Value {
    let mut object = json!({ "title": title });
    if let Some(about) = about {
        let versions = about.versions.iter();
        let versions: serde_json::Map<String, Value> = versions
            .map(|(name, v)| (name.clone(), v.clone().into()))
            .collect();
        object["versions"] = versions.into();
        object["device"] = about.device.clone().into();
    } else {
        object["versions"] = json!({ "ovir": env!("CARGO_PKG_VERSION") });
    }
    object
}

/// A number, or a word where JSON has none.
fn number(x: f64) -> Value {
    match x {
        x if x.is_nan() => "nan".into(),
        f64::INFINITY => "inf".into(),
        f64::NEG_INFINITY => "-inf".into(),
        x => x.into(),
    }
}

/// A difference as an object.
pub(super) fn difference_json(difference: &Difference) -> Value {
    let (a, b) = &difference.shapes;
    let mut object = json!({
        "element_types": [difference.types.0.name(), difference.types.1.name()],
        "shapes": [&a[..], &b[..]],
    });
    if let (Some(values), Value::Object(fields)) = (&difference.values, &mut object) {
        let Values {
            elements,
            differing,
            exceeding,
            not_finite,
            ..
        } = values;
        for (key, count) in [
            ("elements", elements),
            ("differing", differing),
            ("exceeding", exceeding),
            ("not_finite", not_finite),
        ] {
            fields.insert(key.to_owned(), (*count).into());
        }
        for (key, x) in [
            ("max_abs", values.max_abs),
            ("mean_abs", values.mean_abs),
            ("max_rel", values.max_rel),
            ("mean_rel", values.mean_rel),
            ("cosine", values.cosine),
            ("rel_l2", values.rel_l2),
            ("scale", values.scale),
        ] {
            fields.insert(key.to_owned(), number(x));
        }
        fields.insert("max_ulp".to_owned(), values.max_ulp.into());
        if let Some(worst) = &values.worst {
            let worst = json!({
                "index": worst.index,
                "found": worst.found.to_string(),
                "expected": worst.expected.to_string(),
            });
            fields.insert("worst".to_owned(), worst);
        }
    }
    object
}

/// The columns of a difference.
pub(super) const COLUMNS: [&str; 6] = ["max abs", "max rel", "ULP", "rel L2", "cosine", "exceed"];

/// A difference in those columns.
pub(super) fn columns(difference: &Difference) -> [String; 6] {
    let none = || "-".to_owned();
    let (a, b) = &difference.shapes;
    let Some(values) = &difference.values else {
        let what = match a == b {
            true => format!("{} and {}", difference.types.0, difference.types.1),
            false => format!("{a} and {b}"),
        };
        return [what, none(), none(), none(), none(), none()];
    };
    let exceed = format!("{}/{}", values.exceeding, values.elements);
    if values.exact {
        return [none(), none(), none(), none(), none(), exceed];
    }
    let ulp = values.max_ulp.map_or_else(none, ulps);
    [
        small(values.max_abs),
        small(values.max_rel),
        ulp,
        small(values.rel_l2),
        cosine(values.cosine),
        exceed,
    ]
}

/// A size of a difference.
pub(super) fn small(x: f64) -> String {
    if x == 0.0 {
        "0".to_owned()
    } else {
        format!("{x:.1e}")
    }
}

fn ulps(n: u64) -> String {
    #[allow(clippy::cast_precision_loss)]
    match n {
        0..100_000 => n.to_string(),
        n => format!("{:.0e}", n as f64),
    }
}

/// A cosine with the digits in which it differs from 1.
fn cosine(x: f64) -> String {
    match 1.0 - x {
        off if off <= 0.0 => "1".to_owned(),
        off if off < 1e-4 => format!("1-{off:.0e}"),
        _ => format!("{x:.5}"),
    }
}

/// The worst element of a difference on one line.
pub(super) fn worst(name: &str, difference: &Difference) -> Option<String> {
    let worst = difference.values.as_ref()?.worst.as_ref()?;
    let index: Vec<String> = worst.index.iter().map(ToString::to_string).collect();
    let (found, expected) = (&worst.found, &worst.expected);
    Some(format!(
        "{}[{}]: {found}, expected {expected}",
        plain(name),
        index.join(",")
    ))
}

/// What a runtime says of itself before anything is compared.
pub(super) fn backend_title(backend: &dyn Backend) -> String {
    backend.title()
}
