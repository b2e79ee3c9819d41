//! Which fold each element type takes.

use half::f16;

use super::fold::Fold;
use super::scalar::{Accumulator, Number, Pair};
use crate::kernel::dispatch::{Lane, lane};
use crate::tensor::{Class, ElementType};

/// How a reduction folds each class of elements.
pub(crate) struct Folds {
    pub(crate) f32: Kept<f32, f64>,
    pub(crate) f64: Kept<f64, Pair>,
    pub(crate) i64: Kept<i64, u128>,
    pub(crate) u64: Kept<u64, u128>,
    /// For `i32` and narrower integers, if they need no wider accumulators.
    pub(crate) i32: Option<&'static dyn Fold<i32, i32>>,
    /// For `f16` where the innermost axis is long, if that is not folded as `f32`.
    pub(crate) f16: Option<&'static dyn Fold<f16, f64>>,
}

/// What a fold keeps of elements `T` while it goes on.
pub(crate) enum Kept<T: 'static, W: 'static> {
    /// An element.
    Same(&'static dyn Fold<T, T>),
    /// Something wider.
    Wide(&'static dyn Fold<T, W>),
}

/// Something that is done with the fold of an element type.
pub(crate) trait Visitor {
    /// Does it. `T` is the element type, or what it is widened to.
    fn visit<T: Number, A: Accumulator<T>>(self, fold: &dyn Fold<T, A>);
}

impl Folds {
    /// Calls the visitor with the fold for an element type, a number or boolean.
    pub(crate) fn visit(&self, ty: ElementType, visitor: impl Visitor) {
        match ty.class() {
            None => {}
            Some(Class::F32) => self.f32.visit(visitor),
            Some(Class::F64) => self.f64.visit(visitor),
            Some(Class::U64) => self.u64.visit(visitor),
            Some(Class::I64) => match self.i32 {
                Some(fold) if lane(ty) == Some(Lane::I32) => visitor.visit(fold),
                _ => self.i64.visit(visitor),
            },
        }
    }
}

impl<T: Number + Accumulator<T>, W: Accumulator<T>> Kept<T, W> {
    fn visit(&self, visitor: impl Visitor) {
        match *self {
            Kept::Same(fold) => visitor.visit(fold),
            Kept::Wide(fold) => visitor.visit(fold),
        }
    }
}
