//! Grows a graph: picks an operation, draws what it needs, and keeps it if inference takes it.

use arbitrary::Unstructured;
use ovir::Limits;
use ovir::io::Random;
use ovir::op::Output;
use ovir::tensor::{Dimension, ElementType, PartialShape, Shape, Tensor, convert};

use super::bodies;
use super::catalogue::{CATALOGUE, Rounding};
use super::recipe::{Layer, Recipe, Step, Value};

/// The most layers of a graph.
const LAYERS: usize = 12;
/// The most elements of a tensor that goes on.
const ELEMENTS: usize = 4096;

/// A layer as an operation's row drafts it.
pub(super) type Draft = Option<Layer>;

pub(super) struct Grower<'a> {
    bytes: Unstructured<'a>,
    recipe: Recipe,
    /// Of each step.
    outputs: Vec<Vec<Output>>,
    /// Whether only values that do not depend on the order of a sum are picked.
    exactly: bool,
    /// Whether floats may be infinite, or no numbers.
    special: bool,
    /// How deep this is in bodies, whose parameters are their holders' to choose.
    pub(super) depth: usize,
    /// Whether nothing sums floats: what one iteration rounds goes into the next, to operations that
    /// make errors large.
    steady: bool,
}

/// A layer without attributes in a late opset.
pub(super) fn layer(kind: &'static str, inputs: &[Value]) -> Layer {
    Layer {
        kind,
        opset: "opset16",
        attributes: Vec::new(),
        inputs: inputs.to_vec(),
        bodies: Vec::new(),
        outputs: 1,
        rounded: false,
    }
}

impl Layer {
    pub(super) fn with(mut self, name: &'static str, value: impl ToString) -> Self {
        self.attributes.push((name, value.to_string()));
        self
    }

    pub(super) fn of(mut self, opset: &'static str) -> Self {
        self.opset = opset;
        self
    }
}

/// Numbers as IR lists them.
pub(super) fn list<T: ToString>(numbers: impl IntoIterator<Item = T>) -> String {
    let all: Vec<_> = numbers.into_iter().map(|n| n.to_string()).collect();
    all.join(",")
}

impl<'a> Grower<'a> {
    pub(super) fn new(bytes: Unstructured<'a>) -> Self {
        Self {
            bytes,
            recipe: Recipe::default(),
            outputs: Vec::new(),
            exactly: false,
            special: false,
            depth: 0,
            steady: false,
        }
    }

    pub(super) fn grow(mut self) -> Option<Recipe> {
        self.special = self.one_in(4);
        for _ in 0..=self.below(2) {
            let ty = self.element_type();
            self.parameter(ty);
        }
        let mut layers = 0;
        for _ in 0..3 * LAYERS {
            if self.bytes.is_empty() || layers == LAYERS {
                break;
            }
            layers += usize::from(self.grow_layer());
        }
        let used = |value: Value| {
            let layers = self.recipe.steps.iter().filter_map(|step| match step {
                Step::Layer(layer) => Some(layer),
                _ => None,
            });
            layers.flat_map(|l| &l.inputs).any(|&v| v == value)
        };
        let mut results = Vec::new();
        for (step, outputs) in self.outputs.iter().enumerate() {
            for output in 0..outputs.len() {
                let value = Value { step, output };
                let made = matches!(self.recipe.steps[step], Step::Layer(_));
                // Some values in the middle are results too: nothing may be joined over them.
                if made && (!used(value) || step % 7 == 3) {
                    results.push(value);
                }
            }
        }
        self.recipe.results = results;
        (layers > 0).then_some(self.recipe)
    }

    /// A body with parameters like `inputs`, and what inference says of its steps.
    pub(super) fn body(
        &mut self,
        inputs: &[Tensor],
        layers: usize,
        steady: bool,
    ) -> (Recipe, Vec<Vec<Output>>) {
        let bytes = std::mem::replace(&mut self.bytes, Unstructured::new(&[]));
        let mut inner = Self::new(bytes);
        (inner.special, inner.depth) = (self.special, self.depth + 1);
        inner.steady = steady || self.steady;
        for tensor in inputs {
            inner.push(
                Step::Parameter(tensor.shape().into(), tensor.clone()),
                tensor,
            );
        }
        for _ in 0..=inner.below(layers) {
            inner.grow_layer();
        }
        self.bytes = inner.bytes;
        (inner.recipe, inner.outputs)
    }

