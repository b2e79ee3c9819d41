"""Gather and its relatives."""

import numpy as np

from .common import Case, MOST, P, SOME, ints, operation, seq
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
