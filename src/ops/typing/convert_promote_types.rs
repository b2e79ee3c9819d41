//! ConvertPromoteTypes-14: both inputs in a type that holds the elements of both.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/type/convert-promote-types-14.html>
//!
//! Floats come before integers, integers before booleans. Of two formats of floats the result is the
//! smallest that has the exponent and the mantissa of both, of two integers the smallest that has
//! all their numbers.

use serde::{Deserialize, Serialize};

use super::convert;
use crate::op::{Input, Io, Op, OpError, Output, Outputs, bail, ensure};
use crate::tensor::convert::convert_into;
use crate::tensor::{ElementType, ValueRange};
use ElementType as E;

#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct ConvertPromoteTypes {
    promote_unsafe: bool,
    pytorch_scalar_promotion: bool,
    u64_integer_promotion_target: ElementType,
}

impl Default for ConvertPromoteTypes {
    fn default() -> Self {
        Self {
            promote_unsafe: false,
            pytorch_scalar_promotion: false,
            u64_integer_promotion_target: ElementType::F32,
        }
    }
}

impl Op for ConvertPromoteTypes {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [a, b] = inputs else {
            bail!("expected 2 inputs, got {}", inputs.len());
        };
        let ty = self.common_type(a, b)?;
        let outputs = [convert::infer(a, ty)?, convert::infer(b, ty)?];
        Ok(outputs.into_iter().flatten().collect())
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        for (input, output) in io.inputs.iter().zip(io.outputs) {
            convert_into(input, output)?;
        }
        Ok(())
    }

    fn keeps_numbers(&self) -> bool {
        true
    }

    fn infer_value(&self, inputs: &[Input<'_>], output: &Output) -> Option<Vec<ValueRange>> {
        convert::infer_ranges(inputs.first()?, output.element_type)
    }
}

impl ConvertPromoteTypes {
    /// The type of both outputs, as far as it is known.
    fn common_type(&self, a: &Input<'_>, b: &Input<'_>) -> Result<ElementType, OpError> {
        let (a_ty, b_ty) = (a.element_type, b.element_type);
        if a_ty == b_ty || !a_ty.is_static() || !b_ty.is_static() {
            return Ok(if a_ty == b_ty { a_ty } else { E::Dynamic });
        }
        let (Some(a_kind), Some(b_kind)) = (kind(a_ty), kind(b_ty)) else {
            bail!("{a_ty} and {b_ty} have no common type");
        };
        if a_kind != b_kind {
            let (high, low) = if a_kind > b_kind {
                (a_ty, b_ty)
            } else {
                (b_ty, a_ty)
            };
            return self.mixed(high, low);
        }
        if !self.pytorch_scalar_promotion {
            return self.alike(a_ty, b_ty);
        }
        match (a.rank(), b.rank()) {
            (Some(0), Some(0)) => self.alike(a_ty, b_ty),
            (Some(0), Some(_)) => self.to_dimensioned(b_ty, a_ty),
            (Some(_), Some(0)) => self.to_dimensioned(a_ty, b_ty),
            (Some(_), Some(_)) => self.alike(a_ty, b_ty),
            // Which rule it is turns out with the ranks.
            _ => Ok(E::Dynamic),
        }
    }

    /// A type of a higher kind with one of a lower.
    fn mixed(&self, high: ElementType, low: ElementType) -> Result<ElementType, OpError> {
        ensure!(
            self.promote_unsafe || low == E::Boolean || high.bits() >= 2 * low.bits(),
            "{low} cannot safely be promoted to {high}, which has less than twice its bits; \
             promote_unsafe is false"
        );
        Ok(high)
    }

    /// The type of the dimensioned tensor, whatever the scalar's of the same kind.
    fn to_dimensioned(
        &self,
        target: ElementType,
        scalar: ElementType,
    ) -> Result<ElementType, OpError> {
        ensure!(
            self.promote_unsafe || holds_range(target, scalar),
            "a scalar of {scalar} cannot safely be promoted to {target}, whose range is smaller; \
             promote_unsafe is false"
        );
        Ok(target)
    }

