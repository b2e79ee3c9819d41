//! What IsFinite, IsInf and IsNaN share: a question asked of every float.

use crate::kernel::dispatch::{Lane, lane};
use crate::kernel::map::{self, map};
use crate::kernel::real::Real;
use crate::op::{Input, Io, OpError, Output, Outputs, bail, ensure};
use crate::tensor::ElementType;

/// A boolean for every element of the one input, which must hold floats.
pub(super) fn infer(inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
    let [data] = inputs else {
        bail!("expected 1 input (data), got {}", inputs.len());
    };
    let ty = data.element_type;
    ensure!(
        ty.is_float() || !ty.is_static(),
        "data must be floats, got {ty}"
    );
    let shape = data.shape.clone().into_owned();
    Ok(Output::single(ElementType::Boolean, shape))
}

/// A question asked of every element.
pub(super) trait Question: Sync {
    fn ask<T: Real>(&self, x: T) -> bool;
}

pub(super) fn eval(question: &impl Question, io: Io<'_>) {
    let (data, out) = (io.inputs[0], &mut io.outputs[0]);
    if lane(data.element_type()) == Some(Lane::F64) {
        map(data, out, &|data, out| each::<f64>(question, data, out));
    } else {
        map(data, out, &|data, out| each::<f32>(question, data, out));
    }
}

fn each<T: Real>(question: &impl Question, data: &[T], out: &mut [bool]) {
    map::each(
        data,
        out,
        #[inline(always)]
        |x| question.ask(x),
    );
}
