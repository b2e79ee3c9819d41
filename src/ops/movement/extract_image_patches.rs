//! ExtractImagePatches-3: patches of an image, side by side in its depth.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/movement/extract-image-patches-3.html>

use serde::{Deserialize, Serialize};

use crate::kernel::moving::move_elements;
use crate::kernel::patches::CutOut;
use crate::kernel::window::Axis;
use crate::op::{Input, Io, Moves, Op, OpError, Output, Outputs, bail};
use crate::tensor::{Dimension, PartialShape};

/// Where the image is extended by zeros.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum AutoPad {
    /// At both ends, and once more at the end if need be.
    SameUpper,
    /// At both ends, and once more at the beginning if need be.
    SameLower,
    /// Nowhere.
    Valid,
}

#[derive(Debug, Clone, Deserialize, Serialize)]
pub(super) struct ExtractImagePatches {
    sizes: Vec<i64>,
    strides: Vec<i64>,
    rates: Vec<i64>,
    auto_pad: AutoPad,
}

/// How patches lie along an axis.
#[derive(Debug, Clone, Copy)]
struct Patches {
    width: usize,
    stride: usize,
    rate: usize,
    /// From the first element of a patch to behind its last.
    reach: usize,
    auto_pad: AutoPad,
}

impl Patches {
    /// How many there are in an image of this size.
    fn count(self, size: usize) -> usize {
        match self.auto_pad {
            AutoPad::Valid if size < self.reach => 0,
            AutoPad::Valid => (size - self.reach) / self.stride + 1,
            _ => size.div_ceil(self.stride),
        }
    }

    fn windows(self, size: usize) -> Axis {
        let count = self.count(size);
        let all = count.saturating_sub(1).saturating_mul(self.stride);
        let missing = all.saturating_add(self.reach).saturating_sub(size);
        Axis {
            input: size,
            output: count,
            kernel: self.width,
            stride: self.stride,
            dilation: self.rate,
            pad: match self.auto_pad {
                AutoPad::Valid => 0,
                AutoPad::SameUpper => missing / 2,
                AutoPad::SameLower => missing.div_ceil(2),
            },
        }
    }
}

impl ExtractImagePatches {
    /// Along the rows, and along the columns.
    fn patches(&self) -> Result<[Patches; 2], OpError> {
        let two = |values: &[i64], name: &str, least: i64| match *values {
            [a, b] if a >= least && b >= least && a.max(b) <= i64::from(i32::MAX) => {
                Ok([a, b].map(|x| usize::try_from(x).unwrap_or(0)))
            }
            _ => bail!("{name} is {values:?}, expected two numbers of at least {least}"),
        };
        let sizes = two(&self.sizes, "sizes", 0)?;
        let strides = two(&self.strides, "strides", 1)?;
        let rates = two(&self.rates, "rates", 1)?;
        Ok([0, 1].map(|axis| Patches {
            width: sizes[axis],
            stride: strides[axis],
            rate: rates[axis],
            reach: (sizes[axis].max(1) - 1) * rates[axis] + 1,
            auto_pad: self.auto_pad,
        }))
    }
}

