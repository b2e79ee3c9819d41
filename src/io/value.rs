//! The value of an input as it is written on a command line or in a file of inputs.
//!
//! ```text
//! VALUE     = [TYPE][SHAPE]: WHAT        f32:[1,2]   i64[2,3]:random   [2,3]:zeros
//! WHAT      = literal                    [[1, 2], [3, 4]]   -1.5e3   inf   1+2j   true   ["a", "b"]
//!           | zeros | ones
//!           | random[:seed=N,min=N,max=N]
//!           | FILE.npy | FILE.npz[:ENTRY] | FILE.safetensors[:ENTRY]
//!           | FILE.bin | FILE.raw | raw:FILE
//! ```
//!
//! The prefix is optional and ends in a colon; it says the element type, the shape or both where
//! the model leaves them open, and must agree with the model where it does not.
//!
//! Random elements follow from the seed alone. Inputs of a model that were given the same seed have
//! one each, see [`Value::for_input`].

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::LazyLock;

use super::literal::{self, Literal};
use super::number::{integer_range, lost, write_floats};
use super::random::{Random, input_seed};
use super::{IoError, adapt, file, npy, npz, raw, safetensors};
use crate::Limits;
use crate::model::Model;
use crate::tensor::{ElementType, PartialShape, Shape, Tensor, convert};

/// What an input is to be.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// The element type; `Dynamic` for any.
    pub element_type: ElementType,
    /// The shape, as far as it is known.
    pub shape: &'a PartialShape,
    /// The integers that random elements are taken from, both ends included.
    pub range: Option<(i64, i64)>,
}

impl<'a> Wanted<'a> {
    /// What an input of a model is to be: anything, where the model does not say.
    pub fn by(model: &'a Model, input: usize) -> Self {
        static ANY: LazyLock<PartialShape> = LazyLock::new(PartialShape::dynamic);
        let inferred = model.input_type(input);
        Self {
            element_type: inferred.map(|t| t.element_type).unwrap_or_default(),
            shape: inferred.map_or(&ANY, |t| &t.shape),
            range: model.allowed_values(input),
        }
    }
}

/// A description of a tensor: where its elements come from, and what was said of its type.
#[derive(Debug, Clone, PartialEq)]
pub struct Value {
    element_type: Option<ElementType>,
    shape: Option<Shape>,
    source: Source,
}

#[derive(Debug, Clone, PartialEq)]
enum Source {
    Literal(Literal),
    Constant(u8),
    Random(Random),
    File(PathBuf, Option<String>),
    /// The second tells whether it may be a pipe: the user himself named it.
    Raw(PathBuf, bool),
}

impl FromStr for Value {
    type Err = IoError;

    fn from_str(text: &str) -> Result<Self, IoError> {
        Self::parse(text)
    }
}

impl Value {
    /// Reads the text of a value. No file is opened.
    ///
    /// # Errors
    /// When the text is none of the forms above.
    pub fn parse(text: &str) -> Result<Self, IoError> {
        Self::parse_inner(text).map_err(|e| {
            let start: String = text.chars().take(60).collect();
            let dots = if start.len() < text.len() { "..." } else { "" };
            IoError::invalid(format!("value `{start}{dots}`: {e}"))
        })
    }

    fn parse_inner(text: &str) -> Result<Self, IoError> {
        let text = text.trim();
        let (element_type, shape, what) = prefix(text)?;
        Ok(Self {
            element_type,
            shape,
            source: Source::parse(what.trim())?,
        })
    }

    /// A value of nested lists.
    #[cfg(feature = "cli")]
    pub(super) fn literal(literal: Literal) -> Self {
        Self {
            element_type: None,
            shape: None,
            source: Source::Literal(literal),
        }
    }

    /// Says the element type and the shape, where they are given.
    ///
    /// # Errors
    /// When the text of the value said another one.
    pub fn with_type(
        mut self,
        element_type: Option<ElementType>,
        shape: Option<Shape>,
    ) -> Result<Self, IoError> {
        if let (Some(found), Some(expected)) = (self.element_type, element_type)
            && found != expected
        {
            return Err(disagree(found, expected));
        }
        if let (Some(found), Some(expected)) = (&self.shape, &shape)
            && found != expected
        {
            return Err(disagree(found, expected));
        }
        self.element_type = element_type.or(self.element_type);
        self.shape = shape.or(self.shape);
        Ok(self)
    }

