"""Select, NonZero, Bucketize."""

import numpy as np

from .common import COMPUTED, Case, INF, MOVED, NAN, P, operation, p, seq


@operation("Select-1")
def select():
    def s(name, condition, then, other, mode="numpy", et="f32"):
        """The condition as it is written, the shapes of the other two."""
        return Case(name, "Select", "opset1", [p("boolean", condition), P(et, seq(et, then)), P(et, seq(et, other, 40, 3))],
                    {"auto_broadcast": mode})
    two = [[0, 1], [1, 0], [1, 1]]
    for et in MOVED[:-1]:
        yield s(f"{et}-same-shapes", two, (3, 2), (3, 2), et=et)
    yield s("none", two, (3, 2), (3, 2), "none")
    yield s("scalars", True, (), ())
    yield s("scalar-condition", False, (2, 3), (2, 3))
    yield s("scalar-then", two, (), (3, 2))
    yield s("scalar-else", two, (3, 2), ())
    yield s("row-condition", [1, 0], (3, 2), (3, 2))
    yield s("column-condition", [[1], [0], [1]], (3, 2), (3, 2))
    yield s("both-stretched", [[1, 0, 1], [0, 1, 0]], (2, 1), (1, 3))
    yield s("lower-ranks", [0, 1, 1], (2, 1, 3), (2, 1))
    yield s("rank6", [[[[[[1], [0]]]]]], (1, 2, 1, 1, 2, 1), (2, 1, 1, 2, 1, 1))
    yield s("empty", np.zeros((0, 2)), (0, 2), (0, 2))
    yield s("pdpd-same-shapes", two, (3, 2), (3, 2), "pdpd")
    yield s("pdpd-else-first", two, (3, 2), (3,), "pdpd")


@operation("NonZero-3")
def non_zero():
    def n(name, x, et="f32", out=None):
        return Case(name, "NonZero", "opset3", [p(et, x)], {} if out is None else {"output_type": out})
    some = [[1, 0, 2], [0, 0, 3]]
    for et in ["boolean", "f32"] + COMPUTED:
        yield n(f"{et}-some", some, et)
    for out in ("i32", "i64"):
        yield n(f"output-{out}", some, out=out)
    yield n("rank1", [0, 5, 0, 7])
    yield n("rank3", [[[0, 1], [0, 0]], [[1, 0], [1, 1]]])
    yield n("rank5", np.array([0, 1, 1, 0, 0, 1]).reshape(1, 2, 1, 3, 1))
    yield n("all", [[1, 2], [3, 4]])
    yield n("none", [[0, 0], [0, 0]])
    yield n("no-data", np.zeros((2, 0)))
    yield n("signed-zero-and-nan", [-0., NAN, INF, 1e-45, 0.])
    yield n("long-line", [(i * 7) % 3 for i in range(50)], "i32")


@operation("Bucketize-3")
def bucketize():
    def b(name, x, bounds, right=None, out=None, et="f32", bt=None):
        # The runtime asks for the type, for which the document has a default.
        attrs = {"output_type": out or "i64"} | ({} if right is None else {"with_right_bound": right})
        return Case(name, "Bucketize", "opset3", [p(et, x), p(bt or et, bounds)], attrs)
    x, bounds = [[3, 50], [10, 1]], [0, 5, 10]
    for et in ["f32", "f16", "f64", "i8", "u8", "i32", "i64"]:
        yield b(f"{et}", x, bounds, et=et)
    yield b("i32-in-f32", x, bounds, et="i32", bt="f32")
    yield b("f32-in-i32", [4.5, 5, 5.5, 10], [5, 10], et="f32", bt="i32")
    yield b("f32-in-i64", [-1, 0, 1], [0], et="f32", bt="i64")
    for right in (True, False):
        tag = "right" if right else "left"
        yield b(f"edges-{tag}", [-1, 0, 2.5, 5, 7, 10, 11], bounds, right)
        yield b(f"one-bound-{tag}", [1, 2, 3], [2], right)
        yield b(f"inf-{tag}", [-INF, INF, 0], [0], right)
        yield b(f"output-i32-{tag}", x, bounds, right, "i32")
    yield b("no-bounds", [[1, 2]], np.zeros((0,)))
    yield b("no-data", np.zeros((0, 3)), bounds)
    yield b("scalar", 7, bounds)
    yield b("negative-bounds", [-7, -5, -3, 0], [-5, -3, -1])
    yield b("rank4", np.arange(12).reshape(1, 3, 2, 2), [2, 6, 7])
