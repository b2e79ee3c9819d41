"""Comparisons, logical and bitwise functions, remainders and powers: pairs of elements."""

import numpy as np

from .common import Case, INF, INT_TYPES, NAN, P, WIDE_FLOATS, operation, p, seq
from .types import encode, limits

SHAPES = [("same", (2, 3), (2, 3)), ("scalar", (2, 3), ()), ("both-sides", (3, 1), (1, 2)), ("lower-rank-left", (3,), (2, 1, 3)),
          ("rank6", (1, 2, 1, 2, 1, 1), (2, 1, 1, 1, 3, 2)), ("empty", (2, 0), (2, 1))]


def pair(op, opset, name, et, a, b, mode="numpy", **more):
    make = lambda x: P(et, x) if isinstance(x, np.ndarray) else p(et, x)
    return Case(name, op, opset, [make(a), make(b)], {"auto_broadcast": mode}, **more)


def shapes(op, opset, et, few=False, **more):
    for name, a, b in SHAPES[2:3] if few else SHAPES:
        yield pair(op, opset, f"{et}-{name}", et, seq(et, a), seq(et, b, 1))
    yield pair(op, opset, f"{et}-none", et, seq(et, (2, 2)), seq(et, (2, 2), 1), "none")
    yield pair(op, opset, f"{et}-pdpd", et, seq(et, (2, 3, 2)), seq(et, (2, 3), 1), "pdpd", **more)


def comparison(op):
    @operation(f"{op}-1")
    def cases():
        # The shell is one for all six: its types and shapes are tried with two of them.
        few = op not in ("Equal", "Less")
        for et in ["u8", "i64", "f16"] if few else INT_TYPES + WIDE_FLOATS:
            yield pair(op, "opset1", f"{et}-small", et, [1, 2, 3, 3, 0], [1, 3, 2, 3, 1])
        yield pair(op, "opset1", "boolean", "boolean", [0, 0, 1, 1], [0, 1, 0, 1])
        for et in ["i8", "u16"] if few else ["i8", "u8", "i16", "u16"]:
            lo, hi = limits(et)
            yield pair(op, "opset1", f"{et}-limits", et, [lo, hi, hi, hi - 1, lo, hi], [hi, lo, hi - 1, hi, lo, hi])
        a = [0., -0., INF, -INF, INF, NAN, NAN, 1, 1e-40, 3.4e38]
        b = [-0., 0., INF, INF, NAN, NAN, 1, NAN, 0, INF]
        for et in ["f32"] if few else ["f32", "f16", "bf16"]:
            yield pair(op, "opset1", f"{et}-special", et, a, b)
        # Core turns Greater round.
        yield from shapes(op, "opset1", "i32", few, doubt={"core": "broadcasts the wrong input"} if op.startswith("Greater") else None)


for _op in ("Equal", "NotEqual", "Greater", "GreaterEqual", "Less", "LessEqual"):
    comparison(_op)


def classification(op):
    @operation(f"{op}-10")
    def cases():
        signs = [(True, True), (True, False), (False, True), (False, False)] if op == "IsInf" else [None]
        for et in ("f16", "bf16", "f32"):
            for sign in signs if et == "f32" else signs[:1]:
                attrs = {} if sign is None else {"detect_negative": sign[0], "detect_positive": sign[1]}
                name = et if sign is None else f"{et}-{'neg' if sign[0] else ''}{'pos' if sign[1] else ''}"
                yield Case(name, op, "opset10", [p(et, [[0., -0., INF, -INF], [NAN, 1e-30, 300, -1]])], attrs)
        yield Case("default", op, "opset10", [p("f32", [INF, -INF, NAN])])
        yield Case("scalar", op, "opset10", [p("f32", NAN)])
        yield Case("empty", op, "opset10", [P("f32", seq("f32", (2, 0)))])


for _op in ("IsFinite", "IsInf", "IsNaN"):
    classification(_op)


def logical(op, version):
    @operation(f"{op}-{version}")
    def cases():
        yield pair(op, f"opset{version}", "table", "boolean", [0, 0, 1, 1], [0, 1, 0, 1])
        yield from shapes(op, f"opset{version}", "boolean", op != "LogicalAnd")


for _op, _version in (("LogicalAnd", 1), ("LogicalOr", 1), ("LogicalXor", 2), ("Xor", 1)):
    logical(_op, _version)


@operation("LogicalNot-1")
def logical_not():
    for name, shape in (("matrix", (2, 3)), ("scalar", ()), ("empty", (0, 2))):
        yield Case(name, "LogicalNot", "opset1", [P("boolean", seq("boolean", shape))])


