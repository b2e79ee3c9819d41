"""ShapeOf, Reshape, Squeeze, Unsqueeze."""

import numpy as np

from .common import C, Case, P, SOME, dims, operation, seq
from .types import STORED


def shapeof(version):
    @operation(f"ShapeOf-{version}")
    def cases():
        opset = f"opset{version}"
        if version == 1:
            for s in [(), (0,), (3,), (2, 3), (2, 0, 3), (1, 1, 2, 1), (1, 2, 1, 3, 1, 2), (1, 2, 1, 1, 1, 2, 1, 2)]:
                yield Case(f"f32-{dims(s)}", "ShapeOf", opset, [P("f32", seq("f32", s))])
            for et in SOME:
                yield Case(f"{et}-3x2", "ShapeOf", opset, [P(et, seq(et, (3, 2)))])
            return
        for out in ("i32", "i64"):
            for s in [(), (0,), (2, 0, 3), (1, 2, 1, 3, 1, 2)]:
                yield Case(f"f32-{dims(s)}-{out}", "ShapeOf", opset, [P("f32", seq("f32", s))], {"output_type": out})
        for i, et in enumerate(["boolean", "bf16", "f16", "f64", "u1", "u3", "i4", "u4", "u6", "i8", "u16", "u64", "nf4", "f8e8m0", "string"]):
            out = ("i32", "i64")[i % 2]
            yield Case(f"{et}-3x2-{out}", "ShapeOf", opset, [P(et, seq(et, (3, 2)))], {"output_type": out})


shapeof(1)
shapeof(3)


@operation("Reshape-1")
def reshape():
    def r(name, shape, pattern, zero, et="f32", pt="i64", const=True, doubt=None):
        p = np.array(pattern, dtype=STORED[pt])
        return Case(name, "Reshape", "opset1", [P(et, seq(et, shape)), (C if const else P)(pt, p)], {"special_zero": zero}, doubt=doubt)
    for et in ["boolean", "bf16", "f16", "f64", "i4", "i64", "u1", "u2", "u3", "u6", "u8", "nf4", "f8e4m3", "string"]:
        yield r(f"{et}-2x3-to-3x2", (2, 3), [3, 2], False, et)
    for pt in ("i32", "i8", "u8", "u64"):
        yield r(f"pattern-{pt}", (2, 3), [3, 2], True, pt=pt)
    yield r("minus-one", (2, 3, 2), [3, -1], False)
    yield r("minus-one-zero", (2, 3, 2), [0, -1], True)
    yield r("zeros-and-minus-one-last", (2, 3, 2, 2), [0, 0, -1], True)
    yield r("minus-one-first-zero-later", (2, 3, 4), [-1, 3, 0], True)
    yield r("zero-copies-by-position", (4, 3, 2), [2, 0, 4], True)
    yield r("zero-literal-empty", (2, 0, 3), [0, 5], False)
    yield r("zero-copies-empty", (2, 0, 3), [2, 0, 3], True)
    yield r("empty-minus-one", (2, 0, 3), [-1, 3], False)
    yield r("empty-minus-one-and-zero", (0, 3), [-1, 0], True)
    yield r("empty-minus-one-and-zero-literal", (0, 3), [0, -1], False, doubt={"both": "no value of -1 is determined; the runtime takes 1"})
    yield r("empty-minus-one-copied-zero", (0, 3), [0, -1], True)
    yield r("to-scalar", (1, 1), np.zeros((0,)), False)
    yield r("from-scalar", (), [1, 1, 1], False)
    yield r("scalar-minus-one", (), [-1], False)
    yield r("scalar-pattern", (1, 1), 1, False)
    yield r("to-rank6", (4, 6), [1, 2, 2, 1, 3, 2], False)
    yield r("from-rank6", (1, 2, 2, 1, 3, 2), [-1], True)
    yield r("to-rank8", (4, 2), [1, 2, 1, 2, 1, 2, 1, 1], False)
    yield r("pattern-is-input", (2, 3), [3, 2], False, const=False)
    yield r("pattern-is-input-zero-minus-one", (2, 3, 2), [0, -1], True, const=False)


