"""ScatterElementsUpdate and its relatives."""

import numpy as np

from .common import Case, INF, MOST, MOVED, NAN, P, SOME, ints, operation, seq
from .types import STORED, encode, limits


def scatter(version):
    @operation(f"ScatterElementsUpdate-{version}")
    def cases():
        def s(name, et, data, index, updates, axis, reduction=None, init=None, it="i32", at="i64", flat=True, doubt=None):
            attrs = {}
            if version == 12:
                attrs = {"reduction": reduction or "none", "use_init_val": True if init is None else init}
            d = data if isinstance(data, np.ndarray) else encode(et, data)
            u = updates if isinstance(updates, np.ndarray) else encode(et, updates)
            return Case(name, "ScatterElementsUpdate", f"opset{version}",
                        [P(et, d), P(it, np.array(index, dtype=STORED[it])), P(et, u), ints([axis] if flat else axis, at)], attrs, doubt=doubt)
        tall, idx = (4, 3), [[3, 0, 1], [0, 2, 2]]
        for et in (MOST if version == 12 else SOME):
            yield s(f"{et}-none-axis0", et, seq(et, tall), idx, seq(et, (2, 3), 40, 3), 0)
        for it in ("i64", "u8") if version == 12 else ["i64"]:
            yield s(f"f32-none-index-{it}", "f32", seq("f32", tall), idx, seq("f32", (2, 3), 40), 0, it=it)
        yield s("f32-none-axis1", "f32", seq("f32", (2, 4)), [[3, 0, 1], [0, 2, 3]], seq("f32", (2, 3), 40), 1)
        yield s("f32-none-axis-minus2-scalar", "f32", seq("f32", tall), idx, seq("f32", (2, 3), 40), -2, flat=False, at="i32")
        yield s("f32-none-negative-index", "f32", seq("f32", (5,)), [-1, 0, -5 + 1], seq("f32", (3,), 40), 0)
        yield s("f32-none-updates-smaller", "f32", seq("f32", (3, 3, 2)), [[[1], [2]]], seq("f32", (1, 2, 1), 40), 1)
        yield s("f32-none-updates-longer", "f32", seq("f32", (2,)), [1, 0, 1, 1], seq("f32", (4,), 40), 0)
        yield s("f32-none-no-updates", "f32", seq("f32", (3,)), np.zeros((0,)), seq("f32", (0,)), 0)
        yield s("f32-none-rank5", "f32", seq("f32", (1, 2, 2, 3, 1)), [[[[[2], [0]]]]], seq("f32", (1, 1, 1, 2, 1), 40), 3)
        if version == 3:
            return
        index = [1, 0, 0, -2, -1, 2]
        for r in ("sum", "prod", "min", "max", "mean"):
            for init in (True, False):
                tag = f"{r}-{'init' if init else 'noinit'}"
                yield s(f"f32-{tag}", "f32", [2., 3, 4, 6, 8], index, [10., 20, -30, 40, 70, 60], 0, r, init)
                if init or r in ("sum", "mean"):
                    yield s(f"i32-{tag}", "i32", [2, 3, -4, 6, -9], index, [10, -21, -30, 41, -70, 60], 0, r, init)
                if init and r in ("sum", "mean"):
                    yield s(f"f32-{tag}-2d", "f32", seq("f32", (3, 4)), [[1, 1], [0, 3]], seq("f32", (2, 2), 40), 1, r, init)
                if r in ("sum", "prod") or (r != "mean" and not init):
                    yield s(f"boolean-{tag}", "boolean", [1, 0, 1, 0, 0], [0, 1, 1, 2, 2, 3], [1, 1, 0, 0, 0, 1], 0, r, init)
        for et in ("i8", "u8", "u64"):
            for r in ("sum", "prod")[:1 + (et == "i8")]:
                lo, hi = limits(et)
                yield s(f"{et}-{r}-wrap", et, [hi, hi - 1, lo, 3], [0, 1, 2, 3, 0], [1, 5, 1, hi, 2], 0, r, True)
        yield s("i8-mean-init-small", "i8", [-7, 5, 3, 100], [0, 0, 1, 1, 2], [2, -3, -4, 1, 4], 0, "mean", True,
                doubt={"cpu": "rounds the mean towards zero where the document rounds it down"})
        yield s("i64-mean-noinit", "i64", [1, 2, 3], [0, 0, 1, 1, 1], [-3, 2, -1, -1, 1], 0, "mean", False)
        yield s("u8-mean-init", "u8", [4, 5, 6], [0, 0, 1], [2, 3, 4], 0, "mean", True)
        for et in ("f16", "bf16", "f64"):
            yield s(f"{et}-sum-init", et, [2., 3, 4, 6, 8], index, [10., 20, -30, 40, 70, 60], 0, "sum", True)
            yield s(f"{et}-mean-init", et, [1., 4, 4, 6, 8], index, [10., 20, -30, 42, 68, 60], 0, "mean", True)
        for r in ("min", "max"):
            yield s(f"f32-{r}-nan", "f32", [1., NAN, 3, NAN, 5], [0, 0, 1, 2, 3, 4], [NAN, 0., 7, -2, NAN, NAN], 0, r, True)
            yield s(f"f32-{r}-inf-noinit", "f32", [1., 2, 3], [0, 1], [INF, -INF], 0, r, False,
                    doubt={"both": "starts from the outermost finite number, so one infinity is lost"})
        yield s("f32-sum-nan-inf", "f32", [INF, 1., NAN], [0, 1, 2], [-INF, INF, 1.], 0, "sum", True)