def bitwise(op):
    @operation(f"{op}-13")
    def cases():
        few = op != "BitwiseAnd"
        for et in ["i8", "u8"] if few else ["i8", "i16", "i32", "u8", "u16", "i4", "u4"]:
            lo, hi = limits(et)
            a = [lo, hi, lo, 5, 6, hi // 3, hi // 5] + ([-1, -6] if lo else [])
            b = [hi, hi, lo, 3, 7, hi // 5, 1] + ([hi // 3, -4] if lo else [])
            yield pair(op, "opset13", et, et, encode(et, a), encode(et, b))
        for et in ["i64"] if few else ["u32", "i64", "u64"]:
            yield pair(op, "opset13", f"{et}-small", et, [5, 6, 21, 120, 70000], [3, 7, 3, 37, 65537])
        yield pair(op, "opset13", "boolean", "boolean", [0, 0, 1, 1], [0, 1, 0, 1])
        yield from shapes(op, "opset13", "i32", few)


for _op in ("BitwiseAnd", "BitwiseOr", "BitwiseXor"):
    bitwise(_op)


@operation("BitwiseNot-13")
def bitwise_not():
    for et in ("i8", "i16", "i32", "u8", "u16", "i4", "u4", "boolean"):
        lo, hi = limits(et)
        yield Case(et, "BitwiseNot", "opset13", [P(et, encode(et, [[lo, hi, 0], [1, hi // 3, 3]]))])
    yield Case("i64-small", "BitwiseNot", "opset13", [p("i64", [5, 0, -9])])
    yield Case("scalar", "BitwiseNot", "opset13", [p("i32", 5)])
    yield Case("empty", "BitwiseNot", "opset13", [P("i32", seq("i32", (0,)))])


def shift(op):
    @operation(f"{op}-15")
    def cases():
        for et in ("i8", "i16", "i32", "u8", "u16"):
            lo, hi = limits(et)
            a = [1, 3, hi, hi // 3, 0] + ([-1, -6, lo] if lo and "Right" in op else [])
            b = [0, 2, 1, 3, 5] + ([0, 1, 3] if lo and "Right" in op else [])
            if lo and "Left" in op:
                a, b = [1, 3, 7, 0, -2], [0, 2, 3, 5, 1]
            yield pair(op, "opset15", et, et, encode(et, a), encode(et, b))
        for et in ("u32", "i64", "u64"):
            yield pair(op, "opset15", f"{et}-small", et, [5, 6, 21, 120], [3, 0, 1, 2])
        for name, a, b in SHAPES[2:4]:
            yield pair(op, "opset15", f"i32-{name}", "i32", np.abs(seq("i32", a) % 99), np.abs(seq("i32", b, 1) % 9))


shift("BitwiseLeftShift")
shift("BitwiseRightShift")


def modulo(op):
    @operation(f"{op}-1")
    def cases():
        for et in ("i8", "u8", "i32", "u32", "i64", "f32", "f16", "bf16", "f64"):
            signed = et not in INT_TYPES or limits(et)[0]
            a = [7, 8, 6, 5, 100, 0] + ([-7, 7, -7, -6, -100] if signed else [])
            b = [3, 3, 3, 7, 9, 4] + ([3, -3, -3, 3, 7] if signed else [])
            yield pair(op, "opset1", f"{et}-signs", et, encode(et, a), encode(et, b))
        for et in ("f32", "f16"):
            yield pair(op, "opset1", f"{et}-fractions", et, [5.5, -5.5, 5.5, -5.5, .75, 1e-3, -.25], [2, 2, -2, -2, .5, 1, 8])
        yield pair(op, "opset1", "f32-special", "f32", [1, 0., NAN, 1, INF, -INF, 3], [0, 0, 1, NAN, 2, 2, NAN])
        yield pair(op, "opset1", "f32-infinite-divisor", "f32", [1, -1, 5.5, -5.5], [INF, INF, -INF, -INF],
                   doubt={"both": "multiplies an infinity by 0"})
        yield pair(op, "opset1", "i64-beyond-f64", "i64", [9007199254740993, -9007199254740993], [10, 10],
                   doubt={"both": "computes in floats"})
        yield pair(op, "opset1", "i32-beyond-f32", "i32", [16777217, -2147483647, 2147483647], [10, 10, -10], prefer="core")
        for name, a, b in SHAPES[2:3]:
            yield pair(op, "opset1", f"i32-{name}", "i32", seq("i32", a) % 99, np.abs(seq("i32", b, 1)) % 9 + 1)


modulo("Mod")
modulo("FloorMod")


@operation("Power-1")
def power():
    for et in ("i8", "u8", "i32", "i64", "u64"):
        signed = limits(et)[0]
        a = [2, 3, 0, 0, 7, 1, 10] + ([-1, -1, -2, -3] if signed else [])
        b = [5, 2, 0, 3, 1, 9, 2] + ([4, 5, 3, 2] if signed else [])
        yield pair("Power", "opset1", f"{et}-small", et, encode(et, a), encode(et, b))
    base = [0., 1, 2, .5, 3.25, 100, 1e-3, 7]
    for exponent in (2, .5, -.5, 3, -1, 0, 1.5, -2):
        yield pair("Power", "opset1", f"f32-to-{exponent}", "f32", encode("f32", base[1:]), encode("f32", exponent))
    for et in ("f16", "bf16", "f32"):
        yield pair("Power", "opset1", f"{et}-pairs", et, encode(et, base), encode(et, [2, -3, .5, .25, 1.75, -1, 2.5, 0]))
    special = [0., -0., INF, -INF, NAN, 1, -8, 0, NAN, 0, 2, .5, 1]
    yield pair("Power", "opset1", "f32-special", "f32", special, [2, 3, -1, 3, 2, NAN, .5, 0, 0, -1, INF, INF, INF])
    yield pair("Power", "opset1", "f32-negative-bases", "f32", [-2., -2, -1.5, -1], [3, -2, 2, 7])
    for name, a, b in SHAPES[2:4]:
        yield pair("Power", "opset1", f"f32-{name}", "f32", np.abs(seq("f32", a)) + np.float32(.5), seq("f32", b, 1))


@operation("SquaredDifference-1")
def squared_difference():
    # Of bytes the CPU plugin gives anything, and core nothing.
    for et in ["i16", "i64"] + WIDE_FLOATS:
        yield pair("SquaredDifference", "opset1", f"{et}-small", et, [5, 3, 7, 0], [2, 3, 1, 0])
    for et in ("i16", "i32"):
        yield pair("SquaredDifference", "opset1", f"{et}-negative", et, [-3, 3, -5], [4, -4, -5])
    for et in ("u16", "u32"):
        yield pair("SquaredDifference", "opset1", f"{et}-less", et, [3, 0], [5, 9])
    yield pair("SquaredDifference", "opset1", "f32-special", "f32", [INF, INF, NAN, 1e20, .1], [1, INF, 2, -1e20, .7])
    for name, a, b in SHAPES[2:3]:
        yield pair("SquaredDifference", "opset1", f"f32-{name}", "f32", seq("f32", a), seq("f32", b, 1))


@operation("ConvertLike-1")
def convert_like():
    for a, b in (("f32", "i32"), ("i32", "f16"), ("f64", "u8"), ("boolean", "f32"), ("i64", "i8"), ("u8", "bf16"), ("f32", "boolean"), ("i32", "i32")):
        yield Case(f"{a}-to-{b}", "ConvertLike", "opset1", [p(a, [[0, 1, 2], [3, 100, 1]]), P(b, seq(b, (2,)))])
    yield Case("empty-like", "ConvertLike", "opset1", [p("f32", [1.5, -2.5]), P("i64", seq("i64", (0,)))])


@operation("ConvertPromoteTypes-14")
def promote():
    def c(name, a, b, unsafe=False, scalars=False, target="f32", shapes=((2,), (1, 2))):
        attrs = {"promote_unsafe": unsafe, "pytorch_scalar_promotion": scalars, "u64_integer_promotion_target": target}
        args = [P(et, encode(et, np.arange(1, 1 + int(np.prod(shape))).reshape(shape))) for et, shape in zip((a, b), shapes)]
        return Case(name, "ConvertPromoteTypes", "opset14", args, attrs)
    for a, b in (("i8", "f32"), ("i32", "u8"), ("f16", "f32"), ("boolean", "i8"), ("i64", "i32"), ("u8", "u16"), ("f32", "f32"), ("bf16", "f64")):
        yield c(f"{a}-{b}", a, b)
    for a, b in (("f16", "i64"), ("f64", "u64"), ("i8", "u8"), ("f16", "bf16"), ("u64", "i8"), ("i16", "u32"), ("f8e4m3", "f8e5m2")):
        yield c(f"{a}-{b}-unsafe", a, b, True)
    yield c("u64-i16-to-f64", "u64", "i16", True, target="f64")
    for a, b in (("i64", "u8"), ("f16", "i8"), ("f64", "f16"), ("i8", "i32")):
        yield c(f"scalar-{a}-{b}", a, b, True, True, shapes=((), (2,)))
        yield c(f"{b}-scalar-{a}", b, a, True, True, shapes=((2,), ()))
