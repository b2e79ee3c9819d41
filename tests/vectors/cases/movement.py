"""Concat, Broadcast, Transpose and other movement of whole parts."""

import numpy as np

from .common import C, Case, MOST, MOVED, P, SOME, c, ints, operation, p, seq, small
from .types import STORED


@operation("Concat-1")
def concat():
    def c(name, shapes, axis, et="f32"):
        return Case(name, "Concat", "opset1", [P(et, seq(et, s, 10 * i)) for i, s in enumerate(shapes)], {"axis": axis})
    for et in MOST:
        yield c(f"{et}-axis1", [(2, 2), (2, 4), (2, 2)], 1, et)
    for et in ("i4", "u4"):
        yield c(f"{et}-odd-axis0", [(3,), (1,), (5,)], 0, et)
        yield c(f"{et}-odd-axis1", [(2, 3), (2, 1)], 1, et)
    yield c("one-input", [(2, 3)], 0)
    yield c("axis-minus1", [(2, 1), (2, 3)], -1)
    yield c("axis-minus-rank", [(1, 3), (2, 3)], -2)
    yield c("axis2-of-4", [(1, 2, 1, 2), (1, 2, 3, 2)], 2)
    yield c("rank6-axis4", [(1, 2, 1, 1, 2, 2), (1, 2, 1, 1, 1, 2)], 4)
    yield c("rank1-five-inputs", [(1,), (2,), (3,), (1,), (1,)], 0)
    yield c("empty-part", [(2, 0), (2, 3)], 1)
    yield c("empty-part-last", [(2, 3), (2, 0), (2, 1)], 1)
    yield c("all-empty", [(0, 2), (0, 2)], 0)
    yield c("empty-other-axis", [(2, 0), (3, 0)], 0)


def broadcast(version):
    @operation(f"Broadcast-{version}")
    def cases():
        def b(name, shape, target, mode="numpy", axes=None, et="f32", tt="i64", const=True, doubt=None):
            args = [P(et, seq(et, shape)), (C if const else P)(tt, np.array(target, dtype=STORED[tt]))]
            if axes is not None:
                args.append(ints(axes, tt))
            return Case(name, "Broadcast", f"opset{version}", args, {"mode": mode}, doubt=doubt)
        for et in (MOST if version == 3 else SOME + ["f32"]):
            yield b(f"{et}-numpy", (3, 1), [2, 3, 2], et=et)
        yield b("numpy-same", (2, 3), [2, 3])
        yield b("numpy-scalar", (), [2, 3])
        yield b("numpy-scalar-to-scalar", (), np.zeros((0,)))
        yield b("numpy-one-element", (1,), [3])
        yield b("numpy-1d-to-4d", (3,), [2, 1, 2, 3], tt="i32")
        yield b("numpy-rank6", (1, 2, 1, 1, 2, 1), [2, 2, 1, 3, 2, 1])
        yield b("numpy-to-zero", (1, 3), [0, 3])
        yield b("numpy-zero-kept", (0, 1), [2, 0, 3])
        yield b("numpy-target-one", (2, 3), [1, 3])
        yield b("numpy-target-one-whole", (3,), [1])
        yield b("numpy-lower-rank", (1, 3), [3])
        yield b("numpy-incompatible", (2,), [3])
        yield b("numpy-target-is-input", (3, 1), [2, 3, 2], const=False)
        yield b("explicit-axis0", (3,), [3, 2], "explicit", [0])
        yield b("explicit-axis1", (3,), [2, 3, 2], "explicit", [1])
        yield b("explicit-two", (3, 2), [3, 4, 2], "explicit", [0, 2])
        yield b("explicit-two-with-one", (3, 1), [3, 4, 2], "explicit", [0, 2], tt="i32")
        yield b("explicit-one-stretched", (1, 2), [2, 3, 2], "explicit", [0, 2])
        yield b("explicit-transposed", (2, 3), [3, 2], "explicit", [1, 0])
        yield b("explicit-negative-axis", (3,), [2, 3], "explicit", [-1])
        yield b("explicit-duplicate-axes", (2, 2), [2, 3], "explicit", [0, 0], doubt={"both": "reads past the data"})
        yield b("explicit-scalar", (), [2, 2], "explicit", np.zeros((0,)))
        yield b("explicit-scalar-axis", (), [1, 2], "explicit", [0], doubt={"both": "more axes than the data has"})
        yield b("explicit-to-zero", (1,), [0, 2], "explicit", [0])
        yield b("explicit-f16", (2,), [2, 2], "explicit", [0], et="f16")
        if version == 1:
            return
        yield b("bidirectional-target-one", (2, 3), [1, 3], "bidirectional")
        yield b("bidirectional-both", (3, 1), [1, 4], "bidirectional")
        yield b("bidirectional-lower-rank", (2, 3), [3], "bidirectional")
        yield b("bidirectional-lower-rank-one", (2, 3), [1], "bidirectional", tt="i32")
        yield b("bidirectional-higher-rank", (3, 1), [2, 1, 4], "bidirectional")
        yield b("bidirectional-empty-target", (2, 3), np.zeros((0,)), "bidirectional")
        yield b("bidirectional-scalar", (), [2, 2], "bidirectional")
        yield b("bidirectional-to-zero", (1, 3), [0, 1], "bidirectional")
        yield b("bidirectional-zero-kept", (0, 3), [1, 1], "bidirectional")
        yield b("bidirectional-i8", (3, 1), [1, 4], "bidirectional", et="i8")