scatter(3)
scatter(12)


@operation("ScatterUpdate-3")
def scatter_update():
    def s(name, shape, index, axis, et="f32", it="i32", flat=False, at="i64"):
        idx = np.array(index, dtype=STORED[it])
        a = axis % len(shape)
        updates = seq(et, shape[:a] + idx.shape + shape[a + 1:], 40, 3)
        return Case(name, "ScatterUpdate", "opset3", [P(et, seq(et, shape)), P(it, idx), P(et, updates), ints([axis] if flat else axis, at)])
    for et in MOVED:
        yield s(f"{et}-axis0", (4, 3), [3, 0], 0, et)
    yield s("f32-index-i64", (4, 3), [3, 0], 0, it="i64")
    yield s("f32-axis1", (2, 4), [1, 3, 0], 1)
    yield s("f32-axis1-of-3", (2, 3, 2), [2, 0], 1, flat=True)
    yield s("f32-axis-minus1", (2, 3, 2), [1], -1, at="i32")
    yield s("f32-axis-minus2-index-2x2", (2, 5, 2), [[4, 0], [1, 2]], -2)
    yield s("f32-index-rank3", (6,), [[[5], [0]], [[2], [3]]], 0)
    yield s("f32-scalar-index", (3, 2), 1, 0)
    yield s("f32-no-index", (3, 2), np.zeros((0,)), 0)
    yield s("f32-no-columns", (3, 0), [2, 1], 0)
    yield s("f32-rank6", (1, 2, 1, 3, 1, 2), [2, 0], 3)
    yield s("i32-all-places", (5,), [4, 2, 0, 1, 3], 0, "i32")


def scatter_nd(version):
    @operation(f"ScatterNDUpdate-{version}")
    def cases():
        def s(name, shape, index, et="f32", it="i32", reduction=None, data=None, updates=None, doubt=None):
            idx = np.array(index, dtype=STORED[it])
            to = idx.shape[:-1] + tuple(shape[idx.shape[-1]:])
            d = seq(et, shape) if data is None else encode(et, data)
            u = seq(et, to, 40, 3) if updates is None else encode(et, updates)
            attrs = {} if reduction is None else {"reduction": reduction}
            return Case(name, "ScatterNDUpdate", f"opset{version}", [P(et, d), P(it, idx), P(et, u)], attrs, doubt=doubt)
        for et in (MOVED if version == 4 else ["f16", "i64"]):
            yield s(f"{et}-elements", (8,), [[4], [3], [1], [7]], et)
        yield s("f32-index-i64", (8,), [[4], [3], [1], [7]], it="i64")
        yield s("f32-slices", (4, 2, 2), [[0], [2]])
        yield s("f32-slices-of-two", (2, 3, 2), [[1, 2], [0, 0]])
        yield s("f32-elements-of-two", (3, 3), [[0, 1], [2, 2], [1, 0]])
        yield s("f32-leading-dims", (3, 2, 2), [[[2, 1]], [[0, 0]]])
        yield s("f32-one-index", (4,), [2])
        yield s("f32-no-index", (3, 2), np.zeros((0, 1)))
        yield s("f32-no-columns", (3, 0), [[1]])
        if version == 4:
            yield s("f32-rank6", (1, 2, 1, 2, 1, 2), [[0, 1, 0, 1], [0, 0, 0, 1]])
            return
        yield s("f32-negative", (8,), [[4], [3], [1], [7], [-2], [-4]])
        yield s("f32-negative-two", (2, 3), [[-1, -3], [-2, 2]])
        for r in ("none", "sum", "sub", "prod", "min", "max"):
            again = [[0], [2], [-3], [3]] if r == "none" else [[0], [2], [-3], [-3], [0]]
            for et in ("f32", "i32") if r in ("sum", "min") else ["f32"]:
                yield s(f"{et}-{r}", (4,), again, et, reduction=r, data=[1, 2, 3, 4], updates=[10, 20, -30, 40, 50][:len(again)])
            if r in ("sum", "sub", "prod"):
                yield s(f"boolean-{r}", (4,), [[0], [1], [2], [3]], "boolean", reduction=r, data=[0, 0, 1, 1], updates=[0, 1, 0, 1])
            if r in ("sum", "max"):
                yield s(f"f16-{r}-slices", (3, 2), [[2], [0], [2]], "f16", reduction=r, data=[[1, 2], [3, 4], [5, 6]],
                        updates=[[7, -8], [9, 1], [2, 3]])
        yield s("u8-sum-wrap", (2,), [[0], [1]], "u8", reduction="sum", data=[250, 3], updates=[10, 4])


scatter_nd(4)
scatter_nd(15)
