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
const LARGER: usize = 2;

/// Buffers below this size serve any tensor that fits.
const SMALL: usize = 256;

#[derive(Default)]
pub(super) struct Pool {
    /// By capacity, the smallest first.
    spare: Vec<Kept>,
    /// Bytes of what is spare.
    kept: u64,
    /// Counts what was ever kept: the age of a buffer.
    clock: u64,
    live: u64,
    /// The most bytes that were alive at one time.
    peak: u64,
    tensor_limit: u64,
    live_limit: u64,
}

/// A buffer, and when it was put here.
struct Kept {
    spare: Spare,
    since: u64,
}

impl Pool {
    /// Begins a run: nothing is alive.
    pub(super) fn begin(&mut self, limits: &Limits) {
        self.live = 0;
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
            self.trim(self.peak + self.peak / 4);
            let fresh = Tensor::zeros(ty, shape.clone());
            tensor = Some(fresh.map_err(|e| Error::new(Kind::Limit, e.to_string()))?);
        }
        let mut tensor = tensor.unwrap_or_else(|| unreachable!("it was just made"));
        if cfg!(debug_assertions) && ty != ElementType::Boolean {
            // An element that an operation forgets to write must not look like a zero.
            tensor.bytes_mut().fill(0x5a);
        }
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
        Tensor::from_spare(ty, shape.clone(), spare).ok()
    }

    /// Gives back the oldest buffers, until what is alive and what is kept are no more than `most`.
    fn trim(&mut self, most: u64) {
        while self.live + self.kept > most {
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
        self.peak = self.peak.max(self.live);
    }

    /// Takes back a tensor. Its memory is used again if nobody else looks at it.
    pub(super) fn release(&mut self, tensor: Tensor) {
        if let Some(spare) = tensor.into_spare() {
            self.live = self.live.saturating_sub(size(&spare));
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
            self.trim(2 * self.peak);
        }
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