broadcast(1)
broadcast(3)


@operation("Transpose-1")
def transpose():
    def t(name, shape, order, et="f32", ot="i64"):
        return Case(name, "Transpose", "opset1", [P(et, seq(et, shape)), C(ot, np.array(order, dtype=STORED[ot]))])
    for et in MOST:
        yield t(f"{et}-1-0", (3, 4), [1, 0], et)
    for et in ("i4", "u4"):
        yield t(f"{et}-odd", (3, 3), [1, 0], et)
    yield t("empty-order", (2, 3, 4), np.zeros((0,)))
    yield t("empty-order-scalar", (), np.zeros((0,)))
    yield t("identity", (2, 3), [0, 1])
    yield t("rank1", (4,), [0], ot="i32")
    for order in ([0, 2, 1], [1, 2, 0], [2, 0, 1], [2, 1, 0]):
        yield t("rank3-" + "-".join(map(str, order)), (2, 3, 4), order)
    yield t("rank4-0-2-3-1", (1, 2, 3, 4), [0, 2, 3, 1], ot="i8")
    yield t("rank5-4-1-0-3-2", (2, 1, 3, 2, 2), [4, 1, 0, 3, 2], ot="u8")
    yield t("rank6-5-3-1-4-2-0", (2, 1, 2, 3, 1, 2), [5, 3, 1, 4, 2, 0])
    yield t("rank7", (1, 2, 1, 2, 3, 1, 2), [6, 0, 4, 2, 3, 1, 5])
    yield t("negative-order", (2, 3, 4), [-1, 0, 1])
    yield t("empty-tensor", (2, 0, 3), [2, 1, 0])


@operation("Tile-1")
def tile():
    def t(name, shape, repeats, et="f32", rt="i64", const=True, doubt=None):
        r = np.array(repeats, dtype=STORED[rt])
        return Case(name, "Tile", "opset1", [P(et, seq(et, shape)), (C if const else P)(rt, r)], doubt=doubt)
    for et in MOVED:
        yield t(f"{et}-2x3", (2, 2), [2, 3], et)
    yield t("repeats-i32", (2, 1), [1, 3], rt="i32")
    yield t("fewer-repeats", (2, 1, 3), [2, 2])
    yield t("more-repeats", (3,), [2, 1, 2])
    yield t("no-repeats", (2, 3), np.zeros((0,)), doubt={"cpu": "leaves the output as it was"})
    yield t("ones", (2, 3), [1, 1])
    yield t("scalar", (), [3])
    yield t("zero-repeats", (2, 3), [2, 0])
    yield t("empty-data", (0, 3), [2, 2])
    yield t("rank6", (1, 2, 1, 1, 2, 1), [2, 1, 1, 3, 2, 1])
    yield t("inputs", (2, 2), [2, 3], const=False)


def pad(version):
    @operation(f"Pad-{version}")
    def cases():
        def q(name, shape, begin, end, mode="constant", value=None, et="f32", pt="i64", doubt=None):
            args = [P(et, seq(et, shape)), ints(begin, pt), ints(end, pt)]
            if value is not None:
                args.append(c(et, value))
            return Case(name, "Pad", f"opset{version}", args, {"pad_mode": mode}, doubt=doubt)
        values = {"boolean": True, "string": "pad"}
        for et in ("boolean", "f16", "u8", "i64", "string") if version == 12 else ("f16", "u8", "i64"):
            yield q(f"{et}-constant", (3, 4), [0, 1], [2, 3], value=values.get(et, 7), et=et)
        for mode in ("edge", "reflect", "symmetric"):
            yield q(f"f32-{mode}", (3, 4), [0, 1], [2, 3], mode)
            yield q(f"i8-{mode}-3d", (2, 2, 3), [1, 0, 2], [0, 1, 2], mode, et="i8", pt="i32")
        yield q("f32-reflect-most", (3, 4), [2, 3], [2, 3], "reflect")
        yield q("f32-symmetric-most", (3, 4), [3, 4], [3, 4], "symmetric")
        yield q("f32-edge-rank5", (1, 2, 1, 2, 1), [1, 0, 0, 1, 0], [0, 1, 2, 0, 1], "edge")
        yield q("f32-constant-no-value", (2, 3), [1, 0], [0, 2])
        yield q("f32-constant-rank6", (1, 2, 1, 2, 1, 1), [1, 0, 0, 1, 0, 1], [0, 1, 1, 0, 0, 0], value=-1.5)
        yield q("f32-constant-empty-data", (0, 2), [1, 1], [1, 0], value=2)
        yield q("f32-edge-nothing", (2, 3), [0, 0], [0, 0], "edge")
        if version == 1:
            return
        for mode in ("constant", "edge"):
            yield q(f"f32-{mode}-cropped", (3, 4), [-1, -1], [-1, -1], mode)
        for mode in ("constant", "edge", "reflect", "symmetric"):
            yield q(f"f32-{mode}-mixed", (3, 4), [2, -1], [-1, 3], mode)
        yield q("f32-constant-cropped-to-nothing", (3, 4), [-2, 0], [-1, 1], value=5)


