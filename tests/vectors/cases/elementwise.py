"""Elementwise functions of one input, and the operations that quantise."""

import numpy as np

from .common import Case, INF, INT_TYPES, NAN, P, c, operation, p, seq
from .types import encode, limits

# Between them, functions of floats bend.
BENDS = [-20., -6, -3, -2.5, -1.5, -1, -.75, -.5, -.1, -1e-3, -0., 0, 1e-3, .1, .5, .75, 1, 1.5, 2.5, 3, 6, 20]
# The ends of the range of `f32`.
ENDS = [INF, -INF, NAN, 1e30, -1e30, 100., -100, 1e-40, -1e-40]


def by_core(et):
    """The core computes narrow floats step by step in their own type."""
    return {"core": "rounds each step"} if et in ("f16", "bf16") else {}


def floats(op, version, attrs=None, ends=True, values=BENDS, doubt=None, tag="", types=("f32", "f16", "bf16")):
    """The function of floats: where it bends, at the ends of the range, of several types and shapes."""
    def e(name, et, x):
        return Case(tag + name, op, f"opset{version}", [P(et, encode(et, x))], attrs, doubt={**by_core(et), **(doubt or {})})
    for et in types:
        yield e(et, et, np.array(values))
    if ends:
        yield e("ends", "f32", np.array([x for x in ENDS]))
    yield e("scalar", "f32", np.array(.5))
    yield e("rank5", "f32", np.arange(12).reshape(2, 1, 3, 1, 2) / 13 - .4)
    yield e("empty", "f32", np.zeros((2, 0)))


def integers(op, version, values, attrs=None, types=INT_TYPES, doubt=None, tag=""):
    for et in types:
        lo, hi = limits(et)
        x = [v for v in values(lo, hi) if lo <= v <= hi]
        yield Case(f"{tag}{et}", op, f"opset{version}", [P(et, encode(et, np.array(x, dtype=object) if hi > 2**62 else np.array(x)))], attrs, doubt=doubt)


ROUNDED = {"Acos": 1, "Acosh": 4, "Asin": 1, "Asinh": 4, "Atan": 1, "Cos": 1, "Cosh": 1, "Erf": 1, "Log": 1, "Sin": 1, "Sinh": 1, "Sqrt": 1, "Tan": 1, "Tanh": 1}
# Where each is defined.
DOMAIN = {"Acos": lambda x: abs(x) <= 1, "Asin": lambda x: abs(x) <= 1, "Acosh": lambda x: x >= 1, "Log": lambda x: x > 0, "Sqrt": lambda x: x >= 0}


def rounded(op, version):
    @operation(f"{op}-{version}")
    def cases():
        # Near its poles the tangent of a rounded argument is another.
        far = [x for x in BENDS if op != "Tan" or abs(x) < 6]
        inside = DOMAIN.get(op, lambda x: True)
        yield from floats(op, version, values=far)
        # Both runtimes round most functions of integers, the core cuts these off.
        doubt = {"core": "cuts the fraction off"} if op in ("Asin", "Log", "Sin") else None
        yield from integers(op, version, lambda lo, hi: [x for x in (-3, -2, -1, 0, 1, 2, 3, 4, 5) if inside(x)], types=["i32", "u64", "i8"], doubt=doubt)
        if op in ("Sin", "Cos", "Tan"):
            yield Case("f32-large", op, f"opset{version}", [p("f32", [100., 1000, 1e4, 11999, 12001, 1e5, 1e6, 1e10, 1e20, 3e38])])


for _op, _version in ROUNDED.items():
    rounded(_op, _version)


@operation("Atanh-4")
def atanh():
    yield from floats("Atanh", 4)
    yield from integers("Atanh", 4, lambda lo, hi: (-7, -1, 0, 1, 2), types=["i32", "i64", "u32", "u64"], doubt={"cpu": "has other limits"})


@operation("ErfInv-17")
def erf_inv():
    def e(name, et, x):
        return Case(name, "ErfInv", "opset17", [P(et, encode(et, np.array(x)))], doubt=by_core(et))
    yield e("f32", "f32", [-1., -.9, -.5, -1e-3, -0., 0, .1, .5, .75, .9, 1])
    yield e("f32-inexact", "f32", [-.99999, .9999, .999, .99, 1e-10])
    yield e("outside", "f32", [1.0001, -2., INF, -INF, NAN])
    for et in ("f16", "bf16"):
        yield e(et, et, [-.9, -.5, 0, .1, .75, .99])
    yield e("scalar", "f32", .5)
    yield e("empty", "f32", np.zeros((0, 3)))


def exact(op, version, values, attrs=None, types=("i8", "u8", "i32", "u32", "i64")):
    @operation(f"{op}-{version}")
    def cases():
        yield from floats(op, version, attrs)
        yield from integers(op, version, values, attrs, types)


