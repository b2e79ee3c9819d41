//! The variables of a model: values that pass from one evaluation to the next.

use std::collections::BTreeMap;

use crate::tensor::Tensor;

/// What evaluations left in the variables of a model (ReadValue, Assign).
#[derive(Debug, Clone, Default)]
pub(crate) struct State(BTreeMap<String, Tensor>);

impl State {
    /// What was left in a variable.
    pub(crate) fn get(&self, variable: &str) -> Option<&Tensor> {
        self.0.get(variable)
    }

    pub(crate) fn set(&mut self, variable: &str, value: Tensor) {
        self.0.insert(variable.to_owned(), value);
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Takes over what a run left.
    pub(crate) fn update(&mut self, left: Self) {
        if !left.0.is_empty() {
            self.0.extend(left.0);
        }
    }
}
