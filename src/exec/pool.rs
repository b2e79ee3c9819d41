//! Memory of tensors that are no longer needed, kept for the next ones.
//!
//! A first touch of fresh memory costs more than reading or writing it. A request keeps its pool, so
//! that a second evaluation with the same shapes finds a buffer for every tensor.

use crate::error::{Error, Kind, Place, Result};
use crate::limits::Limits;
use crate::op::Output;
use crate::tensor::{ElementType, Shape, Spare, Tensor};

/// A buffer that is up to this many times as large as a tensor, or of up to [`SMALL`] bytes, serves
/// it.
const LARGER: usize = 8;

/// Buffers below this size serve any tensor that fits.
const SMALL: usize = 256;

/// What tensors hold and what is kept may come to this many quarters of the most that was alive when
/// fresh memory is needed: as few as this at first,
const QUARTERS: u64 = 5;

/// and so many more at most.
const MORE_QUARTERS: u64 = 3;

/// Bytes that are always worth keeping: those of the tensors of small models.
const LEAST_KEPT: u64 = 1 << 12;

#[derive(Default)]
pub(super) struct Pool {
    /// By capacity, the smallest first.
    spare: Vec<Kept>,
    /// Bytes of what is spare.
    kept: u64,
    /// Counts what was ever kept: the age of a buffer.
    clock: u64,
    /// Bytes of tensors that are alive, and of the buffers that hold them.
    live: u64,
    held: u64,
    /// The most bytes that were alive at one time.
    peak: u64,
    tensor_limit: u64,
    live_limit: u64,
    /// See [`MORE_QUARTERS`].
    more_quarters: u64,
    /// Buffers that were fresh in this run, and whether it is not the first.
    fresh: usize,
    again: bool,
}

/// A buffer, and when it was put here.
struct Kept {
    spare: Spare,
    since: u64,
}

impl Pool {
    /// Begins a run: nothing is alive. Where the last one needed fresh memory although one went
    /// before it, buffers were given back that are needed in every run: more are kept from now on.
    pub(super) fn begin(&mut self, limits: &Limits) {
        let more = u64::from(self.again && self.fresh > 0);
        self.more_quarters = (self.more_quarters + more).min(MORE_QUARTERS);
        self.again |= self.fresh > 0;
        self.fresh = 0;
        self.live = 0;
        self.held = 0;
        self.tensor_limit = limits.tensor_bytes;
        self.live_limit = limits.live_bytes;
    }

    /// A tensor with unspecified elements.
    pub(super) fn allocate(&mut self, ty: ElementType, shape: &Shape) -> Result<Tensor> {
        let bytes = match ty {
            ElementType::String => shape.elements().and_then(|n| n.checked_mul(16)),
            _ => shape.elements().and_then(|n| ty.storage_bytes(n)),
        };
        let bytes = bytes
            .and_then(|n| u64::try_from(n).ok())
            .unwrap_or(u64::MAX);
        self.check(bytes, ty, shape)?;
        self.live += bytes;
        self.peak = self.peak.max(self.live);
        let mut tensor = self.reuse(bytes, ty, shape);
        if tensor.is_none() {
            self.fresh += 1;
            self.held += bytes;
            self.trim(QUARTERS + self.more_quarters);
            let fresh = Tensor::zeros(ty, shape.clone());
            tensor = Some(fresh.map_err(|e| Error::new(Kind::Limit, e.to_string()))?);
        }
        let mut tensor = tensor.unwrap_or_else(|| unreachable!("it was just made"));
        spoil(&mut tensor);
        Ok(tensor)
    }

    fn check(&self, bytes: u64, ty: ElementType, shape: &Shape) -> Result<()> {
        if bytes > self.tensor_limit {
            let message = format!(
                "an output {ty}{shape} needs {bytes} bytes, the limit of one tensor is {}",
                self.tensor_limit
            );
            return Err(Error::new(Kind::Limit, message));
        }
        if self.live.saturating_add(bytes) > self.live_limit {
            let message = format!(
                "an output {ty}{shape} needs {bytes} bytes besides {} in use, the limit is {}",
                self.live, self.live_limit
            );
            return Err(Error::new(Kind::Limit, message));
        }
        Ok(())
    }

    /// The smallest buffer that is large enough, but not much larger.
    fn reuse(&mut self, bytes: u64, ty: ElementType, shape: &Shape) -> Option<Tensor> {
        let bytes = usize::try_from(bytes).ok()?;
        if ty == ElementType::String {
            return None;
        }
        let at = self.spare.partition_point(|k| k.spare.capacity() < bytes);
        let capacity = self.spare.get(at)?.spare.capacity();
        if capacity > SMALL && capacity / LARGER > bytes {
            return None;
        }
        let spare = self.spare.remove(at).spare;
        self.kept = self.kept.saturating_sub(size(&spare));
        self.held += size(&spare);
        Tensor::from_spare(ty, shape.clone(), spare).ok()
    }

