//! What inference knows of an input, and the questions operations ask of it.

use std::borrow::Cow;

use super::{OpError, bail, ensure};
use crate::tensor::{Dimension, ElementType, Few, PartialShape, Tensor, ValueRange};

/// An input as inference sees it.
#[derive(Debug, Clone)]
pub struct Input<'a> {
    /// The element type; may be dynamic.
    pub element_type: ElementType,
    /// The shape, as far as it is known.
    pub shape: Cow<'a, PartialShape>,
    /// The elements, when all are known.
    pub value: Option<&'a Tensor>,
    /// What is known of the elements of a small integer tensor.
    pub ranges: Option<&'a [ValueRange]>,
}

impl<'a> Input<'a> {
    /// An input of which type and shape are known, but no elements.
    pub fn new(element_type: ElementType, shape: &'a PartialShape) -> Self {
        Self {
            element_type,
            shape: Cow::Borrowed(shape),
            value: None,
            ranges: None,
        }
    }

    /// An input that is fully known.
    pub fn of(tensor: &'a Tensor) -> Self {
        Self {
            element_type: tensor.element_type(),
            shape: Cow::Owned(PartialShape::from(tensor.shape())),
            value: Some(tensor),
            ranges: None,
        }
    }

    /// The rank, if known.
    pub fn rank(&self) -> Option<usize> {
        self.shape.rank()
    }

    /// The elements as integers, when all are known. `None` for types that are not integers.
    pub fn ints(&self) -> Option<Few<i64>> {
        if let Some(value) = self.value {
            return ints(value);
        }
        self.ranges?.iter().map(|r| r.value()).collect()
    }

    /// What is known of the elements of an integer tensor, when anything is.
    pub fn ranges(&self) -> Option<Cow<'a, [ValueRange]>> {
        if let Some(ranges) = self.ranges {
            return Some(Cow::Borrowed(ranges));
        }
        let values = ints(self.value?)?;
        let mut ranges = Vec::new();
        known(ranges.try_reserve_exact(values.len()))?;
        ranges.extend(values.into_iter().map(ValueRange::exact));
        Some(Cow::Owned(ranges))
    }

    /// As [`Input::ranges`], in a list of their own.
    pub(crate) fn few_ranges(&self) -> Option<Few<ValueRange>> {
        let mut all = Few::new();
        match self.ranges {
            Some(ranges) => {
                known(all.try_reserve_exact(ranges.len()))?;
                all.extend_from_slice(ranges);
            }
            None => {
                let values = ints(self.value?)?;
                known(all.try_reserve_exact(values.len()))?;
                all.extend(values.into_iter().map(ValueRange::exact));
            }
        }
        Some(all)
    }

    /// Checks that the element type is an integer (or not known).
    ///
    /// # Errors
    /// When it is another type; `what` names the input.
    pub fn expect_integer(&self, what: &str) -> Result<(), OpError> {
        ensure!(
            self.element_type.is_integer() || !self.element_type.is_static(),
            "{what} must be integers, got {}",
            self.element_type
        );
        Ok(())
    }

    /// Checks that the element type is a float (or not known).
    ///
    /// # Errors
    /// When it is another type; `what` names the input.
    pub(crate) fn expect_float(&self, what: &str) -> Result<(), OpError> {
        ensure!(
            self.element_type.is_float() || !self.element_type.is_static(),
            "{what} must be floats, got {}",
            self.element_type
        );
        Ok(())
    }

    /// The dimensions of an input of this many; all unknown if its rank is.
    ///
    /// # Errors
    /// When it has another rank; `what` names the input.
    pub(crate) fn dims<const RANK: usize>(&self, what: &str) -> Result<[Dimension; RANK], OpError> {
        match self.shape.dims() {
            None => Ok([Dimension::dynamic(); RANK]),
            Some(dims) => dims.try_into().map_err(|_| {
                OpError::new(format!("{what} must be {RANK}-D, got shape {}", self.shape))
            }),
        }
    }

    /// Checks that the input holds one number: a scalar or a 1-D tensor of one element.
    ///
    /// # Errors
    /// When its shape is another; `what` names the input.
    pub(crate) fn expect_one(&self, what: &str) -> Result<(), OpError> {
        self.expect_at_most_1d(what)?;
        ensure!(
            self.shape.elements().contains(1),
            "{what} must be one number, got shape {}",
            self.shape
        );
        Ok(())
    }

    /// Checks that the input is a scalar or has one dimension.
    ///
    /// # Errors
    /// When it has more; `what` names the input.
    pub fn expect_at_most_1d(&self, what: &str) -> Result<(), OpError> {
        ensure!(
            self.rank().is_none_or(|r| r <= 1),
            "{what} must be a scalar or 1-D, got shape {}",
            self.shape
        );
        Ok(())
    }

    /// How many elements a 1-D list of integers has that gives one for each dimension.
    ///
    /// # Errors
    /// When it is not such a list, or of more dimensions than any tensor has; `what` names it.
    pub(crate) fn rank_given(&self, what: &str) -> Result<Option<usize>, OpError> {
        /// No memory is taken for the dimensions of a shape that only claims to be long.
        const MOST_DIMENSIONS: usize = 1 << 16;
        self.expect_integer(what)?;
        let count = match self.shape.dims() {
            None => return Ok(None),
            Some([count]) => count.value(),
            Some(_) => bail!("{what} must be 1-D, got shape {}", self.shape),
        };
        match count {
            Some(count) if count > MOST_DIMENSIONS => Err(OpError::limit(format!(
                "{what} has {count} elements, expected at most {MOST_DIMENSIONS}"
            ))),
            _ => Ok(count),
        }
    }

    /// Checks that the input is a scalar.
    ///
    /// # Errors
    /// When it has dimensions; `what` names the input.
    pub fn expect_scalar(&self, what: &str) -> Result<(), OpError> {
        ensure!(
            self.rank().is_none_or(|r| r == 0),
            "{what} must be a scalar, got shape {}",
            self.shape
        );
        Ok(())
    }

    /// Checks that the input has one dimension.
    ///
    /// # Errors
    /// When it has fewer or more; `what` names the input.
    pub fn expect_1d(&self, what: &str) -> Result<(), OpError> {
        ensure!(
            self.rank().is_none_or(|r| r == 1),
            "{what} must be 1-D, got shape {}",
            self.shape
        );
        Ok(())
    }

    /// The single integer this input holds: a scalar or a 1-D tensor of one element. `None` if
    /// it is not known yet.
    ///
    /// # Errors
    /// When type or shape are something else; `what` names the input.
    pub fn int_scalar(&self, what: &str) -> Result<Option<i64>, OpError> {
        self.expect_integer(what)?;
        self.expect_one(what)?;
        if let Some(value) = self.value.filter(|value| value.len() == 1) {
            return Ok(crate::tensor::convert::one_i64(value));
        }
        match self.ints() {
            Some(values) if values.len() != 1 => {
                bail!("{what} must be one number, got {}", values.len())
            }
            Some(values) => Ok(Some(values[0])),
            None => Ok(None),
        }
    }

    /// The single size this input holds, as far as it is known: a scalar or a 1-D tensor of one
    /// element.
    ///
    /// # Errors
    /// When type or shape are something else, or it is negative; `what` names the input.
    pub fn size_scalar(&self, what: &str) -> Result<Dimension, OpError> {
        if let Some(size) = self.int_scalar(what)? {
            ensure!(size >= 0, "{what} must not be negative, got {size}");
        }
        let range = self.ranges().and_then(|ranges| ranges.first().copied());
        Ok(range.map_or(Dimension::dynamic(), ValueRange::to_dimension))
    }
}

