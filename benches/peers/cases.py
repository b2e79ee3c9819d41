#!/usr/bin/env python3
"""Models of one operation, as OpenVINO IR and, where there is such an operator, as ONNX, with
random inputs that are the same each time.

    cases.py FOLDER [PART-OF-A-NAME ...]

Each case is a folder: model.xml and model.bin, model.onnx, inputs.txt (as examples/worker.rs reads
it), and meta.json with the `bytes` it must at least read and write, or its `flops`."""

import functools
import json
import os
import sys

import numpy as np
import onnx
import openvino as ov
import protocol
from onnx import helper, numpy_helper
from openvino import opset13, opset15

CASES = {}
node = helper.make_node


def case(name, inputs, ir, nodes=None, constants=None, opset=18, **work):
    """`inputs` and `constants` map names to functions of a random generator, `ir` makes a node of
    parameters and constants, `nodes` are those of ONNX. `work` is bytes=… or flops=…; bytes may
    be a function of the bytes of all inputs and of the output. `rows` tells how many rows of each of
    some tables are moved to or from random places, and their bytes, those of a table and those that tell a place."""
    CASES[name] = (inputs, ir, nodes, constants or {}, opset, work)


def normal(shape, dtype="float32", scale=1.0):
    def draw(random):
        if np.dtype(dtype).kind == "f":
            return (random.standard_normal(shape, dtype=np.float32) * scale).astype(dtype)
        most = 100 if dtype == np.int8 else 1000
        return random.integers(-most, most, shape).astype(dtype)

    return draw


def indices(most, shape, dtype="int64"):
    return lambda random: random.integers(0, most, shape).astype(dtype)


def constant(value):
    return lambda random: np.array(value, "int64")


def size(shape):
    return int(np.prod(shape))


def rows_of(count, width, table, dtype, tables=1, index=8, put=False):
    """Rows of `width` elements that are picked from random places, or put there: so many bytes tell each place."""
    each = np.dtype(dtype).itemsize
    numbers = {"rows": count, "bytes": width * each, "table": size(table) * each, "tables": tables}
    return {"how": "put" if put else "pick", **numbers, "index": index}


def moved(inputs, output):
    """Bytes of an operation that goes through all it is given."""
    return sum(inputs.values()) + output


def picked(inputs, output):
    """Bytes of an operation that reads what it writes, wherever that lies, and its indices."""
    return inputs["idx"] + 2 * output


def scattered(inputs, output):
    """Bytes of a copy of the data, and of indices and updates once."""
    return inputs["idx"] + inputs["upd"] + 2 * output


def gathers():
    def gather(name, data, idx, axis, dtype, idx_type="int64", fixed=False, batch=0):
        number = opset13.constant(np.int64(axis))
        table, draw = normal(data, dtype), indices(data[axis], idx, idx_type)
        below = (size(idx[batch:]), size(data[axis + 1 :]), data[axis:], dtype, size(data[:axis]))
        work = dict(bytes=picked, rows=rows_of(*below, np.dtype(idx_type).itemsize))
        nodes = [node("Gather", ["table", "idx"], ["y"], axis=axis)]
        if fixed:
            ir = lambda p, c: opset13.gather(c["table"], p["idx"], number)
            case(name, {"idx": draw}, ir, nodes, {"table": table}, **work)
            return
        ir = lambda p, c: opset13.gather(p["table"], p["idx"], number, batch)
        constants = {}
        if batch:
            # ONNX's Gather knows no batches.
            nodes = [
                node("Unsqueeze", ["idx", "last"], ["columns"]),
                node("GatherND", ["table", "columns"], ["y"], batch_dims=batch),
            ]
            constants = {"last": constant([-1])}
        inputs = {"table": table, "idx": draw}
        case(name, inputs, ir, nodes, constants, **work)

    for short in ("f32", "f16", "i8"):
        dtype = protocol.TYPES[short]
        for batch, length in ((8, 128), (64, 512)):
            name = f"gather_embed_{batch}x{length}_{short}"
            gather(name, (30522, 768), (batch, length), 0, dtype, fixed=True)
        gather(f"gather_axis1_{short}", (64, 1024, 256), (512,), 1, dtype)
        gather(f"gather_batch1_{short}", (32, 1024, 64), (32, 256), 1, dtype, batch=1)
        gather(f"gather_scalar1M_{short}", (1000000,), (1000000,), 0, dtype)
    gather("gather_scalar1M_f32_idx32", (1000000,), (1000000,), 0, "float32", "int32")
    gather("gather_lastaxis_f32", (4096, 1024), (512,), 1, "float32")
    gather("gather_1row_f32", (1000, 64), (1,), 0, "float32")

    def gather_nd(name, data, shape, batch=0):
        def draw(random):
            sizes = data[batch : batch + shape[-1]]
            return np.stack([random.integers(0, most, shape[:-1]) for most in sizes], -1)

        ir = lambda p, c: opset13.gather_nd(p["table"], p["idx"], batch)
        nodes = [node("GatherND", ["table", "idx"], ["y"], batch_dims=batch)]
        depth = batch + shape[-1]
        count = size(shape[batch:-1])
        below = (size(data[depth:]), data[batch:], "float32", size(data[:batch]))
        rows = rows_of(count, *below, index=8 * shape[-1])
        inputs = {"table": normal(data), "idx": draw}
        case(name, inputs, ir, nodes, bytes=picked, rows=rows)

    gather_nd("gathernd_rows64", (256, 256, 64), (100000, 2))
    gather_nd("gathernd_scalar1M", (1024, 1024), (1000000, 2))
    gather_nd("gathernd_batch1", (32, 1024, 64), (32, 256, 1), 1)


