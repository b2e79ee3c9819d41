//! Broadcast-1, -3: the data repeated to fill a shape.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/movement/broadcast-3.html>
//!
//! Only Broadcast-3 has the mode `bidirectional`; only Broadcast-1 ignores an `axes_mapping` that
//! the mode does not use.

use serde::{Deserialize, Serialize};

use crate::kernel::{self, moving::move_elements};
use crate::op::{
    Input, Io, LayerData, Moves, Op, OpError, Output, Outputs, ReadResult, attrs, bail, ensure,
};
use crate::tensor::{Dimension, Few, PartialShape, ValueRange};

/// How the data's axes are laid on the output's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum Mode {
    /// Aligned at the last axis; the data is repeated to fit the target.
    #[default]
    Numpy,
    /// At the axes the third input gives.
    #[serde(alias = "none")]
    Explicit,
    /// From the attribute's axis on.
    Pdpd,
    /// Aligned at the last axis; where the target is 1, the data decides.
    Bidirectional,
}

/// The data repeated to fill a shape.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct Broadcast {
    mode: Mode,
    /// Where the data begins under [`Mode::Pdpd`]; -1 aligns at the last axis.
    #[serde(rename = "mode.mode.axis", skip_serializing_if = "is_zero")]
    axis: i64,
    /// Whether it is Broadcast-1.
    #[serde(skip)]
    old: bool,
}