/// Checks that an attribute names a type of indices.
///
/// # Errors
/// When it is neither `i32` nor `i64`.
pub(crate) fn expect_index_type(attribute: &str, ty: ElementType) -> Result<(), OpError> {
    ensure!(
        matches!(ty, ElementType::I32 | ElementType::I64),
        "{attribute} is {ty}, expected i32 or i64"
    );
    Ok(())
}

/// Checks that indices below `size` can be written in a type that [`expect_index_type`] accepts.
///
/// # Errors
/// When they are too large.
pub(crate) fn expect_indices_fit(size: usize, ty: ElementType) -> Result<(), OpError> {
    ensure!(
        ty != ElementType::I32 || i32::try_from(size).is_ok(),
        "indices up to {size} do not fit in {ty}"
    );
    Ok(())
}

/// A dimension that two inputs have in common.
///
/// # Errors
/// When it is known to differ; `what` names it and the inputs.
pub(crate) fn same_dimension(a: Dimension, b: Dimension, what: &str) -> Result<Dimension, OpError> {
    match a.intersect(b) {
        Some(both) => Ok(both),
        None => bail!("{what} differ: {a} and {b}"),
    }
}

/// The one element type of all inputs, as far as it is known.
///
/// # Errors
/// When two are known to differ.
pub(crate) fn merge_types(inputs: &[Input<'_>]) -> Result<ElementType, OpError> {
    let mut merged = ElementType::Dynamic;
    for (i, input) in inputs.iter().enumerate() {
        let ty = input.element_type;
        if merged == ElementType::Dynamic {
            merged = ty;
        }
        ensure!(
            ty == merged || ty == ElementType::Dynamic,
            "input {i} has elements of {ty}, expected {merged}"
        );
    }
    Ok(merged)
}

/// What there was memory for. Nothing is known otherwise, and the watch tells why.
fn known<T, E>(made: Result<T, E>) -> Option<T> {
    if made.is_err() {
        crate::limits::refuse();
    }
    made.ok()
}

/// The elements of an integer (or boolean) tensor, widened. A `u64` above `i64::MAX` becomes
/// `i64::MAX`, which no shape, axis or index can reach either.
pub(super) fn ints(tensor: &Tensor) -> Option<Few<i64>> {
    let ty = tensor.element_type();
    if !ty.is_integer() && ty != ElementType::Boolean {
        return None;
    }
    known(crate::tensor::convert::try_i64(tensor))
}
