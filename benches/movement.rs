//! Operations that move elements, and sums of them.

use divan::Bencher;
use ovir::tensor::{ElementType, Tensor};

use crate::operation::{Case, Compiled, Evaluator, Way, random};

const GATHER: [&str; 2] = ["Gather", "opset8"];

/// Rows of an embedding table.
#[divan::bench(types = [Evaluator, Compiled], args = [ElementType::F32, ElementType::F16, ElementType::I8])]
fn gather_embedding<W: Way>(bencher: Bencher<'_, '_>, ty: ElementType) {
    let table = random(ty, &[30_000, 768], None);
    let rows = random(ElementType::I64, &[8, 128], Some((0, 29_999)));
    Case::operation(GATHER, &[], &[table, rows], &[Tensor::scalar(0i64)])
        .reads(8 * 128 * 768 * ty.bits() / 8)
        .bench::<W>(bencher);
}

/// Columns, one element at a time.
#[divan::bench(types = [Evaluator, Compiled])]
fn gather_last_axis<W: Way>(bencher: Bencher<'_, '_>) {
    let data = random(ElementType::F32, &[4096, 1024], None);
    let columns = random(ElementType::I64, &[512], Some((0, 1023)));
    Case::operation(GATHER, &[], &[data, columns], &[Tensor::scalar(1i64)])
        .reads(4096 * 512 * 4)
        .bench::<W>(bencher);
}

/// Rows of each matrix of a batch.
#[divan::bench(types = [Evaluator, Compiled], args = [ElementType::F32, ElementType::F16, ElementType::I8])]
fn gather_batches<W: Way>(bencher: Bencher<'_, '_>, ty: ElementType) {
    let data = random(ty, &[32, 1024, 64], None);
    let rows = random(ElementType::I64, &[32, 256], Some((0, 1023)));
    let attributes = [("batch_dims", "1")];
    Case::operation(GATHER, &attributes, &[data, rows], &[Tensor::scalar(1i64)])
        .reads(32 * 256 * 64 * ty.bits() / 8)
        .bench::<W>(bencher);
}

fn scatter<W: Way>(bencher: Bencher<'_, '_>, ty: ElementType, reduction: &str) {
    let data = random(ty, &[1000, 256, 7, 7], None);
    let indices = random(ElementType::I64, &[125, 20, 7, 6], Some((-1000, 999)));
    let updates = random(ty, &[125, 20, 7, 6], None);
    Case::operation(
        ["ScatterElementsUpdate", "opset12"],
        &[("reduction", reduction)],
        &[data, indices, updates],
        &[Tensor::vector(&[0i64])],
    )
    .bench::<W>(bencher);
}

/// Documented example 6 of ScatterElementsUpdate-12, in every reduction.
#[divan::bench(types = [Evaluator, Compiled], args = ["none", "sum", "prod", "min", "max", "mean"])]
fn scatter_elements<W: Way>(bencher: Bencher<'_, '_>, reduction: &str) {
    scatter::<W>(bencher, ElementType::F32, reduction);
}

/// The same in other types.
#[divan::bench(types = [Evaluator, Compiled], args = [ElementType::F16, ElementType::I32, ElementType::I64])]
fn scatter_elements_sum<W: Way>(bencher: Bencher<'_, '_>, ty: ElementType) {
    scatter::<W>(bencher, ty, "sum");
}

/// 64 MB over the first, the last, and all axes.
#[divan::bench(types = [Evaluator, Compiled], args = [&[0i64][..], &[1], &[0, 1]])]
fn reduce_sum<W: Way>(bencher: Bencher<'_, '_>, axes: &[i64]) {
    let data = random(ElementType::F32, &[4096, 4096], None);
    let sum = ["ReduceSum", "opset1"];
    Case::operation(sum, &[], &[data], &[Tensor::vector(axes)]).bench::<W>(bencher);
}

/// Images, in several types.
#[divan::bench(types = [Evaluator, Compiled], args = [ElementType::F32, ElementType::F16, ElementType::I32, ElementType::I64])]
fn reduce_sum_images<W: Way>(bencher: Bencher<'_, '_>, ty: ElementType) {
    let data = random(ty, &[16, 128, 56, 56], None);
    let sum = ["ReduceSum", "opset1"];
    Case::operation(sum, &[], &[data], &[Tensor::vector(&[2i64, 3])]).bench::<W>(bencher);
}