    /// Takes a relative file for one of this directory, which holds the file that names it. Pipes are
    /// not read then.
    pub fn relative_to(mut self, directory: &Path) -> Self {
        match &mut self.source {
            Source::File(path, _) => *path = directory.join(&*path),
            Source::Raw(path, pipe) => {
                *path = directory.join(&*path);
                *pipe = false;
            }
            _ => {}
        }
        self
    }

    /// The value for the input of a model at a position: random elements get a seed of their own, the
    /// given one plus 1000003 times the position, so that equal seeds do not make equal inputs.
    pub fn for_input(mut self, position: usize) -> Self {
        if let Source::Random(random) = &mut self.source {
            random.seed = input_seed(random.seed, position);
        }
        self
    }

    /// The text that makes the same random elements again, if they are random.
    pub fn random_text(&self) -> Option<String> {
        let Source::Random(random) = &self.source else {
            return None;
        };
        let ty = self.element_type.map(|ty| ty.to_string());
        let shape = self.shape.as_ref().map(|shape| shape.to_string());
        let prefix: String = ty.into_iter().chain(shape).collect();
        let colon = if prefix.is_empty() { "" } else { ":" };
        Some(format!("{prefix}{colon}{random}"))
    }

    /// The file the value comes from, if it does.
    pub fn file(&self) -> Option<&Path> {
        match &self.source {
            Source::File(path, _) | Source::Raw(path, _) => Some(path),
            _ => None,
        }
    }

    /// Makes the tensor.
    ///
    /// # Errors
    /// When a file cannot be read, the tensor is not of the wanted type or shape and may not
    /// become so (see [`adapt`](adapt())), a type or shape is needed and open, or a limit is hit.
    pub fn load(&self, wanted: &Wanted<'_>, limits: &Limits) -> Result<Tensor, IoError> {
        let element_type = match (self.element_type, wanted.element_type) {
            (Some(found), expected) if expected.is_static() && found != expected => {
                return Err(IoError::mismatch(format!(
                    "{expected} is wanted, the value says {found}"
                )));
            }
            (said, expected) => said.unwrap_or(expected),
        };
        if let Some(shape) = &self.shape {
            fits(shape, wanted.shape)?;
        }
        let tensor = self.make(element_type, wanted, limits)?;
        let result = match &self.shape {
            Some(shape) => fits(tensor.shape(), &PartialShape::from(shape)),
            None => fits(tensor.shape(), wanted.shape),
        };
        match (result, self.file()) {
            (Err(error), Some(path)) => Err(error.in_file(path)),
            (result, _) => result.map(|()| tensor),
        }
    }

    fn make(
        &self,
        ty: ElementType,
        wanted: &Wanted<'_>,
        limits: &Limits,
    ) -> Result<Tensor, IoError> {
        match &self.source {
            Source::Literal(literal) => {
                let ty = match ty {
                    ElementType::Dynamic => literal.natural_type(),
                    ty => ty,
                };
                literal.to_tensor(ty, limits)
            }
            Source::Constant(value) => {
                let what = if *value == 0 { "zeros" } else { "ones" };
                constant(*value, ty, &self.known(ty, wanted, what)?, limits)
            }
            Source::Random(random) => {
                let shape = self.known(ty, wanted, "random")?;
                random.fill(ty, &shape, wanted.range, limits)
            }
            Source::File(path, entry) => {
                let tensor = read_one(path, entry.as_deref(), limits)?;
                adapt(&tensor, ty).map_err(|e| {
                    let e = e.in_file(path);
                    match entry {
                        Some(entry) => e.in_entry(entry),
                        None => e,
                    }
                })
            }
            Source::Raw(path, pipe) => {
                let shape = self.known(ty, wanted, "raw:FILE")?;
                raw::read_from(path, *pipe, ty, &shape, limits)
            }
        }
    }