exact("Abs", 1, lambda lo, hi: ([lo] if hi > 2**20 else []) + [-127, -7, 0, 1, 100, 127])
exact("Negative", 1, lambda lo, hi: (-127, -7, 0, 1, 100), types=["i8", "i32", "i64"])
exact("Ceiling", 1, lambda lo, hi: (lo, -7, 0, 1, 100, hi))
exact("Floor", 1, lambda lo, hi: (lo, -7, 0, 1, 100, hi))
exact("Sign", 1, lambda lo, hi: (-128, -7, 0, 1, 127))
exact("Relu", 1, lambda lo, hi: (-128, -7, 0, 1, 127))


@operation("Round-5")
def round_():
    halves = [-4.5, -3.5, -2.5, -1.9, -1.5, -.5, .4999999, .5, .9, 1.5, 2.3, 2.5, 3.5, 8388607.5, 8388609, 1e10]
    yield from floats("Round", 5, {"mode": "half_to_even"}, values=halves)
    for mode in ("half_to_even", "half_away_from_zero"):
        yield from integers("Round", 5, lambda lo, hi: (lo, -7, 0, 1, hi), {"mode": mode}, types=["u8", "i64"], tag=mode + "-")
    for et in ("f32", "f16", "bf16"):
        yield Case(f"{et}-half_away_from_zero", "Round", "opset5", [p(et, halves)], {"mode": "half_away_from_zero"})
    yield Case("default", "Round", "opset5", [p("f32", [.5, 1.5, 2.5])])


@operation("Clamp-1")
def clamp():
    def values(lo, hi):
        return (-100, -2, -1, 0, 1, 2, 3, 100)
    attrs = {"min": -1.5, "max": 2.5}
    yield from floats("Clamp", 1, attrs)
    yield from integers("Clamp", 1, values, attrs, types=["i8", "u8", "i32", "u32", "i64"])
    yield from integers("Clamp", 1, values, {"min": -1e30, "max": 1e30}, types=["u8", "i64"], tag="wide-")
    yield Case("point", "Clamp", "opset1", [p("f32", BENDS)], {"min": 2., "max": 2.})
    yield from integers("Clamp", 1, values, {"min": 300., "max": 400.}, types=["i8", "u8"], tag="above-")


def activation(op, version, attrs=None, tag="", **more):
    yield from floats(op, version, attrs, tag=tag, **more)


for _op, _version in {"Exp": 1, "Sigmoid": 1, "Gelu": 2, "HSigmoid": 5, "HSwish": 4, "Mish": 4, "SoftPlus": 4, "SoftSign": 9, "Swish": 4}.items():
    operation(f"{_op}-{_version}")(lambda op=_op, version=_version: activation(op, version) if op != "Swish" else swish())


def swish():
    yield from floats("Swish", 4)
    for beta in (0., .7, 2.):
        for et in ("f32", "f16"):
            yield Case(f"{et}-beta-{beta}", "Swish", "opset4", [P(et, encode(et, np.array(BENDS))), c(et, beta)], doubt=by_core(et))


@operation("Elu-1")
def elu():
    yield from floats("Elu", 1, {"alpha": .3})
    for alpha in (0., 1.):
        yield Case(f"alpha-{alpha}", "Elu", "opset1", [p("f32", BENDS)], {"alpha": alpha})


@operation("Gelu-7")
def gelu():
    for mode in ("erf", "tanh"):
        yield from floats("Gelu", 7, {"approximation_mode": mode}, tag=mode + "-")
    yield Case("default", "Gelu", "opset7", [p("f32", [-1., 0, 1])])


@operation("HardSigmoid-1")
def hard_sigmoid():
    for alpha, beta in ((.2, .5), (1., -2.)):
        for et in ("f32", "f16", "bf16"):
            yield Case(f"{et}-{alpha}-{beta}", "HardSigmoid", "opset1", [P(et, encode(et, np.array(BENDS))), c(et, alpha), c(et, beta)], doubt=by_core(et))


@operation("Selu-1")
def selu():
    for alpha, scale in ((1.6732632, 1.0507009), (.5, 2.)):
        for et in ("f32", "f16", "bf16"):
            yield Case(f"{et}-{scale}", "Selu", "opset1", [P(et, encode(et, np.array(BENDS))), c(et, [alpha]), c(et, [scale])], doubt=by_core(et))


