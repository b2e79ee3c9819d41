//! What recurrent cells and sequences of them share: attributes, shapes, evaluation.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use super::lengths::lengths_in;
use crate::kernel::real::Real;
use crate::kernel::recurrent::{Activation, Kind, Recurrence, Sequences, State, Weights};
use crate::kernel::scratch::{Reused, reused, reused_all, try_push};
use crate::limits::Share;
use crate::op::{Input, Io, OpError, Output, Outputs, bail, ensure, merge_types};
use crate::ops::floats::{fill, in_real, real};
use crate::tensor::{Dimension, ElementType, PartialShape, Tensor};

/// Multiplications and additions of all steps below which directions go one after the other.
const SMALL: usize = 1 << 16;

/// A function of a gate, as attributes name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Function {
    Relu,
    Sigmoid,
    Tanh,
}

/// The way along the sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Direction {
    #[default]
    Forward,
    Reverse,
    Bidirectional,
}

/// A struct of the attributes that every recurrent operation has, and of its own; it is an
/// operation by its method `recurrent`.
macro_rules! recurrent {
    ($(#[$doc:meta])* $Name:ident { $($field:ident: $T:ty),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, serde::Deserialize, serde::Serialize)]
        pub(super) struct $Name {
            hidden_size: usize,
            #[serde(default)]
            activations: Vec<$crate::ops::sequence::recurrent::Function>,
            // None of the functions there are has parameters.
            #[serde(default)]
            activations_alpha: Vec<f32>,
            #[serde(default)]
            activations_beta: Vec<f32>,
            #[serde(default)]
            clip: f64,
            $(#[serde(default)] $field: $T,)*
        }

        impl $Name {
            fn with(&self, kind: Kind, direction: Option<Direction>) -> Recurrent {
                Recurrent {
                    hidden: self.hidden_size,
                    clip: self.clip,
                    kind,
                    direction,
                    peepholes: false,
                }
            }
        }

        impl $crate::op::Op for $Name {
            fn infer(&self, inputs: &[$crate::op::Input<'_>]) -> Result<$crate::op::Outputs, OpError> {
                self.recurrent()?.infer(inputs)
            }

            fn eval(&self, io: $crate::op::Io<'_>) -> Result<(), OpError> {
                self.recurrent()?.eval(io)
            }
        }
    };
}

pub(super) use recurrent;

/// The functions of the gates; `default` if the attribute is not given.
///
/// # Errors
/// When there are more or fewer.
pub(super) fn functions<const N: usize>(
    given: &[Function],
    default: [Activation; N],
) -> Result<[Activation; N], OpError> {
    if given.is_empty() {
        return Ok(default);
    }
    let functions: SmallVec<[Activation; N]> = given
        .iter()
        .map(|f| match f {
            Function::Relu => Activation::Relu,
            Function::Sigmoid => Activation::Sigmoid,
            Function::Tanh => Activation::Tanh,
        })
        .collect();
    match functions.into_inner() {
        Ok(functions) => Ok(functions),
        Err(_) => bail!("activations has {} names, expected {N}", given.len()),
    }
}

/// A recurrent operation, whatever its name.
#[derive(Debug)]
pub(super) struct Recurrent {
    pub(super) hidden: usize,
    pub(super) clip: f64,
    pub(super) kind: Kind,
    /// The way along sequences; `None` for a single cell.
    pub(super) direction: Option<Direction>,
    /// Whether peepholes may be given.
    pub(super) peepholes: bool,
}

/// A size of an input.
#[derive(Clone, Copy)]
enum Size {
    Batch,
    Steps,
    Input,
    Of(usize),
}

/// The inputs by their names.
struct Inputs<I> {
    x: I,
    hidden: I,
    cell: Option<I>,
    lengths: Option<I>,
    input_weights: I,
    state_weights: I,
    bias: Option<I>,
    peepholes: Option<I>,
}

impl<I> Inputs<I> {
    fn map<J>(self, f: impl Fn(I) -> Result<J, OpError>) -> Result<Inputs<J>, OpError> {
        Ok(Inputs {
            x: f(self.x)?,
            hidden: f(self.hidden)?,
            cell: self.cell.map(&f).transpose()?,
            lengths: self.lengths.map(&f).transpose()?,
            input_weights: f(self.input_weights)?,
            state_weights: f(self.state_weights)?,
            bias: self.bias.map(&f).transpose()?,
            peepholes: self.peepholes.map(&f).transpose()?,
        })
    }
}

impl Recurrent {
    fn is_lstm(&self) -> bool {
        matches!(self.kind, Kind::Lstm { .. })
    }

    fn directions(&self) -> usize {
        match self.direction {
            Some(Direction::Bidirectional) => 2,
            _ => 1,
        }
    }

    /// Finds out which input is which.
    fn inputs<'a, I>(&self, inputs: &'a [I]) -> Result<Inputs<&'a I>, OpError> {
        let states = 1 + usize::from(self.is_lstm());
        let lengths = usize::from(self.direction.is_some());
        let least = 3 + states + lengths;
        let (least, most) = (least + lengths, least + 1 + usize::from(self.peepholes));
        ensure!(
            (least..=most).contains(&inputs.len()),
            "expected {} inputs, got {}",
            if least == most {
                format!("{least}")
            } else {
                format!("{least} to {most}")
            },
            inputs.len()
        );
        let weights = 1 + states + lengths;
        Ok(Inputs {
            x: &inputs[0],
            hidden: &inputs[1],
            cell: self.is_lstm().then(|| &inputs[2]),
            lengths: (lengths > 0).then(|| &inputs[1 + states]),
            input_weights: &inputs[weights],
            state_weights: &inputs[weights + 1],
            bias: inputs.get(weights + 2),
            peepholes: inputs.get(weights + 3),
        })
    }

    pub(super) fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        use Size::{Batch, Of, Steps};
        let n = self.hidden;
        ensure!(n > 0, "hidden_size is 0, expected a positive number");
        let all = self.inputs(inputs)?;
        let rows = |count: usize| match n.checked_mul(count) {
            Some(rows) => Ok(Of(rows)),
            None => bail!("hidden_size {n} is too large"),
        };
        let gates = rows(self.kind.gates())?;
        let biases = rows(self.kind.biases())?;
        let mut sizes = Sizes {
            batch: Dimension::dynamic(),
            steps: Dimension::dynamic(),
            input: Dimension::dynamic(),
        };
        let d = self.direction.map(|_| Of(self.directions()));
        let steps = self.direction.map(|_| Steps);
        let list =
            |sizes: &[Option<Size>]| -> Vec<Size> { sizes.iter().copied().flatten().collect() };
        let x = list(&[Some(Batch), steps, Some(Size::Input)]);
        let state = list(&[Some(Batch), d, Some(Of(n))]);
        let input_weights = list(&[d, Some(gates), Some(Size::Input)]);
        let state_weights = list(&[d, Some(gates), Some(Of(n))]);
        sizes.check("X", Some(all.x), &x)?;
        sizes.check("initial_hidden_state", Some(all.hidden), &state)?;
        sizes.check("initial_cell_state", all.cell, &state)?;
        sizes.check("sequence_lengths", all.lengths, &[Batch])?;
        sizes.check("W", Some(all.input_weights), &input_weights)?;
        sizes.check("R", Some(all.state_weights), &state_weights)?;
        sizes.check("B", all.bias, &list(&[d, Some(biases)]))?;
        sizes.check("P", all.peepholes, &[rows(3)?])?;
        if let Some(lengths) = all.lengths {
            lengths.expect_integer("sequence_lengths")?;
        }
        let floats = inputs.iter();
        let floats = floats.filter(|i| all.lengths.is_none_or(|l| !std::ptr::eq(*i, l)));
        let ty = merge_types(&floats.cloned().collect::<Vec<_>>())?;
        ensure!(
            ty.is_float() || ty == ElementType::Dynamic,
            "the inputs must be floats, got {ty}"
        );
        let state = Output::new(ty, sizes.shape(&state));
        let mut outputs = Outputs::new();
        if let Some(d) = d {
            outputs.push(Output::new(ty, sizes.shape(&[Batch, d, Steps, Of(n)])));
        }
        outputs.push(state.clone());
        if self.is_lstm() {
            outputs.push(state);
        }
        Ok(outputs)
    }

    pub(super) fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let inputs = self.inputs(io.inputs)?;
        in_real!(inputs.x.element_type(), T => self.run::<T>(inputs, io.outputs))
    }

    fn run<T: Real>(
        &self,
        mut inputs: Inputs<&&Tensor>,
        outputs: &mut [Tensor],
    ) -> Result<(), OpError> {
        let (batch, steps) = match inputs.x.shape()[..] {
            [batch, steps, _] => (batch, steps),
            [batch, ..] => (batch, 1),
            [] => bail!("X must have dimensions, got a scalar"),
        };
        let lengths = match inputs.lengths.take() {
            Some(lengths) => lengths_in("sequence length", lengths, steps)?,
            None => reused(1, batch)?,
        };
        let inputs = inputs.map(|tensor| real::<T>(tensor))?;
        let run = |d: usize, out: &mut [&mut [T]]| self.one_way(&inputs, &lengths, steps, d, out);
        if self.direction.is_none() {
            return self.store(&[run(0, &mut [])?], outputs);
        }
        let (y, outputs) = outputs.split_at_mut(1);
        let length = steps * self.hidden;
        let work = (batch * length).saturating_mul(self.hidden);
        let states: Vec<State<T>> = fill::<T, _>(&mut y[0], |y| {
            let mut places: Vec<Vec<&mut [T]>> =
                (0..self.directions()).map(|_| Vec::new()).collect();
            if length > 0 {
                y.fill(T::zero());
                for (i, place) in y.chunks_exact_mut(length).enumerate() {
                    try_push(&mut places[i % self.directions()], place)?;
                }
            }
            if work < SMALL {
                let places = places.iter_mut().enumerate();
                places.map(|(d, out)| run(d, out)).collect()
            } else {
                let places = places.par_iter_mut().enumerate();
                places.share_map(|(d, out)| run(d, out)).collect()
            }
        })?;
        self.store(&states, outputs)
    }

    /// Runs along all sequences in one direction, and gives the last states.
    fn one_way<T: Real>(
        &self,
        inputs: &Inputs<Tensor>,
        lengths: &[usize],
        steps: usize,
        d: usize,
        out: &mut [&mut [T]],
    ) -> Result<State<T>, OpError> {
        let (n, directions) = (self.hidden, self.directions());
        let mut last = inputs.states::<T>(d, directions, n)?;
        let zeros = reused(T::zero(), self.kind.biases() * n)?;
        let recurrence = Recurrence {
            kind: self.kind,
            hidden: n,
            clip: (self.clip > 0.0).then(|| T::of(self.clip)),
            weights: inputs.weights(d, directions, &zeros)?,
        };
        let reverse = match self.direction {
            Some(Direction::Reverse) => true,
            Some(Direction::Bidirectional) => d == 1,
            _ => false,
        };
        let sequences = Sequences {
            data: inputs.x.as_slice()?,
            steps,
            input: inputs.x.shape().last().copied().unwrap_or(0),
            lengths,
            reverse,
        };
        recurrence.run(&sequences, &mut last, out)?;
        for (row, _) in lengths.iter().enumerate().filter(|(_, len)| **len == 0) {
            // There is no last state.
            for state in [&mut last.hidden, &mut last.cell] {
                if let Some(state) = state.chunks_exact_mut(n).nth(row) {
                    state.fill(T::zero());
                }
            }
        }
        Ok(last)
    }

    /// Writes the last states, `[batch, directions, hidden]`.
    fn store<T: Real>(&self, states: &[State<T>], outputs: &mut [Tensor]) -> Result<(), OpError> {
        for (which, out) in outputs.iter_mut().enumerate() {
            fill::<T, _>(out, |out| {
                for (d, state) in states.iter().enumerate() {
                    let state = if which == 0 {
                        &state.hidden
                    } else {
                        &state.cell
                    };
                    let places = out.chunks_exact_mut(self.hidden).skip(d);
                    let places = places.step_by(states.len());
                    for (place, state) in places.zip(state.chunks_exact(self.hidden)) {
                        place.copy_from_slice(state);
                    }
                }
                Ok(())
            })?;
        }
        Ok(())
    }
}

