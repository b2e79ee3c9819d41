//! Finds equal rows.

use super::scratch::{try_collect, try_push, try_vec, try_zeroed};
use super::sort::sort;
use crate::op::OpError;
use crate::tensor::convert::widen;
use crate::tensor::{Class, Tensor};

/// Rows that are equal, in groups.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Groups {
    /// The first row of each group.
    pub(crate) firsts: Vec<usize>,
    /// How many rows each group has.
    pub(crate) counts: Vec<usize>,
    /// The group of each row.
    pub(crate) group_of: Vec<usize>,
}

/// Numbers that compare as the elements do. NaN equals NaN and is greater than any number.
///
/// # Errors
/// When the elements have no type, or there is no memory for the numbers.
pub(crate) fn keys(tensor: &Tensor) -> Result<Vec<u64>, OpError> {
    const SIGN: u64 = 1 << 63;
    // Floats are ordered as their bits are, but for the order of those below zero.
    let float = |bits: u64| if bits < SIGN { bits | SIGN } else { !bits };
    let len = tensor.len();
    Ok(match tensor.element_type().class() {
        Some(Class::F32) => {
            let mut values = try_zeroed::<f32>(len)?;
            widen(tensor, 0, &mut values);
            let key = |x: f32| {
                if x.is_nan() {
                    u64::MAX
                } else {
                    float(f64::from(x + 0.0).to_bits())
                }
            };
            try_collect(values.into_iter().map(key))?
        }
        Some(Class::F64) => {
            let mut values = try_zeroed::<f64>(len)?;
            widen(tensor, 0, &mut values);
            let key = |x: f64| {
                if x.is_nan() {
                    u64::MAX
                } else {
                    float((x + 0.0).to_bits())
                }
            };
            try_collect(values.into_iter().map(key))?
        }
        Some(Class::I64) => {
            let mut values = try_zeroed::<i64>(len)?;
            widen(tensor, 0, &mut values);
            try_collect(values.into_iter().map(|x| x.cast_unsigned() ^ SIGN))?
        }
        Some(Class::U64) => {
            let mut values = try_zeroed::<u64>(len)?;
            widen(tensor, 0, &mut values);
            values
        }
        None => {
            let strings = tensor.as_strings()?;
            let mut sorted = try_collect(strings)?;
            sorted.sort_unstable();
            sorted.dedup();
            let rank = |text| sorted.partition_point(|&other| other < text) as u64;
            try_collect(strings.iter().map(rank))?
        }
    })
}

/// Groups `rows` rows of `keys`: in ascending order, or in the order of their first rows.
///
/// # Errors
/// When there is no memory for as many numbers.
pub(crate) fn group(keys: &[u64], rows: usize, sorted: bool) -> Result<Groups, OpError> {
    let width = keys.len() / rows.max(1);
    let row = |i: usize| &keys[i * width..][..width];
    let mut group_of = try_zeroed(rows)?;
    let mut order = try_zeroed(rows)?;
    if width == 1 {
        let mut keyed = try_vec((0, 0), rows)?;
        for (i, (keyed, &key)) in keyed.iter_mut().zip(keys).enumerate() {
            *keyed = (key, i);
        }
        sort(&mut keyed, Ord::cmp)?;
        for (order, (_, i)) in order.iter_mut().zip(keyed) {
            *order = i;
        }
    } else {
        for (i, order) in order.iter_mut().enumerate() {
            *order = i;
        }
        sort(&mut order, |&a: &usize, &b: &usize| {
            row(a).cmp(row(b)).then(a.cmp(&b))
        })?;
    }
    let mut groups = Groups {
        firsts: Vec::new(),
        counts: Vec::new(),
        group_of: Vec::new(),
    };
    for &i in &order {
        match (groups.firsts.last(), groups.counts.last_mut()) {
            (Some(&first), Some(count)) if row(first) == row(i) => *count += 1,
            _ => {
                try_push(&mut groups.firsts, i)?;
                try_push(&mut groups.counts, 1)?;
            }
        }
        group_of[i] = groups.firsts.len() - 1;
    }
    groups.group_of = group_of;
    if sorted {
        return Ok(groups);
    }
    groups.by_first()
}

impl Groups {
    fn by_first(mut self) -> Result<Self, OpError> {
        let mut order = try_collect(0..self.firsts.len())?;
        order.sort_unstable_by_key(|&group| self.firsts[group]);
        let mut place = try_zeroed(order.len())?;
        for (new, &old) in order.iter().enumerate() {
            place[old] = new;
        }
        self.group_of
            .iter_mut()
            .for_each(|group| *group = place[*group]);
        Ok(Self {
            firsts: try_collect(order.iter().map(|&old| self.firsts[old]))?,
            counts: try_collect(order.iter().map(|&old| self.counts[old]))?,
            group_of: self.group_of,
        })
    }
}
