"""MVN, GroupNormalization, BatchNormInference, LRN, NormalizeL2, GRN."""

import math

import numpy as np

from .common import Case, P, c, operation
from .types import encode

FLOATS = ["f16", "bf16", "f64"]


def wave(et, shape, k=7):
    """Numbers around zero, exact in every float, in no order."""
    n = math.prod(shape)
    return P(et, encode(et, (((np.arange(n) * k + 3) % 29 - 14) / 4.).reshape(shape)))


def positive(et, shape, k=5):
    n = math.prod(shape)
    return P(et, encode(et, (((np.arange(n) * k + 3) % 13 + 1) / 4.).reshape(shape)))


@operation("MVN-6")
def mvn_6():
    def m(name, shape, axes, variance=True, eps=1e-3, mode="inside_sqrt", et="f32", at="i64", doubt=None):
        attrs = {"eps": eps, "normalize_variance": variance, "eps_mode": mode}
        return Case(name, "MVN", "opset6", [wave(et, shape), c(at, axes)], attrs, doubt=doubt)
    for et in ["f32"] + FLOATS:
        yield m(f"{et}-last", (3, 8), [-1], et=et, doubt={"core": "computes in the narrow type"} if et in ("f16", "bf16") else None)
    for mode in ("inside_sqrt", "outside_sqrt"):
        yield m(mode, (2, 3, 4), [1, 2], mode=mode, eps=.1)
        yield m(f"{mode}-only-mean", (2, 3, 4), [1, 2], False, mode=mode)
    for axes in ([0], [0, 2], [2, 0], [1, 3], [0, 1, 2, 3], [0, 2, 3]):
        yield m("axes" + "".join(f"_{a}" for a in axes), (2, 3, 2, 4), axes)
    yield m("axes-i32", (2, 5), [1], at="i32")
    yield m("rank5", (2, 2, 2, 2, 3), [2, 3, 4])
    yield m("rank1", (7,), [0])
    yield m("one-element", (3, 1), [1])
    yield m("long", (2, 70), [1], eps=1e-9)
    yield m("empty", (0, 3), [1])


@operation("MVN-2")
def mvn_2():
    def m(name, shape, et="f32", variance=True, **attrs):
        doubt = {"core": "computes in the narrow type"} if et in ("f16", "bf16") else {"cpu": "ignores the axes"} if "reduction_axes" in attrs else None
        return Case(name, "MVN", "opset2", [wave(et, shape)], {"eps": 1e-3, "normalize_variance": variance, **attrs}, doubt=doubt)
    for et in ["f32"] + FLOATS:
        yield m(f"{et}-images", (2, 3, 2, 4), et, across_channels=False)
    yield m("across-channels", (2, 3, 2, 4), across_channels=True)
    yield m("across-channels-only-mean", (2, 3, 2, 4), variance=False, across_channels=True)
    yield m("only-mean", (2, 3, 2, 4), variance=False, across_channels=False)
    yield m("axes-1-3", (2, 3, 2, 4), reduction_axes=[1, 3])
    yield m("axes-0", (2, 3, 2, 4), reduction_axes=[0])
    yield m("rank5", (1, 2, 2, 2, 3), across_channels=False)
    yield m("rank3", (2, 3, 4), across_channels=False)


@operation("GroupNormalization-12")
def group_normalization():
    def g(name, shape, groups, eps=1e-3, et="f32"):
        doubt = {"core": "computes in the narrow type"} if et in ("f16", "bf16") else None
        args = [wave(et, shape), wave(et, shape[1:2], 11), wave(et, shape[1:2], 5)]
        return Case(name, "GroupNormalization", "opset12", args, {"num_groups": groups, "epsilon": eps}, doubt=doubt)
    for et in ["f32"] + FLOATS:
        yield g(et, (2, 4, 3), 2, et=et)
    for groups in (1, 2, 3, 6):
        yield g(f"groups-{groups}", (2, 6, 2, 2), groups)
    yield g("rank2", (2, 6), 3)
    yield g("rank5", (1, 4, 2, 1, 3), 2)
    yield g("eps", (1, 4, 3), 2, .5)
    yield g("long", (1, 4, 40), 2, 1e-9)