/// The sizes that several inputs share.
struct Sizes {
    batch: Dimension,
    steps: Dimension,
    input: Dimension,
}

impl Sizes {
    fn get(&self, size: Size) -> Dimension {
        match size {
            Size::Batch => self.batch,
            Size::Steps => self.steps,
            Size::Input => self.input,
            Size::Of(n) => n.into(),
        }
    }

    fn shape(&self, sizes: &[Size]) -> PartialShape {
        sizes.iter().map(|&size| self.get(size)).collect()
    }

    /// Checks an input, if it is there, and notes what it tells of the sizes.
    fn check(
        &mut self,
        name: &str,
        input: Option<&Input<'_>>,
        sizes: &[Size],
    ) -> Result<(), OpError> {
        let Some(input) = input else { return Ok(()) };
        let expected = self.shape(sizes);
        let Some(shape) = expected.intersect(&input.shape) else {
            bail!("{name} has shape {}, expected {expected}", input.shape);
        };
        for (&size, &dim) in sizes.iter().zip(shape.dims().unwrap_or_default()) {
            match size {
                Size::Batch => self.batch = dim,
                Size::Steps => self.steps = dim,
                Size::Input => self.input = dim,
                Size::Of(_) => {}
            }
        }
        Ok(())
    }
}

impl Inputs<Tensor> {
    /// The weights of one direction.
    fn weights<'a, T: Real>(
        &'a self,
        d: usize,
        directions: usize,
        no_bias: &'a [T],
    ) -> Result<Weights<'a, T>, OpError> {
        Ok(Weights {
            input: part(&self.input_weights, d, directions)?,
            state: part(&self.state_weights, d, directions)?,
            bias: match &self.bias {
                Some(bias) => part(bias, d, directions)?,
                None => no_bias,
            },
            peepholes: self.peepholes.as_ref().map(Tensor::as_slice).transpose()?,
        })
    }

    /// The initial states of one direction, `[batch, hidden]`.
    fn states<T: Real>(&self, d: usize, directions: usize, n: usize) -> Result<State<T>, OpError> {
        let state = |tensor: Option<&Tensor>| -> Result<Reused<T>, OpError> {
            let Some(tensor) = tensor else {
                return Ok(Reused::default());
            };
            let rows = tensor.as_slice::<T>()?.chunks_exact(n);
            reused_all(rows.skip(d).step_by(directions).flatten().copied())
        };
        Ok(State {
            hidden: state(Some(&self.hidden))?,
            cell: state(self.cell.as_ref())?,
        })
    }
}

/// The part of a tensor `[directions, …]` for one direction.
fn part<T: Real>(tensor: &Tensor, d: usize, directions: usize) -> Result<&[T], OpError> {
    let data = tensor.as_slice::<T>()?;
    let size = data.len() / directions;
    Ok(&data[d * size..][..size])
}

#[cfg(test)]
#[path = "recurrent_tests.rs"]
mod tests;
