"""Reductions."""

import numpy as np

from .common import C, Case, INF, INT_TYPES, NAN, P, WIDE_FLOATS, operation, seq
from .types import INTS, STORED, encode, limits


@operation("ReduceSum-1")
def reduce_sum():
    def r(name, et, x, axes, keep=False, at="i64", attrs=None, doubt=None):
        a = x if isinstance(x, np.ndarray) else encode(et, x)
        ax = np.array(axes, dtype=STORED[at])
        return Case(name, "ReduceSum", "opset1", [P(et, a), C(at, ax)], {"keep_dims": keep} if attrs is None else attrs, doubt=doubt)
    for et in WIDE_FLOATS + ["i8", "u8", "boolean", "i4", "u4", "f8e4m3", "f8e5m2"]:
        small = np.array([[1, 2, -3], [4, 1, 0]]) if et not in INTS or INTS[et][1] else np.array([[1, 2, 3], [4, 1, 0]])
        yield r(f"{et}-axis1", et, encode(et, small), [1])
    for et in INT_TYPES:
        lo, hi = limits(et)
        yield r(f"{et}-wrap", et, encode(et, [[hi, hi, 3], [lo, lo, -2 if lo else 7], [hi, 1, 0]]), [1],
                doubt={"cpu": "saturates"} if et in ("i8", "u8") else None)
    yield r("f32-all-axes", "f32", seq("f32", (2, 3, 2)), [0, 1, 2])
    yield r("f32-all-axes-keep", "f32", seq("f32", (2, 3, 2)), [0, 1, 2], True)
    yield r("f32-negative-axes", "f32", seq("f32", (2, 3, 2)), [-1, 0])
    yield r("f32-unsorted-axes-keep", "f32", seq("f32", (2, 3, 2)), [2, 0], True)
    yield r("f32-scalar-axis", "f32", seq("f32", (2, 3, 2)), 1)
    yield r("f32-scalar-axis-keep-i32", "f32", seq("f32", (2, 3, 2)), -2, True, at="i32")
    yield r("f32-i8-axes", "f32", seq("f32", (2, 3, 2)), [-1, 0], at="i8")
    yield r("f32-u8-axes", "f32", seq("f32", (2, 3, 2)), [2, 1], at="u8")
    yield r("f32-default-keep", "f32", seq("f32", (2, 3)), [0], attrs={})
    yield r("f32-no-axes", "f32", seq("f32", (2, 3)), np.zeros((0,)))
    yield r("i32-no-axes-keep", "i32", seq("i32", (2, 3)), np.zeros((0,)), True)
    yield r("f32-scalar-no-axes", "f32", encode("f32", np.array(3.5)), np.zeros((0,)))
    yield r("f32-duplicate-axes", "f32", seq("f32", (2, 3, 2)), [1, 1])
    yield r("f32-duplicate-axes-signs-keep", "f32", seq("f32", (2, 3, 2)), [1, -2], True)
    yield r("f32-empty-reduced", "f32", seq("f32", (2, 0, 3)), [1])
    yield r("f32-empty-reduced-keep", "f32", seq("f32", (2, 0, 3)), [1], True)
    yield r("i64-empty-reduced", "i64", seq("i64", (2, 0)), [1])
    yield r("f32-empty-kept", "f32", seq("f32", (2, 0, 3)), [0])
    yield r("f32-rank6", "f32", seq("f32", (1, 2, 3, 1, 2, 2)), [1, 3, 5])
    yield r("f32-nan-inf", "f32", [[1., NAN], [INF, -INF], [INF, 1.], [-0., -0.]], [1])
    yield r("f32-large-and-small", "f32", encode("f32", [[16777216.] + [1.] * 20, [1e8] + [.5] * 20]), [1])
    yield r("f16-large-and-small", "f16", encode("f16", [[2048.] + [1.] * 20, [60000.] * 2 + [-60000.] * 2 + [0.] * 17]), [1])
    yield r("bf16-large-and-small", "bf16", encode("bf16", [[256.] + [1.] * 20]), [1])
    yield r("i32-beyond-f32", "i32", encode("i32", [[16777217, 1], [2147483000, 500]]), [1])
    yield r("i64-beyond-f64", "i64", encode("i64", [[9007199254740993, 2], [-(1 << 62), 1]]), [1])
