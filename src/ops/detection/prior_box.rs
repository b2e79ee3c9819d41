//! PriorBox-1, -8: boxes of given sizes and ratios around the cells of a grid.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/detection/prior-box-8.html>
//!
//! Version 1 has no `min_max_aspect_ratios_order`: it is true. What the documents do not say
//! follows the runtime: boxes of `fixed_size` come before those of `min_size`, `density` splits
//! them into squares of as many boxes a side, and they are cut at 0 and 1 in any case. The number
//! of boxes is how many there are.

use serde::{Deserialize, Serialize};

use super::priors::{Priors, check_variance, infer_priors};
use crate::kernel::scratch::try_room;
use crate::op::{Input, Io, LayerData, Op, OpError, Outputs, ReadResult, attrs, bail, ensure};

/// Boxes a cell may have: more is a mistake in `density`.
const MOST: usize = 1 << 20;

/// Ratios this close are the same.
const CLOSE: f32 = 1e-6;

/// Boxes of given sizes and ratios around the cells of a grid.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub(super) struct PriorBox {
    #[serde(default)]
    min_size: Vec<f32>,
    #[serde(default)]
    max_size: Vec<f32>,
    #[serde(default)]
    aspect_ratio: Vec<f32>,
    #[serde(default)]
    density: Vec<f32>,
    #[serde(default)]
    fixed_ratio: Vec<f32>,
    #[serde(default)]
    fixed_size: Vec<f32>,
    #[serde(default)]
    clip: bool,
    #[serde(default)]
    flip: bool,
    #[serde(default)]
    step: f32,
    offset: f32,
    #[serde(default)]
    variance: Vec<f32>,
    #[serde(default = "yes")]
    scale_all_sizes: bool,
    #[serde(default = "yes", skip_serializing_if = "Clone::clone")]
    min_max_aspect_ratios_order: bool,
}

fn yes() -> bool {
    true
}

/// Reads PriorBox-1.
pub(super) fn read_1(layer: &LayerData<'_>) -> ReadResult {
    let (op, mut unknown) = attrs::read::<PriorBox>(layer.attributes)?;
    let name = "min_max_aspect_ratios_order";
    unknown.extend(layer.attributes.iter().position(|a| a.name == name));
    let min_max_aspect_ratios_order = true;
    let op = PriorBox {
        min_max_aspect_ratios_order,
        ..op
    };
    Ok((Box::new(op), unknown))
}

/// A box of a cell, from the cell's center.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Prior {
    /// Where its center is.
    shift: [f32; 2],
    /// Half its width and height.
    half: [f32; 2],
    /// Whether it is cut at 0 and 1.
    fixed: bool,
}

impl Prior {
    fn new(width: f32, height: f32) -> Self {
        Self {
            shift: [0.0; 2],
            half: [width, height],
            fixed: false,
        }
    }
}

impl PriorBox {
    /// The aspect ratios other than 1, each once.
    fn ratios(&self) -> Vec<f32> {
        let mut ratios = vec![1.0f32];
        for &ratio in &self.aspect_ratio {
            if ratios.iter().all(|known| (ratio - known).abs() >= CLOSE) {
                ratios.push(ratio);
                if self.flip {
                    ratios.push(1.0 / ratio);
                }
            }
        }
        ratios.retain(|ratio| (ratio - 1.0).abs() >= CLOSE);
        ratios
    }

    /// The largest sizes, unless they are ignored.
    fn max_sizes(&self) -> &[f32] {
        if self.scale_all_sizes {
            &self.max_size
        } else {
            &[]
        }
    }

    /// How many boxes a side `density` makes of a box of `fixed_size`.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // the fraction is cut off
    fn density(&self, index: usize) -> Result<usize, OpError> {
        let density = self
            .density
            .get(index)
            .map_or(0, |&density| density as usize);
        ensure!(
            density > 0,
            "fixed_size {index} needs a density of at least 1"
        );
        Ok(density)
    }

    /// How many boxes a cell has.
    fn count(&self) -> Result<usize, OpError> {
        let ratios = self.ratios().len();
        let of_fixed = if self.fixed_ratio.is_empty() {
            1 + ratios
        } else {
            self.fixed_ratio.len()
        };
        let mut count = self.min_size.len() + self.max_sizes().len();
        count += match self.min_size.len() {
            0 => 0,
            _ if !self.scale_all_sizes => ratios,
            sizes => sizes * ratios,
        };
        for index in 0..self.fixed_size.len() {
            let density = self.density(index)?;
            count = density
                .saturating_mul(density)
                .saturating_mul(of_fixed)
                .saturating_add(count);
        }
        if count > MOST {
            return Err(OpError::limit(format!(
                "a cell has {count} boxes, expected at most {MOST}"
            )));
        }
        Ok(count)
    }

