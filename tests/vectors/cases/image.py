"""Interpolate, GridSample."""

import math

import numpy as np

from .common import Case, P, c, operation, p
from .types import encode

TRANSFORMATIONS = ["half_pixel", "pytorch_half_pixel", "asymmetric", "tf_half_pixel_for_nn", "align_corners"]
NEAREST = ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil", "simple"]


def wave(et, shape, k=7):
    n = math.prod(shape)
    x = (np.arange(n) * k + 3) % 29
    if et[0] in "fb":
        x = (x - 14) / 4.
    elif et[0] == "i":
        x = x * 7 - 100
    else:
        x = x * 8
    return P(et, encode(et, x.reshape(shape)))


def interpolate(version):
    @operation(f"Interpolate-{version}")
    def cases():
        def i(name, shape, new, axes=None, mode="nearest", et="f32", scales=False, at="i64", doubt=None, prefer=None, **attrs):
            attrs = {"mode": mode, "shape_calculation_mode": "scales" if scales else "sizes", **attrs}
            size, scale = (c("i64", [1] * len(new)), c("f32", new)) if scales else (c("i64", new), c("f32", [1] * len(new)))
            args = [wave(et, shape)] + ([size, scale] if version == 4 else [scale if scales else size])
            doubt = doubt or ({"cpu": "computes in 32 bits"} if et in ("f64", "i64") else {"core": "computes in the narrow type"} if et in ("f16", "bf16") else None)
            return Case(name, "Interpolate", f"opset{version}", args + ([] if axes is None else [c(at, axes)]), attrs, doubt=doubt, prefer=prefer)
        integer = {"cpu": "rounds otherwise"}
        if version == 4:
            # Evaluated as version 11; the inputs differ.
            for mode in ("nearest", "linear", "linear_onnx", "cubic"):
                yield i(mode, (1, 2, 3, 4), [4, 7], [2, 3], mode)
                yield i(f"{mode}-scales", (1, 1, 3, 4), [1.3, .6], [2, 3], mode, scales=True)
            yield i("all-axes", (2, 3), [3, 5], None, "linear_onnx")
            yield i("pads", (1, 1, 3, 3), [4, 7], [2, 3], "cubic", pads_begin=[0, 0, 1, 0], pads_end=[0, 0, 0, 2])
            return
        for mode in ("nearest", "linear", "linear_onnx", "cubic", "bilinear_pillow", "bicubic_pillow"):
            doubt = {"cpu": "ignores cube_coeff"} if mode == "bicubic_pillow" else None
            yield i(f"{mode}-f32", (1, 2, 3, 4), [4, 7], [2, 3], mode, doubt=doubt)
            yield i(f"{mode}-u8", (1, 1, 5, 4), [4, 7], [2, 3], mode, "u8", doubt=integer)
            yield i(f"{mode}-smaller", (1, 1, 7, 9), [3, 4], [2, 3], mode, doubt=doubt)
        for et in ("f16", "bf16", "i8"):
            yield i(f"linear_onnx-{et}", (1, 1, 3, 4), [4, 7], [2, 3], "linear_onnx", et, doubt=integer if et == "i8" else None)
        yield i("bicubic_pillow-i8", (1, 1, 9, 5), [4, 7], [2, 3], "bicubic_pillow", "i8", doubt=integer)
        for t in TRANSFORMATIONS:
            for mode in ("linear", "linear_onnx") if t != "half_pixel" else ():
                yield i(f"{mode}-{t}", (1, 1, 3, 4), [5, 3], [2, 3], mode, coordinate_transformation_mode=t)
            for n in NEAREST if t == "half_pixel" else ("round_prefer_floor", "simple"):
                yield i(f"{t}-{n}", (1, 1, 4, 5), [1.3, .7], [2, 3], scales=True, coordinate_transformation_mode=t, nearest_mode=n)
        yield i("nearest-pads", (1, 1, 3, 3), [4, 7], [2, 3], pads_begin=[0, 0, 1, 0], pads_end=[0, 1, 0, 2])
        yield i("linear-pads", (1, 1, 3, 3), [4, 7], [2, 3], "linear", pads_begin=[0, 0, 1, 0], pads_end=[0, 0, 0, 2])
        yield i("linear_onnx-scales", (1, 1, 3, 4), [1.3, .6], [2, 3], "linear_onnx", scales=True)
        yield i("linear-antialias", (1, 1, 7, 8), [3, 9], [2, 3], "linear", antialias=True, doubt={"cpu": "ignores antialias"})
        yield i("cubic-antialias", (1, 1, 7, 8), [3, 9], [2, 3], "cubic", antialias=True)
        yield i("cubic-coefficient", (1, 1, 3, 4), [4, 6], [2, 3], "cubic", cube_coeff=-.5)
        yield i("linear_onnx-to-one", (1, 1, 3, 4), [1, 1], [2, 3], "linear_onnx")
        yield i("cubic-from-one", (1, 1, 1, 1), [2, 3], [2, 3], "cubic")
        yield i("pillow-channels-last", (1, 3, 4, 2), [5, 3], [1, 2], "bilinear_pillow")
        yield i("nearest-rank5", (1, 1, 2, 3, 2), [3, 2, 4], [2, 3, 4])
        yield i("linear_onnx-rank5", (1, 1, 2, 3, 2), [3, 2, 4], [2, 3, 4], "linear_onnx")
        yield i("axes-turned", (1, 1, 3, 4), [6, 2], [3, 2], "cubic", at="i32")
        yield i("linear-one-axis", (2, 3, 4), [6], [1], "linear")


