"""Fourier transforms, of whole axes and of frames."""

import numpy as np

from .common import C, Case, P, ints, operation
from .types import encode


def wave(shape, seed=0):
    r = np.random.default_rng(seed)
    return r.integers(-64, 65, shape) / 32


def transforms(op, version, complex_in):
    @operation(f"{op}-{version}")
    def cases():
        def t(name, dims, axes, sizes=None, et="f32", it="i64", doubt=None):
            shape = dims + ([2] if complex_in else [])
            args = [P(et, encode(et, wave(shape))), ints(axes, it)]
            args += [] if sizes is None else [ints(sizes, it)]
            return Case(name, op, f"opset{version}", args, doubt=doubt)
        mirrored = op == "IRDFT"
        for n in (1, 2, 5, 8):
            if not (mirrored and n == 1):
                yield t(f"length-{n}", [n], [0])
        yield t("first-axis", [4, 3], [0])
        yield t("negative-axis", [4, 3, 2], [-2])
        yield t("two-axes-turned", [4, 3], [1, 0])
        yield t("outer-axes", [3, 2, 4], [2, 0], it="i32")
        yield t("all-axes", [2, 3, 4], [0, 1, 2])
        yield t("cut", [6, 3], [0], [4])
        yield t("cut-odd", [6, 3], [0], [3])
        # The CPU plugin reads past the end of real or mirrored axes that grow, and takes a size of -1
        # for an enormous one.
        doubt = {"cpu": "reads past the end of the data"} if op in ("RDFT", "IRDFT") else None
        yield t("filled", [3, 2], [0], [5], doubt=None if mirrored else doubt)
        yield t("filled-more", [3, 2], [0], [8], doubt=doubt)
        yield t("cut-and-filled", [4, 3], [0, 1], [3, 5], doubt=None if mirrored else doubt)
        yield t("cut-and-filled-turned", [4, 3, 2], [-2, 0], [5, 3], doubt=doubt)
        yield t("one-as-it-is", [4, 3, 2], [0, 2], [-1, 3], doubt=doubt)
        yield t("f16", [4, 3], [1], et="f16")
    return cases


transforms("DFT", 7, True)
transforms("IDFT", 7, True)
transforms("RDFT", 9, False)
transforms("IRDFT", 9, True)


@operation("STFT-15")
def stft():
    def s(name, dims, width, size, step, transpose=False, et="f32", it="i64"):
        args = [P(et, encode(et, wave(dims))), P(et, encode(et, wave([width], 1))), C(it, encode(it, size)), C(it, encode(it, step))]
        return Case(name, "STFT", "opset15", args, {"transpose_frames": transpose})
    for transpose in (False, True):
        yield s(f"1d-{transpose}", [17], 5, 5, 3, transpose)
        yield s(f"2d-{transpose}", [2, 17], 4, 4, 4, transpose)
        yield s(f"short-window-{transpose}", [2, 20], 3, 6, 5, transpose, it="i32")
    yield s("window-of-1", [9], 1, 4, 2)
    yield s("odd-left", [12], 4, 7, 2)
    yield s("frame-of-1", [5], 1, 1, 2)
    yield s("one-frame", [8], 8, 8, 1)
    yield s("step-beyond-frame", [16], 2, 3, 6)
    yield s("f16", [17], 5, 5, 3, et="f16")


@operation("ISTFT-16")
def istft():
    def s(name, frames, width, size, step, batch=None, center=False, normalized=False, length=None, et="f32", it="i64", doubt=None):
        dims = ([] if batch is None else [batch]) + [size // 2 + 1, frames, 2]
        args = [P(et, encode(et, wave(dims))), P(et, encode(et, np.abs(wave([width], 1)) + .5)), C(it, encode(it, size)), C(it, encode(it, step))]
        args += [] if length is None else [C(it, encode(it, length))]
        return Case(name, "ISTFT", "opset16", args, {"center": center, "normalized": normalized}, doubt=doubt)
    for center in (False, True):
        for normalized in (False, True):
            yield s(f"{center}-{normalized}", 4, 6, 6, 2, None, center, normalized)
            yield s(f"{center}-{normalized}-batch", 3, 4, 4, 3, 2, center, normalized)
        yield s(f"{center}-longer", 4, 6, 6, 2, None, center, length=20)
        yield s(f"{center}-shorter", 4, 6, 6, 2, 2, center, length=5, it="i32")
        yield s(f"{center}-a-little-longer", 4, 6, 6, 2, 2, center, length=9)
        yield s(f"{center}-short-window", 3, 2, 6, 4, None, center)
        yield s(f"{center}-one-frame", 1, 4, 4, 2, None, center, length=4)
    yield s("odd", 4, 5, 5, 2)
    yield s("odd-center-length", 4, 5, 5, 2, center=True, length=6)
    yield s("odd-center", 4, 5, 5, 2, center=True, doubt={"cpu": "gives one number too many"})
    yield s("length-list", 3, 4, 4, 2, length=[7])
    yield s("f16", 4, 6, 6, 2, et="f16")