def scatters():
    onnx_reduction = {"none": "none", "sum": "add", "max": "max", "prod": "mul"}

    def elements(name, data, shape, axis, reduction, dtype="float32", idx="int64", initial=True):
        def ir(p, c):
            number = opset13.constant(np.int64(axis))
            return opset13.scatter_elements_update(
                p["data"], p["idx"], p["upd"], number, reduction, initial
            )

        nodes = None
        if initial and reduction in onnx_reduction:
            how = dict(axis=axis, reduction=onnx_reduction[reduction])
            nodes = [node("ScatterElements", ["data", "idx", "upd"], ["y"], **how)]
        inputs = {
            "data": normal(data, dtype),
            "idx": indices(data[axis], shape, idx),
            "upd": normal(shape, dtype),
        }
        below = (size(shape[axis:]), 1, data[axis:], dtype, size(data[:axis]))
        rows = rows_of(*below, np.dtype(idx).itemsize, put=True)
        case(name, inputs, ir, nodes, bytes=scattered, rows=rows)

    example = ((1000, 256, 7, 7), (125, 20, 7, 6), 0)
    for reduction in ("none", "sum", "mean", "max", "prod"):
        elements(f"seu_ex6_{reduction}", *example, reduction)
    elements("seu_ex6_none_f16", *example, "none", dtype="float16")
    elements("seu_ex6_sum_i32", *example, "sum", dtype="int32", idx="int32")
    elements("seu_ex6_sum_noinit", *example, "sum", initial=False)
    for reduction in ("none", "sum"):
        elements(f"seu_1M_1d_{reduction}", (1000000,), (1000000,), 0, reduction)
    for place, rows in (
        ("axis0", ((100000, 16), (1000000, 16), 0)),
        ("axislast", ((16, 100000), (16, 1000000), 1)),
    ):
        for reduction in ("none", "sum", "mean", "max"):
            elements(f"seu_1Mrows_{place}_{reduction}", *rows, reduction, idx="int32")
        name = f"seu_1Mrows_{place}_sum_noinit"
        elements(name, *rows, "sum", idx="int32", initial=False)

    def slices(name, data, shape, reduction="none", twice=False):
        depth = shape[-1]
        places, count = size(data[:depth]), size(shape[:-1])

        def draw(random):
            if twice:
                flat = random.integers(0, places, count)
            else:
                flat = random.permutation(places)[:count]
            return np.stack(np.unravel_index(flat, data[:depth]), -1).reshape(shape)

        def ir(p, c):
            inputs = (p["data"], p["idx"], p["upd"])
            if reduction == "none":
                return opset13.scatter_nd_update(*inputs)
            return opset15.scatter_nd_update(*inputs, reduction=reduction)

        how = onnx_reduction[reduction]
        nodes = [node("ScatterND", ["data", "idx", "upd"], ["y"], reduction=how)]
        updates = normal(shape[:-1] + data[depth:])
        inputs = {"data": normal(data), "idx": draw, "upd": updates}
        rows = rows_of(count, size(data[depth:]), data, "float32", index=8 * depth, put=True)
        case(name, inputs, ir, nodes, bytes=scattered, rows=rows)

    slices("snd_rows64", (100000, 64), (50000, 1))
    slices("snd_rows64_sum", (100000, 64), (50000, 1), "sum")
    slices("snd_scalar262k", (1024, 1024), (262144, 2))
    slices("snd_scalar262k_sum_dup", (1024, 1024), (262144, 2), "sum", twice=True)