    /// The boxes of `fixed_size`.
    #[allow(clippy::cast_precision_loss)] // densities are small
    fn fixed(&self, priors: &mut Vec<Prior>) -> Result<(), OpError> {
        let ratios = self.ratios();
        for (index, &size) in self.fixed_size.iter().enumerate() {
            let density = self.density(index)?;
            let shift = (size / density as f32).trunc();
            let whole = size.trunc();
            let place = |i: usize| shift / 2.0 - (whole / 2.0).trunc() + i as f32 * shift;
            let mut square = |half: [f32; 2]| {
                for row in 0..density {
                    priors.extend((0..density).map(|column| Prior {
                        shift: [place(column), place(row)],
                        half,
                        fixed: true,
                    }));
                }
            };
            let of_ratio = |ratio: f32| {
                let root = ratio.sqrt();
                [size * 0.5 * root, size * 0.5 / root]
            };
            if self.fixed_ratio.is_empty() {
                square([whole * 0.5; 2]);
                ratios.iter().for_each(|&ratio| square(of_ratio(ratio)));
            } else {
                let ratios = self.fixed_ratio.iter();
                ratios.for_each(|&ratio| square(of_ratio(ratio)));
            }
        }
        Ok(())
    }

    /// All boxes of a cell, with sizes multiplied by `scale`.
    fn priors(&self, scale: f32) -> Result<Vec<Prior>, OpError> {
        // With as much room nothing below grows.
        let mut priors = try_room(self.count()?)?;
        self.fixed(&mut priors)?;
        let ratios = self.ratios();
        let sizes: Vec<f32> = self.min_size.iter().map(|size| size * scale).collect();
        for (index, &size) in sizes.iter().enumerate() {
            priors.push(Prior::new(size * 0.5, size * 0.5));
            let max = self.max_sizes().get(index).map(|max| {
                let half = (size * max).sqrt() * 0.5;
                Prior::new(half, half)
            });
            if self.min_max_aspect_ratios_order {
                priors.extend(max);
            }
            let base = match self.scale_all_sizes {
                true => Some(size),
                false => (index + 1 == sizes.len()).then_some(sizes[0]),
            };
            for ratio in ratios.iter().filter(|_| base.is_some()) {
                let (half, root) = (base.unwrap_or_default() * 0.5, ratio.sqrt());
                priors.push(Prior::new(half * root, half / root));
            }
            if !self.min_max_aspect_ratios_order {
                priors.extend(max);
            }
        }
        Ok(priors)
    }
}

