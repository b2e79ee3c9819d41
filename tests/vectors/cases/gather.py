"""Gather and its relatives."""

import numpy as np

from .common import Case, MOST, MOVED, P, SOME, ints, operation, p, seq, small
from .types import STORED


def gather(version):
    @operation(f"Gather-{version}")
    def cases():
        def g(name, et, shape, index, axis, batch=None, it="i32", axis_form=None, at="i64", doubt=None):
            idx = np.array(index, dtype=STORED[it])
            attrs = {} if batch is None or version == 1 else {"batch_dims": batch}
            return Case(name, "Gather", f"opset{version}",
                        [P(et, seq(et, shape)), P(it, idx), ints(axis if axis_form is None else [axis], at)], attrs, doubt=doubt)
        for et in (MOST if version == 8 else SOME):
            yield g(f"{et}-axis0", et, (5, 3), [0, 4, 2, 2], 0)
        for it in ("i8", "i64", "u8", "u32") if version == 8 else ["i64"]:
            yield g(f"f32-index-{it}", "f32", (4, 3), [[0, 2], [1, 0]], 1, it=it)
        yield g("f32-scalar-index", "f32", (4, 3), 2, 0)
        yield g("f32-scalar-index-last", "f32", (4, 3), 1, -1)
        yield g("f32-1d-scalar", "f32", (4,), 3, 0)
        yield g("f32-axis-minus1", "f32", (2, 3, 4), [3, 0], -1)
        yield g("f32-axis1-index-2x2", "f32", (2, 3, 4), [[0, 2], [1, 1]], 1)
        yield g("f32-axis-one-element", "f32", (2, 3, 4), [0, 2], 1, axis_form=1, at="i32")
        yield g("f32-rank6-axis3", "f32", (1, 2, 1, 3, 2, 1), [2, 0], 3)
        yield g("f32-rank3-index-rank3", "f32", (3, 2, 2), [[[0], [2]], [[1], [1]]], 0)
        yield g("f32-empty-index", "f32", (3, 4), np.zeros((0,)), 1)
        yield g("f32-empty-index-2x0", "f32", (3, 4), np.zeros((2, 0)), 0)
        yield g("f32-empty-other-axis", "f32", (3, 0), [2, 1], 0)
        yield g("f32-out-of-range", "f32", (5,), [3, 10, 5], 0)
        if version == 8:
            # Before version 8 the document says nothing of negative indices: core counts from
            # the end, the CPU plugin gives zeros.
            yield g("f32-negative-index", "f32", (4, 2), [-1, 0, -4], 0)
            yield g("i64-negative-index-axis1", "i64", (2, 4), [-1, 0, -4], 1, it="i64")
            yield g("f32-out-of-range-negative", "f32", (5,), [3, 10, -20], 0)
            yield g("f32-out-of-range-edges", "f32", (2, 3), [-4, -3, 2, 3], 1)
            yield g("i32-out-of-range-i64", "i32", (3, 2), [0, 3, -4, 1000000], 0, it="i64")
        if version == 1:
            return
        yield g("f32-batch1-axis1", "f32", (2, 5), [[0, 0, 4], [4, 0, 0]], 1, 1)
        yield g("f32-batch-minus1-axis1", "f32", (2, 5), [[0, 0, 4], [4, 0, 0]], 1, -1)
        yield g("f32-batch1-axis2", "f32", (2, 1, 5, 2), [[1, 2, 4], [4, 3, 2]], 2, 1)
        yield g("f32-batch2-axis2", "f32", (2, 2, 4), [[[0, 0, 3], [3, 0, 0]], [[1, 2, 3], [3, 3, 2]]], 2, 2)
        yield g("f32-batch2-axis-minus1", "f32", (2, 2, 4), [[[0, 3], [3, 0]], [[1, 2], [3, 2]]], -1, -1)
        yield g("f32-batch1-index-1d", "f32", (3, 4), [0, 3, 1], 1, 1)
        yield g("f32-batch-all-index", "f32", (2, 2, 3), [[0, 2], [1, 1]], 2, 2)
        yield g("f32-batch0-minus-rank", "f32", (3, 4), [[0, 2], [1, 1]], 1, -2)
        yield g("f32-batch1-size1", "f32", (1, 6, 2), [[5, 0, 3]], 1, 1, doubt={"cpu": "can crash on a batch of one"})
        yield g("i8-batch1-axis1", "i8", (2, 3, 2), [[0, 2], [1, 0]], 1, 1, it="i64")
        if version == 8:
            yield g("f32-batch1-negative", "f32", (2, 5), [[-1, 0, -5], [4, -2, 0]], 1, 1)
            yield g("f32-batch1-out-of-range", "f32", (2, 3, 2), [[3, 0], [-4, -3]], 1, 1)


gather(1)
gather(7)
gather(8)


