//! Recurrent cells, run along sequences: the product of the input and the weights of many steps at
//! once, then step by step the product of the state and its weights.

use smallvec::SmallVec;

use super::gemm::{How, Matrix, PackedRight, multiply, product};
use super::math;
use super::real::Real;
use super::scratch::{Reused, reused};
use super::simd::vectorize_mut;
use crate::limits;
use crate::op::OpError;

/// Rows of the input that are multiplied at a time: enough to keep the product busy, few enough to
/// stay near the processor.
const ROWS: usize = 512;

/// Steps after which packed weights of the state have paid, where there are several sequences: one
/// alone reads them as fast as they lie.
const MANY: usize = 8;

/// The function at the end of a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Activation {
    Relu,
    Sigmoid,
    Tanh,
}

impl Activation {
    #[inline(always)]
    fn apply<T: Real>(self, xs: &mut [T]) {
        let zero = T::zero();
        match self {
            Self::Relu => {
                for x in xs {
                    *x = if *x < zero { zero } else { *x };
                }
            }
            Self::Sigmoid => {
                for x in xs {
                    *x = math::sigmoid(*x);
                }
            }
            Self::Tanh => {
                for x in xs {
                    *x = math::tanh(*x);
                }
            }
        }
    }
}

/// What a cell computes from its gates.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    /// One gate, which is the new state.
    Rnn(Activation),
    /// Gates z, r and h.
    Gru {
        functions: [Activation; 2],
        /// Whether gate r scales the product of the state and its weights, not the state.
        linear_before_reset: bool,
    },
    /// Gates f, i, c and o.
    Lstm {
        functions: [Activation; 3],
        /// Where in the weights they are.
        order: [usize; 4],
        /// Whether gate i is `1 - f`.
        input_forget: bool,
    },
}

impl Kind {
    /// How many gates there are.
    pub(crate) fn gates(self) -> usize {
        match self {
            Self::Rnn(_) => 1,
            Self::Gru { .. } => 3,
            Self::Lstm { .. } => 4,
        }
    }

    /// How many states the bias is as long as.
    pub(crate) fn biases(self) -> usize {
        match self {
            Self::Gru {
                linear_before_reset: true,
                ..
            } => 4,
            _ => self.gates(),
        }
    }
}

/// The weights of the state, of gates that are multiplied together.
struct StateWeights<'a, T> {
    matrix: Matrix<'a, T>,
    /// The same, for many steps.
    packed: Option<PackedRight<T>>,
}

/// The weights of a cell; rows follow each other.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Weights<'a, T> {
    /// `[gates * hidden, input]`.
    pub(crate) input: &'a [T],
    /// `[gates * hidden, hidden]`.
    pub(crate) state: &'a [T],
    /// `[biases * hidden]`.
    pub(crate) bias: &'a [T],
    /// Of gates f, i and o, `[3 * hidden]`.
    pub(crate) peepholes: Option<&'a [T]>,
}

/// Sequences `[batch, steps, input]` that a cell goes along.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sequences<'a, T> {
    pub(crate) data: &'a [T],
    pub(crate) steps: usize,
    pub(crate) input: usize,
    /// How many steps of each are taken.
    pub(crate) lengths: &'a [usize],
    /// Whether from the last of these to the first.
    pub(crate) reverse: bool,
}

impl<T: Real> Sequences<'_, T> {
    /// Where the step is in time that a sequence takes as its `step`th.
    fn time(&self, row: usize, step: usize) -> Option<usize> {
        let length = self.lengths[row];
        (step < length).then(|| {
            if self.reverse {
                length - 1 - step
            } else {
                step
            }
        })
    }
}

/// The states of a batch, `[batch, hidden]`.
#[derive(Debug)]
pub(crate) struct State<T: 'static> {
    pub(crate) hidden: Reused<T>,
    /// Empty but for LSTM.
    pub(crate) cell: Reused<T>,
}