impl Op for PriorBox {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        check_variance(&self.variance)?;
        if self.max_sizes().len() > self.min_size.len() {
            bail!(
                "there are {} max_size for {} min_size",
                self.max_size.len(),
                self.min_size.len()
            );
        }
        infer_priors(inputs, self.count()?)
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let grid = Priors::of(io.inputs)?;
        let ([image_width, image_height], cell) = (grid.image, grid.cell());
        let (mut step, mut scale) = (self.step, 1.0);
        if !self.scale_all_sizes {
            scale = image_height;
            step = if step == -1.0 { cell[1] } else { step * scale };
        }
        let priors = self.priors(scale)?;
        let inverse = [1.0 / image_width, 1.0 / image_height];
        grid.fill(&mut io.outputs[0], &self.variance, |[w, h], out| {
            let [x, y] = if step == 0.0 {
                [(w + 0.5) * cell[0], (h + 0.5) * cell[1]]
            } else {
                [(self.offset + w) * step, (self.offset + h) * step]
            };
            for (row, prior) in out.chunks_exact_mut(4).zip(&priors) {
                let (x, y) = (x + prior.shift[0], y + prior.shift[1]);
                let [width, height] = prior.half;
                row.copy_from_slice(&[
                    (x - width) * inverse[0],
                    (y - height) * inverse[1],
                    (x + width) * inverse[0],
                    (y + height) * inverse[1],
                ]);
                if prior.fixed {
                    row[..2].iter_mut().for_each(|low| *low = low.max(0.0));
                    row[2..].iter_mut().for_each(|high| *high = high.min(1.0));
                }
            }
            if self.clip {
                out.iter_mut().for_each(|x| *x = x.clamp(0.0, 1.0));
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::attrs::{Attr, read};
    use crate::ops::testing::{infer_dims, run, shape};
    use crate::tensor::{ElementType, Tensor, ValueRange};

    fn op(attributes: &[(&str, &str)]) -> PriorBox {
        let mut all = vec![Attr::new("offset", "0.5")];
        all.extend(
            attributes
                .iter()
                .map(|(name, value)| Attr::new(name, *value)),
        );
        read(&all).expect("good").0
    }

    /// The boxes of a grid of one cell over an image 20 wide and 10 high, in pixels.
    fn pixels(op: &PriorBox) -> Vec<[f32; 4]> {
        let inputs = [Tensor::vector(&[1i32, 1]), Tensor::vector(&[10i64, 20])];
        let out = run(op, &inputs).expect("fits");
        let boxes = &out.as_slice::<f32>().expect("f32")[..out.shape()[1]];
        let boxes = boxes.as_chunks::<4>().0.iter();
        boxes
            .map(|[a, b, c, d]| {
                [a * 20.0, b * 10.0, c * 20.0, d * 10.0].map(|x| (x * 16.0).round() / 16.0)
            })
            .collect()
    }

    #[test]
    fn orders_and_ratios() {
        let min = [8.0, 3.0, 12.0, 7.0];
        let max = [7.0, 2.0, 13.0, 8.0];
        let wide = [6.0, 4.0, 14.0, 6.0];
        let high = [9.0, 1.0, 11.0, 9.0];
        let attributes = [
            ("min_size", "4"),
            ("max_size", "9"),
            ("aspect_ratio", "4, 1,4"),
            ("flip", "true"),
        ];
        assert_eq!(pixels(&op(&attributes)), [min, max, wide, high]);
        let mut other = op(&attributes);
        other.min_max_aspect_ratios_order = false;
        assert_eq!(pixels(&other), [min, wide, high, max]);
        let relative = op(&[
            ("min_size", "0.4,0.2"),
            ("max_size", "9"),
            ("aspect_ratio", "4"),
            ("scale_all_sizes", "false"),
        ]);
        assert_eq!(pixels(&relative), [min, [9.0, 4.0, 11.0, 6.0], wide]);
    }

    #[test]
    fn densities() {
        // Two a side: the shift is the whole part of 5.5 / 2, half of 5 that of 2.5.
        let fixed = [("fixed_size", "5.5"), ("density", "2")];
        let squares = [
            [6.5, 1.5, 11.5, 6.5],
            [8.5, 1.5, 13.5, 6.5],
            [6.5, 3.5, 11.5, 8.5],
            [8.5, 3.5, 13.5, 8.5],
        ];
        assert_eq!(pixels(&op(&fixed)), squares);
        let with_ratio = [fixed[0], fixed[1], ("fixed_ratio", "1,4")];
        let boxes = pixels(&op(&with_ratio));
        assert_eq!(
            (boxes.len(), boxes[0], boxes[4]),
            (8, [6.25, 1.25, 11.75, 6.75], [3.5, 2.625, 14.5, 5.375])
        );
        let large = [("fixed_size", "40"), ("density", "1")];
        assert_eq!(pixels(&op(&large)), [[0.0, 0.0, 20.0, 10.0]]);
    }

    #[test]
    fn sizes() {
        let op = op(&[("min_size", "4,5")]);
        let two = shape("2");
        let unknown = Input::new(ElementType::I64, &two);
        assert_eq!(
            infer_dims(&op, &[unknown.clone(), unknown.clone()]),
            "[2,?]"
        );
        let ranges = [(2, 3), (4, 4)].map(|(min, max)| ValueRange {
            min,
            max,
            symbol: None,
        });
        let known = Input {
            ranges: Some(&ranges),
            ..unknown.clone()
        };
        assert_eq!(infer_dims(&op, &[known, unknown.clone()]), "[2,64..96]");
        let negative = Tensor::vector(&[-1i32, 2]);
        assert!(op.infer(&[Input::of(&negative), unknown]).is_err());
    }

    #[test]
    fn mistakes() {
        let missing = read::<PriorBox>(&[]).expect_err("required").message;
        assert_eq!(missing, "attribute `offset` is missing");
        let inputs = [Tensor::vector(&[1i32, 1]), Tensor::vector(&[10i64, 20])];
        for wrong in [
            &[("variance", "1,2")][..],
            &[("fixed_size", "3")],
            &[("fixed_size", "3"), ("density", "0.5")],
            &[("fixed_size", "3"), ("density", "1e9")],
            &[("fixed_size", "3"), ("density", "1e30")],
            &[("min_size", "3"), ("max_size", "4,5")],
        ] {
            assert!(run(&op(wrong), &inputs).is_err(), "{wrong:?}");
        }
    }
}