pad(1)
pad(12)


@operation("Reverse-1")
def reverse():
    def r(name, shape, axes, et="f32", mode="index", at="i64"):
        return Case(name, "Reverse", "opset1", [P(et, seq(et, shape)), c("boolean" if mode == "mask" else at, axes)], {"mode": mode})
    for et in MOVED[:-1]:
        yield r(f"{et}-axis1", (2, 4), [1], et)
    yield r("axis0-i32", (3, 2), [0], at="i32")
    yield r("two-axes-u8", (2, 3, 2), [2, 0], at="u8")
    yield r("no-axes", (2, 3), [])
    yield r("rank1", (5,), [0])
    yield r("rank5", (1, 2, 2, 1, 3), [1, 4])
    yield r("all-axes", (2, 3), [0, 1])
    yield r("empty-data", (0, 3), [1])
    yield r("mask-one", (2, 3), [0, 1], mode="mask")
    yield r("mask-two", (2, 3, 2), [1, 0, 1], mode="mask")
    yield r("mask-none", (2, 3), [0, 0], "i32", mode="mask")


@operation("ReverseSequence-1")
def reverse_sequence():
    def r(name, shape, lengths, attrs, et="f32", lt="i32"):
        return Case(name, "ReverseSequence", "opset1", [P(et, small(et, shape)), p(lt, lengths)], attrs)
    for et in MOVED:
        yield r(f"{et}-default-axes", (3, 4), [2, 4, 1], {}, et)
    for lt in ("i64", "u8", "f32"):
        yield r(f"lengths-{lt}", (3, 4), [2, 4, 3], {"batch_axis": 0, "seq_axis": 1}, lt=lt)
    yield r("axes-of-3", (2, 3, 2), [3, 2], {"batch_axis": 0, "seq_axis": 1})
    yield r("batch-after-sequence", (4, 3, 2), [4, 1, 2], {"batch_axis": 1, "seq_axis": 0})
    yield r("batch-last", (2, 3, 2), [3, 2], {"batch_axis": 2, "seq_axis": 1})
    yield r("negative-axes", (2, 3, 4), [4, 3, 2], {"batch_axis": -2, "seq_axis": -1})
    yield r("rank6", (1, 2, 1, 2, 3, 1), [3, 2], {"batch_axis": 1, "seq_axis": 4})
    yield r("one-batch", (1, 5), [3], {"batch_axis": 0, "seq_axis": 1})


@operation("Roll-7")
def roll():
    def r(name, shape, shift, axes, et="f32", it="i64", const=True):
        make = C if const else P
        return Case(name, "Roll", "opset7", [P(et, small(et, shape))] + [make(it, np.array(x, dtype=STORED[it])) for x in (shift, axes)])
    for et in MOVED[:-1]:
        yield r(f"{et}-axis1", (2, 4), [1], [1], et)
    yield r("scalars", (2, 4), 1, 0)
    yield r("scalar-shift-two-axes", (3, 4), 1, [0, 1])
    yield r("two-axes-i32", (3, 4), [2, -1], [0, 1], it="i32")
    yield r("negative-shift", (5,), [-2], [0])
    yield r("shift-beyond-the-size", (5,), [13], [0])
    yield r("shift-far-below", (2, 3), [-7], [-1])
    yield r("negative-axes", (2, 3, 2), [1, 2], [-3, -2])
    yield r("same-axis-twice", (4, 2), [1, 2], [0, 0])
    yield r("same-axis-with-signs", (4, 2), [3, -1], [0, -2])
    yield r("nothing", (2, 3), [0], [1])
    yield r("rank6", (1, 2, 1, 3, 2, 1), [1, 2, 1], [1, 3, 4])
    yield r("inputs", (3, 4), [2, -1], [0, 1], const=False)
