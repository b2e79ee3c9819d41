//! VocabEncoder and VocabDecoder: whole words to numbers, and ids to words.
//!
//! <https://github.com/openvinotoolkit/openvino_tokenizers/blob/master/src/vocab_encoder.cpp>

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

use super::cache::Cache;
use super::ragged::{Rows, expect_inputs, line};
use crate::kernel::scratch::{try_collect, try_push};
use crate::op::{Input, Io, Op, OpError, Output, Outputs, bail, ensure};
use crate::ops::strings::{Packed, Strings, expect_type};
use crate::tensor::{Dimension, Element, ElementType, PartialShape, Shape, Tensor};

/// The number of each string, or the default.
#[derive(Debug, Default, Deserialize, Serialize)]
pub(super) struct VocabEncoder {
    #[serde(skip)]
    places: Cache<HashMap<Vec<u8>, usize>>,
}

fn look_up<T: Element + Copy>(
    strings: &Strings<'_>,
    places: &HashMap<Vec<u8>, usize>,
    values: &Tensor,
    default: &Tensor,
    shape: &Shape,
) -> Result<Tensor, OpError> {
    let (values, default) = (values.as_slice::<T>()?, default.as_slice::<T>()?);
    ensure!(default.len() == 1, "{} defaults, expected 1", default.len());
    let value = |string| {
        places
            .get(string)
            .map_or(default[0], |&place| values[place])
    };
    let found = try_collect(strings.iter().map(value))?;
    Ok(Tensor::new(shape.clone(), &found)?)
}

impl Op for VocabEncoder {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        expect_inputs(inputs, &[8], "strings, words, values, default")?;
        Strings::expect(inputs, 0, "strings")?;
        Strings::expect(inputs, 3, "words")?;
        let ty = crate::op::merge_types(&inputs[6..8])?;
        ensure!(
            matches!(
                ty,
                ElementType::I32 | ElementType::I64 | ElementType::Dynamic
            ),
            "values must be i32 or i64, got {ty}"
        );
        Ok(Output::single(ty, inputs[0].shape.clone().into_owned()))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let strings = Strings::of(io.inputs, 0)?;
        let (values, default) = (io.inputs[6], io.inputs[7]);
        let places = self.places.get(&io.inputs[3..7], || {
            let words = Strings::of(io.inputs, 3)?;
            let found = values.len();
            ensure!(
                words.len() == found,
                "{} words and {found} values",
                words.len()
            );
            let mut places = HashMap::with_capacity(words.len());
            for (place, word) in words.iter().enumerate() {
                places.entry(word.to_vec()).or_insert(place);
            }
            Ok(places)
        })?;
        let shape = io.inputs[0].shape();
        io.outputs[0] = match values.element_type() {
            ElementType::I64 => look_up::<i64>(&strings, &places, values, default, shape)?,
            _ => look_up::<i32>(&strings, &places, values, default, shape)?,
        };
        Ok(())
    }
}

/// The word of each id; none for ids to skip, and for those outside the vocabulary.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct VocabDecoder {
    skip_tokens: Vec<i32>,
}

impl Op for VocabDecoder {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        expect_inputs(inputs, &[4, 5], "ids, words, perhaps ids to skip")?;
        expect_type(&inputs[0], ElementType::I32, "ids")?;
        Strings::expect(inputs, 1, "words")?;
        if let Some(skip) = inputs.get(4) {
            expect_type(skip, ElementType::I32, "ids to skip")?;
            skip.expect_1d("ids to skip")?;
        }
        let batch = match inputs[0].shape.dims() {
            Some([batch, _]) => *batch,
            Some(_) => bail!("ids must be 2-D, got shape {}", inputs[0].shape),
            None => Dimension::dynamic(),
        };
        let rows = || Output::new(ElementType::I32, PartialShape::from_iter([batch]));
        let mut outputs: Outputs = smallvec::smallvec![rows(), rows()];
        outputs.extend([ElementType::I32, ElementType::I32, ElementType::U8].map(line));
        Ok(outputs)
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let words = Strings::of(io.inputs, 1)?;
        let skip = match io.inputs.get(4) {
            Some(skip) => skip.as_slice::<i32>()?,
            None => &self.skip_tokens,
        };
        let skip: HashSet<i32> = skip.iter().copied().collect();
        let ids = io.inputs[0].as_slice::<i32>()?;
        let shape = io.inputs[0].shape();
        let (batch, length) = (shape[0], shape[1]);
        let mut rows = Rows::default();
        let mut packed = Packed::default();
        for row in 0..batch {
            for &id in &ids[row * length..][..length] {
                let known = usize::try_from(id).ok().filter(|&i| i < words.len());
                let word = known.filter(|_| !skip.contains(&id)).map(|i| words.get(i));
                packed.push(word.unwrap_or_default())?;
                try_push(&mut rows.elements, ())?;
            }
            if length == 0 {
                // A row of one empty word, so that there is something to join.
                packed.push(&[])?;
                try_push(&mut rows.elements, ())?;
            }
            rows.end()?;
        }
        let (begins, ends, all) = rows.into_parts(&Shape::from([batch]))?;
        io.outputs[0] = begins;
        io.outputs[1] = ends;
        let strings = packed.into_tensors(&Shape::from([all.len()]))?;
        io.outputs[2..5].clone_from_slice(&strings);
        Ok(())
    }
}