    fn grow_layer(&mut self) -> bool {
        let (rounding, draft) = CATALOGUE[self.below(CATALOGUE.len())];
        if self.steady && rounding == Rounding::Sums {
            return false;
        }
        let kept = self.recipe.steps.len();
        self.exactly = rounding == Rounding::Jumps;
        if rounding == Rounding::Sums {
            self.multiplies();
        }
        let drafted = draft(self);
        self.exactly = false;
        if let Some(mut layer) = drafted {
            let rounded = layer.inputs.iter().any(|&v| self.recipe.rounded(v));
            let inside = layer.bodies.iter().any(|body| bodies::sums(&body.recipe));
            layer.rounded = rounded || inside || rounding == Rounding::Sums;
            if self.push_step(Step::Layer(layer)).is_some() {
                return true;
            }
        }
        self.recipe.steps.truncate(kept);
        self.outputs.truncate(kept);
        false
    }

    /// The layer multiplies: where factors may be infinite, what cancels to nothing or nearly so is to
    /// be the same in any order.
    pub(super) fn multiplies(&mut self) {
        self.exactly |= self.special;
    }

    // Numbers.

    pub(super) fn below(&mut self, end: usize) -> usize {
        match end {
            0 | 1 => 0,
            _ => self.bytes.int_in_range(0..=end - 1).unwrap_or(0),
        }
    }

    pub(super) fn between(&mut self, low: i64, high: i64) -> i64 {
        self.bytes.int_in_range(low..=high.max(low)).unwrap_or(low)
    }