impl Op for ExtractImagePatches {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [data] = inputs else {
            bail!("expected 1 input (data), got {}", inputs.len());
        };
        let patches = self.patches()?;
        let shape = match data.shape.dims() {
            None => PartialShape::of_rank(4),
            Some(&[batch, depth, rows, columns]) => {
                let elements = Dimension::fixed(patches[0].width.saturating_mul(patches[1].width));
                let count = |patches: Patches, size: Dimension| {
                    let max = size.max().map(|max| patches.count(max));
                    let count = Dimension::range(patches.count(size.min()), max);
                    let kept = patches.stride == 1 && patches.auto_pad != AutoPad::Valid;
                    count.with_symbol(size.symbol().filter(|_| kept))
                };
                let shape = [
                    batch,
                    depth * elements,
                    count(patches[0], rows),
                    count(patches[1], columns),
                ];
                shape.into_iter().collect()
            }
            Some(_) => bail!("data must have 4 dimensions, got shape {}", data.shape),
        };
        Ok(Output::single(data.element_type, shape))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        if io.outputs[0].is_empty() {
            return Ok(());
        }
        let data = io.inputs[0];
        let [rows, columns] = self.patches()?;
        let cut_out = CutOut {
            channels: data.shape()[1],
            rows: rows.windows(data.shape()[2]),
            columns: columns.windows(data.shape()[3]),
        };
        move_elements(&cut_out, &[data], io.outputs)
    }

    fn moves(&self) -> Moves {
        Moves::All
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ops::testing::{assert_picked, counted, dynamic, index, run};
    use crate::tensor::{ElementType, Tensor};

    fn op(
        sizes: [i64; 2],
        strides: [i64; 2],
        rates: [i64; 2],
        auto_pad: AutoPad,
    ) -> ExtractImagePatches {
        ExtractImagePatches {
            sizes: sizes.to_vec(),
            strides: strides.to_vec(),
            rates: rates.to_vec(),
            auto_pad,
        }
    }

    fn check(op: &ExtractImagePatches, data: &Tensor) -> Tensor {
        let out = run(op, std::slice::from_ref(data)).expect("an image");
        let [rows, columns] = op.patches().expect("good attributes");
        let (depth, dims) = (data.shape()[1], data.shape());
        let pad = |patches: Patches, size: usize| {
            let all = (patches.count(size) as i64 - 1) * patches.stride as i64;
            let missing = (all + patches.reach as i64 - size as i64).max(0);
            match patches.auto_pad {
                AutoPad::Valid => 0,
                AutoPad::SameUpper => missing / 2,
                AutoPad::SameLower => missing - missing / 2,
            }
        };
        let source: Vec<usize> = index(out.shape())
            .map(|at| {
                let (place, channel) = (at[1] / depth, at[1] % depth);
                let (ky, kx) = (place / columns.width, place % columns.width);
                let y = (at[2] * rows.stride + ky * rows.rate) as i64 - pad(rows, dims[2]);
                let x = (at[3] * columns.stride + kx * columns.rate) as i64 - pad(columns, dims[3]);
                let inside = |i: i64, size: usize| usize::try_from(i).ok().filter(|&i| i < size);
                match (inside(y, dims[2]), inside(x, dims[3])) {
                    (Some(y), Some(x)) => ((at[0] * depth + channel) * dims[2] + y) * dims[3] + x,
                    _ => usize::MAX,
                }
            })
            .collect();
        assert_picked(data, &source, &out);
        out
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn like_the_definition(
            dims in (0usize..3, 0usize..3, 0usize..7, 0usize..9),
            sizes in [0i64..4, 1i64..4],
            strides in [1i64..4, 1i64..6],
            rates in [1i64..3, 1i64..3],
            pad in prop::sample::select(vec![AutoPad::Valid, AutoPad::SameUpper, AutoPad::SameLower]),
            ty in prop::sample::select(ElementType::ALL.to_vec()),
            mask in any::<u32>(),
        ) {
            let data = counted(ty, &[dims.0, dims.1, dims.2, dims.3]);
            let op = op(sizes, strides, rates, pad);
            let out = check(&op, &data);
            let enclosing = dynamic(&op, &[data], mask);
            prop_assert!(enclosing.contains(out.shape()));
        }
    }

    #[test]
    fn large() {
        let data = counted(ElementType::F32, &[1, 2, 300, 301]);
        check(&op([3, 3], [1, 1], [1, 1], AutoPad::SameLower), &data);
    }

    #[test]
    fn attributes() {
        let data = counted(ElementType::F32, &[1, 1, 4, 4]);
        let valid = AutoPad::Valid;
        for bad in [
            op([2, 2], [0, 1], [1, 1], valid),
            op([2, 2], [1, 1], [1, 0], valid),
            op([-1, 2], [1, 1], [1, 1], valid),
            op([2, 2], [i64::MAX, 1], [1, 1], valid),
        ] {
            assert!(run(&bad, std::slice::from_ref(&data)).is_err(), "{bad:?}");
        }
        let flat = counted(ElementType::F32, &[4, 4]);
        assert!(run(&op([2, 2], [1, 1], [1, 1], valid), &[flat]).is_err());
    }
}
