"""ROIAlign, ROIAlignRotated, ROIPooling, PSROIPooling, DeformablePSROIPooling."""

import math

import numpy as np

from .common import Case, P, c, operation, p
from .types import encode


def wave(et, shape, k=7, shift=14):
    n = math.prod(shape)
    return P(et, encode(et, (((np.arange(n) * k + 3) % 29 - shift) / 4.).reshape(shape)))


BOXES = [[0, 0, 4, 4], [1.5, .5, 3.25, 5], [-2, -1, 2, 3], [3, 2, 9, 8], [2, 2, 2.5, 2.25]]


def align(version):
    @operation(f"ROIAlign-{version}")
    def cases():
        def r(name, mode="avg", ratio=2, scale=1., pooled=(2, 2), boxes=BOXES, et="f32", it="i64", aligned=None, batches=1, shift=14, doubt=None):
            attrs = {"pooled_h": pooled[0], "pooled_w": pooled[1], "sampling_ratio": ratio, "spatial_scale": scale, "mode": mode}
            if aligned:
                attrs["aligned_mode"] = aligned
            index = [k % batches for k in range(len(boxes))]
            return Case(name, "ROIAlign", f"opset{version}", [wave(et, (batches, 2, 5, 6), shift=shift), p(et, boxes), c(it, index)], attrs, doubt=doubt)
        narrow = {"core": "computes in the narrow type"}
        for et in ("f32", "f16"):
            yield r(f"{et}-avg", et=et, doubt=narrow if et != "f32" else None)
        for mode in ("avg", "max"):
            shift = 0 if mode == "max" else 14
            yield r(f"{mode}-ratio-0", mode, 0, .5, shift=shift)
            yield r(f"{mode}-3x1", mode, 2, 1., (3, 1), shift=shift)
            yield r(f"{mode}-two-images", mode, batches=2, it="i32", shift=shift)
            if version == 9:
                for aligned in ("asymmetric", "half_pixel", "half_pixel_for_nn"):
                    for ratio in (0, 2) if mode == "avg" else (2,):
                        yield r(f"{mode}-{aligned}-{ratio}", mode, ratio, .75, aligned=aligned, boxes=BOXES[:4], shift=shift)
        yield r("max-negative", "max", shift=40)


align(3)
align(9)


@operation("ROIAlignRotated-15")
def align_rotated():
    boxes = [[3, 2, 4, 2, .5], [2.5, 2.5, 3, 3, 0], [1, 4, 5, 2, -2], [5, 1, 2, 6, 3]]
    def r(name, ratio=2, scale=1., pooled=(2, 2), clockwise=None, et="f32", batches=1):
        attrs = {"pooled_h": pooled[0], "pooled_w": pooled[1], "sampling_ratio": ratio, "spatial_scale": scale}
        if clockwise is not None:
            attrs["clockwise_mode"] = clockwise
        index = [k % batches for k in range(len(boxes))]
        doubt = {"core": "computes in the narrow type"} if et != "f32" else None
        return Case(name, "ROIAlignRotated", "opset15", [wave(et, (batches, 2, 5, 6)), p(et, boxes), c("i64", index)], attrs, doubt=doubt)
    for et in ("f32", "f16"):
        yield r(et, et=et)
    for clockwise in (False, True):
        for ratio in (0, 1, 2):
            yield r(f"{'clockwise' if clockwise else 'counter'}-{ratio}", ratio, clockwise=clockwise)
    yield r("scale", scale=.5)
    yield r("1x3", pooled=(1, 3))
    yield r("two-images", batches=2)


