"""Sums, means and maxima of rows that are picked or belong together."""

import numpy as np

from .common import COMPUTED, Case, INF, P, c, operation, p, seq

# Halves and quarters, so that every sum is exact.
TABLE_OF_ROWS = [[-.25, -.5], [-1, 4], [-2, -1.5], [-1, 1.5], [.75, -.5]]
WHOLE = [[1, 2], [3, 4], [5, 6], [7, 8], [9, 10]]


def rows(et):
    return p(et, TABLE_OF_ROWS if et in ("f32", "f16", "bf16", "f64") else WHOLE)


def offsets(name_of, version):
    @operation(f"{name_of}-{version}")
    def cases():
        def b(name, indices, starts, default=None, weights=None, et="f32", it="i32", reduction=None, table=None, doubt=None):
            args = [rows(et) if table is None else P(et, table), p(it, indices), p(it, starts)]
            args += [] if default is None else [p(it, default)]
            args += [] if weights is None else [p(et, weights)]
            return Case(name, name_of, f"opset{version}", args, {} if reduction is None else {"reduction": reduction}, doubt=doubt)
        four = [0, 2, 3, 4]
        for et in ("f32", "f16", "f64", "i32", "i64", "u8"):
            yield b(f"{et}-plain", four, [0, 2, 2], et=et)
        yield b("index-i64", four, [0, 2, 2], it="i64")
        yield b("default", four, [0, 2, 2], 1)
        yield b("default-weights", four, [0, 2, 2], 0, [.5, .5, .5, .5])
        yield b("weights-differ", four, [0, 1, 3], 0, [.5, -2, 4, 1])
        yield b("i32-weights", four, [0, 2, 2], 0, [1, 2, 3, -1], et="i32")
        yield b("one-bag", four, [0])
        yield b("bags-of-one", four, [0, 1, 2, 3])
        # The document allows an offset of the length of `indices`.
        yield b("last-bag-empty", four, [0, 2, 4], doubt={"cpu": "reads past the indices"})
        yield b("middle-bag-empty-default", four, [0, 1, 1, 3], 3)
        yield b("two-bags-empty", four, [0, 2, 2, 2], 2)
        yield b("repeated-rows", [1, 1, 1, 0], [0, 3])
        yield b("rows-of-rank3", [2, 0, 1], [0, 2], table=seq("f32", (3, 2, 2)))
        yield b("rows-of-rank1", [2, 0, 1], [0, 2], table=seq("f32", (3,)))
        if version == 15:
            yield b("default-minus-one", four, [0, 2, 2], -1, [.5, .25, -2, 1])
            for reduction in ("sum", "mean"):
                yield b(f"{reduction}", four, [0, 2, 2], reduction=reduction)
                yield b(f"{reduction}-default", four, [0, 0, 1], 4, reduction=reduction)
            yield b("mean-of-four-f16", four, [0], et="f16", reduction="mean")


offsets("EmbeddingBagOffsetsSum", 3)
offsets("EmbeddingBagOffsets", 15)


def packed(name_of, version):
    @operation(f"{name_of}-{version}")
    def cases():
        def b(name, indices, weights=None, et="f32", it="i32", reduction=None, table=None):
            args = [rows(et) if table is None else P(et, table), p(it, indices)] + ([] if weights is None else [p(et, weights)])
            return Case(name, name_of, f"opset{version}", args, {} if reduction is None else {"reduction": reduction})
        three = [[0, 2], [1, 2], [3, 4]]
        for et in ("f32", "f16", "f64", "i32", "i64", "u8"):
            yield b(f"{et}-plain", three, et=et)
        yield b("index-i64", three, it="i64")
        yield b("weights", three, [[.5, .5], [.5, .5], [.5, .5]])
        yield b("weights-differ", three, [[.5, -2], [4, 1], [0, .25]])
        yield b("i32-weights", three, [[1, 2], [3, -1], [0, 1]], et="i32")
        yield b("bags-of-one", [[3], [0]])
        yield b("one-bag", [[0, 1, 2, 3, 4]])
        yield b("same-rows", [[1, 1, 1], [2, 2, 0]])
        yield b("rows-of-rank3", [[2, 0], [1, 1]], table=seq("f32", (3, 2, 2)))
        yield b("rows-of-rank1", [[2, 0], [1, 1]], table=seq("f32", (3,)))
        if version == 15:
            for reduction in ("sum", "mean"):
                yield b(f"{reduction}", three, reduction=reduction)
                yield b(f"{reduction}-of-four", [[0, 1, 2, 4]], reduction=reduction, et="f16")
            yield b("sum-weights", three, [[.5, -2], [4, 1], [0, .25]], reduction="sum")