    pub(super) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == n - 1
    }

    pub(super) fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    pub(super) fn axis(&mut self, rank: usize) -> i64 {
        let axis = self.below(rank) as i64;
        if self.one_in(3) {
            axis - rank as i64
        } else {
            axis
        }
    }

    /// Some axes, each once.
    pub(super) fn axes(&mut self, rank: usize) -> Vec<i64> {
        let chosen = self.below(1 << rank.min(6));
        let axes = (0..rank).filter(|axis| chosen >> axis & 1 == 1);
        axes.map(|axis| axis as i64).collect()
    }

    pub(super) fn permutation(&mut self, rank: usize) -> Vec<i64> {
        let mut left: Vec<i64> = (0..rank as i64).collect();
        (0..rank)
            .map(|_| left.remove(self.below(left.len())))
            .collect()
    }

    pub(super) fn element_type(&mut self) -> ElementType {
        use ElementType as T;
        self.of(&[
            T::F32,
            T::F32,
            T::F32,
            T::F32,
            T::F16,
            T::Bf16,
            T::F64,
            T::I32,
            T::I64,
            T::I8,
            T::U8,
            T::I16,
            T::U16,
            T::U32,
            T::U64,
            T::Boolean,
            T::U4,
            T::I4,
        ])
    }

    pub(super) fn float_type(&mut self) -> ElementType {
        use ElementType as T;
        self.of(&[T::F32, T::F32, T::F32, T::F16, T::Bf16, T::F64])
    }

    pub(super) fn shape(&mut self, rank: usize) -> Vec<usize> {
        let dims = [1, 2, 3, 4, 5, 7, 8, 16, 17, 33, 0];
        let small = if rank > 3 { 6 } else { dims.len() - 1 };
        let end = if self.one_in(24) { dims.len() } else { small };
        (0..rank).map(|_| dims[self.below(end)]).collect()
    }

    // Values.

    fn values(&self, takes: impl Fn(&Output, &[usize]) -> bool) -> Vec<Value> {
        let mut found = Vec::new();
        for (step, outputs) in self.outputs.iter().enumerate() {
            for (output, fact) in outputs.iter().enumerate() {
                let value = Value { step, output };
                if let Some(shape) = fact.shape.to_shape()
                    && takes(fact, &shape)
                    && !(self.exactly && self.recipe.rounded(value))
                    && !matches!(self.recipe.steps[step], Step::Constant(_))
                {
                    found.push(value);
                }
            }
        }
        found
    }

    /// A value of these, or a new one of a rank and a type.
    pub(super) fn pick(
        &mut self,
        takes: impl Fn(&Output, &[usize]) -> bool,
        ty: ElementType,
        rank: usize,
    ) -> Value {
        let found = self.values(takes);
        if found.is_empty() || self.one_in(16) {
            let shape = self.shape(rank);
            return self.new_value(ty, &shape);
        }
        // Late values first: that makes chains.
        let back = self.below(found.len()).min(self.below(found.len()));
        found[found.len() - 1 - back]
    }

    pub(super) fn any(&mut self) -> Value {
        let ty = self.element_type();
        self.pick(|_, _| true, ty, 2)
    }

    pub(super) fn ranked(&mut self, rank: usize) -> Value {
        let ty = self.element_type();
        self.pick(|_, dims| dims.len() >= rank, ty, rank)
    }

    pub(super) fn float(&mut self, ranks: std::ops::RangeInclusive<usize>) -> Value {
        let (ty, rank) = (self.float_type(), (*ranks.start()).max(2).min(*ranks.end()));
        self.pick(
            |o, dims| o.element_type.is_float() && ranks.contains(&dims.len()),
            ty,
            rank,
        )
    }

    pub(super) fn boolean(&mut self) -> Value {
        self.pick(
            |o, _| o.element_type == ElementType::Boolean,
            ElementType::Boolean,
            2,
        )
    }

    pub(super) fn number(&mut self) -> Value {
        let ty = self.float_type();
        self.pick(|o, _| o.element_type != ElementType::Boolean, ty, 2)
    }

    pub(super) fn integer(&mut self) -> Value {
        self.pick(|o, _| o.element_type.is_integer(), ElementType::I32, 2)
    }

    pub(super) fn dims(&self, value: Value) -> Vec<usize> {
        let shape = self.outputs[value.step][value.output].shape.to_shape();
        shape.expect("only such values are picked").to_vec()
    }

    pub(super) fn ty(&self, value: Value) -> ElementType {
        self.outputs[value.step][value.output].element_type
    }

    fn push(&mut self, step: Step, tensor: &Tensor) -> Value {
        self.recipe.steps.push(step);
        self.outputs
            .push(vec![Output::new(tensor.element_type(), tensor.shape())]);
        Value {
            step: self.recipe.steps.len() - 1,
            output: 0,
        }
    }

    /// A step in the middle of a draft, if inference takes it.
    pub(super) fn push_step(&mut self, step: Step) -> Option<Value> {
        self.recipe.steps.push(step);
        let inferred = self
            .recipe
            .infer_last(&self.outputs)
            .ok()
            .filter(|all| all.iter().all(is_small));
        let Some(outputs) = inferred else {
            self.recipe.steps.pop();
            return None;
        };
        if let Some(Step::Layer(layer)) = self.recipe.steps.last_mut() {
            layer.outputs = outputs.len();
        }
        self.outputs.push(outputs);
        let step = self.recipe.steps.len() - 1;
        Some(Value { step, output: 0 })
    }

    pub(super) fn tensor(&mut self, tensor: Tensor) -> Value {
        self.push(Step::Constant(tensor.clone()), &tensor)
    }

    /// A constant list of integers, of either index type.
    pub(super) fn ints(&mut self, numbers: &[i64]) -> Value {
        let tensor = Tensor::vector(numbers);
        self.index(tensor)
    }

    pub(super) fn int(&mut self, number: i64) -> Value {
        self.index(Tensor::scalar(number))
    }

    pub(super) fn index(&mut self, tensor: Tensor) -> Value {
        let ty = self.of(&[ElementType::I64, ElementType::I32]);
        let tensor = convert::convert(&tensor, ty).expect("integers");
        if self.one_in(8) {
            self.push_parameter(tensor)
        } else {
            self.tensor(tensor)
        }
    }

    /// Indices into an axis, of a shape, if the axis has any.
    pub(super) fn indices(
        &mut self,
        shape: &[usize],
        size: usize,
        negative: bool,
    ) -> Option<Value> {
        let low = if negative { -(size as i64) } else { 0 };
        let high = size as i64 - 1;
        let count: usize = shape.iter().product();
        if size == 0 && count > 0 {
            return None;
        }
        let mut random = self.seed();
        let numbers: Vec<i64> = (0..count)
            .map(|_| low + (next(&mut random) % (high - low + 1).max(1) as u64) as i64)
            .collect();
        let tensor = Tensor::new(shape, &numbers).expect("as many");
        Some(self.index(tensor))
    }

    pub(super) fn constant(&mut self, ty: ElementType, shape: &[usize]) -> Value {
        let tensor = self.random(ty, shape);
        self.tensor(tensor)
    }

    pub(super) fn scalar(&mut self, ty: ElementType, value: f64) -> Value {
        let tensor = convert::convert(&Tensor::scalar(value), ty).expect("a number");
        self.tensor(tensor)
    }

    /// A parameter, or a constant.
    pub(super) fn new_value(&mut self, ty: ElementType, shape: &[usize]) -> Value {
        let tensor = self.random(ty, shape);
        if self.one_in(3) {
            self.tensor(tensor)
        } else {
            self.push_parameter(tensor)
        }
    }

    fn parameter(&mut self, ty: ElementType) {
        let rank = self.below(5);
        let shape = self.shape(rank);
        let tensor = self.random(ty, &shape);
        self.push_parameter(tensor);
    }

    /// An input of the model, of this value. A body has none of its own.
    pub(super) fn input(&mut self, tensor: Tensor) -> Value {
        self.push_parameter(tensor)
    }

    fn push_parameter(&mut self, tensor: Tensor) -> Value {
        if self.depth > 0 {
            return self.tensor(tensor);
        }
        let mut dims = Vec::new();
        for &dim in tensor.shape().iter() {
            dims.push(match self.below(8) {
                0 => Dimension::dynamic(),
                1 => Dimension::range(dim.saturating_sub(1), Some(dim + 2)),
                _ => Dimension::fixed(dim),
            });
        }
        let shape: PartialShape = match self.one_in(24) {
            true => PartialShape::dynamic(),
            false => dims.into_iter().collect(),
        };
        self.push(Step::Parameter(shape, tensor.clone()), &tensor)
    }

    // Elements.

    fn seed(&mut self) -> u64 {
        self.bytes.arbitrary::<u16>().unwrap_or(7).into()
    }

    fn random(&mut self, ty: ElementType, shape: &[usize]) -> Tensor {
        let mut state = self.seed();
        let shape = Shape::from(shape.to_vec());
        let count: usize = shape.iter().product();
        if ty.is_integer() && self.one_in(8) {
            let random = Random {
                seed: state,
                min: None,
                max: None,
            };
            let range = Some((i64::MIN, i64::MAX));
            return random
                .fill(ty, &shape, range, &Limits::default())
                .expect("numbers");
        }
        let special = self.special && ty.is_float();
        let mut draw = || {
            let number = next(&mut state);
            #[allow(clippy::cast_precision_loss)]
            let unit = (number >> 11) as f64 / (1u64 << 53) as f64;
            match number & 31 {
                0 if special => f64::NAN,
                1 if special => f64::INFINITY,
                2 if special => f64::NEG_INFINITY,
                3 => 0.0,
                4 if special => -0.0,
                5 if special => 1e-40,
                _ if ty.is_float() => 4.0 * unit - 2.0,
                _ if ty == ElementType::Boolean => (2.0 * unit).floor(),
                _ if ty.is_signed_integer() => (15.0 * unit - 7.0).floor(),
                _ => (8.0 * unit).floor(),
            }
        };
        let numbers: Vec<f64> = (0..count).map(|_| draw()).collect();
        let wide = Tensor::new(shape, &numbers).expect("as many");
        convert::convert(&wide, ty).expect("numbers")
    }
}

fn is_small(output: &Output) -> bool {
    output
        .shape
        .to_shape()
        .is_none_or(|s| s.elements().is_some_and(|n| n <= ELEMENTS))
}

/// The next number of a stream (splitmix64).
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
