//! Snapshots of models among those of insta.

use std::fmt::Display;

use insta::internals::SnapshotContents;

use super::{GivenInput, Options, Snapshot};
use crate::model::{Model, PortKey};
use crate::tensor::Tensor;

/// Takes two texts for the same if they are snapshots of models within the bounds of the first, and
/// tells on standard error what moved if not.
#[derive(Debug, Clone, Copy)]
pub struct Near;

impl insta::Comparator for Near {
    fn matches(&self, reference: &insta::Snapshot, test: &insta::Snapshot) -> bool {
        let text = |snapshot: &insta::Snapshot| match snapshot.contents() {
            SnapshotContents::Text(text) => Some(text.to_string()),
            SnapshotContents::Binary(_) => None,
        };
        let (Some(old), Some(new)) = (text(reference), text(test)) else {
            return false;
        };
        match (
            old.trim().parse::<Snapshot>(),
            new.trim().parse::<Snapshot>(),
        ) {
            (Ok(old), Ok(new)) => {
                let changes = old.changes(&new);
                if !changes.is_empty() {
                    tell(&changes);
                }
                changes.is_empty()
            }
            (Err(error), _) => {
                tell(&format!("the snapshot cannot be read, {error}\n"));
                false
            }
            (Ok(_), Err(error)) => {
                tell(&format!("the new snapshot cannot be read, {error}\n"));
                false
            }
        }
    }

    fn dyn_clone(&self) -> Box<dyn insta::Comparator> {
        Box::new(*self)
    }
}

/// Standard error is what tests show of one that failed; insta prints its own difference there.
#[allow(clippy::print_stderr)]
fn tell(what: &dyn Display) {
    eprint!("{what}");
}

/// The text of a snapshot. Inputs that are not given are random numbers from the seed.
///
/// # Panics
/// When the model cannot be evaluated: the test that asked for it fails.
pub fn text_of<'k, K: Into<PortKey<'k>>>(
    model: &Model,
    inputs: impl IntoIterator<Item = (K, Tensor)>,
    options: &Options,
) -> String {
    let fail = |error: &dyn Display| -> ! { panic!("no snapshot of the model: {error}") };
    let mut given = Vec::new();
    for (key, tensor) in inputs {
        let index = match key.into() {
            PortKey::Index(index) => index,
            PortKey::Name(name) => model
                .find_input(&name)
                .unwrap_or_else(|| fail(&format!("there is no input {name:?}"))),
        };
        given.push(GivenInput {
            index,
            tensor,
            source: "given".to_owned(),
        });
    }
    for index in 0..model.inputs().len() {
        if given.iter().any(|input| input.index == index) {
            continue;
        }
        match GivenInput::random(model, index, options.seed, &options.limits) {
            Ok(input) => given.push(input),
            Err(error) => fail(&error),
        }
    }
    match Snapshot::record(model, &given, options) {
        Ok(snapshot) => snapshot.to_string(),
        Err(error) => fail(&error),
    }
}

/// Asserts that a model is as its snapshot says, which is kept where insta keeps those of the test:
/// `cargo insta review` shows and accepts changes. While all tensors are within the bounds of the
/// snapshot, its text stays as it is.
///
/// Inputs are pairs of a name or position and a tensor; those that are missing are random numbers
/// from the seed. Options are the fields of [`Options`](crate::testing::Options), and `name`, that
/// of the snapshot in place of the test's.
///
/// The crate that uses it needs insta among its dev-dependencies.
///
/// ```no_run
/// use ovir::Model;
/// use ovir::tensor::Tensor;
/// use ovir::testing::assert_model_snapshot;
///
/// let model = Model::read("model.xml")?;
/// assert_model_snapshot!(model, [("x", Tensor::vector(&[1f32, 2.0]))]);
/// assert_model_snapshot!(model, ovir::testing::RANDOM, name: "random", trace: true, seed: 7,
///     bounds: "1e-5".parse()?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[macro_export]
macro_rules! assert_model_snapshot {
    (@name $value:expr; ) => {
        ::insta::assert_snapshot!($value)
    };
    (@name $value:expr; $name:expr) => {
        ::insta::assert_snapshot!($name, $value)
    };
    ($model:expr, $inputs:expr, name: $name:expr $(, $option:ident : $set:expr)* $(,)?) => {
        $crate::assert_model_snapshot!(@all $model, $inputs, [$name], $($option: $set),*)
    };
    ($model:expr, $inputs:expr $(, $option:ident : $set:expr)* $(,)?) => {
        $crate::assert_model_snapshot!(@all $model, $inputs, [], $($option: $set),*)
    };
    (@all $model:expr, $inputs:expr, [$($name:expr)?], $($option:ident : $set:expr),*) => {{
        #[allow(unused_mut)]
        let mut options = $crate::testing::Options::default();
        $(options.$option = $set;)*
        let text = $crate::testing::text_of(&$model, $inputs, &options);
        let mut settings = ::insta::Settings::clone_current();
        settings.set_comparator(::std::boxed::Box::new($crate::testing::Near));
        settings.set_omit_expression(true);
        settings.bind(|| $crate::assert_model_snapshot!(@name text; $($name)?));
    }};
}
