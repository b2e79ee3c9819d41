"""Slice, StridedSlice, SliceScatter, Split, VariadicSplit: parts along axes."""

import numpy as np

from .common import C, Case, MOVED, P, SOME, ints, operation, seq, small
from .types import STORED

MAX, MIN = 2 ** 31 - 1, -2 ** 31


@operation("Slice-8")
def slice_8():
    def s(name, shape, start, stop, step=None, axes=None, et="f32", it="i64", const=True):
        step = [1] * len(start) if step is None else step
        args = [(C if const else P)(it, np.array(x, dtype=STORED[it])) for x in (start, stop, step)]
        if axes is not None:
            args.append(ints(axes, it))
        return Case(name, "Slice", "opset8", [P(et, seq(et, shape)), *args])
    for et in MOVED[:3] + MOVED[-3:]:
        yield s(f"{et}-two-axes", (3, 5), [0, 1], [2, 5], [1, 2], [0, 1], et)
    for it in ("i32", "i8"):
        yield s(f"f32-index-{it}", (10,), [1], [8], [2], [0], it=it)
    yield s("default-axes", (10,), [1], [8])
    yield s("default-axes-of-3", (4, 3, 2), [1, 0], [3, 2])
    yield s("axes-unsorted", (4, 3, 2), [1, 0], [2, 3], [1, 2], [2, 0])
    yield s("axes-negative", (4, 3, 2), [0, 1], [1, 3], [1, 1], [-1, -2])
    yield s("beyond-the-ends", (10,), [-100], [100], [1], [0])
    yield s("negative-from-the-end", (10,), [-3], [-1], [1], [0])
    yield s("back-all", (10,), [9], [-11], [-1], [0])
    yield s("back-to-zero", (10,), [9], [0], [-1], [0])
    yield s("back-by-two", (10,), [9], [-11], [-2], [0])
    yield s("back-beyond-the-ends", (10,), [100], [-100], [-1], [0])
    yield s("to-int-max", (3, 4), [1], [MAX], [1], [1])
    yield s("back-to-int-min", (3, 4), [MAX], [MIN], [-3], [1])
    yield s("nothing-crossed", (4, 3), [3], [1], [1], [0])
    yield s("empty-data", (0, 3), [0], [5], [1], [0])
    yield s("rank6", (2, 1, 3, 1, 2, 2), [1, 0], [0, 2], [-1, 2], [0, 4])
    yield s("inputs", (10,), [1], [8], [3], [0], const=False)


@operation("StridedSlice-1")
def strided_slice():
    def s(name, shape, begin, end, stride=None, b=(), e=(), new=None, shrink=None, dots=None, et="f32", it="i64", doubt=None):
        args = [ints(begin, it), ints(end, it)] + ([] if stride is None else [ints(stride, it)])
        attrs = {"begin_mask": list(b), "end_mask": list(e)}
        for name_, mask in (("new_axis_mask", new), ("shrink_axis_mask", shrink), ("ellipsis_mask", dots)):
            if mask is not None:
                attrs[name_] = list(mask)
        return Case(name, "StridedSlice", "opset1", [P(et, seq(et, shape)), *args], attrs, doubt=doubt)
    for et in SOME[:2] + SOME[3:]:
        yield s(f"{et}-two-axes", (3, 5), [0, 1], [2, 5], [1, 2], [0, 0], [0, 0], et=et)
    yield s("no-stride", (3, 4), [1, 0], [3, 2], None, [0, 0], [0, 0], it="i32")
    yield s("six-axes", (2, 2, 3, 2, 2, 3), [0, 1, 0, 1, 1, 2], [2, 2, 3, 2, 0, 0], [1, 1, 2, 2, -1, -2], [0] * 6, [0] * 6)
    yield s("begin-and-end-masks", (2, 3, 4), [1, 1, 123], [0, 0, 2], [1, 1, 1], [0, 1, 1], [1, 1, 1])
    yield s("negative-end", (2, 3, 4), [0, 0, 0], [2, 2, -1], [1, 1, 1], [0, 0, 0], [0, 0, 0])
    yield s("clamped", (3, 4), [-100, 1], [100, 50], [1, 1], [0, 0], [0, 0])
    yield s("back", (6,), [5], [1], [-2], [0], [0])
    yield s("back-begin-mask", (2, 5), [0, 0], [2, 1], [1, -1], [1, 1], [1, 0])
    yield s("back-clamped", (6,), [100], [-100], [-1], [0], [0])
    yield s("new-axes", (2, 4), [0, 0, 0, 0], [0, 2, 0, 4], [1, 1, 1, 1], [0] * 4, [0] * 4, new=[1, 0, 1, 0])
    yield s("shrink", (2, 3, 4), [0, 1, 0], [2, 2, 4], [1, 1, 1], [0] * 3, [0] * 3, shrink=[0, 1, 0])
    yield s("shrink-negative", (2, 3), [0, -1], [2, 0], [1, 1], [0, 0], [0, 0], shrink=[0, 1])
    yield s("shrink-all", (2, 3), [1, 2], [2, 3], [1, 1], [0, 0], [0, 0], shrink=[1, 1])
    yield s("ellipsis", (2, 3, 2, 4), [1, 0, 1], [2, 0, 3], [1, 1, 1], [0] * 3, [0] * 3, dots=[0, 1, 0])
    yield s("ellipsis-first", (2, 3, 4), [0, 1], [0, 3], [1, 1], [0, 0], [0, 0], dots=[1, 0])
    yield s("new-shrink-ellipsis", (2, 3, 4), [0, 0, 0, 1], [0, 0, 0, 2], [1] * 4, [0] * 4, [0] * 4, new=[0, 1, 0, 0],
            shrink=[0, 0, 0, 1], dots=[1, 0, 0, 0])
    yield s("fewer-than-rank", (3, 4, 2), [1], [3], [1], [0], [0])
    yield s("long-masks", (3, 4), [1, 0], [0, 2], [1, 1], [0, 1, 1, 1], [1, 0, 0, 1], new=[0] * 4, shrink=[0] * 4)
    yield s("nothing", (4, 3), [3, 0], [1, 3], [1, 1], [0, 0], [0, 0])
    yield s("empty-data", (0, 3), [0, 1], [5, 3], [1, 1], [0, 0], [0, 0])


