"""Elementwise arithmetic of two inputs."""

import math

import numpy as np

from .common import COMPUTED, Case, INF, INT_TYPES, NAN, P, WIDE_FLOATS, c, operation, p, seq
from .types import encode, limits


def binary(op):
    @operation(f"{op}-1")
    def cases():
        def e(name, et, a, b, mode="numpy", prefer=None, doubt=None, **attrs):
            a = a if isinstance(a, np.ndarray) else encode(et, np.array(a))
            b = b if isinstance(b, np.ndarray) else encode(et, np.array(b))
            return Case(name, op, "opset1", [P(et, a), P(et, b)], {"auto_broadcast": mode, **attrs}, prefer=prefer, doubt=doubt)

        def safe(et, shape, k):
            """Small numbers, no zero, so that every result is exact in every type."""
            n = math.prod(shape)
            return encode(et, (np.array([1, 2, 4, 1, 2][k:] + [1, 2, 4] * n)[:n]).reshape(shape))
        for et in WIDE_FLOATS + ["i8", "u8", "i4", "u4", "f8e4m3", "f8e5m2", "boolean"]:
            yield e(f"{et}-small", et, encode(et, [[8, 4, 2], [6, 3, 7]]) if et != "i4" else encode(et, [[4, 4, 2], [6, 3, 7]]),
                    encode(et, [[2, 4, 1], [3, 1, 7]]))
        for et in INT_TYPES:
            lo, hi = limits(et)
            if op == "Divide":
                a = [hi, hi, lo, lo, 7, 8, 9, 100, 0]
                b = [1, 2, 1, 2, 2, 3, 9, 7, 5]
                if lo:
                    a += [-7, 7, -7, -8, -1, -6, lo, hi]
                    b += [2, -2, -2, 3, 2, -3, 3, -2]
                for py in (True, False) if lo else (True,):
                    yield e(f"{et}-{'floor' if py else 'trunc'}", et, encode(et, a), encode(et, b), m_pythondiv=py,
                            doubt={"cpu": "truncates where the document says floor"} if py and lo else None)
            else:
                a = [hi, hi, lo, lo, 100, lo, hi, 7]
                b = [1, hi, 1, hi, 37, lo, lo, 3]
                if lo:
                    a += [-1, -100, lo]
                    b += [hi, 100, -1]
                yield e(f"{et}-wrap", et, encode(et, a), encode(et, b), doubt={"cpu": "saturates"} if et in ("i8", "u8") and op not in ("Maximum", "Minimum") else None)
        if op == "Divide":
            yield e("i32-default", "i32", [-7, 7, -8], [2, -2, 3])
            for py in (True, False):
                tag = "floor" if py else "trunc"
                yield e(f"i32-by-zero-{tag}", "i32", [1, -1, 0], [0, 0, 0], m_pythondiv=py, doubt={"both": "the document leaves it undefined"})
                yield e(f"i32-lowest-by-minus-one-{tag}", "i32", [-(1 << 31)], [-1], m_pythondiv=py)
                yield e(f"i8-lowest-by-minus-one-{tag}", "i8", [-128], [-1], m_pythondiv=py, doubt={"cpu": "saturates"})
            yield e("u8-by-zero", "u8", [1, 0, 255], [0, 0, 0], doubt={"both": "the document leaves it undefined"})
            yield e("f32-floor-ignored", "f32", [-7., 7., 1.], [2., -2., 3.], m_pythondiv=True)
        a = [1., -1, 0, -0., INF, -INF, INF, NAN, 1, NAN, 0, 0, -0., 1e38, -1e38, 1e-40, 3.4e38]
        b = [0., 0, 0, 0, INF, 1, -INF, 1, NAN, NAN, -0., INF, -0., 1e38, 1e38, 2, 3.4e38]
        if op in ("Maximum", "Minimum"):
            yield e("f32-nan", "f32", [NAN, 1., NAN, NAN, INF], [1., NAN, NAN, -INF, NAN])
            a, b = zip(*[(x, y) for x, y in zip(a, b) if x == x and y == y])
        for et in ("f32", "f64", "f16", "bf16"):
            yield e(f"{et}-special", et, encode(et, a), encode(et, b), doubt={"cpu": "computes f64 as f32"} if et == "f64" else None)
        yield e("f16-rounding", "f16", [2048., 2049, .1, 65504, 1 / 3, 6e-8, 1e-4, 1000], [1., 1, .2, 16, 3, 3, 3e-3, 999])
        yield e("bf16-rounding", "bf16", [256., 257, .1, 3e38, 1 / 3, 100, 7, 1000], [1., 1, .2, 1e36, 3, 3, 1.1, 999], prefer="cpu")
        yield e("numpy-scalar", "f32", safe("f32", (2, 3), 0), safe("f32", (), 1))
        yield e("numpy-both-sides", "f32", safe("f32", (3, 1), 0), safe("f32", (1, 4), 1))
        yield e("numpy-lower-rank-left", "i32", safe("i32", (3,), 0), safe("i32", (2, 1, 3), 1))
        yield e("numpy-empty", "f32", safe("f32", (2, 0), 0), safe("f32", (2, 1), 1))
        yield e("none-2x3", "f32", safe("f32", (2, 3), 0), safe("f32", (2, 3), 1), "none")
        # The document starts pdpd at the last dimensions by default; the reader of the runtime
        # knows no axis and starts at the first, so this is the only alignment there is.
        yield e("pdpd-first-two", "f32", safe("f32", (2, 3, 2), 0), safe("f32", (2, 3), 1), "pdpd")
        if op not in ("Add", "Divide"):
            return
        yield e("numpy-scalar-left", "f32", safe("f32", (), 1), safe("f32", (2, 3), 0))
        yield e("numpy-two-scalars", "f32", safe("f32", (), 1), safe("f32", (), 2))
        yield e("numpy-rank6", "f32", safe("f32", (1, 2, 1, 2, 1, 2), 0), safe("f32", (2, 1, 1, 1, 3, 2), 1))
        yield e("numpy-middle", "f32", safe("f32", (2, 3, 2), 0), safe("f32", (2, 1, 2), 1))
        yield e("numpy-empty-scalar", "f32", safe("f32", (0,), 0), safe("f32", (), 1))
        yield e("pdpd-equal", "f32", safe("f32", (2, 3), 0), safe("f32", (2, 3), 1), "pdpd")
        yield e("pdpd-first", "f32", safe("f32", (2, 3, 4), 0), safe("f32", (2,), 1), "pdpd")
        yield e("pdpd-one", "f32", safe("f32", (2, 3), 0), safe("f32", (2, 1), 1), "pdpd")
        yield e("pdpd-scalar", "f32", safe("f32", (2, 3), 0), safe("f32", (), 1), "pdpd")