    /// The common type of two types of one kind.
    fn alike(&self, a: ElementType, b: ElementType) -> Result<ElementType, OpError> {
        let common = if a.is_float() {
            FLOATS
                .iter()
                .map(|&(ty, _)| ty)
                .find(|&ty| holds_float(ty, a) && holds_float(ty, b))
        } else {
            let integers = INTEGERS.iter().copied().chain([a, b]);
            integers
                .filter(|&ty| holds_range(ty, a) && holds_range(ty, b))
                .min_by_key(|ty| ty.bits())
        };
        let Some(common) = common else {
            ensure!(!a.is_float(), "{a} and {b} have no common type");
            ensure!(
                self.promote_unsafe,
                "no integer holds all numbers of {a} and {b}; promote_unsafe is false"
            );
            return Ok(self.u64_integer_promotion_target);
        };
        ensure!(
            self.promote_unsafe || common.bits() <= a.bits().max(b.bits()),
            "{a} and {b} have no common type without more bits, which would be {common}; \
             promote_unsafe is false"
        );
        Ok(common)
    }
}

/// The priority of a type; `None` for one that is not converted.
fn kind(ty: ElementType) -> Option<u8> {
    match ty {
        E::Boolean => Some(0),
        _ if ty.is_integer() => Some(1),
        _ if ty.is_float() => Some(2),
        _ => None,
    }
}

/// Bits of exponent and mantissa, in the order in which formats are tried.
const FLOATS: [(ElementType, (u32, u32)); 8] = [
    (E::F4e2m1, (2, 1)),
    (E::F8e4m3, (4, 3)),
    (E::F8e5m2, (5, 2)),
    (E::F8e8m0, (8, 0)),
    (E::F16, (5, 10)),
    (E::Bf16, (8, 7)),
    (E::F32, (8, 23)),
    (E::F64, (11, 52)),
];

/// Signed integers, which unsigned ones of less than half the bits fit in.
const INTEGERS: [ElementType; 5] = [E::I4, E::I8, E::I16, E::I32, E::I64];

fn float(ty: ElementType) -> Option<(u32, u32)> {
    FLOATS.iter().find(|(float, _)| *float == ty).map(|f| f.1)
}

/// Whether a float has the exponent and the mantissa of another. The format f8e8m0 has no sign, nf4
/// neither exponent nor mantissa: only they themselves hold them.
fn holds_float(ty: ElementType, other: ElementType) -> bool {
    let (Some(ty_bits), Some(other_bits)) = (float(ty), float(other)) else {
        return ty == other;
    };
    ty == other || ty != E::F8e8m0 && ty_bits.0 >= other_bits.0 && ty_bits.1 >= other_bits.1
}