    /// The shape of a tensor that has none of its own.
    fn known(&self, ty: ElementType, wanted: &Wanted<'_>, what: &str) -> Result<Shape, IoError> {
        let shape = self.shape.clone().or_else(|| wanted.shape.to_shape());
        match shape {
            Some(shape) if ty.is_static() => Ok(shape),
            Some(shape) => Err(IoError::mismatch(format!(
                "`{what}` needs an element type, the input has none; give one, such as `f32{shape}:{what}`"
            ))),
            None => Err(IoError::mismatch(format!(
                "`{what}` needs a shape, {} is open; give one, such as `{}[2,3]:{what}`",
                wanted.shape,
                match ty {
                    ElementType::Dynamic => ElementType::F32,
                    ty => ty,
                }
            ))),
        }
    }
}

fn disagree(found: impl std::fmt::Display, expected: impl std::fmt::Display) -> IoError {
    IoError::invalid(format!("the value says {found}, and {expected} beside it"))
}

fn fits(found: &Shape, wanted: &PartialShape) -> Result<(), IoError> {
    if wanted.contains(found) {
        return Ok(());
    }
    Err(IoError::mismatch(format!(
        "shape {wanted} is wanted, the value has {found}"
    )))
}

/// Splits `f32[2,3]:` off. What is no prefix is left alone.
fn prefix(text: &str) -> Result<(Option<ElementType>, Option<Shape>, &str), IoError> {
    let none = Ok((None, None, text));
    let name = text.find(['[', ':']).unwrap_or(text.len());
    let ty = match &text[..name] {
        "" => None,
        name => match name.parse() {
            Ok(ty) => Some(ty),
            Err(_) => return none,
        },
    };
    let rest = &text[name..];
    if let Some(what) = rest.strip_prefix(':') {
        return Ok((ty, None, what));
    }
    let split = rest.split_once(']').and_then(|(dims, after)| {
        Some((
            dims.strip_prefix('[')?,
            after.trim_start().strip_prefix(':')?,
        ))
    });
    // A list may hold a string with what looks like the end of a shape.
    let Some((dims, what)) = split.filter(|(dims, _)| !dims.contains('"')) else {
        return none;
    };
    let shape = dims.parse::<PartialShape>().ok();
    let shape = shape
        .and_then(|s| s.to_shape())
        .ok_or_else(|| IoError::invalid(format!("`[{dims}]` is not a shape, expected sizes")))?;
    Ok((ty, Some(shape), what))
}

impl Source {
    fn parse(text: &str) -> Result<Self, IoError> {
        if let Some(path) = text.strip_prefix("raw:") {
            return Ok(Self::Raw(path.into(), true));
        }
        match text {
            "zeros" => return Ok(Self::Constant(0)),
            "ones" => return Ok(Self::Constant(1)),
            "random" => return Ok(Self::Random(Random::default())),
            _ => {}
        }
        if let Some(options) = text.strip_prefix("random:") {
            return random(options).map(Self::Random);
        }
        if let Some(file) = file(text) {
            return Ok(file);
        }
        if literal::looks_like(text) {
            return Literal::parse(text).map(Self::Literal);
        }
        Err(IoError::invalid(
            "expected a literal such as `[[1, 2], [3, 4]]`, `zeros`, `ones`, `random`, `raw:FILE`, \
             or a file .npy, .npz, .safetensors, .bin or .raw",
        ))
    }
}

/// A file by its extension, perhaps with an entry.
fn file(text: &str) -> Option<Source> {
    if text.starts_with(['[', '"']) {
        return None;
    }
    let lower = text.to_ascii_lowercase();
    for extension in [".npz", ".safetensors"] {
        if let Some(at) = lower.find(&format!("{extension}:")) {
            let (path, entry) = text.split_at(at + extension.len());
            return Some(Source::File(path.into(), Some(entry[1..].to_owned())));
        }
    }
    if [".npy", ".npz", ".safetensors"]
        .iter()
        .any(|e| lower.ends_with(e))
    {
        return Some(Source::File(text.into(), None));
    }
    let raw = lower.ends_with(".bin") || lower.ends_with(".raw");
    raw.then(|| Source::Raw(text.into(), true))
}

