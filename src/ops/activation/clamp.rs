//! Clamp-1: the number, or the nearer of two bounds.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/activation/clamp-1.html>
//!
//! For integers `min` is rounded up and `max` down; bounds beyond the type are its own. NaN stays.

use serde::{Deserialize, Serialize};

use crate::kernel::dispatch::{Lane, lane};
use crate::kernel::map::{each, each_sum, map};
use crate::op::{Elementwise, Input, Io, Op, OpError, Output, Outputs, Terms, ensure};
use crate::ops::floats::in_real;
use crate::ops::interval;
use crate::ops::unary::{self, Integer, Integers, clamp, map_floats};
use crate::tensor::{ElementType, Tensor, ValueRange};

#[derive(Debug, Clone, Deserialize, Serialize)]
pub(crate) struct Clamp {
    min: f64,
    max: f64,
}

impl Clamp {
    /// The bounds of integers of a type, save for `u64`, whose bounds may lie higher.
    #[allow(clippy::cast_possible_truncation)] // saturates
    fn bounds(&self, ty: ElementType) -> [i64; 2] {
        let (lowest, highest) = interval::bounds(ty);
        let fit = |bound: f64| (bound as i64).clamp(lowest, highest);
        [fit(self.min.ceil()), fit(self.max.floor())]
    }
}

impl Op for Clamp {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        ensure!(
            self.min <= self.max,
            "min is {} and max is {}, expected no more than max",
            self.min,
            self.max
        );
        unary::infer(inputs, Integers::Exact)
    }

    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // the bounds fit, or saturate
    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let ty = io.outputs[0].element_type();
        if ty.is_float() {
            in_real!(ty, T => {
                let (min, max) = (self.min as T, self.max as T);
                map_floats::<T>(io, #[inline(always)] move |x| clamp(x, min, max));
            });
            return Ok(());
        }
        let (input, out) = (io.inputs[0], &mut io.outputs[0]);
        let [min, max] = self.bounds(ty);
        match lane(ty) {
            Some(Lane::U64) => {
                let bounds = [self.min.ceil() as u64, self.max.floor() as u64];
                integers(input, out, bounds);
            }
            Some(Lane::I64) => integers(input, out, [min, max]),
            _ => integers(input, out, [min as i32, max as i32]),
        }
        Ok(())
    }

    fn infer_value(&self, inputs: &[Input<'_>], output: &Output) -> Option<Vec<ValueRange>> {
        let [min, max] = self.bounds(output.element_type).map(ValueRange::exact);
        unary::infer_ranges(inputs, output, |x| {
            interval::minimum(interval::maximum(x, min), max)
        })
    }

    fn elementwise(&self) -> Option<&dyn Elementwise> {
        Some(self)
    }
}

#[allow(clippy::cast_possible_truncation)] // rounds
impl Elementwise for Clamp {
    fn compute(&self, inputs: &[&[f32]], out: &mut [f32]) {
        let (min, max) = (self.min as f32, self.max as f32);
        each(
            inputs[0],
            out,
            #[inline(always)]
            move |x| clamp(x, min, max),
        );
    }

    fn takes_sums(&self) -> bool {
        true
    }

    fn compute_sums(&self, terms: Terms<'_, '_>) {
        let (min, max) = (self.min as f32, self.max as f32);
        each_sum(
            terms,
            #[inline(always)]
            move |x| clamp(x, min, max),
        );
    }
}

fn integers<T: Integer>(input: &Tensor, out: &mut Tensor, [min, max]: [T; 2]) {
    map::<T, T>(input, out, &|x, out| {
        each(
            x,
            out,
            #[inline(always)]
            move |x| clamp(x, min, max),
        );
    });
}