/// Reads Broadcast-1.
pub(super) fn read_1(layer: &LayerData<'_>) -> ReadResult {
    let (op, unknown) = attrs::read::<Broadcast>(layer.attributes)?;
    Ok((Box::new(Broadcast { old: true, ..op }), unknown))
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde calls it so
fn is_zero(axis: &i64) -> bool {
    *axis == 0
}

impl Broadcast {
    /// The axes of an output of rank `rank` on which those of the data lie; `None` if they are
    /// not known.
    fn placed(
        &self,
        data_rank: usize,
        rank: usize,
        axes_mapping: Option<&[i64]>,
    ) -> Result<Option<Few<usize>>, OpError> {
        let room = rank.checked_sub(data_rank);
        let first = match (self.mode, room) {
            (Mode::Explicit, _) => {
                return axes_mapping
                    .map(|axes| explicit(axes, data_rank, rank))
                    .transpose();
            }
            (_, None) => bail!("data of rank {data_rank} cannot be broadcast to rank {rank}"),
            (Mode::Pdpd, Some(room)) if self.axis != -1 => usize::try_from(self.axis)
                .ok()
                .filter(|&axis| axis <= room)
                .ok_or_else(|| {
                    OpError::new(format!(
                        "data of rank {data_rank} does not fit at axis {} of rank {rank}",
                        self.axis
                    ))
                })?,
            (_, Some(room)) => room,
        };
        Ok(Some((first..first + data_rank).collect()))
    }

    /// The size of an axis where the data's and the target's meet.
    fn meet(&self, data: Dimension, target: Dimension) -> Option<Dimension> {
        match self.mode {
            Mode::Bidirectional | Mode::Pdpd => target.broadcast(data),
            Mode::Numpy | Mode::Explicit if data.contains(1) => Some(target),
            Mode::Numpy | Mode::Explicit => target.intersect(data),
        }
    }

    fn check_inputs(&self, count: usize) -> Result<(), OpError> {
        ensure!(
            !self.old || self.mode != Mode::Bidirectional,
            "mode bidirectional is not one of explicit, none, numpy, pdpd"
        );
        let explicit = self.mode == Mode::Explicit;
        ensure!(
            if explicit {
                count == 3
            } else {
                count == 2 || (self.old && count == 3)
            },
            "expected {}, got {count}",
            if explicit {
                "3 inputs (data, target_shape, axes_mapping) in mode explicit"
            } else {
                "2 inputs (data, target_shape)"
            }
        );
        Ok(())
    }
}

fn explicit(axes: &[i64], data_rank: usize, rank: usize) -> Result<Few<usize>, OpError> {
    // The runtime takes one axis for a scalar, too, as if it had a dimension of 1.
    ensure!(
        axes.len() == data_rank || (data_rank == 0 && axes.len() == 1),
        "axes_mapping has {} axes, the data {data_rank}",
        axes.len()
    );
    ensure!(
        axes.is_sorted_by(|a, b| a < b),
        "axes_mapping {axes:?} is not in ascending order"
    );
    axes.iter()
        .map(|&axis| match usize::try_from(axis) {
            Ok(axis) if axis < rank => Ok(axis),
            _ => bail!("axis {axis} of axes_mapping is out of range for a target of rank {rank}"),
        })
        .collect()
}

/// What is known of the target: a dimension for each element, if their number is known.
fn target_dims(target: &Input<'_>) -> Result<Option<Vec<Dimension>>, OpError> {
    let count = target.rank_given("the target shape")?;
    let Some(ranges) = target.few_ranges() else {
        return Ok(count.map(|count| vec![Dimension::dynamic(); count]));
    };
    if let Some(negative) = ranges.iter().find(|range| range.max < 0) {
        bail!("the target shape holds {}, which is no size", negative.max);
    }
    Ok(Some(
        ranges
            .iter()
            .map(|r: &ValueRange| r.to_dimension())
            .collect(),
    ))
}

impl Op for Broadcast {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        self.check_inputs(inputs.len())?;
        let (data, target) = (&inputs[0], &inputs[1]);
        let axes_mapping = match inputs.get(2) {
            Some(axes) if self.mode == Mode::Explicit => {
                axes.expect_integer("axes_mapping")?;
                axes.expect_at_most_1d("axes_mapping")?;
                axes.ints()
            }
            _ => None,
        };
        let Some(mut dims) = target_dims(target)? else {
            return Ok(Output::single(data.element_type, PartialShape::dynamic()));
        };
        let Some(from) = data.shape.dims() else {
            let shape = match self.mode {
                Mode::Bidirectional => PartialShape::dynamic(),
                Mode::Pdpd => PartialShape::of_rank(dims.len()),
                Mode::Numpy | Mode::Explicit => dims.into_iter().collect(),
            };
            return Ok(Output::single(data.element_type, shape));
        };
        if self.mode == Mode::Bidirectional {
            let more = from.len().saturating_sub(dims.len());
            dims.splice(0..0, std::iter::repeat_n(Dimension::fixed(1), more));
        }
        let placed = self.placed(from.len(), dims.len(), axes_mapping.as_deref())?;
        for (&axis, &dim) in placed.iter().flatten().zip(from) {
            let Some(size) = self.meet(dim, dims[axis]) else {
                bail!(
                    "data of shape {} cannot be broadcast: its dimension {dim} meets {} at axis {axis} of the target",
                    data.shape,
                    dims[axis]
                );
            };
            dims[axis] = size;
        }
        Ok(Output::single(data.element_type, dims.as_slice()))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        self.check_inputs(io.inputs.len())?;
        let data = io.inputs[0];
        let out = io.outputs[0].shape();
        if io.outputs[0].is_empty() {
            return Ok(());
        }
        let axes = match io.inputs.get(2) {
            Some(axes) if self.mode == Mode::Explicit => Input::of(axes).ints(),
            _ => None,
        };
        let placed = self.placed(data.shape().rank(), out.rank(), axes.as_deref())?;
        let mut aligned: Few<usize> = Few::from_elem(1, out.rank());
        for (&axis, &dim) in placed.iter().flatten().zip(data.shape()) {
            aligned[axis] = dim;
        }
        let broadcast = kernel::broadcast::Broadcast::new(&aligned, out);
        move_elements(&broadcast, &[data], io.outputs)
    }

    fn moves(&self) -> Moves {
        Moves::Inputs(&[0])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ops::testing::{assert_picked, counted, dynamic, index, infer_dims, run, shape};
    use crate::tensor::{ElementType, Tensor};

    fn op(mode: Mode) -> Broadcast {
        Broadcast {
            mode,
            ..Broadcast::default()
        }
    }

    fn dims(op: &dyn Op, data: &[usize], target: &[i64], axes: Option<&[i64]>) -> String {
        let data = counted(ElementType::F32, data);
        let mut inputs = vec![data, Tensor::vector(target)];
        inputs.extend(axes.map(Tensor::vector));
        match run(op, &inputs) {
            Ok(out) => out.shape().to_string(),
            Err(error) => error.message,
        }
    }

    #[test]
    fn document_examples() {
        let target = &[1, 16, 50, 50];
        let numpy = op(Mode::Numpy);
        assert_eq!(dims(&numpy, &[16, 1, 1], target, None), "[1,16,50,50]");
        let explicit = op(Mode::Explicit);
        assert_eq!(dims(&explicit, &[16], target, Some(&[1])), "[1,16,50,50]");
        let target = &[1, 50, 50, 16];
        assert_eq!(
            dims(&explicit, &[50, 50], target, Some(&[1, 2])),
            "[1,50,50,16]"
        );
        let both = op(Mode::Bidirectional);
        let target = &[1, 1, 50, 50];
        assert_eq!(dims(&both, &[16, 1, 1], target, None), "[1,16,50,50]");
    }

    #[test]
    fn corners() {
        let both = op(Mode::Bidirectional);
        assert_eq!(dims(&both, &[3, 1], &[3], None), "[3,3]");
        assert_eq!(dims(&both, &[3, 1], &[3, 0], None), "[3,0]");
        assert_eq!(dims(&op(Mode::Pdpd), &[2, 3], &[2, 3, 4], None), "[2,3,4]");
        let last = Broadcast {
            mode: Mode::Pdpd,
            axis: -1,
            old: true,
        };
        assert_eq!(dims(&last, &[3, 4], &[2, 1, 4], None), "[2,3,4]");
        let scalar = op(Mode::Explicit);
        assert_eq!(dims(&scalar, &[], &[2, 3], Some(&[])), "[2,3]");
        assert_eq!(dims(&scalar, &[], &[1, 3], Some(&[0])), "[1,3]");
        for (data, target, axes) in [
            (&[3usize, 1][..], &[2i64, 3, 1][..], &[2i64, 1][..]),
            (&[3, 1], &[3, 4], &[0, 0]),
            (&[3, 1], &[2, 3, 1], &[-2, -1]),
            (&[3, 1], &[2, 1, 4], &[1, 2]),
            (&[3, 1], &[2, 3, 4], &[1]),
        ] {
            let wrong = dims(&op(Mode::Explicit), data, target, Some(axes));
            assert!(!wrong.starts_with('['), "{wrong}");
        }
        for target in [&[1i64, 4][..], &[3], &[-1, 4], &[3, -1]] {
            let wrong = dims(&op(Mode::Numpy), &[3, 1], target, None);
            assert!(!wrong.starts_with('['), "{wrong}");
        }
        assert!(op(Mode::Numpy).check_inputs(3).is_err());
    }

    #[test]
    fn what_is_known_of_unknown_targets() {
        let data = shape("?,1,5,2..3");
        let f32 = Input::new(ElementType::F32, &data);
        let count = shape("5");
        let target = Input::new(ElementType::I64, &count);
        let inputs = [f32, target];
        assert_eq!(infer_dims(&op(Mode::Numpy), &inputs), "[?,?,?,5,2..3]");
        assert_eq!(
            infer_dims(&op(Mode::Bidirectional), &inputs),
            "[?,?,?,5,2..3]"
        );
    }

    proptest! {
        #[test]
        fn like_its_definition(
            axes in prop::collection::vec((0usize..5, any::<bool>()), 0..8),
            drop in 0usize..8,
            ty in prop::sample::select(ElementType::ALL.to_vec()),
            explicit in any::<bool>(),
            mask in any::<u32>(),
        ) {
            let target: Vec<i64> = axes.iter().map(|&(size, _)| size as i64).collect();
            prop_assume!(target.iter().product::<i64>() < 5000);
            let drop = if explicit { 0 } else { drop.min(axes.len()) };
            // Explicit mode leaves out the axes that numpy's rule gives as 1.
            let placed: Vec<usize> = (drop..axes.len()).filter(|&i| !explicit || axes[i].1).collect();
            let from: Vec<usize> = placed.iter().map(|&i| if axes[i].1 { axes[i].0 } else { 1 }).collect();
            let mut inputs = vec![counted(ty, &from), Tensor::vector(&target)];
            let mode = if explicit { Mode::Explicit } else { Mode::Numpy };
            if explicit {
                let axes: Vec<i64> = placed.iter().map(|&i| i as i64).collect();
                inputs.push(Tensor::vector(&axes));
            }
            let out = run(&op(mode), &inputs).expect("fits");
            let strides = inputs[0].shape().strides();
            let source: Vec<usize> = index(out.shape())
                .map(|at| {
                    let along = placed.iter().zip(&from).zip(&strides);
                    along.map(|((&i, &dim), stride)| if dim == 1 { 0 } else { at[i] * stride }).sum()
                })
                .collect();
            assert_picked(&inputs[0], &source, &out);
            prop_assert!(dynamic(&op(mode), &inputs, mask).contains(out.shape()));
        }
    }

    #[test]
    fn large_outputs() {
        for (from, to) in [
            (vec![1usize, 1], vec![700i64, 800]),
            (vec![700, 1], vec![700, 800]),
            (vec![1, 800], vec![700, 800]),
            (vec![1, 3], vec![200_000, 3]),
            (vec![40, 1, 3], vec![40, 7000, 3]),
            (vec![40, 1, 70, 1], vec![40, 50, 70, 6]),
            (vec![700, 800], vec![700, 800]),
        ] {
            let data = counted(ElementType::U32, &from);
            let target = Tensor::vector(&to);
            let strides = data.shape().strides();
            let out = run(&op(Mode::Numpy), &[data.clone(), target]).expect("fits");
            let data = data.as_slice::<u32>().expect("u32");
            let expected = index(out.shape()).map(|at| {
                let along = at.iter().zip(&from).zip(&strides);
                let offset: usize = along
                    .map(|((i, &dim), s)| i * s * usize::from(dim > 1))
                    .sum();
                data[offset]
            });
            assert!(
                out.as_slice::<u32>()
                    .expect("u32")
                    .iter()
                    .copied()
                    .eq(expected)
            );
        }
    }
}