packed("EmbeddingBagPackedSum", 3)
packed("EmbeddingBagPacked", 15)


@operation("EmbeddingSegmentsSum-3")
def segments():
    def s(name, indices, ids, count, default=None, weights=None, et="f32", it="i32", table=None, const=True):
        args = [rows(et) if table is None else P(et, table), p(it, indices), p(it, ids), (c if const else p)(it, count)]
        args += [] if default is None else [p(it, default)]
        args += [] if weights is None else [p(et, weights)]
        return Case(name, "EmbeddingSegmentsSum", "opset3", args)
    four, ids = [0, 2, 3, 4], [0, 0, 2, 2]
    for et in ("f32", "f16", "f64", "i32", "i64", "u8"):
        yield s(f"{et}-plain", four, ids, 3, et=et)
    yield s("index-i64", four, ids, 3, it="i64")
    yield s("default", four, ids, 3, 1)
    yield s("default-weights", four, ids, 3, 0, [.5, .5, .5, .5])
    yield s("weights-differ", four, [0, 1, 1, 2], 4, 0, [.5, -2, 4, 1])
    yield s("count-is-input", four, ids, 3, 0, const=False)
    yield s("more-segments-at-the-end", four, ids, 5)
    yield s("more-segments-at-the-end-default", four, ids, 5, 3)
    yield s("first-segment-empty", four, [1, 1, 1, 2], 3, 2)
    yield s("one-segment", four, [0, 0, 0, 0], 1)
    yield s("rows-of-rank3", [2, 0, 1], [0, 0, 1], 2, table=seq("f32", (3, 2, 2)))
    yield s("rows-of-rank1", [2, 0, 1], [0, 0, 1], 2, table=seq("f32", (3,)))


@operation("SegmentMax-16")
def segment_max():
    def s(name, x, ids, count=None, mode="zero", et="f32", it="i32", const=True, doubt=None):
        args = [P(et, x) if isinstance(x, np.ndarray) else p(et, x), (c if const else p)(it, ids)]
        args += [] if count is None else [(c if const else p)(it, count)]
        return Case(name, "SegmentMax", "opset16", args, {"fill_mode": mode}, doubt=doubt)
    x, ids = [3, 1, 5, 2, 4], [0, 0, 2, 3, 3]
    for et in ["f32"] + COMPUTED:
        for mode in ("zero", "lowest"):
            doubt = {"cpu": "computes in 32 bits"} if mode == "lowest" and et in ("f16", "f64", "i64", "u64") else None
            if mode == "lowest" or et in ("f32", "i32", "u8"):
                yield s(f"{et}-{mode}", x, ids, mode=mode, et=et, doubt=doubt)
    yield s("index-i64", x, ids, it="i64")
    yield s("inputs", x, ids, const=False)
    yield s("count", x, ids, 4)
    yield s("more-segments", x, ids, 6, "lowest")
    yield s("all-negative", [-3, -1, -5, -2, -4], ids)
    yield s("rows", [[1, 2, 3], [4, 0, 1], [0, 9, 2]], [0, 1, 1])
    yield s("rows-one-empty-lowest", [[1, 2], [4, 0], [0, 9]], [0, 2, 2], mode="lowest", et="i32")
    yield s("rank3", seq("f32", (4, 2, 2)), [0, 0, 1, 3])
    yield s("one-segment", x, [0, 0, 0, 0, 0])
    yield s("infinities", [-INF, INF, 3, INF], [0, 0, 1, 1])
    yield s("lowest-infinity", [-INF, 1], [0, 1], doubt={"cpu": "starts from the outermost finite number"})


@operation("SparseFillEmptyRows-16")
def fill_empty_rows():
    def f(name, values, size, places, default, et="f32", at="i64", doubt=None):
        places = np.array(places).reshape(-1, 2)
        return Case(name, "SparseFillEmptyRows", "opset16", [p(et, values), c(at, size), c(at, places), p(et, default)], doubt=doubt)
    for et in ("f32", "f16", "i8", "u8", "i32", "i64", "f64"):
        yield f(f"{et}-some", [1, 2, 3, 4], [5, 6], [[0, 1], [0, 3], [2, 0], [3, 1]], 9, et)
    yield f("indices-i32", [1, 3], [3, 3], [[0, 0], [2, 2]], 42, at="i32")
    yield f("unsorted", [1, 2, 3], [3, 4], [[2, 3], [0, 1], [2, 0]], 9)
    yield f("no-row-empty", [1, 2], [2, 2], [[0, 1], [1, 0]], 9)
    yield f("no-values", np.zeros(0), [2, 3], np.zeros(0), 9, doubt={"cpu": "leaves the indices unwritten"})
    yield f("no-rows", np.zeros(0), [0, 3], np.zeros(0), 9)