fn random(options: &str) -> Result<Random, IoError> {
    let mut random = Random::default();
    for option in options.split(',') {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        let (name, value) = (name.trim(), value.trim());
        match name {
            "seed" => {
                random.seed = value.parse().map_err(|_| {
                    IoError::invalid(format!("`seed={value}` is not an unsigned integer"))
                })?;
            }
            "min" => random.min = Some(value.to_owned()),
            "max" => random.max = Some(value.to_owned()),
            _ => {
                return Err(IoError::invalid(format!(
                    "`{name}` is no option of random, expected `seed=`, `min=` or `max=`"
                )));
            }
        }
    }
    Ok(random)
}

/// A tensor of zeros or ones: of the value, which need not be the code 0 or 1.
fn constant(value: u8, ty: ElementType, shape: &Shape, limits: &Limits) -> Result<Tensor, IoError> {
    let count = file::elements(limits, ty, shape)?;
    let mut tensor = Tensor::zeros(ty, shape.clone())?;
    if ty == ElementType::String {
        return match value {
            0 => Ok(tensor),
            _ => Err(IoError::mismatch("strings have no `ones`")),
        };
    }
    match ty {
        ElementType::Complex64 => tensor.as_mut_slice()?.fill([f32::from(value), 0.0]),
        ElementType::Complex128 => tensor.as_mut_slice()?.fill([f64::from(value), 0.0]),
        _ => {}
    }
    if ty.is_float() {
        let mut one = Tensor::zeros(ty, [1])?;
        let mut written = [0f64];
        write_floats(&[f64::from(value)], &mut one, 0);
        convert::widen(&one, 0, &mut written);
        if let Some(error) = lost(f64::from(value), written[0], ty) {
            return Err(error);
        }
        let plain_zero = value == 0 && one.bytes().iter().all(|&b| b == 0);
        if !plain_zero {
            let block = [f64::from(value); 512];
            for start in (0..count).step_by(512) {
                write_floats(&block[..512.min(count - start)], &mut tensor, start);
            }
        }
    } else if value == 1 && integer_range(ty).is_some() {
        let block = [1i64; 512];
        for start in (0..count).step_by(512) {
            convert::narrow(&block[..512.min(count - start)], &mut tensor, start);
        }
    }
    Ok(tensor)
}

/// The one tensor of a file, or the one that is named.
fn read_one(path: &Path, entry: Option<&str>, limits: &Limits) -> Result<Tensor, IoError> {
    let extension = path.extension().map(|e| e.to_ascii_lowercase());
    let only = |names: Vec<&str>| match (entry, names.as_slice()) {
        (Some(entry), _) => Ok(entry.to_owned()),
        (None, [name]) => Ok((*name).to_owned()),
        (None, names) => Err(IoError::invalid(format!(
            "has {} tensors, name one: `{}:NAME`, of {}",
            names.len(),
            path.display(),
            list(names)
        ))
        .in_file(path)),
    };
    match extension.as_ref().and_then(|e| e.to_str()) {
        Some("npz") => {
            let mut archive = npz::Archive::open(path, limits)?;
            let name = only(archive.names().collect())?;
            archive.read(&name)
        }
        Some("safetensors") => {
            let archive = safetensors::Archive::open(path, limits)?;
            let name = only(archive.names().collect())?;
            archive.read(&name)
        }
        _ => npy::read(path, limits),
    }
}

/// Names for a message, the first few of many.
pub(super) fn list(names: &[&str]) -> String {
    if names.is_empty() {
        return "none".to_owned();
    }
    let shown: Vec<String> = names
        .iter()
        .take(8)
        .map(|n| format!("`{}`", n.escape_debug()))
        .collect();
    let more = if names.len() > 8 { ", ..." } else { "" };
    shown.join(", ") + more
}

#[cfg(test)]
#[path = "tests/value.rs"]
mod tests;
