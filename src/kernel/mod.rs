//! Loops over plain slices. Kernels know nothing of operations, shapes they compute from, or
//! graphs; they never allocate an output.

pub(crate) mod bags;
pub(crate) mod block;
pub(crate) mod broadcast;
pub(crate) mod concat;
pub(crate) mod dispatch;
pub(crate) mod gather;
pub(crate) mod gather_elements;
pub(crate) mod gather_nd;
pub(crate) mod gather_tree;
pub(crate) mod gemm;
pub(crate) mod index;
pub(crate) mod map;
pub(crate) mod math;
pub(crate) mod moving;
pub(crate) mod non_zero;
pub(crate) mod one_hot;
pub(crate) mod range;
pub(crate) mod real;
pub(crate) mod reduce;
pub(crate) mod remap;
pub(crate) mod reverse_sequence;
pub(crate) mod scan;
pub(crate) mod scatter;
pub(crate) mod scatter_slices;
pub(crate) mod search;
pub(crate) mod select;
pub(crate) mod strided;
#[cfg(feature = "tokenizers")]
pub(crate) mod tokenizer;
pub(crate) mod top_k;
pub(crate) mod transpose;
pub(crate) mod tuples;
pub(crate) mod unique;
pub(crate) mod zip;
