//! Memory of tensors that are no longer needed, kept for the next ones of the run.
//!
//! A first touch of fresh memory costs more than reading or writing it.

use crate::error::{Error, Kind, Place, Result};
use crate::limits::Limits;
use crate::op::Output;
use crate::tensor::{ElementType, Shape, Spare, Tensor};

/// Buffers below this size are left to the allocator.
const SMALLEST_KEPT: usize = 4096;

pub(super) struct Pool {
    spare: Vec<Spare>,
    /// Bytes of what is spare.
    kept: u64,
    live: u64,
    /// The most bytes that were alive at one time.
    peak: u64,
    tensor_limit: u64,
    live_limit: u64,
}

impl Pool {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            spare: Vec::new(),
            kept: 0,
            live: 0,
            peak: 0,
            tensor_limit: limits.tensor_bytes,
            live_limit: limits.live_bytes,
        }
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
            self.trim();
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

    /// The smallest buffer that is large enough, but not more than twice as large.
    fn reuse(&mut self, bytes: u64, ty: ElementType, shape: &Shape) -> Option<Tensor> {
        let bytes = usize::try_from(bytes).ok()?;
        if bytes < SMALLEST_KEPT || ty == ElementType::String {
            return None;
        }
        let fits = |s: &Spare| s.capacity() >= bytes && s.capacity() / 2 <= bytes;
        let candidates = self.spare.iter().enumerate().filter(|(_, s)| fits(s));
        let (at, _) = candidates.min_by_key(|(_, s)| s.capacity())?;
        let spare = self.spare.remove(at);
        self.kept = self.kept.saturating_sub(size(&spare));
        Tensor::from_spare(ty, shape.clone(), spare).ok()
    }

    /// Gives back the oldest buffers, until what is alive and what is kept are no more than a
    /// quarter above the peak.
    fn trim(&mut self) {
        let most = self.peak + self.peak / 4;
        let mut dropped = 0;
        while self.live + self.kept > most && dropped < self.spare.len() {
            self.kept = self.kept.saturating_sub(size(&self.spare[dropped]));
            dropped += 1;
        }
        self.spare.drain(..dropped);
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
            if spare.capacity() >= SMALLEST_KEPT {
                self.kept = self.kept.saturating_add(size(&spare));
                self.spare.push(spare);
            }
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