@operation("PRelu-1")
def prelu():
    def e(name, x, slope, et="f32"):
        return Case(name, "PRelu", "opset1", [P(et, encode(et, np.array(x))), c(et, slope)], doubt=by_core(et))
    x = np.arange(24).reshape(2, 3, 4) / 2. - 9
    for et in ("f32", "f16", "bf16"):
        yield e(f"{et}-channels", x, [.5, 2, -1], et)
    yield e("one", x, [.25])
    yield e("last-axis", x, [1., 2, 3, 4])
    yield e("channels-and-last", x[:, :, :3], [1., 2, 3])
    yield e("numpy-channels", x, np.array([.5, 2, -1]).reshape(3, 1))
    yield e("numpy-rows", x, np.arange(6).reshape(2, 3, 1))
    yield e("each", x, np.arange(24).reshape(2, 3, 4) / 8.)
    yield e("rank1", x[0, 0], [1., 2, 3, 4])
    yield e("rank2", x[0], [1., 2, 3, 4])
    yield e("longer-slope", x[0, 0], np.array([.5, 1, 2, 3]).reshape(1, 4))
    yield e("wide", (np.arange(80) % 7 - 3.).reshape(1, 2, 40), [.5, 2])


@operation("Identity-16")
def identity():
    for et in ("f32", "f16", "i32", "u8", "boolean", "string"):
        yield Case(et, "Identity", "opset16", [P(et, seq(et, (2, 3)))])


@operation("FakeQuantize-1")
def fake_quantize():
    def e(name, x, limits, levels=5, et="f32", mode="numpy", doubt=None):
        args = [P(et, encode(et, np.array(x)))] + [c(et, limit) for limit in limits]
        return Case(name, "FakeQuantize", "opset1", args, {"levels": levels, "auto_broadcast": mode}, doubt={**by_core(et), **(doubt or {})})
    line = np.arange(23) * .37 - 4
    for et in ("f32", "f16", "bf16"):
        yield e(et, line, [-2., 2., -10., 10.], et=et)
    for levels in (2, 256):
        yield e(f"levels-{levels}", line, [-2.1, 3.3, -.7, 12.1], levels)
    yield e("turned-input", line, [2., -2., -10., 10.])
    yield e("binary", line, [.3, .3, -1., 1.], 2, doubt={"cpu": "gives NaN"})
    yield e("ends", [INF, -INF, 1e30, -1e30], [-2., 2., -10., 10.])
    x = (np.arange(24) * 7 % 24).reshape(1, 3, 2, 4) / 4. - 3
    low, high = np.array([-2., -1, 0]).reshape(1, 3, 1, 1), np.array([1., 2, 3.5]).reshape(1, 3, 1, 1)
    yield e("channels", x, [low, high, low * 2, high * 2])
    yield e("input-channels", x, [low, high, [0.], [4.]])
    yield e("lower-rank", x, [low[0], high[0], -1., 1.])
    yield e("last-axis", x, [[-2., -1, 0, -3], [1., 2, 3, 4], -1., 1.])
    yield e("mixed", x, [low, [1.5, 2, 3, 4], -1., high])
    yield e("wide", (np.arange(120) * 7 % 31).reshape(1, 3, 40) / 4. - 3, [low[0, :, :, 0], high[0, :, :, 0], -1., high[0, :, :, 0]])
    yield e("none", line[:3], [[-2., -1, -3], [2., 1, 3], [0., 0, 0], [9., 8, 7]], mode="none")
    yield e("empty", np.zeros((0, 3)), [-2., 2., -10., 10.])


@operation("FakeConvert-13")
def fake_convert():
    def e(name, ty, x, parameters, et="f32", doubt=None):
        args = [P(et, encode(et, np.array(x)))] + [c(et, a) for a in parameters]
        return Case(name, "FakeConvert", "opset13", args, {"destination_type": ty}, doubt={**by_core(et), **(doubt or {})})
    for ty in ("f8e4m3", "f8e5m2"):
        line = np.arange(-23, 24) * .1371
        for et in ("f32", "f16" if ty == "f8e4m3" else "bf16"):
            yield e(f"{ty}-{et}", ty, line, [.37], et)
        yield e(f"{ty}-shift", ty, line, [3., .5])
        yield e(f"{ty}-large", ty, [447., 449, 464, 470, 1e3, -1e3, 5e4, 57343, 57345, 61440, 1e5, -1e6, INF, -INF], [1.])
        yield e(f"{ty}-small", ty, np.array([1, 2, 3, 5, 7, 11, 100, 300, 1000, -1500, 9, 13]) * 2. ** -17, [1.], doubt={"core": "cuts subnormal numbers off"})
        x = np.arange(12).reshape(2, 3, 2) / 3.
        yield e(f"{ty}-channels", ty, x, [np.array([1., 2, 3]).reshape(1, 3, 1), np.array([0., 1, .3]).reshape(1, 3, 1)])
    yield e("lower-rank", "f8e4m3", x, [[1., 3]])
    yield e("empty", "f8e4m3", np.zeros((0, 2)), [1.])
