//! SparseFillEmptyRows-16: a default element put into every row of a sparse matrix that has none.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/sparse/fill-empty-rows-16.html>
//!
//! Elements come out by rows, and in a row by columns; those at one place stay in order.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use crate::kernel::gather::OUTSIDE;
use crate::kernel::gather_tree::PickOr;
use crate::kernel::moving::move_elements;
use crate::kernel::scratch::{try_collect, try_extend, try_push, try_room, try_vec};
use crate::op::{Input, Io, Op, OpError, Output, Outputs, bail, ensure, merge_types};
use crate::tensor::convert::narrow;
use crate::tensor::{Dimension, ElementType, PartialShape};

#[derive(Debug, Clone, Default, Deserialize, Serialize)]
pub(super) struct SparseFillEmptyRows {}

impl Op for SparseFillEmptyRows {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [values, shape, indices, default] = inputs else {
            bail!(
                "expected 4 inputs (values, dense_shape, indices, default_value), got {}",
                inputs.len()
            );
        };
        let ty = merge_types(&[values.clone(), default.clone()])?;
        let index_ty = merge_types(&[shape.clone(), indices.clone()])?;
        ensure!(
            matches!(
                index_ty,
                ElementType::I32 | ElementType::I64 | ElementType::Dynamic
            ),
            "dense_shape and indices must be i32 or i64, got {index_ty}"
        );
        default.expect_scalar("default_value")?;
        let count = count(values, indices)?;
        if let Some(len) = shape.rank_given("dense_shape")? {
            ensure!(len == 2, "dense_shape has {len} elements, expected 2");
        }
        let rows = shape.ranges().and_then(|ranges| ranges.first().copied());
        let rows = match rows {
            Some(rows) if rows.max < 0 => bail!("dense_shape has {} rows", rows.max),
            Some(rows) => rows.to_dimension(),
            None => Dimension::dynamic(),
        };
        let filled = match (rows.value(), indices.ints()) {
            (Some(rows), Some(indices)) => {
                let there = used_rows(&indices, rows);
                Dimension::fixed((indices.len() / 2).saturating_add(rows - there))
            }
            // No row is empty, and only rows that were get an element more.
            _ => {
                let empty = rows.max().map(|max| max.saturating_sub(count.min().min(1)));
                let most = count.max().zip(empty).map(|(a, b)| a.saturating_add(b));
                Dimension::range(count.min().max(rows.min()), most)
            }
        };
        Ok(smallvec::smallvec![
            Output::new(
                index_ty,
                [filled, 2.into()].into_iter().collect::<PartialShape>()
            ),
            Output::new(ty, [filled].into_iter().collect::<PartialShape>()),
            Output::new(
                ElementType::Boolean,
                [rows].into_iter().collect::<PartialShape>()
            ),
        ])
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let [values, shape, indices, default] = *io.inputs else {
            bail!("expected 4 inputs, got {}", io.inputs.len());
        };
        let shape = Input::of(shape).ints().unwrap_or_default();
        let indices = Input::of(indices).ints().unwrap_or_default();
        let mut entries = try_room(io.outputs[1].len())?;
        let mut empty = try_vec(true, io.outputs[2].len())?;
        for (i, place) in indices.chunks_exact(2).enumerate() {
            for (axis, name) in ["row", "column"].into_iter().enumerate() {
                ensure!(
                    (0..shape[axis]).contains(&place[axis]),
                    "{name} {} of element {i} is out of range, expected 0..{}",
                    place[axis],
                    shape[axis]
                );
            }
            if let Some(empty) = usize::try_from(place[0])
                .ok()
                .and_then(|row| empty.get_mut(row))
            {
                *empty = false;
            }
            try_push(&mut entries, ([place[0], place[1]], i))?;
        }
        let fill = (0i64..).zip(&empty).filter(|(_, empty)| **empty);
        try_extend(&mut entries, fill.map(|(row, _)| ([row, 0], OUTSIDE)))?;
        // A filled row has one entry; of others equal places stay in order.
        entries.sort_unstable();
        let places = try_collect(entries.iter().flat_map(|&(place, _)| place))?;
        let picks = try_collect(entries.iter().map(|&(_, source)| source))?;
        let [out_indices, out_values, indicator] = io.outputs else {
            bail!("expected 3 outputs");
        };
        ensure!(
            out_values.len() == entries.len(),
            "expected room for {} elements, got {}",
            entries.len(),
            out_values.len()
        );
        narrow(&places, out_indices, 0);
        indicator.as_mut_slice::<bool>()?.copy_from_slice(&empty);
        let picks = PickOr { places: picks };
        move_elements(&picks, &[values, default], std::slice::from_mut(out_values))
    }

    fn allowed(&self, inputs: &[Input<'_>], index: usize) -> Option<(i64, i64)> {
        let sizes = inputs.get(1).filter(|_| index == 2)?.ints()?;
        Some((0, sizes.into_iter().min()? - 1))
    }
}

