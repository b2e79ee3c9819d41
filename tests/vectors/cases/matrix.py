"""Products of matrices, softmax, attention."""

import math

import numpy as np

from .common import COMPUTED, Case, INF, NAN, P, c, operation, p
from .types import encode


def whole(et, shape, seed=1):
    """Small whole numbers, so that every sum is exact."""
    v = (np.arange(math.prod(shape)) * (2 * seed + 3) + seed) % 7
    return encode(et, (v if et[0] == "u" else v - 3).reshape(shape))


def fractions(et, shape, seed=1):
    v = (np.arange(math.prod(shape)) * 7919 + seed * 104729) % 1009 / 250 - 2
    return encode(et, v.reshape(shape))


@operation("MatMul-1")
def matmul():
    def m(name, a, b, ta=False, tb=False, et="f32", attrs=None, doubt=None):
        second = P(et, whole(et, b, 2))
        given = {"transpose_a": ta, "transpose_b": tb} if attrs is None else attrs
        return Case(name, "MatMul", "opset1", [P(et, whole(et, a)), second], given, doubt=doubt)
    for et in ["f32"] + COMPUTED:
        yield m(f"{et}-2x3-3x4", (2, 3), (3, 4), et=et)
    for ta in (False, True):
        for tb in (False, True):
            yield m(f"transposed-{int(ta)}{int(tb)}", (2, 3, 4) if not ta else (2, 4, 3), (4, 5) if not tb else (5, 4), ta, tb)
    yield m("1d-1d", (4,), (4,), True, True)
    yield m("1d-3d", (4,), (2, 4, 3), True)
    yield m("3d-1d", (2, 3, 4), (4,))
    yield m("batch-broadcast", (2, 1, 3, 4), (5, 4, 2))
    yield m("rank6", (2, 1, 2, 1, 2, 3), (1, 2, 1, 2, 3, 2))
    yield m("row", (1, 33), (33, 5))
    yield m("column", (5, 33), (33, 1))
    yield m("inner-empty", (2, 0), (0, 3))
    yield m("attributes-default", (2, 3), (3, 2), attrs={})
    yield Case("f16-rounds-once", "MatMul", "opset1", [p("f16", [[2048., 1., 1., 1.]]), p("f16", [[1.], [1.], [1.], [.5]])], {"transpose_a": False, "transpose_b": False})
    yield Case("inf-nan", "MatMul", "opset1", [p("f32", [[INF, 1.], [1., NAN], [INF, -INF]]), p("f32", [[1., 0.], [1., 1.]])], {"transpose_a": False, "transpose_b": False})
    yield Case("i64-wrap", "MatMul", "opset1", [p("i64", [[1 << 62, 3]]), p("i64", [[4], [5]])], {"transpose_a": False, "transpose_b": False})
    yield Case("i32-beyond-f32", "MatMul", "opset1", [p("i32", [[16777217, 1]]), p("i32", [[1], [2]])], {"transpose_a": False, "transpose_b": False})


def softmax(op, version, types, negative):
    @operation(f"{op}-{version}")
    def cases():
        name_of = "Softmax" if op == "SoftMax" else op

        def s(name, shape, axis, et="f32", x=None, attrs=None, doubt=None):
            data = fractions(et, shape) if x is None else encode(et, x)
            return Case(name, name_of, f"opset{version}", [P(et, data)], {"axis": axis} if attrs is None else attrs, doubt=doubt)
        for et in types:
            yield s(f"{et}-axis1", (2, 5), 1, et, doubt={"cpu": "computes f64 as f32"} if et == "f64" else None)
        for axis in (-1, -2, -4) if negative else (0, 1, 3):
            yield s(f"rank4-axis{axis}", (2, 3, 2, 4), axis)
        yield s("rank1", (6,), 0)
        yield s("long", (2, 70), 1)
        yield s("strided-long", (70, 2), 0)
        yield s("axis-of-one", (3, 1), 1)
        yield s("empty", (2, 0), 1)
        yield s("large", None, 1, x=[[1000., 1001., 999.], [-1000., -1001., -1e30]])
        yield s("hidden", None, 1, x=[[1., -INF, 2.]])


softmax("SoftMax", 1, ["f32", "f16", "bf16", "f64"], False)
softmax("SoftMax", 8, ["f32", "f16", "bf16", "f64"], True)
softmax("LogSoftmax", 5, ["f32", "f16", "bf16", "f64"], True)


