//! Unique-10: the different elements of the data, or its different slices along an axis.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/movement/unique-10.html>
//!
//! Slices are in lexicographic order, strings in that of their bytes. NaN equals NaN and comes
//! last.

use serde::{Deserialize, Serialize};

use crate::kernel::gather::Gather;
use crate::kernel::moving::move_elements;
use crate::kernel::scratch::{try_collect_ok, try_room};
use crate::kernel::unique;
use crate::op::{
    Input, Io, Op, OpError, Output, Outputs, allowed_axes, any_axis, bail, ensure, normalize_axis,
};
use crate::tensor::convert::convert;
use crate::tensor::{Dimension, ElementType, PartialShape, Shape, Tensor};

/// The different elements, or slices.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct Unique {
    sorted: bool,
    index_element_type: ElementType,
    count_element_type: ElementType,
}

impl Default for Unique {
    fn default() -> Self {
        Self {
            sorted: true,
            index_element_type: ElementType::I64,
            count_element_type: ElementType::I64,
        }
    }
}

/// How many different ones there can be of so many.
fn different(count: Dimension) -> Dimension {
    let size = Dimension::range(count.min().min(1), count.max());
    // Of none or one all are different.
    if count.max().is_some_and(|max| max <= 1) {
        count
    } else {
        size
    }
}

/// The numbers in a 1-D tensor of this type.
fn numbers(numbers: Vec<usize>, ty: ElementType) -> Result<Tensor, OpError> {
    let most = match ty {
        ElementType::I32 => i64::from(i32::MAX),
        _ => i64::MAX,
    };
    let number = |n: usize| match i64::try_from(n) {
        Ok(n) if n <= most => Ok(n),
        _ => bail!("number {n} does not fit in {ty}"),
    };
    let numbers = try_collect_ok(numbers.into_iter().map(number))?;
    Ok(convert(&Tensor::new([numbers.len()], &numbers)?, ty)?)
}

/// Brings the slices along the axis together: `[outer, count, inner]` becomes
/// `[count, outer, inner]`.
fn slices(keys: Vec<u64>, shape: &[usize], axis: usize) -> Result<Vec<u64>, OpError> {
    let (count, inner) = (shape[axis], shape[axis + 1..].iter().product::<usize>());
    if shape[..axis].iter().all(|&dim| dim == 1) || keys.is_empty() {
        return Ok(keys);
    }
    let mut slices = try_room(keys.len())?;
    for i in 0..count {
        for line in keys.chunks_exact(count * inner) {
            slices.extend_from_slice(&line[i * inner..][..inner]);
        }
    }
    Ok(slices)
}

impl Unique {
    fn check_types(&self) -> Result<(), OpError> {
        for (name, ty) in [
            ("index_element_type", self.index_element_type),
            ("count_element_type", self.count_element_type),
        ] {
            ensure!(
                matches!(ty, ElementType::I32 | ElementType::I64),
                "{name} is {ty}, expected i32 or i64"
            );
        }
        Ok(())
    }

    fn outputs(&self, ty: ElementType, values: PartialShape, count: Dimension) -> Outputs {
        let line = |ty, dim: Dimension| Output::new(ty, [dim].as_slice());
        smallvec::smallvec![
            Output::new(ty, values),
            line(self.index_element_type, different(count)),
            line(self.index_element_type, count),
            line(self.count_element_type, different(count)),
        ]
    }
}

