//! Evaluations that share the variables of a model.

use std::collections::HashSet;

use super::{CompiledModel, Model, Outputs, PortKey};
use crate::error::{Error, Kind, Result, quoted};
use crate::exec::{Observer, Pace, Results, Run, State, Workspace};
use crate::limits::{Limits, under};
use crate::op::{Output, Role};
use crate::tensor::Tensor;

/// Evaluations of a model, one after another, with the variables that ReadValue and Assign pass
/// values through. Requests of one model know nothing of each other.
///
/// A variable that was not assigned yet, or was reset, has its initial value: what the input of
/// ReadValue is in that evaluation, or else zeros of the variable's shape, of which sizes that
/// are not known are 0.
///
/// A request keeps its memory: a second evaluation with the same shapes takes the same buffers, once the
/// outputs of the first are dropped, and most operations allocate nothing besides. (The second evaluation of a compiled model packs large weights,
/// for all its requests.)
#[derive(Debug)]
pub struct InferRequest {
    model: Model,
    /// What is evaluated in place of the model.
    compiled: Option<CompiledModel>,
    state: State,
    workspace: Workspace,
    /// Room for the inputs of an evaluation.
    inputs: Vec<Option<Tensor>>,
    pace: Pace,
}

impl Clone for InferRequest {
    /// A request with the same variables, and memory of its own.
    fn clone(&self) -> Self {
        Self {
            model: self.model.clone(),
            compiled: self.compiled.clone(),
            state: self.state.clone(),
            workspace: Workspace::default(),
            inputs: Vec::new(),
            pace: Pace::default(),
        }
    }
}

/// A variable of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// The id that ReadValue and Assign name.
    pub id: String,
    /// Element type and shape, as far as they are known.
    pub inferred: Output,
}

impl InferRequest {
    pub(super) fn new(model: Model) -> Self {
        Self {
            model,
            compiled: None,
            state: State::default(),
            workspace: Workspace::default(),
            inputs: Vec::new(),
            pace: Pace::default(),
        }
    }

    pub(super) fn compiled(compiled: CompiledModel) -> Self {
        Self {
            compiled: Some(compiled.clone()),
            ..Self::new(compiled.model().clone())
        }
    }

    /// The model that is evaluated.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Evaluates the model. Inputs are given by name or by position; every input needs one.
    ///
    /// # Errors
    /// When inputs are missing or do not fit, a layer is not supported or refuses its values, or
    /// a limit is reached. The variables stay as they were.
    pub fn infer<'k, K: Into<PortKey<'k>>>(
        &mut self,
        inputs: impl IntoIterator<Item = (K, Tensor)>,
    ) -> Result<Outputs> {
        self.infer_with(inputs, &Limits::default(), &mut [])
    }

    /// Evaluates the model under limits and observers of your own.
    ///
    /// What is observed is evaluated on the calling thread, and shares its work with the threads of the
    /// pool that this one belongs to: call this within `rayon::ThreadPool::install` to choose them, and to
    /// have layers take the time they take unobserved.
    ///
    /// # Errors
    /// As [`InferRequest::infer`], and when an observer stops the run.
    pub fn infer_with<'k, K: Into<PortKey<'k>>>(
        &mut self,
        inputs: impl IntoIterator<Item = (K, Tensor)>,
        limits: &Limits,
        observers: &mut [&mut dyn Observer],
    ) -> Result<Outputs> {
        let bound = self.model.bind(inputs, &mut self.inputs);
        let run = bound.and_then(|()| self.run(limits, observers));
        // They are the caller's again, also after an error.
        self.inputs.clear();
        run
    }

    /// Evaluates the model on the inputs that are bound. Little is passed on by value: moving tensors
    /// from call to call costs as much as a small layer.
    fn run(&mut self, limits: &Limits, observers: &mut [&mut dyn Observer]) -> Result<Outputs> {
        let (state, workspace) = (&self.state, &mut self.workspace);
        let (inputs, pace) = (&mut self.inputs[..], &mut self.pace);
        let mut left = State::default();
        let mut outputs = Outputs {
            model: self.model.clone(),
            tensors: Results::new(),
        };
        let results = (&mut outputs.tensors, &mut left);
        match &self.compiled {
            None => under(limits, || {
                let run = Run::new(&self.model, limits, state, workspace, observers);
                run.run(inputs, results)
            })?,
            Some(compiled) => {
                let limits = &*compiled.limits(limits)?;
                let model = &compiled.for_inputs(inputs, limits)?;
                if observers.is_empty() {
                    compiled.on_threads(|| {
                        pace.keep(|| {
                            under(limits, || {
                                let run = Run::new(model, limits, state, workspace, &mut []);
                                run.run(inputs, results)
                            })
                        })
                    })?;
                } else {
                    // Observers stay on the caller's thread.
                    pace.keep_here(|| {
                        under(limits, || {
                            let run = Run::new(model, limits, state, workspace, observers);
                            run.run(inputs, results)
                        })
                    })?;
                }
            }
        }
        self.state.update(left);
        Ok(outputs)
    }

    /// What the last evaluation left in a variable; `None` before the first and after a reset.
    pub fn variable(&self, id: &str) -> Option<&Tensor> {
        self.state.get(id)
    }

    /// Sets what the next evaluation finds in a variable.
    ///
    /// # Errors
    /// When the model has no such variable, or the tensor does not fit it.
    pub fn set_variable(&mut self, id: &str, value: Tensor) -> Result<()> {
        let variables = self.model.variables();
        let Some(variable) = variables.iter().find(|v| v.id == id) else {
            let have: Vec<_> = variables.iter().map(|v| quoted(&v.id)).collect();
            let have = if have.is_empty() {
                "none".to_owned()
            } else {
                have.join(", ")
            };
            let message = format!("there is no variable {}; the model has {have}", quoted(id));
            return Err(Error::new(Kind::Input, message));
        };
        let Output {
            element_type,
            shape,
        } = &variable.inferred;
        let types = !element_type.is_static() || *element_type == value.element_type();
        if !types || !shape.contains(value.shape()) {
            let message = format!(
                "variable {} is {}, got {value:?}",
                quoted(id),
                variable.inferred
            );
            return Err(Error::new(Kind::Input, message));
        }
        self.state.set(id, value);
        Ok(())
    }

    /// Gives all variables their initial values again.
    pub fn reset(&mut self) {
        self.state.clear();
    }
}

impl Model {
    /// The variables that ReadValue layers read, those in bodies included.
    pub fn variables(&self) -> Vec<Variable> {
        let mut found: Vec<Variable> = Vec::new();
        let mut seen = HashSet::new();
        for (graph, nodes) in self.graphs().iter().enumerate() {
            for (id, node) in nodes.nodes().filter(|(_, n)| n.role() == Role::ReadValue) {
                let variable = node.op().and_then(|op| op.variable());
                let inferred = self.inferred_in(graph, id).first();
                if let (Some(variable), Some(inferred)) = (variable, inferred)
                    && seen.insert(variable)
                {
                    found.push(Variable {
                        id: variable.to_owned(),
                        inferred: inferred.clone(),
                    });
                }
            }
        }
        found
    }
}
