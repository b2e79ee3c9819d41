//! Loops over plain slices. Kernels know nothing of operations, shapes they compute from, or
//! graphs; they never allocate an output.

pub(crate) mod reduce;