@operation("GatherElements-6")
def gather_elements():
    def g(name, shape, index, axis, et="f32", it="i64"):
        idx = np.array(index, dtype=STORED[it])
        return Case(name, "GatherElements", "opset6", [P(et, small(et, shape)), P(it, idx)], {"axis": axis})
    for et in MOVED:
        yield g(f"{et}-axis0", (3, 3), [[1, 0, 1], [1, 2, 0]], 0, et)
    yield g("f32-index-i32", (3, 3), [[1, 0, 1], [1, 2, 0]], 0, it="i32")
    yield g("f32-axis1-longer", (2, 2), [[1, 1, 0], [1, 0, 1]], 1)
    yield g("f32-axis-minus1", (2, 4), [[3], [0]], -1)
    yield g("f32-axis-minus2-rank3", (2, 3, 2), [[[2, 0]], [[1, 1]]], -2)
    yield g("f32-rank1", (4,), [3, 3, 0, 1, 2], 0)
    yield g("f32-rank5-axis2", (1, 2, 3, 1, 2), [[[[[2, 0]]], [[[1, 1]]]]], 2)
    yield g("f32-one-element", (1, 1), [[0]], 1)
    yield g("f32-no-index", (2, 3), np.zeros((0, 3)), 0)
    yield g("f32-no-other-axis", (2, 0), np.zeros((5, 0)), 0)
    yield g("i32-long-line", (1, 40), [[(i * 7) % 40 for i in range(70)]], 1, "i32", "i32")


def gather_nd(version):
    @operation(f"GatherND-{version}")
    def cases():
        def g(name, shape, index, batch=None, et="f32", it="i32", doubt=None):
            idx = np.array(index, dtype=STORED[it])
            attrs = {} if batch is None else {"batch_dims": batch}
            return Case(name, "GatherND", f"opset{version}", [P(et, small(et, shape)), P(it, idx)], attrs, doubt=doubt)
        for et in (MOVED[1:-1:2] if version == 8 else SOME[:2] + SOME[3:5]):
            yield g(f"{et}-slices", (2, 3, 2), [[0, 2], [1, 0], [1, 0]], et=et)
        for it in ("i64", "u8") if version == 8 else ["i64"]:
            yield g(f"f32-index-{it}", (2, 2), [[0, 0], [1, 0]], it=it)
        yield g("f32-elements", (2, 2), [[0, 0], [1, 0]])
        yield g("f32-one-index", (2, 2), [1])
        yield g("f32-rows", (3, 2), [[1], [0], [2], [1]])
        yield g("f32-leading-dims", (2, 2), [[[1]], [[0]]])
        yield g("f32-rank1", (4,), [[3], [0], [0]], 0)
        yield g("f32-rank6", (1, 2, 1, 2, 2, 2), [[[0, 1, 0, 1], [0, 0, 0, 0]]])
        yield g("f32-no-index", (2, 3), np.zeros((0, 1)))
        yield g("f32-no-columns", (3, 0), [[2], [0]])
        yield g("f32-batch1-elements", (2, 2), [[1], [0]], 1)
        yield g("f32-batch1-slices", (2, 3, 4), [[1], [0]], 1)
        yield g("f32-batch1-many", (2, 3, 2), [[[2, 0], [0, 1]], [[1, 1], [2, 0]]], 1)
        yield g("f32-batch2", (2, 3, 4), [[[[1]], [[0]], [[2]]], [[[0]], [[2]], [[2]]]], 2)
        yield g("f32-batch2-slices", (1, 2, 3, 2), [[[2], [0]]], 2)
        yield g("i64-batch3", (1, 2, 2, 4), [[[[1], [0]], [[3], [2]]]], 3, "i64")
        if version == 8:
            yield g("f32-negative", (2, 3), [[-1, -3], [0, -1], [-2, 2]])
            yield g("f32-negative-batch1", (2, 3, 2), [[-1], [-3]], 1, it="i64")


gather_nd(5)
gather_nd(8)


@operation("GatherTree-1")
def gather_tree():
    def t(name, ids, parents, lengths, end, et="i32"):
        return Case(name, "GatherTree", "opset1", [p(et, np.array(ids)), p(et, np.array(parents)), p(et, lengths), p(et, end)])
    # Time by batch by beam.
    ids = [[[1, 2, 3]], [[4, 5, 6]], [[7, 8, 9]]]
    parents = [[[0, 0, 0]], [[0, 1, 1]], [[2, 1, 2]]]
    for et in ("i32", "f32", "i64", "f16"):
        yield t(f"{et}-three-beams", ids, parents, [3], 10, et)
    yield t("ends-early", ids, parents, [3], 5)
    yield t("ends-at-the-start", ids, parents, [3], 2)
    yield t("ends-at-the-end", ids, parents, [3], 9)
    yield t("shorter", ids, parents, [2], 10)
    yield t("one-step", ids, parents, [1], 10)
    yield t("longer-than-there-is", ids, parents, [7], 10)
    yield t("one-time", [[[4, 5]]], [[[1, 0]]], [1], 9)
    yield t("one-beam", [[[1]], [[2]], [[3]], [[4]]], [[[0]], [[0]], [[0]], [[0]]], [4], 3)
    two = [[[1, 2], [3, 4]], [[5, 6], [7, 8]], [[9, 10], [11, 12]], [[13, 14], [15, 16]]]
    up = [[[0, 0], [0, 0]], [[0, 1], [1, 0]], [[1, 0], [1, 1]], [[1, 1], [0, 0]]]
    yield t("two-batches", two, up, [4, 4], 99)
    yield t("two-batches-two-lengths", two, up, [2, 3], 99)
    yield t("two-batches-ends", two, up, [4, 3], 7)
    yield t("two-batches-f32-end-is-zero", two, up, [3, 4], 0, "f32")