@operation("SliceScatter-15")
def slice_scatter():
    def s(name, shape, start, stop, step=None, axes=None, et="f32", it="i64"):
        step = [1] * len(start) if step is None else step
        part = [slice(None)] * len(shape)
        for i, a in enumerate(range(len(start)) if axes is None else axes):
            part[a] = slice(start[i], stop[i], step[i])
        to = np.zeros(shape)[tuple(part)].shape
        args = [ints(x, it) for x in (start, stop, step)] + ([] if axes is None else [ints(axes, it)])
        return Case(name, "SliceScatter", "opset15", [P(et, small(et, shape)), P(et, small(et, to) if et in ("i32", "i64", "u64") else seq(et, to, 60, 5)), *args])
    for et in MOVED[:-1]:
        yield s(f"{et}-two-axes", (3, 5), [0, 1], [3, 5], [2, 2], [0, 1], et)
    yield s("f32-index-i32", (2, 5), [0], [1], [1], [0], it="i32")
    yield s("default-axes", (3, 5), [0, 1], [3, 5], [2, 2])
    yield s("clamped", (2, 5), [-25], [25], [2], [1])
    yield s("back", (6,), [-1], [-7], [-2], [0])
    yield s("back-to-int-min", (2, 4), [MAX], [MIN], [-1], [1])
    yield s("axes-negative", (2, 3, 2), [1, 0], [3, 1], [1, 1], [-2, -1])
    yield s("axes-unsorted", (2, 3, 2), [1, 0], [2, 3], [1, 2], [2, 1])
    yield s("nothing", (4, 3), [2], [2], [1], [0])
    yield s("nothing-crossed", (4, 3), [3], [1], [1], [0])
    yield s("all", (2, 3), [0], [MAX], [1], [0])
    yield s("rank6", (2, 1, 3, 1, 2, 2), [1, 0], [0, 2], [-1, 2], [0, 4])


@operation("Split-1")
def split():
    def s(name, shape, axis, count, et="f32", at="i64"):
        return Case(name, "Split", "opset1", [P(et, seq(et, shape)), ints(axis, at)], {"num_splits": count})
    for et in MOVED:
        yield s(f"{et}-axis1", (2, 6), 1, 3, et)
    yield s("axis0", (4, 3), 0, 2)
    yield s("axis-minus1", (2, 1, 4), -1, 4, at="i32")
    yield s("axis-minus-rank", (4, 1), -2, 2)
    yield s("one-part", (2, 3), 1, 1)
    yield s("rank1", (6,), 0, 2)
    yield s("rank6-axis3", (1, 2, 1, 4, 1, 2), 3, 2)
    yield s("empty-other-axis", (0, 4), 1, 2)
    yield s("empty-axis", (2, 0), 1, 2)


@operation("VariadicSplit-1")
def variadic_split():
    def s(name, shape, axis, lengths, et="f32", at="i64", lt="i64"):
        return Case(name, "VariadicSplit", "opset1", [P(et, seq(et, shape)), ints(axis, at), ints(lengths, lt)])
    for et in MOVED:
        yield s(f"{et}-axis1", (2, 6), 1, [1, 3, 2], et)
    yield s("axis0-minus-one", (6, 2), 0, [2, -1, 1])
    yield s("minus-one-alone", (3, 2), 0, [-1])
    yield s("minus-one-is-zero", (3, 2), 0, [1, -1, 2])
    yield s("axis-minus1-i32", (2, 1, 5), -1, [4, 1], at="i32", lt="i32")
    yield s("one-part", (2, 3), 1, [3])
    yield s("empty-part", (4, 2), 0, [0, 3, 0, 1])
    yield s("all-parts-of-one", (4,), 0, [1, 1, 1, 1])
    yield s("rank6-axis3", (1, 2, 1, 4, 1, 2), 3, [3, 1])
    yield s("empty-other-axis", (0, 4), 1, [1, 3])