/// A cell with its weights.
#[derive(Debug)]
pub(crate) struct Recurrence<'a, T> {
    pub(crate) kind: Kind,
    /// The size of the state, not 0.
    pub(crate) hidden: usize,
    /// What gates are cut to before their functions.
    pub(crate) clip: Option<T>,
    pub(crate) weights: Weights<'a, T>,
}

impl<T: Real> Recurrence<'_, T> {
    /// Runs along the sequences. The state after each step goes to its place in `out`, one slice
    /// `[steps, hidden]` for each sequence, or nowhere if there are none.
    ///
    /// # Errors
    /// When there is no memory for the gates of some steps.
    pub(crate) fn run(
        &self,
        x: &Sequences<'_, T>,
        state: &mut State<T>,
        out: &mut [&mut [T]],
    ) -> Result<(), OpError> {
        let batch = x.lengths.len();
        let width = self.kind.gates() * self.hidden;
        let steps = x.lengths.iter().copied().max().unwrap_or(0);
        let most = (ROWS / batch.max(1)).clamp(1, steps.max(1));
        let room = match self.kind {
            Kind::Gru {
                linear_before_reset: true,
                ..
            } => batch * width,
            Kind::Gru { .. } => batch * width / 3 * 4,
            _ => 0,
        };
        let mut input = reused(T::zero(), most * batch * x.input)?;
        let mut gates = reused(T::zero(), most * batch * width)?;
        let mut scratch = reused(T::zero(), room)?;
        let state_weights = self.state_weights(batch > 1 && steps >= MANY);
        let watch = limits::watch();
        for first in (0..steps).step_by(most) {
            if watch.check().is_err() {
                break;
            }
            let count = most.min(steps - first);
            let input = &mut input[..count * batch * x.input];
            let gates = &mut gates[..count * batch * width];
            pack(x, first, input);
            for row in gates.chunks_exact_mut(width) {
                row.copy_from_slice(&self.weights.bias[..width]);
            }
            let weights = Matrix::new(self.weights.input, width, x.input).transposed();
            let input = Matrix::new(input, count * batch, x.input);
            multiply(input, weights, gates, true);
            for (i, gates) in gates.chunks_exact_mut(batch * width).enumerate() {
                self.step(x, first + i, &state_weights, gates, state, &mut scratch);
                let states = state.hidden.chunks_exact(self.hidden);
                for ((row, out), state) in out.iter_mut().enumerate().zip(states) {
                    if let Some(time) = x.time(row, first + i) {
                        out[time * self.hidden..][..self.hidden].copy_from_slice(state);
                    }
                }
            }
        }
        Ok(())
    }

    /// One step: `gates` are the products of the input, biases added.
    fn step(
        &self,
        x: &Sequences<'_, T>,
        step: usize,
        weights: &[StateWeights<'_, T>],
        gates: &mut [T],
        state: &mut State<T>,
        scratch: &mut [T],
    ) {
        let (n, width) = (self.hidden, self.kind.gates() * self.hidden);
        let going = |row: usize| step < x.lengths[row];
        match self.kind {
            Kind::Rnn(f) => {
                add_state(&weights[0], &state.hidden, gates);
                let rows = gates.chunks_exact_mut(n).enumerate();
                for ((row, gate), hidden) in rows.zip(state.hidden.chunks_exact_mut(n)) {
                    if going(row) {
                        vectorize_mut(
                            #[inline(always)]
                            || self.gate(f, gate),
                        );
                        hidden.copy_from_slice(gate);
                    }
                }
            }
            Kind::Lstm { .. } => {
                add_state(&weights[0], &state.hidden, gates);
                let states = state.hidden.chunks_exact_mut(n);
                let states = states.zip(state.cell.chunks_exact_mut(n));
                let rows = gates.chunks_exact_mut(width).enumerate();
                for ((row, gates), (hidden, cell)) in rows.zip(states) {
                    if going(row) {
                        vectorize_mut(
                            #[inline(always)]
                            || self.lstm(gates, hidden, cell),
                        );
                    }
                }
            }
            Kind::Gru {
                functions: [f, g],
                linear_before_reset,
            } => {
                if linear_before_reset {
                    self.gru_after(f, weights, gates, &state.hidden, scratch);
                } else {
                    self.gru_before(f, weights, gates, &state.hidden, scratch);
                }
                let rows = gates.chunks_exact_mut(width).enumerate();
                for ((row, gates), hidden) in rows.zip(state.hidden.chunks_exact_mut(n)) {
                    if !going(row) {
                        continue;
                    }
                    let (z, rest) = gates.split_at_mut(n);
                    let h = &mut rest[n..];
                    vectorize_mut(
                        #[inline(always)]
                        || {
                            self.gate(g, h);
                            for ((hidden, &z), &h) in hidden.iter_mut().zip(&*z).zip(&*h) {
                                *hidden = (T::one() - z) * h + z * *hidden;
                            }
                        },
                    );
                }
            }
        }
    }

    /// The weights of the state, packed if that is asked for, by the products that a step has.
    fn state_weights(&self, packed: bool) -> SmallVec<[StateWeights<'_, T>; 2]> {
        let n = self.hidden;
        let products: &[[usize; 2]] = match self.kind {
            Kind::Rnn(_) => &[[0, 1]],
            Kind::Lstm { .. } => &[[0, 4]],
            Kind::Gru {
                linear_before_reset: true,
                ..
            } => &[[0, 3]],
            Kind::Gru { .. } => &[[0, 2], [2, 3]],
        };
        let weights = |&[start, end]: &[usize; 2]| {
            let elements = &self.weights.state[start * n * n..end * n * n];
            let matrix = Matrix::new(elements, (end - start) * n, n).transposed();
            let packed = packed.then(|| PackedRight::new(matrix)).flatten();
            StateWeights { matrix, packed }
        };
        products.iter().map(weights).collect()
    }

    /// Cuts and applies the function of a gate.
    #[inline(always)]
    fn gate(&self, f: Activation, gate: &mut [T]) {
        if let Some(clip) = self.clip {
            for x in gate.iter_mut() {
                *x = num_traits::clamp(*x, -clip, clip);
            }
        }
        f.apply(gate);
    }

    /// The new state and cell of one sequence.
    #[inline(always)]
    fn lstm(&self, gates: &mut [T], hidden: &mut [T], cell: &mut [T]) {
        let Kind::Lstm {
            functions: [f, g, h],
            order,
            input_forget,
        } = self.kind
        else {
            return;
        };
        let n = self.hidden;
        let [forget, input, new, output] = order.map(|at| at * n..at * n + n);
        let peephole = |which: usize, gate: &mut [T], cell: &[T]| {
            if let Some(weights) = self.weights.peepholes {
                let weights = &weights[which * n..which * n + n];
                for ((x, &weight), &cell) in gate.iter_mut().zip(weights).zip(cell) {
                    *x += weight * cell;
                }
            }
        };
        peephole(0, &mut gates[forget.clone()], cell);
        self.gate(f, &mut gates[forget.clone()]);
        if !input_forget {
            peephole(1, &mut gates[input.clone()], cell);
            self.gate(f, &mut gates[input.clone()]);
        }
        self.gate(g, &mut gates[new.clone()]);
        let (forget, new) = (&gates[forget], &gates[new]);
        let terms = cell.iter_mut().zip(forget).zip(new);
        if input_forget {
            terms.for_each(|((cell, &f), &c)| *cell = f * *cell + (T::one() - f) * c);
        } else {
            let terms = terms.zip(&gates[input]);
            terms.for_each(|(((cell, &f), &c), &i)| *cell = f * *cell + i * c);
        }
        let output = &mut gates[output];
        peephole(2, output, cell);
        self.gate(f, output);
        hidden.copy_from_slice(cell);
        h.apply(hidden);
        for (hidden, &output) in hidden.iter_mut().zip(&*output) {
            *hidden *= output;
        }
    }

    /// Gates z and r, and the sum of gate h, when r scales the product.
    fn gru_after(
        &self,
        f: Activation,
        weights: &[StateWeights<'_, T>],
        gates: &mut [T],
        state: &[T],
        scratch: &mut [T],
    ) {
        let n = self.hidden;
        scratch.fill(T::zero());
        for row in scratch.chunks_exact_mut(3 * n) {
            row[2 * n..].copy_from_slice(&self.weights.bias[3 * n..]);
        }
        add_state(&weights[0], state, scratch);
        let rows = gates.chunks_exact_mut(3 * n);
        for (gates, products) in rows.zip(scratch.chunks_exact(3 * n)) {
            let (zr, h) = gates.split_at_mut(2 * n);
            vectorize_mut(
                #[inline(always)]
                || {
                    add(zr, products);
                    self.gate(f, zr);
                    for ((h, &r), &product) in h.iter_mut().zip(&zr[n..]).zip(&products[2 * n..]) {
                        *h += r * product;
                    }
                },
            );
        }
    }

    /// Gates z and r, and the sum of gate h, when r scales the state.
    fn gru_before(
        &self,
        f: Activation,
        weights: &[StateWeights<'_, T>],
        gates: &mut [T],
        state: &[T],
        scratch: &mut [T],
    ) {
        let n = self.hidden;
        scratch.fill(T::zero());
        let (products, rest) = scratch.split_at_mut(gates.len() / 3 * 2);
        let (scaled, last) = rest.split_at_mut(gates.len() / 3);
        add_state(&weights[0], state, products);
        let rows = gates.chunks_exact_mut(3 * n);
        let states = scaled.chunks_exact_mut(n).zip(state.chunks_exact(n));
        for ((gates, products), (scaled, state)) in
            rows.zip(products.chunks_exact(2 * n)).zip(states)
        {
            let zr = &mut gates[..2 * n];
            vectorize_mut(
                #[inline(always)]
                || {
                    add(zr, products);
                    self.gate(f, zr);
                    for ((scaled, &r), &state) in scaled.iter_mut().zip(&zr[n..]).zip(state) {
                        *scaled = r * state;
                    }
                },
            );
        }
        add_state(&weights[1], scaled, last);
        for (gates, last) in gates.chunks_exact_mut(3 * n).zip(last.chunks_exact(n)) {
            add(&mut gates[2 * n..], last);
        }
    }
}

/// Adds the product of the states and these weights to `out`.
fn add_state<T: Real>(weights: &StateWeights<'_, T>, state: &[T], out: &mut [T]) {
    let hidden = weights.matrix.rows();
    let state = Matrix::new(state, state.len() / hidden, hidden);
    match &weights.packed {
        Some(packed) => {
            let how = How {
                accumulate: true,
                ..How::default()
            };
            product(state, packed, out, how);
        }
        None => multiply(state, weights.matrix, out, true),
    }
}

#[inline(always)]
fn add<T: Real>(xs: &mut [T], ys: &[T]) {
    for (x, &y) in xs.iter_mut().zip(ys) {
        *x += y;
    }
}

/// The inputs of some steps, `[steps, batch, input]`; zeros where a sequence has ended.
fn pack<T: Real>(x: &Sequences<'_, T>, first: usize, out: &mut [T]) {
    let (batch, size) = (x.lengths.len(), x.input);
    if size == 0 {
        return;
    }
    for (i, out) in out.chunks_exact_mut(size).enumerate() {
        let (step, row) = (first + i / batch, i % batch);
        match x.time(row, step) {
            Some(time) => out.copy_from_slice(&x.data[(row * x.steps + time) * size..][..size]),
            None => out.fill(T::zero()),
        }
    }
}