/// Whether the numbers of another type of the same kind lie in the range of `ty`.
fn holds_range(ty: ElementType, other: ElementType) -> bool {
    if ty.is_float() {
        return match (float(ty), float(other)) {
            (Some(ty), Some(other)) => ty.0 >= other.0,
            _ => ty == other,
        };
    }
    match (ty.is_signed_integer(), other.is_signed_integer()) {
        (true, false) => ty.bits() >= 2 * other.bits(),
        (false, true) => false,
        _ => ty.bits() >= other.bits(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::run_all;
    use crate::tensor::{PartialShape, Tensor};

    const UNSAFE: ConvertPromoteTypes = ConvertPromoteTypes {
        promote_unsafe: true,
        pytorch_scalar_promotion: false,
        u64_integer_promotion_target: E::F32,
    };

    fn common(
        op: &ConvertPromoteTypes,
        types: [ElementType; 2],
        shapes: [&PartialShape; 2],
    ) -> Option<ElementType> {
        let inputs = [0, 1].map(|i| Input::new(types[i], shapes[i]));
        let outputs = op.infer(&inputs).ok()?;
        assert_eq!(outputs[0].shape, *shapes[0]);
        assert_eq!(outputs[1].element_type, outputs[0].element_type);
        Some(outputs[0].element_type)
    }

    /// The common type without and with `promote_unsafe`, whatever the order.
    fn both(a: ElementType, b: ElementType) -> [Option<ElementType>; 2] {
        let shape = PartialShape::from([2]);
        [ConvertPromoteTypes::default(), UNSAFE].map(|op| {
            let found = common(&op, [a, b], [&shape; 2]);
            assert_eq!(common(&op, [b, a], [&shape; 2]), found);
            found
        })
    }

    #[test]
    fn documented() {
        assert_eq!(both(E::I8, E::F32), [Some(E::F32); 2]);
        assert_eq!(both(E::I32, E::U8), [Some(E::I32); 2]);
        assert_eq!(both(E::F16, E::I64), [None, Some(E::F16)]);
        assert_eq!(both(E::F64, E::U64), [None, Some(E::F64)]);
        assert_eq!(both(E::I8, E::U8), [None, Some(E::I16)]);
        assert_eq!(both(E::F16, E::Bf16), [None, Some(E::F32)]);
        assert_eq!(both(E::F8e4m3, E::F8e5m2), [None, Some(E::F16)]);
        assert_eq!(both(E::U64, E::I8), [None, Some(E::F32)]);
        assert_eq!(both(E::I16, E::U32), [None, Some(E::I64)]);
    }

    #[test]
    fn others() {
        assert_eq!(both(E::Boolean, E::F16), [Some(E::F16); 2]);
        assert_eq!(both(E::Boolean, E::U1), [Some(E::U1); 2]);
        assert_eq!(both(E::U3, E::U64), [Some(E::U64); 2]);
        assert_eq!(both(E::U3, E::I4), [None, Some(E::I8)]);
        assert_eq!(both(E::U2, E::I4), [Some(E::I4); 2]);
        assert_eq!(both(E::F8e4m3, E::Bf16), [Some(E::Bf16); 2]);
        assert_eq!(both(E::F8e8m0, E::F16), [None, Some(E::F32)]);
        assert_eq!(both(E::F8e8m0, E::F4e2m1), [None, Some(E::Bf16)]);
        assert_eq!(both(E::Nf4, E::F32), [None, None]);
        assert_eq!(both(E::Nf4, E::I8), [None, Some(E::Nf4)]);
        assert_eq!(both(E::String, E::String), [Some(E::String); 2]);
        assert_eq!(both(E::String, E::F32), [None, None]);
        assert_eq!(both(E::Dynamic, E::F32), [Some(E::Dynamic); 2]);
    }

    #[test]
    fn scalars_as_pytorch_takes_them() {
        let shapes = [PartialShape::scalar(), PartialShape::from([2])];
        let ranks = [&shapes[0], &shapes[1]];
        let safe = ConvertPromoteTypes {
            pytorch_scalar_promotion: true,
            ..ConvertPromoteTypes::default()
        };
        let wild = ConvertPromoteTypes {
            pytorch_scalar_promotion: true,
            ..UNSAFE
        };
        let both = |types| [common(&safe, types, ranks), common(&wild, types, ranks)];
        assert_eq!(both([E::I64, E::U8]), [None, Some(E::U8)]);
        assert_eq!(both([E::U8, E::I16]), [Some(E::I16); 2]);
        assert_eq!(both([E::U16, E::I8]), [None, Some(E::I8)]);
        assert_eq!(both([E::F64, E::F16]), [None, Some(E::F16)]);
        assert_eq!(both([E::F16, E::I8]), [Some(E::F16); 2]);
        let unknown = PartialShape::dynamic();
        let found = common(&wild, [E::I64, E::U8], [&unknown, &shapes[1]]);
        assert_eq!(found, Some(E::Dynamic));
    }

    #[test]
    fn values() {
        let inputs = [Tensor::vector(&[-3i16, 4]), Tensor::scalar(u32::MAX)];
        let outputs = run_all(&UNSAFE, &inputs).expect("integers");
        assert_eq!(outputs[0].as_slice::<i64>().expect("i64"), [-3, 4]);
        assert_eq!(outputs[1].as_slice::<i64>().expect("i64"), [4_294_967_295]);
    }
}
