"""Concat, Broadcast, Transpose and other movement of whole parts."""

import numpy as np

from .common import C, Case, MOST, P, SOME, ints, operation, seq
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
