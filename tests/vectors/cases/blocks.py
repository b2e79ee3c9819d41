"""Blocks of axes, channels and patches put elsewhere."""

import numpy as np

from .common import Case, MOVED, P, c, operation, seq, small


def batch(op, cases):
    @operation(f"{op}-2")
    def all_cases():
        def b(name, shape, block, begin, end, et="f32", at="i64"):
            return Case(name, op, "opset2", [P(et, small(et, shape))] + [c(at, x) for x in (block, begin, end)])
        for et in MOVED[:-1]:
            yield b(f"{et}-2d", *cases[0], et=et)
        for i, case in enumerate(cases[1:]):
            yield b(f"case-{i}", *case)
        yield b("lists-i32", *cases[0], at="i32")


batch("BatchToSpace", [((6, 2), [1, 3], [0, 1], [0, 0]), ((4, 1, 2), [1, 2, 2], [0, 0, 1], [0, 1, 0]), ((8, 2, 1, 3), [1, 2, 2, 2], [0, 0, 0, 1], [0, 1, 0, 2]),
                       ((12, 2, 1, 2, 1), [1, 1, 3, 2, 1], [0, 0, 1, 0, 0], [0, 0, 0, 1, 0]), ((2, 3), [1, 1], [0, 0], [0, 0])])
batch("SpaceToBatch", [((2, 5), [1, 3], [0, 1], [0, 0]), ((1, 3, 2), [1, 2, 2], [0, 0, 1], [0, 1, 1]), ((1, 4, 2, 3), [1, 2, 2, 3], [0, 0, 0, 2], [0, 0, 2, 1]),
                       ((2, 2, 2, 3, 1), [1, 1, 3, 2, 1], [0, 0, 1, 0, 0], [0, 0, 0, 1, 0]), ((2, 3), [1, 1], [0, 0], [0, 0])])


def depth(op, cases):
    @operation(f"{op}-1")
    def all_cases():
        for mode in ("blocks_first", "depth_first"):
            for shape, block in cases:
                name = f"{mode}-{'x'.join(map(str, shape))}"
                yield Case(name, op, "opset1", [P("f32", seq("f32", shape))], {"block_size": block, "mode": mode})
            for et in ("u8", "i64"):
                shape, block = cases[0]
                yield Case(f"{mode}-{et}", op, "opset1", [P(et, small(et, shape))], {"block_size": block, "mode": mode})


depth("DepthToSpace", [((1, 8, 2, 3), 2), ((2, 3, 2), 3), ((1, 8, 1, 2, 1), 2), ((2, 2, 2, 2), 1)])
depth("SpaceToDepth", [((1, 2, 4, 6), 2), ((2, 1, 6), 3), ((1, 1, 2, 4, 2), 2), ((2, 2, 2, 2), 1)])


@operation("ShuffleChannels-1")
def shuffle():
    def s(name, shape, axis=None, group=None, et="f32"):
        attrs = {k: v for k, v in (("axis", axis), ("group", group)) if v is not None}
        return Case(name, "ShuffleChannels", "opset1", [P(et, small(et, shape))], attrs)
    for et in ("f32", "u8", "i64", "f16", "f64"):
        yield s(f"{et}-groups", (2, 6, 2), 1, 3, et)
    yield s("default", (1, 4, 2, 2))
    yield s("axis-0", (6, 2), 0, 2)
    yield s("axis-minus1", (2, 2, 6), -1, 3)
    yield s("all", (1, 4, 1, 3), 1, 4)


@operation("Col2Im-15")
def col2im():
    def m(name, shape, size, kernel, et="f32", at="i64", **attrs):
        full = {"strides": [1, 1], "dilations": [1, 1], "pads_begin": [0, 0], "pads_end": [0, 0], **attrs}
        return Case(name, "Col2Im", "opset15", [P(et, small(et, shape)), c(at, size), c(at, kernel)], full)
    for et in ("f32", "f64", "f16", "bf16", "i32", "i64", "u8", "i8"):
        yield m(f"{et}-plain", (1, 8, 4), [3, 3], [2, 2], et)
    yield m("no-batch", (8, 4), [3, 3], [2, 2])
    yield m("sizes-i32", (1, 4, 4), [3, 3], [2, 2], at="i32")
    yield m("strides", (1, 4, 4), [4, 4], [2, 2], strides=[2, 2])
    yield m("gaps", (1, 1, 4), [4, 5], [1, 1], strides=[2, 3])
    yield m("dilations", (1, 4, 6), [3, 5], [2, 2], dilations=[1, 2])
    yield m("pads", (2, 6, 12), [3, 2], [2, 3], pads_begin=[0, 1], pads_end=[2, 2])
    yield m("all", (1, 6, 9), [4, 5], [3, 2], strides=[2, 2], dilations=[1, 2], pads_begin=[1, 1], pads_end=[2, 1])


@operation("ExtractImagePatches-3")
def patches():
    def e(name, shape, sizes, strides, rates, pad="valid", et="f32"):
        return Case(name, "ExtractImagePatches", "opset3", [P(et, small(et, shape))], {"sizes": sizes, "strides": strides, "rates": rates, "auto_pad": pad})
    for et in ("f32", "u8", "i64", "f16", "f64", "boolean"):
        yield e(f"{et}-plain", (1, 2, 4, 5), [2, 3], [1, 2], [1, 1], et=et)
    for pad in ("same_upper", "same_lower"):
        yield e(f"{pad}-odd", (1, 1, 5, 4), [2, 3], [2, 2], [1, 1], pad)
        yield e(f"{pad}-even", (1, 1, 4, 4), [3, 4], [2, 3], [1, 1], pad)
        yield e(f"{pad}-rates", (2, 1, 4, 5), [2, 2], [2, 2], [2, 3], pad)
        yield e(f"{pad}-far", (1, 1, 7, 7), [1, 2], [4, 4], [1, 1], pad)
    yield e("rates", (1, 1, 6, 7), [2, 3], [1, 1], [3, 2])
    yield e("no-patch", (1, 1, 2, 5), [3, 2], [1, 1], [1, 1])