def batch_norm(version):
    @operation(f"BatchNormInference-{version}")
    def cases():
        def b(name, shape, eps=1e-3, et="f32"):
            doubt = {"core": "computes in the narrow type"} if et in ("f16", "bf16") else None
            n = shape[1:2]
            data, gamma, beta, mean, variance = wave(et, shape), wave(et, n, 11), wave(et, n, 5), wave(et, n, 3), positive(et, n)
            args = [gamma, beta, data, mean, variance] if version == 1 else [data, gamma, beta, mean, variance]
            return Case(name, "BatchNormInference", f"opset{version}", args, {"epsilon": eps}, doubt=doubt)
        for et in ["f32"] + FLOATS:
            yield b(et, (2, 3, 2, 2), et=et)
        yield b("rank2", (3, 4))
        yield b("rank3", (2, 3, 5))
        yield b("rank5", (1, 3, 2, 1, 2))
        yield b("eps", (2, 3), .5)
        yield b("no-eps", (2, 3), 0)


batch_norm(1)
batch_norm(5)


@operation("LRN-1")
def lrn():
    def r(name, shape, axes, size=3, alpha=.5, beta=.75, bias=2., et="f32"):
        doubt = {"core": "computes in the narrow type"} if et in ("f16", "bf16") else None
        attrs = {"alpha": alpha, "beta": beta, "bias": bias, "size": size}
        return Case(name, "LRN", "opset1", [wave(et, shape), c("i64", axes)], attrs, doubt=doubt)
    for et in ["f32"] + FLOATS:
        yield r(et, (1, 5, 2, 2), [1], et=et)
    for axes in ([1], [2, 3]):
        yield r("axes" + "".join(f"_{a}" for a in axes), (2, 4, 3, 4), axes)
    for size in (1, 5, 9):
        yield r(f"size-{size}", (1, 6, 2, 2), [1], size)
    yield r("even-size", (1, 6, 2, 2), [1], 4)
    yield r("powers", (1, 5, 2, 1), [1], beta=1.5, bias=1., alpha=1e-2)
    yield r("square-root", (1, 5, 2, 1), [1], beta=.5)


@operation("NormalizeL2-1")
def normalize_l2():
    def n(name, shape, axes, mode="add", eps=1e-3, et="f32", at="i64"):
        doubt = {"core": "computes in the narrow type"} if et in ("f16", "bf16") else None
        return Case(name, "NormalizeL2", "opset1", [wave(et, shape), c(at, axes)], {"eps": eps, "eps_mode": mode}, doubt=doubt)
    for et in ["f32"] + FLOATS:
        yield n(et, (2, 3, 4), [1], et=et)
    for mode in ("add", "max"):
        yield n(mode, (2, 3, 2), [1], mode, 30)
        for axes in ([1, 2, 3], [0, 2]):
            yield n(mode + "".join(f"_{a}" for a in axes), (2, 3, 2, 2), axes, mode)
    yield n("no-axes", (3, 10), [])
    yield n("negative-axis", (3, 4), [-1])
    yield n("scalar-axis", (3, 4), 1, at="i32")


@operation("GRN-1")
def grn():
    for et in ["f32"] + FLOATS:
        doubt = {"core": "computes in the narrow type"} if et in ("f16", "bf16") else None
        yield Case(et, "GRN", "opset1", [wave(et, (2, 3, 2, 2))], {"bias": .1}, doubt=doubt)
    yield Case("rank2", "GRN", "opset1", [wave("f32", (3, 4))], {"bias": 1e-6})
    yield Case("rank3", "GRN", "opset1", [wave("f32", (2, 3, 4))], {"bias": 1})
