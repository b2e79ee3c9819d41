"""Range and OneHot."""

import numpy as np

from .common import Case, INF, MOVED, c, operation, p


def ranges(version):
    @operation(f"Range-{version}")
    def cases():
        def r(name, start, stop, step, et="f32", out=None, types=None, const=True, doubt=None):
            make = c if const else p
            args = [make(t, x) for t, x in zip(types or [et] * 3, (start, stop, step))]
            return Case(name, "Range", f"opset{version}", args, {} if version == 1 else {"output_type": out or et}, doubt=doubt)
        for et in ("i32", "i64", "u8", "i8", "f16", "bf16", "f64"):
            yield r(f"{et}-up", 2, 23, 3, et)
        yield r("i32-down", 23, 2, -3, "i32")
        yield r("i32-last-is-stop", 1, 7, 2, "i32")
        yield r("i32-nothing", 5, 5, 1, "i32")
        yield r("i32-nothing-crossed", 5, 1, 1, "i32")
        yield r("i32-nothing-crossed-down", 1, 5, -1, "i32")
        yield r("i64-beyond-f64", 9007199254740993, 9007199254740997, 1, "i64",
                doubt={"both": "computes in f64 where the document asks for the accuracy of i64"} if version == 4 else None)
        yield r("f32-halves", 1, 2.5, .5)
        yield r("f32-down", 1.5, -1.25, -.75)
        yield r("f32-less-than-a-step", 0, .25, 1)
        yield r("f32-negative", -4, -1, 1)
        yield r("i32-inputs", 2, 23, 3, "i32", const=False)
        yield r("f32-inputs", 1, 2.5, .5, const=False)
        if version == 1:
            return
        yield r("i32-to-f32", 0, 5, 2, "i32", "f32")
        yield r("f32-to-i32", 0, 5, 2, "f32", "i32")
        yield r("f32-to-i64-inputs", 3, -4, -2, "f32", "i64", const=False)
        yield r("mixed-types", 1, 4, .5, out="f32", types=["i32", "i64", "f32"])
        yield r("f16-output", 0, 2, .25, "f32", "f16")


ranges(1)
ranges(4)


def one_hot(version):
    @operation(f"OneHot-{version}")
    def cases():
        def o(name, indices, depth, axis=-1, on=1, off=0, et="f32", it="i64", mode=None):
            doubt = {"cpu": "gives empty strings"} if et == "string" else None
            attrs = {"axis": axis}
            if mode is not None:
                attrs["negative_indices_mode"] = mode
            return Case(name, "OneHot", f"opset{version}", [p(it, indices), c(it, depth), c(et, on), c(et, off)], attrs, doubt=doubt)
        values = {"string": ("on", "off"), "boolean": (True, False)}
        for et in MOVED if version == 1 else MOVED[::3]:
            on, off = values.get(et, (7, 2))
            yield o(f"{et}-last", [0, 2, 1], 3, on=on, off=off, et=et)
        yield o("index-i32", [0, 2, 1], 3, it="i32")
        for axis in (0, 1, 2, -2, -3):
            yield o(f"axis{axis}-rank2", [[0, 3, 1], [1, 2, 4]], 3, axis)
        yield o("scalar", 1, 3, 0)
        yield o("beyond-the-depth", [3, 5, 2], 3)
        yield o("depth-one", [0, 1], 1)
        yield o("no-indices", np.zeros((0, 2)), 3, 1)
        yield o("rank4-axis2", np.arange(8).reshape(1, 2, 2, 2) % 3, 3, 2, 5.5, -INF)
        if version == 1:
            return
        for mode in ("ignore_negative", "normalize"):
            yield o(f"{mode}", [0, -5, -2, 2], 3, mode=mode)
            yield o(f"{mode}-axis0", [[-1, 0], [-3, -4]], 3, 0, mode=mode, et="i32", it="i32")


one_hot(1)
one_hot(16)
