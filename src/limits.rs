//! Limits on what a file may ask for. They are checked before anything is allocated.

/// Upper bounds for reading, inferring and evaluating a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of the document (`model.xml`).
    pub document_bytes: u64,
    /// Layers of the model, those of all bodies included.
    pub layers: usize,
    /// How deep bodies, and entries of `rt_info`, may be nested. Each level of bodies takes up to
    /// 20 kB of the stack when the model is inferred or evaluated.
    pub nesting: usize,
    /// Bytes of a file of tensors, or of an ONNX model.
    pub file_bytes: u64,
    /// Bytes of one tensor.
    pub tensor_bytes: u64,
    /// Bytes of all tensors alive at one time of an evaluation, constants not counted.
    pub live_bytes: u64,
    /// Iterations of one Loop or TensorIterator.
    pub loop_trips: u64,
}

impl Default for Limits {
    fn default() -> Self {
        const GIB: u64 = 1 << 30;
        Self {
            document_bytes: GIB,
            layers: 2_000_000,
            nesting: 64,
            file_bytes: 16 * GIB,
            tensor_bytes: 16 * GIB,
            live_bytes: 64 * GIB,
            loop_trips: 100_000_000,
        }
    }
}