for _op in ("Add", "Subtract", "Multiply", "Divide", "Maximum", "Minimum"):
    binary(_op)


@operation("CumSum-3")
def cum_sum():
    def s(name, x, axis=None, exclusive=None, reverse=None, et="f32", at="i64"):
        args = [P(et, x) if isinstance(x, np.ndarray) else p(et, x)] + ([] if axis is None else [c(at, axis)])
        attrs = {k: v for k, v in (("exclusive", exclusive), ("reverse", reverse)) if v is not None}
        return Case(name, "CumSum", "opset3", args, attrs)
    for et in ["f32"] + COMPUTED:
        yield s(f"{et}-axis1", [[1, 2, 3], [4, 0, 5]], 1, et=et)
    for exclusive in (False, True):
        for reverse in (False, True):
            yield s(f"{'exclusive' if exclusive else 'inclusive'}-{'reverse' if reverse else 'forward'}", [1, 2, 3, 4, 5], 0, exclusive, reverse)
    yield s("axis-i32", [[1, 2], [3, 4]], 0, at="i32")
    yield s("axis-minus1-reverse", [[1, 2, 3], [4, 5, 6]], -1, False, True)
    yield s("middle-axis-exclusive", seq("f32", (2, 3, 2)), 1, True)
    yield s("rank6", seq("f32", (1, 2, 3, 1, 2, 1)), 2, True, True)
    yield s("empty", seq("f32", (2, 0)), 1)
    yield s("empty-other-axis", seq("f32", (0, 3)), 1)
    yield s("size-one-exclusive", [[5], [6]], 1, True)
    yield s("i8-wrap", [100, 100, 100], 0, et="i8")
    yield s("inf-nan", [1., INF, 2, -INF, 3], 0)