@operation("ROIPooling-2")
def pooling():
    def r(name, boxes, method=None, scale=1., pooled=(2, 2), et="f32", images=1):
        attrs = {"pooled_h": pooled[0], "pooled_w": pooled[1], "spatial_scale": scale}
        if method:
            attrs["method"] = method
        boxes = [[k % images, *box] for k, box in enumerate(boxes)]
        return Case(name, "ROIPooling", "opset2", [wave(et, (images, 2, 5, 6)), p(et, boxes)], attrs)
    parts = [[0, 0, 1, 1], [.25, .125, .5, .75], [0, .5, 1, .5], [.5, .5, 1.25, 1]]
    for et in ("f32", "f16"):
        yield r(f"{et}-max", BOXES, et=et)
        yield r(f"{et}-bilinear", parts, "bilinear", et=et)
    yield r("max-scale", BOXES, "max", .5)
    yield r("max-3x1", BOXES, "max", pooled=(3, 1))
    yield r("max-two-images", BOXES, "max", images=2)
    yield r("max-reversed", [[4, 3, 1, 1]], "max")
    yield r("bilinear-3x1", parts, "bilinear", pooled=(3, 1))
    yield r("bilinear-1x4", parts, "bilinear", pooled=(1, 4))
    yield r("bilinear-two-images", parts, "bilinear", images=2)


@operation("PSROIPooling-1")
def psroi():
    def r(name, boxes, dim=2, group=2, scale=1., mode=None, bins=(1, 1), et="f32", images=1):
        attrs = {"output_dim": dim, "group_size": group, "spatial_scale": scale, "spatial_bins_x": bins[0], "spatial_bins_y": bins[1], "mode": mode or "average"}
        boxes = [[k % images, *box] for k, box in enumerate(boxes)]
        channels = dim * (bins[0] * bins[1] if mode == "bilinear" else group * group)
        return Case(name, "PSROIPooling", "opset1", [wave(et, (images, channels, 5, 6)), p(et, boxes)], attrs)
    boxes = [[0, 0, 4, 4], [1.5, .5, 3.25, 4], [3, 2, 5, 4], [2, 2, 2.5, 2.25]]
    parts = [[0, 0, .75, .75], [.25, .125, .5, .75], [0, .5, 1, .5]]
    for et in ("f32", "f16"):
        yield r(f"{et}-average", boxes, et=et)
        yield r(f"{et}-bilinear", parts, mode="bilinear", bins=(2, 2), et=et)
    yield r("average-group-3", boxes, 1, 3)
    yield r("average-group-1", boxes, 3, 1)
    yield r("average-scale", boxes, scale=.5)
    yield r("average-two-images", boxes, images=2)
    yield r("bilinear-3x1", parts, mode="bilinear", bins=(3, 1))
    yield r("bilinear-group-1", parts, 2, 1, mode="bilinear", bins=(2, 2))
    yield r("bilinear-group-3", parts, 1, 3, .5, "bilinear", (2, 1))


@operation("DeformablePSROIPooling-1")
def deformable():
    def r(name, dim=2, group=2, scale=1., bins=(2, 2), part=None, classes=1, std=.5, et="f32", images=1):
        boxes = [[0, 0, 4, 4], [1.5, .5, 3.25, 4], [3, 2, 5, 4], [-3, -3, 2.5, 2.25]]
        attrs = {"output_dim": dim, "group_size": group, "spatial_scale": scale, "spatial_bins_x": bins[0], "spatial_bins_y": bins[1],
                 "trans_std": std, "part_size": part or 1, "mode": "bilinear_deformable"}
        args = [wave(et, (images, dim * group * group, 5, 6)), p(et, [[k % images, *box] for k, box in enumerate(boxes)])]
        if part:
            args.append(wave(et, (len(boxes), 2 * classes, part, part), 11))
        return Case(name, "DeformablePSROIPooling", "opset1", args, attrs)
    for et in ("f32", "f16"):
        yield r(f"{et}-still", et=et)
    yield r("moved", part=2)
    yield r("moved-classes", 4, part=2, classes=2, std=.1)
    yield r("moved-part-3", part=3, std=.25)
    yield r("group-3", 1, 3)
    yield r("scale", scale=.5)
    yield r("bins-1", bins=(1, 1))
    yield r("bins-3x2", bins=(3, 2))
    yield r("two-images", images=2, part=2)