    /// Gives back the oldest buffers, until what tensors hold and what is kept are no more than so many
    /// quarters of what was alive at most.
    fn trim(&mut self, quarters: u64) {
        let most = (self.peak.saturating_mul(quarters) / 4).max(LEAST_KEPT);
        while self.held + self.kept > most {
            let ages = self.spare.iter().enumerate();
            let Some((oldest, _)) = ages.min_by_key(|(_, kept)| kept.since) else {
                return;
            };
            let dropped = self.spare.remove(oldest);
            self.kept = self.kept.saturating_sub(size(&dropped.spare));
        }
    }

    /// Counts a tensor that an operation brought itself.
    pub(super) fn adopt(&mut self, tensor: &Tensor) {
        let bytes = u64::try_from(tensor.byte_len()).unwrap_or(u64::MAX);
        self.live = self.live.saturating_add(bytes);
        self.held = self.held.saturating_add(bytes);
        self.peak = self.peak.max(self.live);
    }

    /// Leaves a tensor where it is until [`Pool::wake`]; false if others look at it, or it is a piece of
    /// something.
    pub(super) fn rest(&mut self, tensor: &mut Tensor) -> bool {
        let Some(capacity) = tensor.own_capacity() else {
            return false;
        };
        self.live = self.live.saturating_sub(tensor.byte_len() as u64);
        self.held = self.held.saturating_sub(capacity as u64);
        true
    }

    /// Counts a tensor that was left where it is. Its elements are unspecified.
    pub(super) fn wake(&mut self, tensor: &mut Tensor) -> Result<()> {
        let bytes = tensor.byte_len() as u64;
        self.check(bytes, tensor.element_type(), tensor.shape())?;
        self.live += bytes;
        self.peak = self.peak.max(self.live);
        self.held += tensor.own_capacity().unwrap_or(0) as u64;
        spoil(tensor);
        Ok(())
    }

    /// Takes back a tensor. Its memory is used again if nobody else looks at it.
    pub(super) fn release(&mut self, tensor: Tensor) {
        let bytes = u64::try_from(tensor.byte_len()).unwrap_or(u64::MAX);
        if let Some(spare) = tensor.into_spare() {
            self.live = self.live.saturating_sub(bytes);
            self.held = self.held.saturating_sub(size(&spare));
            self.kept = self.kept.saturating_add(size(&spare));
            self.clock += 1;
            let kept = Kept {
                spare,
                since: self.clock,
            };
            let capacity = kept.spare.capacity();
            // The last of its size is used first: it is the likeliest to be in a cache.
            let at = self
                .spare
                .partition_point(|k| k.spare.capacity() < capacity);
            self.spare.insert(at, kept);
            // Operations that bring tensors of their own must not fill the pool.
            self.trim(QUARTERS + MORE_QUARTERS);
        }
    }
}

/// An element that an operation forgets to write must not look like a zero, in tests.
fn spoil(tensor: &mut Tensor) {
    if cfg!(debug_assertions) && tensor.element_type() != ElementType::Boolean {
        tensor.bytes_mut().fill(0x5a);
    }
}

fn size(spare: &Spare) -> u64 {
    u64::try_from(spare.capacity()).unwrap_or(u64::MAX)
}

/// The error of an output that is not what was inferred.
pub(super) fn unexpected(place: Place, inferred: &Output, found: &Tensor) -> Error {
    let message = format!("an output {found:?} is not the {inferred} that was inferred");
    Error::at(place, Kind::Eval, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Buffers that a run needs which has tensors of these sizes, some at a time.
    fn run(pool: &mut Pool, sizes: &[&[usize]]) -> usize {
        pool.begin(&Limits::default());
        for &sizes in sizes {
            let allocate = |&size| pool.allocate(ElementType::U8, &Shape::from([size]));
            let tensors: Vec<_> = sizes.iter().map(allocate).collect();
            for tensor in tensors {
                pool.release(tensor.expect("memory"));
            }
        }
        assert_eq!((pool.live, pool.held), (0, 0));
        pool.fresh
    }

    #[test]
    fn runs_find_the_buffers_of_earlier_ones() {
        // Neither serves the other, and all are more than a quarter above the larger.
        let mut pool = Pool::default();
        let sizes: [&[usize]; 2] = [&[900_000], &[100_000, 100_000, 100_000]];
        let fresh: Vec<usize> = (0..5).map(|_| run(&mut pool, &sizes)).collect();
        assert_eq!((fresh[0], fresh[4]), (4, 0), "{fresh:?}");
        // What is kept has a bound all the same.
        for size in [10_000, 21_000, 43_000, 87_000, 175_000] {
            run(&mut pool, &[&[size], &[350_000]]);
            assert!(pool.held + pool.kept <= 2 * pool.peak);
        }
    }

    #[test]
    fn a_larger_buffer_counts_as_what_it_holds() {
        let mut pool = Pool::default();
        for _ in 0..3 {
            run(&mut pool, &[&[80_000], &[20_000]]);
        }
        assert_eq!(
            (pool.peak, pool.kept, pool.spare.len()),
            (80_000, 80_000, 1)
        );
    }
}
