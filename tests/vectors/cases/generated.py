"""Eye, RandomUniform, Multinomial."""

import numpy as np

from .common import Case, c, operation, p


@operation("Eye-9")
def eye():
    def e(name, rows, columns, diagonal, batch=None, et="f32", at="i64"):
        args = [c(at, x) for x in (rows, columns, diagonal)] + ([] if batch is None else [c(at, batch)])
        return Case(name, "Eye", "opset9", args, {"output_type": et})
    for et in ("i8", "u8", "i32", "i64", "f16", "bf16", "f64"):
        yield e(et, 2, 3, 0, et=et)
    for diagonal in (-3, -2, 1, 9):
        yield e(f"diagonal-{diagonal}", 3, 3, diagonal)
    yield e("wide", 2, 5, 2)
    yield e("high", 5, 2, -2)
    yield e("batch", 2, 2, 1, [2, 1, 3])
    yield e("no-batch", 2, 2, 1, np.zeros(0))
    yield e("nothing", 0, 3, 0)
    yield e("sizes-of-one", [2], [3], [1], at="i32")


@operation("RandomUniform-8")
def random_uniform():
    def r(name, shape, low, high, et="f32", seeds=(150, 10), alignment="tensorflow", **more):
        attrs = {"output_type": et, "global_seed": seeds[0], "op_seed": seeds[1], "alignment": alignment}
        return Case(name, "RandomUniform", "opset8", [c("i64", shape), c(et, low), c(et, high)], attrs, **more)
    for alignment in ("tensorflow", "pytorch"):
        for et in ("f32", "f64", "f16", "bf16", "i32", "i64"):
            # The document makes integers of one word, as the CPU plugin does.
            doubt = {"core": "makes 64-bit integers of two words"} if et == "i64" and alignment == "tensorflow" else {}
            if et == "f64":
                doubt = {"cpu": "computes f64 as f32"}
            if et == "bf16" and alignment == "tensorflow":
                doubt = {"core": "cuts floats off that do not fit bf16"}
            yield r(f"{alignment}-{et}", [3, 5], 0, 1 if et[0] != "i" else 100, et, alignment=alignment, doubt=doubt)
            if et in ("f32", "bf16", "i64"):
                yield r(f"{alignment}-{et}-range", [7], -3, 50, et, (80, 100), alignment, doubt=doubt)
        yield r(f"{alignment}-only-global", [6], 0, 1, seeds=(7, 0), alignment=alignment)
        yield r(f"{alignment}-long", [400], -1000, 1000, "i32", alignment=alignment)
    yield r("only-op-seed", [6], 0, 1, seeds=(0, 7))
    yield r("large-seeds", [6], 0, 1, seeds=(5000000000, 6000000000))
    yield r("i32-whole-range", [6], -2147483648, 2147483647, "i32")
    yield r("pytorch-i64-wide", [6], -9000000000, 9000000000, "i64", alignment="pytorch", prefer="core")


@operation("Multinomial-13")
def multinomial():
    def m(name, probs, samples, et="f64", out="i32", replace=True, logs=False, seeds=(1, 2), st="i32", **more):
        attrs = {"convert_type": out, "with_replacement": replace, "log_probs": logs, "global_seed": seeds[0], "op_seed": seeds[1]}
        return Case(name, "Multinomial", "opset13", [p(et, probs), c(st, samples)], attrs, **more)
    # Only one class can be drawn: the same whatever the generator.
    for et in ("f32", "f16", "bf16"):
        yield m(f"{et}-certain", [[0, 1, 0], [1, 0, 0], [0, 0, 1]], 4, et)
    yield m("f32-certain-logs", [[-900, 0, -900]], 3, "f32", "i64", logs=True)