/// How many elements there are: what both inputs say.
fn count(values: &Input<'_>, indices: &Input<'_>) -> Result<Dimension, OpError> {
    values.expect_1d("values")?;
    let values = values
        .shape
        .dims()
        .map_or(Dimension::dynamic(), |dims| dims[0]);
    let of_indices = match indices.shape.dims() {
        None => Dimension::dynamic(),
        Some(&[count, two]) if two.contains(2) => count,
        Some(_) => bail!("indices must have shape [M,2], got {}", indices.shape),
    };
    match values.intersect(of_indices) {
        Some(count) => Ok(count),
        None => bail!("there are {values} values, but {of_indices} indices"),
    }
}

/// How many rows there is an index of.
fn used_rows(indices: &[i64], rows: usize) -> usize {
    let used = indices.chunks_exact(2).map(|place| place[0]);
    let inside = used.filter_map(|row| usize::try_from(row).ok().filter(|&row| row < rows));
    inside.collect::<HashSet<_>>().len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{elements, run_all, shape};
    use crate::tensor::Tensor;
    use crate::tensor::convert::to_i64;

    fn fill(
        values: Tensor,
        size: [i64; 2],
        places: &[i64],
        default: Tensor,
    ) -> Result<Vec<Tensor>, OpError> {
        let places = Tensor::new([places.len() / 2, 2], places).expect("pairs");
        let inputs = [values, Tensor::vector(&size), places, default];
        run_all(&SparseFillEmptyRows::default(), &inputs)
    }

    #[test]
    fn documented() {
        let values = Tensor::vector(&[1f32, 2.0, 3.0, 4.0]);
        let out = fill(
            values,
            [5, 6],
            &[0, 1, 0, 3, 2, 0, 3, 1],
            Tensor::scalar(-1f32),
        )
        .expect("in range");
        assert_eq!(to_i64(&out[0]), [0, 1, 0, 3, 1, 0, 2, 0, 3, 1, 4, 0]);
        assert_eq!(
            out[1].as_slice::<f32>().expect("f32"),
            [1.0, 2.0, -1.0, 3.0, 4.0, -1.0]
        );
        assert_eq!(to_i64(&out[2]), [0, 1, 0, 0, 1]);
        let out = fill(
            Tensor::vector(&[1f32, 3.0]),
            [3, 3],
            &[0, 0, 2, 2],
            Tensor::scalar(42f32),
        );
        let out = out.expect("in range");
        assert_eq!(out[1].as_slice::<f32>().expect("f32"), [1.0, 42.0, 3.0]);
    }

    #[test]
    fn order_and_corners() {
        let values = Tensor::vector(&[1u8, 2, 3, 4]);
        let out = fill(
            values,
            [3, 4],
            &[2, 3, 0, 1, 2, 0, 2, 3],
            Tensor::scalar(9u8),
        )
        .expect("in range");
        assert_eq!(to_i64(&out[0]), [0, 1, 1, 0, 2, 0, 2, 3, 2, 3]);
        assert_eq!(
            elements(&out[1]),
            elements(&Tensor::vector(&[2u8, 9, 3, 1, 4]))
        );
        let none = Tensor::new::<f32>([0], &[]).expect("empty");
        let out = fill(none.clone(), [2, 0], &[], Tensor::scalar(7f32)).expect("nothing");
        assert_eq!(to_i64(&out[0]), [0, 0, 1, 0]);
        let out = fill(none, [0, 2], &[], Tensor::scalar(7f32)).expect("nothing");
        assert!(out.iter().all(Tensor::is_empty));
    }

    #[test]
    fn refused() {
        let one = || Tensor::vector(&[1f32]);
        let zero = || Tensor::scalar(0f32);
        assert!(fill(one(), [2, 2], &[2, 0], zero()).is_err());
        assert!(fill(one(), [2, 2], &[0, -1], zero()).is_err());
        assert!(fill(one(), [2, 2], &[0, 0, 1, 1], zero()).is_err());
        assert!(fill(one(), [-1, 2], &[0, 0], zero()).is_err());
        assert!(fill(one(), [2, 2], &[0, 0], Tensor::scalar(0i32)).is_err());
        assert!(fill(one(), [2, 2], &[0, 0], Tensor::vector(&[0f32])).is_err());
    }

    #[test]
    fn intervals() {
        let (values, pairs) = (shape("?"), shape("3..5,2"));
        let scalar = shape("");
        let size = Tensor::vector(&[4i64, 9]);
        let inputs = [
            Input::new(ElementType::F32, &values),
            Input::of(&size),
            Input::new(ElementType::I64, &pairs),
            Input::new(ElementType::F32, &scalar),
        ];
        let outputs = SparseFillEmptyRows::default().infer(&inputs).expect("fits");
        let shapes: Vec<String> = outputs.iter().map(|o| o.shape.to_string()).collect();
        assert_eq!(shapes, ["[4..8,2]", "[4..8]", "[4]"]);
    }
}
