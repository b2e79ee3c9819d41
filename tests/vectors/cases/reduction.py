"""Reductions."""

import numpy as np

from .common import C, COMPUTED, Case, INF, INT_TYPES, NAN, P, WIDE_FLOATS, operation, seq
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


def reduction(op, version, types, numbers):
    """`numbers` are five that every type of `types` holds and reduces exactly."""
    @operation(f"{op}-{version}")
    def cases():
        def filled(et, shape):
            n = int(np.prod(shape))
            return encode(et, np.array((numbers * (n // 5 + 1))[:n]).reshape(shape))

        def r(name, shape, axes, keep=False, et=types[0], at="i64", attrs=None, x=None, doubt=None):
            a = filled(et, shape) if x is None else encode(et, x)
            return Case(name, op, f"opset{version}", [P(et, a), C(at, np.array(axes, dtype=STORED[at]))],
                        {"keep_dims": keep} if attrs is None else attrs, doubt=doubt)
        for et in types:
            inexact = op == "ReduceL2" and et == "f64"
            yield r(f"{et}-axis1", (2, 3), [1], et=et, doubt={"cpu": "computes f64 as f32"} if inexact else None)
        yield r("all-axes", (2, 3, 2), [0, 1, 2])
        yield r("all-axes-keep", (2, 3, 2), [0, 1, 2], True)
        yield r("negative-axes", (2, 3, 2), [-1, 0])
        yield r("unsorted-axes-keep-i32", (2, 3, 2), [2, 0], True, at="i32")
        yield r("scalar-axis", (2, 3, 2), 1)
        yield r("scalar-axis-keep", (2, 3, 2), -2, True)
        yield r("default-keep", (2, 3), [0], attrs={})
        norm = op in ("ReduceL1", "ReduceL2")
        yield r("no-axes", (2, 3), np.zeros((0,)),
                doubt={"both": "gives absolute values where the document says identity"} if norm else None)
        yield r("rank6", (1, 2, 3, 1, 2, 2), [1, 3, 5])
        yield r("empty-kept", (2, 0, 3), [0])
        yield r("long-line", (2, 33), [1])
        if op in ("ReduceProd", "ReduceLogicalAnd", "ReduceLogicalOr", "ReduceL1", "ReduceL2"):
            yield r("empty-reduced-keep", (2, 0, 3), [1], True)
        if op == "ReduceProd":
            for et in ("u32", "i64"):
                lo, hi = limits(et)
                yield r(f"{et}-wrap", None, [1], et=et, x=[[hi, 2, 3], [lo, 1, 3]])
            yield r("inf-nan-zero", None, [1], x=[[INF, 2.], [INF, 0.], [NAN, 1.], [-0., 3.], [1e30, 1e30]])
        if op in ("ReduceMin", "ReduceMax"):
            for et in ("i64", "u64"):
                lo, hi = limits(et)
                yield r(f"{et}-limits", None, [1], et=et, x=[[hi, hi - 1], [lo, lo + 1], [lo, hi]])
            yield r("inf", None, [1], x=[[INF, 1.], [-INF, 1.], [INF, -INF]])
        if op == "ReduceMean":
            yield r("inf-nan", None, [1], x=[[INF, 1.], [INF, -INF], [NAN, 1.]])
        if op == "ReduceL2":
            yield r("f16-beyond-the-squares", None, [1], et="f16", x=[[300., 400.], [3e-4, 4e-4]])


_EXACT = ["f32"] + COMPUTED
reduction("ReduceMean", 1, ["f32", "bf16", "f16", "f64", "i32", "i64", "u8"], [3, 6, 0, 9, 12])
reduction("ReduceProd", 1, _EXACT, [1, 2, 1, 3, 1])
reduction("ReduceMin", 1, _EXACT, [3, 1, 5, 0, 7])
reduction("ReduceMax", 1, _EXACT, [3, 1, 5, 0, 7])
reduction("ReduceLogicalAnd", 1, ["boolean"], [1, 1, 0, 1, 1])
reduction("ReduceLogicalOr", 1, ["boolean"], [0, 0, 1, 0, 0])
reduction("ReduceL1", 4, ["f32", "bf16", "f16", "f64", "i8", "i32", "i64", "u8"], [3, -1, 0, -4, 2])
reduction("ReduceL2", 4, ["f32", "bf16", "f16", "f64"], [3, -4, 0, 5, 12])
