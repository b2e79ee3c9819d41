"""Convolutions and poolings."""

import math

import numpy as np

from .common import C, Case, INF, P, ints, operation
from .types import encode

TYPES = ["f16", "bf16", "f32", "f64", "u8", "i64"]
# For versions and relatives that another file covers in every type.
FEW = ["f32", "i32"]


def some(et, shape, seed=1):
    """Small numbers whose products and sums are exact in every type, in any order."""
    i = np.arange(math.prod(shape))
    v = (i * (7 + 2 * seed) + i * i // 5 + seed) % 9
    return encode(et, (v % 4 if et[0] == "u" else v - 4).reshape(shape))


def attributes(rank, auto_pad="explicit", **given):
    """The attributes of a window, of which single numbers mean every axis."""
    a = {"strides": 1, "dilations": 1, "pads_begin": 0, "pads_end": 0, **given}
    a = {k: [v] * rank if isinstance(v, int) and not isinstance(v, bool) else v for k, v in a.items()}
    return {**a, "auto_pad": auto_pad}


def forward(op, groups):
    @operation(f"{op}-1")
    def cases():
        def r(name, x, w, et="f32", **attrs):
            return Case(name, op, "opset1", [P(et, some(et, x)), P(et, some(et, w, 2))], attributes(len(x) - 2, **attrs))

        def filters(o, c, *kernel):
            return (groups, o, c // groups, *kernel) if groups else (o, c, *kernel)
        for et in FEW if groups else TYPES:
            yield r(et, (1, 4, 4, 5), filters(2, 4, 2, 3), et, pads_begin=1)
        yield r("1d", (2, 4, 7), filters(3, 4, 3), strides=2, pads_end=1)
        yield r("3d", (1, 2, 3, 4, 3), filters(2, 2, 2, 3, 1), pads_begin=[0, 1, 0], strides=[1, 2, 1])
        yield r("dilated", (1, 2, 7, 8), filters(2, 2, 3, 2), dilations=[2, 3], strides=[2, 1], pads_begin=1, pads_end=2)
        yield r("one-by-one", (2, 4, 3, 3), filters(3, 4, 1, 1))
        yield r("one-by-one-strided", (1, 4, 5, 4), filters(3, 4, 1, 1), strides=2)
        yield r("wide-pads", (1, 2, 2, 2), filters(2, 2, 3, 3), pads_begin=3, pads_end=2)
        for pad in ("same_upper", "same_lower", "valid"):
            yield r(pad, (1, 2, 5, 6), filters(2, 2, 2, 4), auto_pad=pad, strides=[2, 1], pads_begin=3, pads_end=3)
        for pad in ("same_upper", "same_lower"):
            yield r(f"{pad}-dilated", (1, 2, 6, 7), filters(2, 2, 2, 3), auto_pad=pad, strides=[3, 2], dilations=[2, 1])
        yield r("empty-batch", (0, 2, 3, 3), filters(2, 2, 2, 2))
        if groups:
            yield r("depthwise", (1, 2, 5, 6), (2, 1, 1, 3, 3), pads_begin=1, pads_end=1)
            yield r("depthwise-strided", (1, 2, 6, 7), (2, 1, 1, 3, 3), strides=2, pads_end=1)
            yield r("depthwise-multiplied", (2, 2, 4, 5), (2, 3, 1, 2, 2))


forward("Convolution", 0)
forward("GroupConvolution", 2)


def backward(op, groups):
    @operation(f"{op}-1")
    def cases():
        def r(name, x, w, size=None, et="f32", doubt=None, **attrs):
            args = [P(et, some(et, x)), P(et, some(et, w, 2))] + ([ints(size)] if size else [])
            return Case(name, op, "opset1", args, attributes(len(x) - 2, **{"output_padding": 0, **attrs}), doubt=doubt)

        def filters(c, o, *kernel):
            return (groups, c // groups, o, *kernel) if groups else (c, o, *kernel)
        for et in FEW if groups else TYPES:
            yield r(et, (1, 4, 3, 4), filters(4, 2, 2, 3), et=et, strides=2, pads_begin=1)
        yield r("1d", (2, 4, 4), filters(4, 3, 3), strides=2, pads_end=1)
        yield r("3d", (1, 2, 2, 3, 2), filters(2, 2, 2, 3, 1), strides=[1, 2, 1], pads_begin=[0, 1, 0])
        yield r("dilated", (1, 2, 3, 3), filters(2, 2, 3, 2), dilations=[2, 3], strides=[2, 1], pads_begin=1, pads_end=2)
        yield r("output-padding", (1, 2, 2, 2), filters(2, 2, 3, 3), strides=3, output_padding=[2, 1])
        yield r("kernel-below-stride", (1, 2, 2, 3), filters(2, 2, 1, 2), strides=3)
        for pad in ("same_upper", "same_lower", "valid"):
            yield r(pad, (1, 2, 3, 3), filters(2, 2, 3, 3), auto_pad=pad, strides=2, pads_begin=1)
        for pad in ("same_upper", "same_lower"):
            yield r(f"{pad}-output-shape", (1, 2, 3, 3), filters(2, 2, 3, 4), [6, 5], auto_pad=pad, strides=2)
            yield r(f"{pad}-output-shape-padding", (1, 2, 3, 3), filters(2, 2, 3, 3), [7, 6], auto_pad=pad, strides=2, output_padding=1)
            yield r(f"{pad}-output-shape-larger", (1, 2, 2, 2), filters(2, 2, 2, 2), [6, 5], auto_pad=pad, strides=2)
        for pad in ("explicit", "valid"):
            yield r(f"{pad}-output-shape", (1, 2, 3), filters(2, 2, 3), [5], auto_pad=pad, strides=2)


backward("ConvolutionBackpropData", 0)
backward("GroupConvolutionBackpropData", 2)


@operation("BinaryConvolution-1")
def binary():
    def r(name, x, w, et="f32", **attrs):
        bits = some("i32", x) % 2
        # Eight channels alike: the order of the bits in a byte does not matter.
        kernel = np.repeat((some("i32", (w[0], 1, *w[2:]), 2) % 2).astype(np.uint8), w[1], 1)
        attrs = {"mode": "xnor-popcount", "pad_value": 0.0, **attrs}
        return Case(name, "BinaryConvolution", "opset1", [P(et, encode(et, bits)), C("u1", kernel)], attributes(2, **attrs))
    yield r("f32", (1, 8, 3, 4), (2, 8, 1, 1))
    yield r("strided", (2, 8, 5, 5), (8, 8, 1, 1), strides=2)


def deformable(version):
    @operation(f"DeformableConvolution-{version}")
    def cases():
        def r(name, x, w, out, group=1, offsets=1, mask=False, quarter=1, et="f32", **attrs):
            taps = w[2] * w[3] * offsets
            moved = some("f64", (x[0], 2 * taps, *out), 3) / 4 * quarter
            args = [P(et, some(et, x)), P(et, encode(et, moved)), P(et, some(et, w, 2))]
            if mask:
                args.append(P(et, encode(et, np.abs(some("f64", (x[0], taps, *out), 4)) / 4)))
            return Case(name, "DeformableConvolution", f"opset{version}", args,
                        {**attributes(2, **{k: v for k, v in attrs.items() if k != "bilinear_interpolation_pad"}), "group": group,
                         "deformable_group": offsets, **({"bilinear_interpolation_pad": attrs["bilinear_interpolation_pad"]} if version > 1 else {})})
        borders = [False, True] if version > 1 else [False]
        for pad in borders:
            b = {"bilinear_interpolation_pad": pad}
            n = "-zeros" if pad else ""
            yield r(f"whole-offsets{n}", (1, 2, 4, 4), (2, 2, 2, 2), (3, 3), quarter=4, **b)
            if pad or version == 1:
                yield r(f"plain{n}", (1, 2, 4, 4), (2, 2, 2, 2), (3, 3), **b)
                yield r(f"groups{n}", (2, 4, 3, 4), (2, 2, 2, 2), (2, 3), group=2, offsets=2, **b)
                yield r(f"offset-groups{n}", (1, 4, 3, 3), (2, 4, 1, 2), (3, 2), offsets=4, **b)
                yield r(f"padded{n}", (1, 1, 4, 4), (2, 1, 3, 3), (4, 4), pads_begin=1, pads_end=1, **b)
                yield r(f"strided{n}", (1, 2, 6, 5), (1, 2, 2, 2), (2, 2), strides=[3, 2], dilations=[2, 1], **b)
                yield r(f"same{n}", (1, 1, 4, 5), (1, 1, 2, 3), (2, 3), auto_pad="same_upper", strides=2, **b)
            if version > 1:
                yield r(f"mask{n}", (1, 2, 4, 4), (2, 2, 2, 2), (3, 3), mask=True, quarter=1 if pad else 4, **b)
        if version > 1:
            yield r("nearest", (1, 1, 3, 3), (1, 1, 1, 1), (3, 3), bilinear_interpolation_pad=False)


deformable(1)
deformable(8)


def pool(op, version, **more):
    def r(name, x, kernel, et="f32", **attrs):
        rank = len(x.shape if isinstance(x, np.ndarray) else x) - 2
        data = x if isinstance(x, np.ndarray) else some(et, x)
        kernel = [kernel] * rank if isinstance(kernel, int) else kernel
        a = attributes(rank, **{"kernel": kernel, "rounding_type": "floor", **more, **attrs})
        if (op, version) in (("MaxPool", 1), ("AvgPool", 1), ("AvgPool", 14)):
            del a["dilations"]
        return Case(name, op, f"opset{version}", [P(et, data)], a)
    return r


def shapes(r, version):
    yield r("1d", (2, 2, 7), 3, strides=2)
    yield r("3d", (1, 2, 3, 4, 5), [2, 2, 3], strides=[1, 2, 2], pads_begin=[0, 1, 0])
    yield r("unequal", (1, 2, 5, 6), [3, 2], strides=[2, 3], pads_begin=[1, 0], pads_end=[0, 1])
    for pad in ("same_upper", "same_lower", "valid"):
        yield r(pad, (1, 1, 6, 7), [2, 4], auto_pad=pad, strides=[1, 3], pads_begin=1, pads_end=1)
    yield r("ceil", (1, 1, 6, 5), [3, 2], strides=2, rounding_type="ceil")
    yield r("ceil-valid", (1, 1, 6), 3, strides=2, rounding_type="ceil", auto_pad="valid")
    if version >= 14:
        yield r("ceil-torch", (1, 1, 6, 5), [3, 2], strides=2, pads_begin=1, pads_end=1, rounding_type="ceil_torch")
        yield r("ceil-torch-even", (1, 1, 5), 3, strides=2, pads_end=1, rounding_type="ceil_torch")


def max_pool(version):
    @operation(f"MaxPool-{version}")
    def cases():
        indices = version > 1
        r = pool("MaxPool", version, **({"index_element_type": "i64", "axis": [0]} if indices else {}))

        def q(name, x, kernel, et="f32", **attrs):
            case = r(name, x, kernel, et, **attrs)
            if indices:
                case.attrs["axis"] = attrs.get("axis", [0])[0]
            return case
        for et in TYPES if version == 14 else FEW:
            yield q(et, (1, 2, 4, 5), 2, et, strides=[1, 2], pads_begin=1)
        yield from shapes(q, version)
        if indices:
            for axis in (1, 2, -1):
                yield q(f"axis{axis}", (2, 2, 2, 3), 2, axis=[axis])
            yield q("i32-indices", (2, 2, 4), 2, index_element_type="i32")
            yield q("dilated", (1, 1, 6, 7), [2, 3], dilations=[3, 2], pads_begin=1, pads_end=1)
            yield q("equal", np.zeros((1, 1, 3, 4), np.float32), 2)
        yield q("only-infinities", np.array([[[-INF, -INF, 1, 2]]], np.float32), 2)
        yield q("padding-alone", (1, 1, 4), 2, pads_begin=2)


def avg_pool(version):
    @operation(f"AvgPool-{version}")
    def cases():
        r = pool("AvgPool", version, **{"exclude-pad": True})
        for et in [*TYPES, "i8"] if version == 16 else FEW:
            yield r(et, (1, 2, 4, 5), 2, et, strides=[1, 2], pads_begin=1)
        yield from shapes(r, version)
        for rounding in ("floor", "ceil") + (("ceil_torch",) if version >= 14 else ()):
            yield r(f"{rounding}-including", (1, 1, 6, 5), [3, 2], strides=2, pads_begin=1, pads_end=1, rounding_type=rounding,
                    **{"exclude-pad": False})
            yield r(f"{rounding}-including-without-pads", (1, 1, 6, 5), [3, 2], strides=2, rounding_type=rounding,
                    **{"exclude-pad": False})
        yield r("same-including", (1, 1, 5, 5), [3, 2], auto_pad="same_upper", **{"exclude-pad": False})
        if version >= 16:
            yield r("dilated", (1, 1, 6, 7), [2, 3], dilations=[3, 2], pads_begin=1, pads_end=1)
            yield r("dilated-including", (1, 1, 6, 7), [2, 3], dilations=[3, 2], pads_begin=1, pads_end=1, **{"exclude-pad": False})


for v in (1, 8, 14):
    max_pool(v)
for v in (1, 14, 16):
    avg_pool(v)


def adaptive(op, **attrs):
    @operation(f"{op}-8")
    def cases():
        for et in ["f16", "bf16", "f32"]:
            yield Case(et, op, "opset8", [P(et, some(et, (1, 2, 5, 7))), ints([2, 3])], attrs)
        for name, x, size in [("1d", (2, 2, 7), [3]), ("3d", (1, 2, 3, 5, 4), [2, 2, 3]), ("larger", (1, 2, 3), [5]),
                              ("one", (1, 3, 4, 5), [1, 1]), ("same", (1, 1, 2, 3), [2, 3])]:
            yield Case(name, op, "opset8", [P("f32", some("f32", x)), ints(size)], attrs)
        yield Case("i32-size", op, "opset8", [P("f32", some("f32", (1, 2, 6))), ints([4], "i32")], attrs)


adaptive("AdaptiveAvgPool")
adaptive("AdaptiveMaxPool", index_element_type="i32")
