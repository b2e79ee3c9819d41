//! Models made of models: parts of them, smaller ones that still show a fault, changed ones.
//!
//! Parts are cuts: some layers of a model, with inputs where the values of other layers came in,
//! and outputs where somebody wants their values. A change is proven by running both models.

#[cfg(feature = "cli")]
mod change;
#[cfg(feature = "cli")]
mod check;
mod cut;
#[cfg(feature = "cli")]
mod ddmin;
mod extract;
#[cfg(feature = "cli")]
mod proof;
#[cfg(feature = "cli")]
mod reduce;
mod reproduction;
#[cfg(feature = "cli")]
mod strip;
#[cfg(feature = "cli")]
mod values;

pub(crate) use extract::varying;
pub(crate) use reproduction::{Reproduction, write_named, write_text};

// What the commands alone need.
#[cfg(feature = "cli")]
pub(crate) use {
    check::{Check, Verdict, fill},
    cut::Cut,
    extract::find_tensor,
    proof::{OutputProof, prove},
    reduce::{Reduction, Stage},
    reproduction::layers,
    strip::{Stripped, strip},
    values::Values,
};