def squeeze(version):
    @operation(f"Squeeze-{version}")
    def cases():
        def s(name, shape, axes=None, et="f32", at="i64", skip=None):
            args = [P(et, seq(et, shape))]
            if axes is not None:
                args.append(C(at, np.array(axes, dtype=STORED[at])))
            return Case(name, "Squeeze", f"opset{version}", args, {} if skip is None else {"allow_axis_skip": skip})
        for et in (["boolean", "f16", "i4", "u1", "u6", "u8", "i64", "string"] if version == 1 else ["u8", "u3", "string"]):
            yield s(f"{et}-axis0", (1, 3, 2), [0], et)
        yield s("no-axes-input", (1, 3, 1, 2))
        yield s("no-axes-input-all-ones", (1, 1))
        yield s("empty-axes", (1, 3, 1, 2), np.zeros((0,)))
        yield s("scalar-axis", (1, 3, 1), 2)
        yield s("negative-axes", (1, 3, 1, 2, 1), [-1, -3])
        yield s("duplicate-axes", (1, 3, 1), [0, 0])
        yield s("duplicate-axes-signs", (1, 3, 1), [2, -1])
        yield s("empty-tensor", (0, 1, 3), [1])
        yield s("axis-not-one", (1, 3, 1), [1])
        yield s("axis-not-one-and-one", (1, 3, 1), [0, 1])
        yield s("axis-is-zero", (1, 0, 1), [1, 2])
        if version == 1:
            yield s("rank7", (1, 2, 1, 1, 3, 1, 1), [0, 2, 6])
            yield s("u8-axes", (1, 3, 1), [2], at="u8")
            yield s("unsorted-axes", (1, 3, 1, 2, 1), [4, 0], at="i32")
            yield s("to-scalar", (1, 1), [0, 1])
        if version == 15:
            for skip in (False, True):
                tag = "skip" if skip else "noskip"
                yield s(f"{tag}-all-one", (1, 3, 1, 2), [0, 2], skip=skip)
                yield s(f"{tag}-axis-not-one", (1, 3, 1), [1], skip=skip)
                yield s(f"{tag}-axis-not-one-and-one", (1, 3, 1), [0, 1], skip=skip)
                yield s(f"{tag}-no-axes", (1, 3, 1), skip=skip)
                yield s(f"{tag}-empty-axes", (1, 3, 1), np.zeros((0,)), skip=skip)


squeeze(1)
squeeze(15)


@operation("Unsqueeze-1")
def unsqueeze():
    def u(name, shape, axes, et="f32", at="i64"):
        return Case(name, "Unsqueeze", "opset1", [P(et, seq(et, shape)), C(at, np.array(axes, dtype=STORED[at]))])
    for et in SOME + ["f32", "i32", "u4", "f64"]:
        yield u(f"{et}-axis0", (3, 2), [0], et)
    yield u("axis-last", (3, 2), [2])
    yield u("axis-minus1", (3, 2), [-1])
    yield u("axis-minus-rank", (3, 2), [-3])
    yield u("axes-0-3", (2, 5), [0, 3])
    yield u("axes-unsorted", (2, 5), [3, 0])
    yield u("axes-mixed-signs", (2, 5), [0, -1], at="i32")
    yield u("axes-negative-two", (2, 5), [-2, -1])
    yield u("duplicate-axes", (2, 5), [1, 1])
    yield u("duplicate-axes-signs", (2, 5), [0, -4])
    yield u("duplicate-axes-signs-end", (2, 3, 4), [4, -1])
    yield u("scalar-axis", (3,), 1)
    yield u("scalar-data", (), [0])
    yield u("scalar-data-three", (), [0, 1, 2])
    yield u("empty-tensor", (0, 3), [1])
    yield u("to-rank7", (2, 3), [0, 2, 3, 4, 6])
    yield u("u8-axes", (2, 3), [1], at="u8")
