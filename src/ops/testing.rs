//! What the tests of operations share: running one, and naming elements.

use crate::op::{Input, Io, LayerData, Op, OpError, Weights};
use crate::tensor::{Dimension, ElementType, PartialShape, Shape, SharedBytes, Tensor, Text};

/// A partial shape as IR spells it.
pub(crate) fn shape(text: &str) -> PartialShape {
    text.parse().expect("a shape")
}

/// Infers and evaluates an operation, as the executor does: into poisoned memory. Outputs whose
/// size depends on data arrive empty.
pub(crate) fn run_all(op: &dyn Op, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
    let known: Vec<Input<'_>> = inputs.iter().map(Input::of).collect();
    let inferred = op.infer(&known)?;
    let inputs: Vec<&Tensor> = inputs.iter().collect();
    if op.reshapes() {
        let shape = inferred[0].shape.to_shape().expect("exact inputs");
        return Ok(vec![inputs[0].with_shape(shape)?]);
    }
    let mut outputs = Vec::new();
    for output in &inferred {
        let shape = output.shape.to_shape().unwrap_or_else(|| [0].into());
        let mut tensor = Tensor::zeros(output.element_type, shape)?;
        match output.element_type {
            ElementType::String => tensor.as_mut_strings()?.fill(Text::from("poison")),
            ElementType::Boolean => tensor.as_mut_slice::<bool>()?.fill(true),
            _ => tensor.bytes_mut().fill(0xA5),
        }
        outputs.push(tensor);
    }
    op.eval(Io {
        inputs: &inputs,
        outputs: &mut outputs,
    })?;
    for (output, tensor) in inferred.iter().zip(&outputs) {
        assert_eq!(tensor.element_type(), output.element_type);
        assert!(output.shape.contains(tensor.shape()), "{output} {tensor:?}");
    }
    Ok(outputs)
}

/// Infers and evaluates an operation of one output.
pub(crate) fn run(op: &dyn Op, inputs: &[Tensor]) -> Result<Tensor, OpError> {
    Ok(run_all(op, inputs)?.remove(0))
}

/// The inferred shape, in IR's spelling.
pub(crate) fn infer_dims(op: &dyn Op, inputs: &[Input<'_>]) -> String {
    op.infer(inputs).expect("good inputs")[0].shape.to_string()
}

/// The shape inferred when some dimensions, ranks and values are not known; `mask` chooses.
pub(crate) fn dynamic(op: &dyn Op, inputs: &[Tensor], mask: u32) -> PartialShape {
    let mut bits = (0..).map(|i| mask.rotate_right(i * 5) & 3);
    let mut next = move || bits.next().expect("endless");
    let inputs: Vec<Input<'_>> = inputs
        .iter()
        .map(|tensor| {
            let mut input = Input::of(tensor);
            if next() == 0 {
                input.value = None;
            }
            let dims = tensor.shape().iter().map(|&dim| match next() {
                0 => Dimension::dynamic(),
                1 => Dimension::range(dim.saturating_sub(1), Some(dim + 2)),
                _ => Dimension::fixed(dim),
            });
            let shape: PartialShape = dims.collect();
            if input.value.is_none() {
                let unknown = next() == 0;
                let shape = if unknown {
                    PartialShape::dynamic()
                } else {
                    shape
                };
                input.shape = std::borrow::Cow::Owned(shape);
            }
            input
        })
        .collect();
    op.infer(&inputs).expect("fits as the exact shapes do")[0]
        .shape
        .clone()
}

/// A tensor whose elements differ as far as their type allows.
pub(crate) fn counted(ty: ElementType, dims: &[usize]) -> Tensor {
    let mut tensor = Tensor::zeros(ty, dims).expect("small");
    match ty {
        ElementType::String => {
            for (i, text) in tensor
                .as_mut_strings()
                .expect("strings")
                .iter_mut()
                .enumerate()
            {
                *text = Text::from(i.to_string().as_str());
            }
        }
        ElementType::Boolean => {
            for (i, b) in tensor
                .as_mut_slice::<bool>()
                .expect("bool")
                .iter_mut()
                .enumerate()
            {
                *b = i % 3 == 1;
            }
        }
        _ if ty.is_packed() => {
            let codes: Vec<u8> = (0..tensor.len()).map(|i| code(ty, i)).collect();
            crate::tensor::pack::pack(ty, &codes, tensor.bytes_mut(), 0);
        }
        _ => {
            let size = ty.bits() / 8;
            for (i, bytes) in tensor.bytes_mut().chunks_exact_mut(size).enumerate() {
                for (byte, value) in bytes.iter_mut().zip((i + 1).to_le_bytes()) {
                    *byte = value;
                }
            }
        }
    }
    tensor
}

/// The part of a tensor at an index of its first axis.
pub(crate) fn part(data: &Tensor, index: i64) -> Tensor {
    struct NoWeights;
    impl Weights for NoWeights {
        fn slice(&self, _: u64, _: u64) -> Result<SharedBytes, OpError> {
            Err(OpError::new("there are none"))
        }
    }
    let (row, _) = super::find(8, "Gather").expect("in every opset");
    let layer = LayerData {
        attributes: &[],
        weights: &NoWeights,
    };
    let (gather, _) = row.read(&layer).expect("no attribute is needed");
    let inputs = [data.clone(), Tensor::scalar(index), Tensor::scalar(0i64)];
    run(&*gather, &inputs).expect("in range")
}

fn code(ty: ElementType, i: usize) -> u8 {
    (i * 7 % 61 % (1 << ty.bits())) as u8
}

/// The elements as texts that are equal when the elements are.
pub(crate) fn elements(tensor: &Tensor) -> Vec<String> {
    let ty = tensor.element_type();
    if ty == ElementType::String {
        let strings = tensor.as_strings().expect("strings");
        return strings.iter().map(|s| s.to_str().into_owned()).collect();
    }
    if ty.is_packed() {
        let mut codes = vec![0; tensor.len()];
        crate::tensor::pack::unpack(ty, tensor.bytes(), 0, &mut codes);
        return codes.iter().map(u8::to_string).collect();
    }
    let size = ty.bits() / 8;
    tensor
        .bytes()
        .chunks_exact(size)
        .map(|b| format!("{b:?}"))
        .collect()
}

/// Checks that `out` holds the elements of `data` at `source`, or zero where it is out of range.
pub(crate) fn assert_picked(data: &Tensor, source: &[usize], out: &Tensor) {
    let zero = elements(&Tensor::zeros(data.element_type(), [1]).expect("small")).remove(0);
    let data = elements(data);
    let expected: Vec<String> = source
        .iter()
        .map(|&i| data.get(i).unwrap_or(&zero).clone())
        .collect();
    assert_eq!(elements(out), expected);
}

/// The indices of a shape, in row-major order.
pub(crate) fn index(shape: &Shape) -> impl Iterator<Item = Vec<usize>> + use<> {
    let shape = shape.to_vec();
    let count: usize = shape.iter().product();
    (0..count).map(move |mut rest| {
        let mut index = vec![0; shape.len()];
        for (i, &dim) in index.iter_mut().zip(&shape).rev() {
            *i = rest % dim;
            rest /= dim;
        }
        index
    })
}