impl Op for Unique {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let (data, axis) = match inputs {
            [data] => (data, None),
            [data, axis] => (data, Some(axis.int_scalar("axis")?)),
            _ => bail!("expected 1 or 2 inputs (data, axis), got {}", inputs.len()),
        };
        self.check_types()?;
        let ty = data.element_type;
        ensure!(!ty.is_complex(), "elements of {ty} have no order");
        let Some(axis) = axis else {
            let count = data.shape.elements();
            let values = [different(count)].as_slice().into();
            return Ok(self.outputs(ty, values, count));
        };
        let unknown = Dimension::dynamic();
        let Some(dims) = data.shape.dims() else {
            return Ok(self.outputs(ty, PartialShape::dynamic(), unknown));
        };
        let along = |axis: usize| {
            let mut dims = dims.to_vec();
            dims[axis] = different(dims[axis]);
            dims
        };
        let Some(axis) = axis else {
            let values = any_axis(dims, |axis| Ok(along(axis)))?;
            let count = dims.iter().copied().reduce(Dimension::union);
            return Ok(self.outputs(ty, values, count.unwrap_or(unknown)));
        };
        let axis = normalize_axis(axis, dims.len())?;
        Ok(self.outputs(ty, along(axis).as_slice().into(), dims[axis]))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let data = io.inputs[0];
        let axis = match io.inputs.get(1) {
            None => None,
            Some(axis) => match Input::of(axis).int_scalar("axis")? {
                Some(axis) => Some(normalize_axis(axis, data.shape().rank())?),
                None => bail!("the axis is not known"),
            },
        };
        let keys = unique::keys(data)?;
        let (keys, mut shape, axis) = match axis {
            None => (keys, Shape::from([data.len()]), 0),
            Some(axis) => (
                slices(keys, data.shape(), axis)?,
                data.shape().clone(),
                axis,
            ),
        };
        let whole = data.with_shape(shape.clone())?;
        let groups = unique::group(&keys, shape[axis], self.sorted)?;
        let firsts = numbers(groups.firsts, self.index_element_type)?;
        shape[axis] = firsts.len();
        let mut values = [Tensor::zeros(data.element_type(), shape)?];
        if !values[0].is_empty() {
            let gather = Gather::new(whole.shape(), &firsts, axis, 0, false)?;
            move_elements(&gather, &[&whole], &mut values)?;
        }
        let [values] = values;
        let group_of = numbers(groups.group_of, self.index_element_type)?;
        let counts = numbers(groups.counts, self.count_element_type)?;
        for (output, tensor) in io
            .outputs
            .iter_mut()
            .zip([values, firsts, group_of, counts])
        {
            *output = tensor;
        }
        Ok(())
    }

    fn allowed(&self, inputs: &[Input<'_>], index: usize) -> Option<(i64, i64)> {
        (index == 1).then(|| allowed_axes(inputs.first()?.rank()))?
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ops::testing::{counted, elements, run_all, shape};

    fn unique(sorted: bool, inputs: &[Tensor]) -> (Tensor, [Vec<i64>; 3]) {
        let op = Unique {
            sorted,
            ..Unique::default()
        };
        let outputs = run_all(&op, inputs).expect("fits");
        let ints = [1, 2, 3].map(|i| outputs[i].as_slice::<i64>().expect("i64").to_vec());
        (outputs[0].clone(), ints)
    }

    fn nine() -> Tensor {
        Tensor::new([3, 3], &[3f32, 1., 3., 2., 1., 0., 3., 1., 3.]).expect("nine")
    }

    #[test]
    fn by_hand() {
        let (values, rest) = unique(true, &[nine()]);
        assert_eq!(values.as_slice::<f32>().expect("f32"), [0., 1., 2., 3.]);
        let expected = [
            vec![5, 1, 3, 0],
            vec![3, 1, 3, 2, 1, 0, 3, 1, 3],
            vec![1, 3, 1, 4],
        ];
        assert_eq!(rest, expected);
        let (values, rest) = unique(false, &[nine()]);
        assert_eq!(values.as_slice::<f32>().expect("f32"), [3., 1., 2., 0.]);
        let expected = [
            vec![0, 1, 3, 5],
            vec![0, 1, 0, 2, 1, 3, 0, 1, 0],
            vec![4, 3, 1, 1],
        ];
        assert_eq!(rest, expected);
        let (values, rest) = unique(true, &[nine(), Tensor::scalar(0i32)]);
        assert_eq!(values.shape().to_string(), "[2,3]");
        assert_eq!(
            values.as_slice::<f32>().expect("f32"),
            [2., 1., 0., 3., 1., 3.]
        );
        assert_eq!(rest, [vec![1, 0], vec![1, 0, 1], vec![1, 2]]);
        let (values, rest) = unique(true, &[nine(), Tensor::vector(&[-1i64])]);
        assert_eq!(
            values.as_slice::<f32>().expect("f32"),
            [1., 3., 3., 1., 0., 2., 1., 3., 3.]
        );
        assert_eq!(rest, [vec![1, 2, 0], vec![2, 0, 1], vec![1, 1, 1]]);
    }

    #[test]
    fn zeros_strings_and_not_a_number() {
        let floats = Tensor::vector(&[f64::NAN, -0.0, 1.0, 0.0, -f64::NAN, f64::NEG_INFINITY]);
        let (values, rest) = unique(true, &[floats]);
        let values = values.as_slice::<f64>().expect("f64").to_vec();
        assert_eq!(values[..3], [f64::NEG_INFINITY, 0.0, 1.0]);
        assert!(values[3].is_nan() && values[1].is_sign_negative());
        assert_eq!(
            rest,
            [vec![5, 1, 2, 0], vec![3, 1, 2, 1, 3, 0], vec![1, 2, 1, 2]]
        );
        let texts = ["b", "", "ab", "b"].map(Into::into).to_vec();
        let (values, rest) = unique(true, &[Tensor::strings([4], texts).expect("four")]);
        assert_eq!(elements(&values), ["", "ab", "b"]);
        assert_eq!(rest, [vec![1, 2, 0], vec![2, 0, 1, 2], vec![1, 1, 2]]);
        let (values, _) = unique(true, &[Tensor::vector(&[3i8, -5, 0, -5])]);
        assert_eq!(values.as_slice::<i8>().expect("i8"), [-5, 0, 3]);
        let (values, _) = unique(true, &[Tensor::vector(&[u64::MAX, 7])]);
        assert_eq!(values.as_slice::<u64>().expect("u64"), [7, u64::MAX]);
    }

    #[test]
    fn few_or_no_elements() {
        let zeros = |dims: &[usize]| Tensor::zeros(ElementType::F16, dims).expect("small");
        let (values, rest) = unique(true, &[zeros(&[])]);
        assert_eq!(values.shape().to_string(), "[1]");
        assert_eq!(rest, [vec![0], vec![0], vec![1]]);
        let (values, rest) = unique(true, &[zeros(&[3, 0])]);
        assert_eq!(values.shape().to_string(), "[0]");
        assert_eq!(rest, [vec![], vec![], vec![]] as [Vec<i64>; 3]);
        // Slices without elements are all the same.
        let (values, rest) = unique(false, &[zeros(&[3, 0]), Tensor::scalar(0i64)]);
        assert_eq!(values.shape().to_string(), "[1,0]");
        assert_eq!(rest, [vec![0], vec![0, 0, 0], vec![3]]);
        let (values, _) = unique(true, &[zeros(&[3, 0]), Tensor::scalar(1i64)]);
        assert_eq!(values.shape().to_string(), "[3,0]");
    }

    #[test]
    fn types_and_shapes() {
        let op = Unique {
            index_element_type: ElementType::I32,
            ..Unique::default()
        };
        let infer = |data: &str, axis: Option<Option<i64>>| {
            let (data, one) = (shape(data), shape("1"));
            let value = axis.flatten().map(Tensor::scalar);
            let mut inputs = vec![Input::new(ElementType::F32, &data)];
            inputs.extend(axis.map(|_| {
                value
                    .as_ref()
                    .map_or(Input::new(ElementType::I64, &one), Input::of)
            }));
            let outputs = op.infer(&inputs).expect("fits");
            outputs
                .iter()
                .map(|o| o.to_string())
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(infer("3,3", None), "f32[1..9] i32[1..9] i32[9] i64[1..9]");
        assert_eq!(infer("?,3", None), "f32[?] i32[?] i32[?] i64[?]");
        assert_eq!(infer("1,1", None), "f32[1] i32[1] i32[1] i64[1]");
        assert_eq!(
            infer("3,4..5", Some(Some(-1))),
            "f32[3,1..5] i32[1..5] i32[4..5] i64[1..5]"
        );
        assert_eq!(
            infer("3,5", Some(None)),
            "f32[1..3,1..5] i32[1..5] i32[3..5] i64[1..5]"
        );
        assert_eq!(infer("...", Some(Some(0))), "f32[...] i32[?] i32[?] i64[?]");
        let wrong = Unique {
            count_element_type: ElementType::F32,
            ..Unique::default()
        };
        assert!(run_all(&wrong, &[nine()]).is_err());
        assert!(run_all(&op, &[nine(), Tensor::scalar(2i64)]).is_err());
        let outputs = run_all(&op, &[nine()]).expect("fits");
        assert_eq!(outputs[2].as_slice::<i32>().expect("i32").len(), 9);
    }

    fn orderable() -> Vec<ElementType> {
        let all = ElementType::ALL.into_iter();
        all.filter(|ty| !ty.is_complex()).collect()
    }

    proptest! {
        /// What the outputs say of each other and of the data.
        #[test]
        fn like_its_definition(
            dims in prop::collection::vec(1usize..5, 0..4),
            axis in prop::option::of(0usize..4),
            values in prop::collection::vec(0i32..3, 64),
            sorted in any::<bool>(),
            ty in prop::sample::select(orderable()),
        ) {
            let count: usize = dims.iter().product();
            let data = match ty {
                ElementType::String => counted(ty, &dims),
                _ => {
                    let ints = Tensor::new(dims.as_slice(), &values[..count]).expect("its length");
                    convert(&ints, ty).expect("numbers")
                }
            };
            let axis = axis.filter(|&axis| axis < dims.len());
            let mut inputs = vec![data.clone()];
            inputs.extend(axis.map(|axis| Tensor::scalar(axis as i64)));
            let (found, [firsts, group_of, counts]) = unique(sorted, &inputs);
            let shape = axis.map_or([1, count, 1], |axis| {
                [dims[..axis].iter().product(), dims[axis], dims[axis + 1..].iter().product()]
            });
            let rows = |texts: Vec<String>, n: usize| -> Vec<Vec<String>> {
                let [outer, _, inner] = shape;
                let row = |i: usize| (0..outer * inner)
                    .map(|k| texts[(k / inner * n + i) * inner + k % inner].clone())
                    .collect();
                (0..n).map(row).collect()
            };
            let (all, found) = (rows(elements(&data), shape[1]), rows(elements(&found), firsts.len()));
            for (i, row) in found.iter().enumerate() {
                let places: Vec<usize> = (0..all.len()).filter(|&k| all[k] == *row).collect();
                prop_assert_eq!(firsts[i], places[0] as i64);
                prop_assert_eq!(counts[i], places.len() as i64);
                prop_assert!(places.iter().all(|&k| group_of[k] == i as i64));
            }
            prop_assert_eq!(counts.iter().sum::<i64>(), all.len() as i64);
            if !sorted {
                prop_assert!(firsts.is_sorted());
            }
        }
    }

    #[test]
    fn large() {
        let values: Vec<i64> = (0..100_000).map(|i| i * 7919 % 1000 - 500).collect();
        let (found, [firsts, group_of, _]) = unique(true, &[Tensor::vector(&values)]);
        let found = found.as_slice::<i64>().expect("i64");
        assert!(found.iter().copied().eq(-500..500));
        assert!(
            firsts
                .iter()
                .zip(found)
                .all(|(&i, x)| i < 1000 && values[i as usize] == *x)
        );
        assert!(
            group_of
                .iter()
                .zip(&values)
                .all(|(&group, x)| group - 500 == *x)
        );
    }
}
