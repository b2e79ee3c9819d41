//! Two runs, tensor by tensor.

use super::{Named, Run, pairs};
use crate::error::{Error, Kind, Result, quoted};
use crate::io::{self, code_type};
use crate::limits::Limits;
use crate::metrics::{Difference, Tolerance};
use crate::model::Model;
use crate::tensor::{ElementType, Tensor, convert};

/// What a tensor of a name and of two element types may differ by.
pub type Allow<'a> = dyn Fn(&str, ElementType, ElementType) -> Tolerance + 'a;

/// A pair of tensors.
#[derive(Debug, Clone)]
pub struct Compared {
    /// Its name in the first run.
    pub name: String,
    /// Its name in the second run.
    pub other: String,
    /// What the first differs in from the second.
    pub difference: Difference,
    /// What it was allowed to.
    pub tolerance: Tolerance,
    /// What is more than allowed, in words.
    pub violations: Vec<String>,
}

impl Compared {
    pub(super) fn new(
        name: &str,
        other: &str,
        (found, expected): (&Tensor, &Tensor),
        allow: &Allow<'_>,
    ) -> Self {
        let (found, expected) = meant_alike(found, expected);
        let tolerance = allow(name, found.element_type(), expected.element_type());
        let difference = Difference::between(&found, &expected, &tolerance);
        Self {
            name: name.to_owned(),
            other: other.to_owned(),
            violations: tolerance.violations(&difference),
            difference,
            tolerance,
        }
    }

    /// Whether it is within the tolerance.
    pub fn passes(&self) -> bool {
        self.violations.is_empty()
    }

    /// How bad the difference is, to sort by: what fails first, then what cannot be compared, NaN and
    /// infinities, the norm of the difference.
    pub fn badness(&self) -> (bool, f64) {
        let values = self.difference.values.as_ref();
        let size = values.map_or(f64::INFINITY, |v| match v.not_finite {
            0 if v.exact => f64::INFINITY * f64::from(u8::from(v.differing > 0)),
            0 => v.rel_l2,
            _ => f64::MAX,
        });
        (!self.passes(), if size.is_nan() { 0.0 } else { size })
    }
}

/// What came of a comparison.
#[derive(Debug, Clone, Default)]
pub struct Comparison {
    /// The pairs, in the order of the first run.
    pub pairs: Vec<Compared>,
    /// Outputs that the second run has no tensor for.
    pub only_first: Vec<String>,
    /// Outputs that the first run has no tensor for.
    pub only_second: Vec<String>,
}

impl Comparison {
    /// Whether every tensor has a partner and is within its tolerance.
    pub fn is_equal(&self) -> bool {
        let alone = self.only_first.len() + self.only_second.len();
        alone == 0 && self.pairs.iter().all(Compared::passes)
    }

    /// The pairs, the worst first.
    pub fn worst_first(&self) -> Vec<&Compared> {
        let mut pairs: Vec<&Compared> = self.pairs.iter().collect();
        pairs.sort_by(|a, b| {
            let (a, b) = (a.badness(), b.badness());
            b.0.cmp(&a.0).then(b.1.total_cmp(&a.1))
        });
        pairs
    }
}

/// Compares the outputs of two runs: paired by name, then by position. Of a saved run only those
/// tensors count that the other side has.
///
/// # Errors
/// When a tensor cannot be read, or no tensor of one has a partner in the other.
pub fn compare(a: &Run, b: &Run, allow: &Allow<'_>, limits: &Limits) -> Result<Comparison> {
    let names = |run: &Run| -> Vec<Vec<String>> {
        run.outputs()
            .iter()
            .map(|named| named.names.clone())
            .collect()
    };
    let pairs = pairs::by_names(&names(a), &names(b));
    let mut comparison = Comparison::default();
    let mut taken = vec![false; b.outputs().len()];
    for (found, pair) in a.outputs().iter().zip(pairs) {
        let Some(index) = pair else {
            if !a.is_saved() || b.is_saved() {
                comparison.only_first.push(found.name().to_owned());
            }
            continue;
        };
        taken[index] = true;
        let expected = &b.outputs()[index];
        comparison
            .pairs
            .push(pair_of(found, expected, allow, limits)?);
    }
    if !b.is_saved() || a.is_saved() {
        let alone = b.outputs().iter().zip(taken).filter(|(_, taken)| !taken);
        comparison.only_second = alone.map(|(named, _)| named.name().to_owned()).collect();
    }
    if comparison.pairs.is_empty() && !(a.outputs().is_empty() && b.outputs().is_empty()) {
        let list = |run: &Run| {
            let names: Vec<_> = run.outputs().iter().map(|n| quoted(n.name())).collect();
            names.join(", ")
        };
        let message = format!(
            "no tensor of one side has a partner: {} beside {}",
            list(a),
            list(b)
        );
        return Err(Error::new(Kind::Input, message));
    }
    Ok(comparison)
}

/// Compares the tensors of inner layers that both runs have, in the order of the first.
///
/// # Errors
/// When a tensor cannot be read.
pub fn compare_layers(a: &Run, b: &Run, allow: &Allow<'_>, limits: &Limits) -> Result<Comparison> {
    let mut comparison = Comparison::default();
    for found in a.layers() {
        if let Some(expected) = b.layer(found.name()) {
            comparison
                .pairs
                .push(pair_of(found, expected, allow, limits)?);
        }
    }
    Ok(comparison)
}

fn pair_of(
    found: &Named,
    expected: &Named,
    allow: &Allow<'_>,
    limits: &Limits,
) -> Result<Compared> {
    let tensors = (&found.load(limits)?, &expected.load(limits)?);
    Ok(Compared::new(found.name(), expected.name(), tensors, allow))
}

/// Both tensors, that of a file as the type of the other where the file has codes only.
fn meant_alike(a: &Tensor, b: &Tensor) -> (Tensor, Tensor) {
    let as_type = |tensor: &Tensor, ty: ElementType| {
        let codes = code_type(ty) == Some(tensor.element_type());
        let meant = codes.then(|| io::adapt(tensor, ty).ok()).flatten();
        meant.unwrap_or_else(|| tensor.clone())
    };
    (as_type(a, b.element_type()), as_type(b, a.element_type()))
}

/// The inputs of one model for another one: by name, then by position, as the types that it takes.
///
/// # Errors
/// When an input has no partner, or its values do not fit the type.
pub fn inputs_for(
    model: &Model,
    other: &Model,
    given: &[(usize, Tensor)],
) -> Result<Vec<(usize, Tensor)>> {
    let pairs = pairs::by_names(&pairs::input_names(other), &pairs::input_names(model));
    let inputs = pairs.into_iter().enumerate().map(|(index, pair)| {
        let name = || quoted(other.inputs()[index].name());
        let tensor = pair.and_then(|pair| given.iter().find(|(i, _)| *i == pair));
        let Some((_, tensor)) = tensor else {
            let message = format!(
                "input {} of {} has no partner",
                name(),
                quoted(other.name())
            );
            return Err(Error::new(Kind::Input, message));
        };
        let ty = other
            .input_type(index)
            .map_or(ElementType::Dynamic, |t| t.element_type);
        let both_float = ty.is_float() && tensor.element_type().is_float();
        let tensor = match both_float {
            // A model in fewer bits takes the same numbers, rounded.
            true => convert::convert(tensor, ty).map_err(|e| e.to_string()),
            false => io::adapt(tensor, ty).map_err(|e| e.to_string()),
        };
        let tensor =
            tensor.map_err(|e| Error::new(Kind::Input, format!("input {}: {e}", name())))?;
        Ok((index, tensor))
    });
    inputs.collect()
}