def reductions():
    def reduce(name, shape, axes, dtype="float32"):
        ir = lambda p, c: opset13.reduce_sum(p["x"], c["axes"], False)
        nodes = [node("ReduceSum", ["x", "axes"], ["y"], keepdims=0)]
        case(name, {"x": normal(shape, dtype)}, ir, nodes, {"axes": constant(axes)}, bytes=moved)

    big, square = (64, 128, 56, 56), (4096, 4096)
    for short in ("f32", "f16", "i32", "i64"):
        reduce(f"rsum_ax23_{short}", big, [2, 3], protocol.TYPES[short])
        reduce(f"rsum_last4096_{short}", square, [1], protocol.TYPES[short])
    for name, axes in (("ax1", [1]), ("ax0", [0]), ("all", [0, 1, 2, 3]), ("ax02", [0, 2])):
        reduce(f"rsum_{name}_f32", big, axes)
    reduce("rsum_first4096_f32", square, [0])
    reduce("rsum_small_f32", (1, 128, 768), [2])
    reduce("tiny_reducesum", (2, 2), [1])


def functions():
    def function(name, shape, ir, operator, opset=18, **attributes):
        nodes = [node(operator, ["x"], ["y"], **attributes)]
        case(name, {"x": normal(shape, scale=3.0)}, ir, nodes, opset=opset, bytes=moved)

    for short, count in (("64k", 1 << 16), ("4M", 1 << 22)):
        for name in ("exp", "tanh", "erf", "sigmoid"):
            ir = lambda p, c, name=name: getattr(opset13, name)(p["x"])
            function(f"math_{name}_{short}", (count,), ir, name.capitalize())
        ir = lambda p, c: opset13.gelu(p["x"], "erf")
        function(f"math_gelu_{short}", (count,), ir, "Gelu", opset=20)
    # Functions of attributes or of further inputs, and what language models write out.
    limits = lambda: [opset13.constant(np.float32(x)) for x in (-2, 2, -2, 2)]
    mean = lambda x: opset13.reduce_mean(opset13.multiply(x, x), opset13.constant([-1]), True)
    rms = lambda x: opset13.sqrt(opset13.add(mean(x), opset13.constant(np.float32(1e-6))))
    for name, ir in (
        ("elu", lambda p, c: opset13.elu(p["x"], 1.0)),
        ("swish", lambda p, c: opset13.swish(p["x"])),
        ("fakequantize", lambda p, c: opset13.fake_quantize(p["x"], *limits(), 256)),
        ("rms", lambda p, c: opset13.divide(p["x"], rms(p["x"]))),
    ):
        case(f"math_{name}_1024x1024", {"x": normal((1024, 1024), scale=3.0)}, ir, bytes=moved)
    for shape in ((12, 128, 128), (4096, 1024)):
        ir = lambda p, c: opset13.softmax(p["x"], -1)
        name = "math_softmax_" + "x".join(map(str, shape))
        function(name, shape, ir, "Softmax", axis=-1)


def products():
    for m, k, n in (
        (128, 768, 768), (128, 768, 3072), (128, 3072, 768), (1, 768, 3072), (8, 768, 768),
        (512, 512, 512), (64, 576, 3136), (256, 2304, 196), (2048, 2048, 2048), (1000, 1000, 1000),
    ):  # fmt: skip
        nodes = [node("MatMul", ["a", "b"], ["y"])]
        left, right, flops = normal((m, k)), normal((k, n)), 2 * m * k * n
        ir = lambda p, c: opset13.matmul(p["a"], {**p, **c}["b"], False, False)
        case(f"mm_{m}x{k}x{n}", {"a": left}, ir, nodes, {"b": right}, flops=flops)
        case(f"mmdyn_{m}x{k}x{n}", {"a": left, "b": right}, ir, nodes, flops=flops)