interpolate(4)
interpolate(11)


@operation("Interpolate-1")
def interpolate_1():
    def i(name, shape, new, axes, mode, et="f32", **attrs):
        return Case(name, "Interpolate", "opset1", [wave(et, shape), c("i64", new)], {"axes": axes, "mode": mode, **attrs})
    for mode in ("nearest", "linear", "cubic"):
        for align in (True, False):
            yield i(f"{mode}-{'corners' if align else 'free'}", (1, 1, 3, 4), [5, 3], [2, 3], mode, align_corners=align)
    yield i("linear-rank3", (2, 3, 4), [3, 4, 6], [0, 1, 2], "linear", align_corners=False)
    yield i("linear-rank5", (1, 1, 2, 3, 2), [3, 4, 3], [2, 3, 4], "linear", align_corners=False)


@operation("GridSample-9")
def grid_sample():
    def g(name, shape, points, mode=None, padding=None, align=None, et="f32", gt="f32"):
        attrs = {k: v for k, v in (("mode", mode), ("padding_mode", padding), ("align_corners", align)) if v is not None}
        n = shape[0]
        grid = np.array(points, dtype=np.float64)
        grid = np.concatenate([grid * (1 if k == 0 else -.75) for k in range(n)]).reshape(n, len(points), -1, 2)
        return Case(name, "GridSample", "opset9", [wave(et, shape), p(gt, grid)], attrs)
    points = [[[-1, -1], [1, 1], [0, 0], [.25, -.625]], [[-1.25, .5], [.75, 1.5], [-3, 2.25], [5.5, -4.125]], [[.5, .5], [-.5, .125], [1, -1], [2, 2]]]
    for mode in ("bilinear", "bicubic", "nearest"):
        for padding in ("zeros", "border", "reflection"):
            for align in (False, True):
                if padding == "border" and align:
                    continue
                yield g(f"{mode}-{padding}{'-corners' if align else ''}", (1, 2, 3, 4), points, mode, padding, align)
    yield g("defaults", (2, 1, 3, 3), points)
    for et in ("f16", "i8", "i32"):
        yield g(f"{et}-nearest", (1, 2, 3, 3), points, "nearest", et=et)
        if et != "i8":
            yield g(f"{et}-bilinear", (1, 2, 3, 3), points, "bilinear", "border", et=et)
    yield g("grid-f16", (1, 1, 3, 3), points, gt="f16")
    yield g("one-pixel", (1, 2, 1, 1), points, "bicubic", "reflection")
    yield g("one-pixel-corners", (1, 2, 1, 1), points, "nearest", "reflection", True)