@operation("ScaledDotProductAttention-13")
def attention():
    def a(name, q, k, v, *more, et="f32", causal=False, doubt=None):
        args = [P(et, fractions(et, shape, i + 1)) for i, shape in enumerate((q, k, v))]
        return Case(name, "ScaledDotProductAttention", "opset13", args + list(more), {"causal": causal}, doubt=doubt)

    def keep(shape):
        return P("boolean", np.arange(math.prod(shape)).reshape(shape) * 5 % 3 != 1)

    def bias(shape, et="f32"):
        return P(et, fractions(et, shape, 9))
    q, k, v = (2, 2, 3, 2), (2, 2, 5, 2), (2, 2, 5, 3)
    half = c("f32", .5)
    # The CPU plugin rounds inner results of bf16, so that small elements say nothing.
    for et in ("f32", "f16"):
        yield a(f"{et}-plain", q, k, v, et=et)
    yield a("rank3", (2, 3, 4), (2, 5, 4), (2, 5, 4))
    yield a("causal-more-queries", (1, 1, 6, 4), (1, 1, 4, 4), (1, 1, 4, 4), causal=True)
    yield a("causal-ignores-mask", q, k, v, bias((3, 5)), causal=True)
    for name, shape in (("row", (1, 5)), ("rank3", (2, 3, 5)), ("full", (2, 2, 3, 5))):
        yield a(f"bias-{name}", q, k, v, bias(shape))
    for name, shape in (("rank2", (3, 5)), ("heads-shared", (2, 1, 3, 5)), ("batch-shared", (1, 2, 1, 5))):
        yield a(f"keep-{name}", q, k, v, keep(shape), half)
    yield a("scale-1d", q, k, v, c("f32", 0.), c("f32", [.25]))
    yield a("row-hidden", (1, 1, 2, 4), (1, 1, 3, 4), (1, 1, 3, 4), P("boolean", np.array([[True, False, True], [False] * 3])))
    yield a("many-queries", (1, 1, 70, 2), (1, 1, 70, 2), (1, 1, 70, 1), causal=True)
    yield a("key-shared", (2, 3, 2, 4), (2, 1, 3, 4), (2, 1, 3, 4))
    sink = P("f32", np.array([.5, -1.], np.float32).reshape(1, 2, 1, 1))
    yield a("sink-keep", q, k, v, keep((2, 1, 3, 5)), half, sink)


@operation("Einsum-7")
def einsum():
    def e(equation, *shapes, et="f32", name=None):
        plain = equation.replace("->", "-to-").replace("...", "o").replace(",", "-").replace(" ", "_")
        return Case(name or f"{et}-{plain}", "Einsum", "opset7", [P(et, whole(et, s, i + 1)) for i, s in enumerate(shapes)], {"equation": equation})
    for et in ("f32", "f16", "bf16", "i32"):
        yield e("ij,jk->ik", (2, 3), (3, 4), et=et)
    yield e("kii->ki", (2, 3, 3))
    yield e("ijkj->ij", (2, 4, 3, 4))
    yield e("a...->...", (3, 2))
    yield e("a...,...->a...", (3, 3), (1,))
    yield e("a...b,b...->a...", (3, 1, 4, 3), (3, 5, 2, 1))
    yield e("ab,bcd,bc->ca", (2, 5), (5, 3, 6), (5, 3))
    yield e("AbC", (1, 2, 3))
    yield e("ab...,ac...,ade->...bc", (2, 3, 4), (2, 7, 1), (2, 4, 7))
    yield e("bythwc,hkc->bythwk", (2, 1, 2, 3, 2, 4), (3, 2, 4))
    yield e("...pd,...qd->...pq", (2, 3, 4), (2, 5, 4))
    yield e("nhwpqc->nchpwq", (1, 2, 2, 2, 2, 3))
    yield e("a,b,c->cab", (2,), (3,), (4,))
    yield e("aac,abd,ddde->ce", (2, 2, 3), (2, 4, 3), (3, 3, 3, 2))


@operation("Inverse-14")
def inverse():
    def i(name, x, et="f32", adjoint=False, attrs=None):
        return Case(name, "Inverse", "opset14", [p(et, x)], {"adjoint": adjoint} if attrs is None else attrs)
    two = [[1., 2.], [3., 5.]]
    three = [[1., 2., 3.], [0., 1., 4.], [5., 6., 0.]]
    for et in ("f32", "f16", "bf16", "f64"):
        yield i(f"{et}-2x2", two, et)
    for adjoint in (False, True):
        yield i(f"3x3-{int(adjoint)}", three, adjoint=adjoint)
        yield i(f"batch-{int(adjoint)}", [[two, [[4., 7.], [2., 6.]]], [[[0., 1.], [1., 0.]], [[2., 0.], [0., .5]]]], adjoint=adjoint)
    yield i("default", two, attrs={})
    yield i("5x5", (np.array([[7, 2, 1, 0, 3], [1, 9, 2, 4, 0], [0, 3, 8, 1, 2], [2, 0, 1, 6, 1], [4, 1, 0, 2, 9]]) / 4).tolist())