def weights_as(kind, columns, terms, random):
    """Weights as language models store them, [columns, terms]: f32 as they are, others converted to f16, codes less a
    zero point (u4 alone), times a scale for each column, or for each of its groups of 128 terms (u4)."""
    half = lambda numbers: opset13.constant(numbers.astype("float16"))
    if kind in ("f32", "f16"):
        numbers = random.standard_normal((columns, terms), dtype=np.float32) / 32
        return opset13.constant(numbers) if kind == "f32" else opset13.convert(half(numbers), "f32")
    group = 128
    shape = [columns, terms // group, group] if kind == "u4" else [columns, terms]
    least, most, dtype = {"u4": (0, 16, ov.Type.u4), "i8": (-127, 128, ov.Type.i8)}[kind]
    codes = lambda least, most, shape: opset13.constant(
        random.integers(least, most, shape).astype("int8"), dtype=dtype
    )
    of_groups = [*shape[:-1], 1]
    numbers = opset13.convert(codes(least, most, shape), "f16")
    if kind == "u4":
        zero = opset13.convert(codes(5, 11, of_groups), "f16")
        numbers = opset13.subtract(numbers, zero)
    numbers = opset13.multiply(numbers, half((1 + random.random(of_groups)) / 512))
    if kind == "u4":
        numbers = opset13.reshape(numbers, np.array([columns, terms], "int64"), False)
    return opset13.convert(numbers, "f32")


def compressed():
    """Products by weights that are stored in few bits."""
    size = 2048
    for kind in ("f16", "i8", "u4"):
        for m in (1, 8, 128):

            def ir(p, c, kind=kind):
                stored = weights_as(kind, size, size, np.random.default_rng(7))
                return opset13.matmul(p["a"], stored, False, True)

            name = f"mmw_{kind}_{m}x{size}x{size}"
            case(name, {"a": normal((m, size))}, ir, flops=2 * m * size * size)


def words():
    """What a language model does for one word: a row goes through more weights than any cache holds, those of `layers`
    blocks of two matrices each."""
    terms, inner = 1024, 4096
    for kind, layers, bits in (("f32", 6, 32), ("f16", 8, 16), ("i8", 12, 8), ("u4", 16, 4)):

        def ir(p, c, kind=kind, layers=layers):
            random, y = np.random.default_rng(7), p["x"]
            for _ in range(layers):
                wide = opset13.matmul(y, weights_as(kind, inner, terms, random), False, True)
                back = weights_as(kind, terms, inner, random)
                y = opset13.add(y, opset13.matmul(opset13.relu(wide), back, False, True))
            return y

        read = lambda given, out, all=2 * layers * terms * inner * bits // 8: all
        case(f"word_{kind}_{layers}x{terms}x{inner}", {"x": normal((1, terms))}, ir, bytes=read)


def convolutions():
    def convolution(name, channels, filters, side, kernel, stride=1, groups=1):
        pad = kernel // 2
        out = (side + 2 * pad - kernel) // stride + 1
        each = channels // groups

        def ir(p, c):
            places = ([stride, stride], [pad, pad], [pad, pad], [1, 1])
            if groups == 1:
                return opset13.convolution(p["x"], c["w"], *places)
            shape = [groups, filters // groups, each, kernel, kernel]
            weights = opset13.constant(c["w"].data.reshape(shape))
            return opset13.group_convolution(p["x"], weights, *places)

        how = dict(pads=[pad] * 4, strides=[stride, stride], group=groups)
        nodes = [node("Conv", ["x", "w"], ["y"], **how)]
        flops = 2 * filters * out * out * each * kernel * kernel
        inputs = {"x": normal((1, channels, side, side))}
        weights = {"w": normal((filters, each, kernel, kernel))}
        case(name, inputs, ir, nodes, weights, flops=flops)

    convolution("conv_3x3_64_64_56", 64, 64, 56, 3)
    convolution("conv_1x1_256_64_56", 256, 64, 56, 1)
    convolution("conv_3x3_256_256_14", 256, 256, 14, 3)
    convolution("conv_1x1_1024_256_14", 1024, 256, 14, 1)
    convolution("conv_7x7s2_3_64_224", 3, 64, 224, 7, 2)
    convolution("conv_dw3x3_144_56", 144, 144, 56, 3, 1, 144)
    convolution("conv_dw5x5_240_28", 240, 240, 28, 5, 1, 240)


def small_calls():
    ir = lambda p, c: opset13.relu(p["x"])
    case("tiny_relu", {"x": normal((4,))}, ir, [node("Relu", ["x"], ["y"])], bytes=moved)
    ir = lambda p, c: opset13.gather(p["table"], p["idx"], opset13.constant(np.int64(0)))
    nodes = [node("Gather", ["table", "idx"], ["y"], axis=0)]
    inputs = {"table": normal((4,)), "idx": indices(4, (4,))}
    case("tiny_gather", inputs, ir, nodes, bytes=picked)
    # Layer after layer of next to no work.
    layers = 64
    number = lambda i: opset13.constant(np.int64(i % 2))
    ir = lambda p, c: functools.reduce(
        lambda y, i: opset13.gather(y, c["idx"], number(i)), range(layers), p["x"]
    )
    names = ["x", *(f"t{i}" for i in range(1, layers)), "y"]
    nodes = [
        node("Gather", [names[i], "idx"], [names[i + 1]], axis=i % 2) for i in range(layers)
    ]
    order = {"idx": constant([3, 1, 2, 0])}
    case(f"tiny_chain_gather{layers}", {"x": normal((4, 4))}, ir, nodes, order, bytes=moved)


for group in (
    gathers, scatters, reductions, functions, products, compressed, words, convolutions, small_calls,
):  # fmt: skip
    group()


def write(folder, name):
    inputs, ir, nodes, constants, opset, work = CASES[name]
    os.makedirs(folder, exist_ok=True)
    random = np.random.default_rng(list(name.encode()))
    inputs = {key: np.ascontiguousarray(draw(random)) for key, draw in inputs.items()}
    constants = {key: draw(random) for key, draw in constants.items()}
    protocol.write_inputs(folder, inputs)
    parameters = {}
    for key, value in inputs.items():
        parameter = opset13.parameter(list(value.shape), dtype=value.dtype, name=key)
        parameter.output(0).set_names({key})
        parameters[key] = parameter
    y = ir(parameters, {key: opset13.constant(value) for key, value in constants.items()})
    y.output(0).set_names({"y"})
    model = ov.Model([opset13.result(y)], list(parameters.values()), name)
    ov.save_model(model, os.path.join(folder, "model.xml"), compress_to_fp16=False)
    shape, dtype = list(y.output(0).get_shape()), y.output(0).get_element_type().to_dtype()
    if nodes:
        tensor = lambda key, dtype, shape: helper.make_tensor_value_info(
            key, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), shape
        )
        graph = helper.make_graph(
            nodes,
            name,
            [tensor(key, value.dtype, value.shape) for key, value in inputs.items()],
            [tensor("y", dtype, shape)],
            [numpy_helper.from_array(value, key) for key, value in constants.items()],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
        model.ir_version = 9
        onnx.checker.check_model(model)
        onnx.save(model, os.path.join(folder, "model.onnx"))
    if "bytes" in work:
        given = {key: value.nbytes for key, value in inputs.items()}
        work = work | {"bytes": work["bytes"](given, size(shape) * np.dtype(dtype).itemsize)}
    with open(os.path.join(folder, "meta.json"), "w") as file:
        json.dump({"name": name, **work}, file)


def main():
    folder, *parts = sys.argv[1:]
    for name in CASES:
        place = os.path.join(folder, name)
        wanted = not parts or any(part in name for part in parts)
        # What is there in full is not made anew: meta.json is written last.
        if wanted and not os.path.exists(os.path.join(place, "meta.json")):
            write(place, name)
            print(name, flush=True)


if __name__ == "__main__":
    main()
