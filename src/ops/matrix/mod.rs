//! Category `matrix` of the specification.

mod einsum;
mod grouped_matmul;
mod inverse;
mod matmul;
mod weights;

pub(crate) use weights::compressed;

use crate::op::{OpDef, def};

pub(super) const OPS: &[OpDef] = &[
    def::<einsum::Einsum>("Einsum", &[7]),
    def::<grouped_matmul::GroupedMatMul>("GroupedMatMul", &[17]),
    def::<inverse::Inverse>("Inverse", &[14]),
    def::<matmul::MatMul>("MatMul", &[1]),
];

/// Evaluates an expression with `$T` standing for the type that products of `$element_type` are
/// summed in: integers modulo its size, which keeps them exact modulo their own.
macro_rules! in_product {
    ($element_type:expr, $T:ident => $body:expr) => {
        match $crate::kernel::dispatch::lane($element_type) {
            Some($crate::kernel::dispatch::Lane::F32) => {
                type $T = f32;
                $body
            }
            Some($crate::kernel::dispatch::Lane::F64) => {
                type $T = f64;
                $body
            }
            Some($crate::kernel::dispatch::Lane::I32) => {
                type $T = i32;
                $body
            }
            Some($crate::kernel::dispatch::Lane::I64 | $crate::kernel::dispatch::Lane::U64) => {
                type $T = i64;
                $body
            }
            None => $crate::op::bail!("{} cannot be multiplied", $element_type),
        }
    };
}

use in_product;
