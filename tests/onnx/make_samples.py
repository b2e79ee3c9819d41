#!/usr/bin/env python3
"""Makes ir-samples/onnx: every example that the documents of Scatter-9, Scatter-11, GatherND-11,
GatherND-12 and GatherND-13 print, and the first of each again for every element type they list.

Needs the packages `onnx` and `numpy`. The same files come out every time.
"""

import json
import pathlib
import shutil

import numpy as np
import onnx
from onnx import TensorProto, helper

ROOT = pathlib.Path(__file__).resolve().parents[2] / "ir-samples" / "onnx"

# The version of the file format that came with the release of ONNX that brought the operator set.
IR_VERSION = {9: 4, 11: 6, 12: 7, 13: 7}

# Seven values of each type that are told apart as far as the type allows; JSON has no complex
# numbers and no infinities, which are strings.
PALETTES = {
    "bool": [False, True, True, True, False, True, True],
    "int8": [0, 1, -1, -128, 127, 5, -6],
    "int16": [0, 1, -1, -32768, 32767, 256, -257],
    "int32": [0, 1, -1, -(2**31), 2**31 - 1, 65536, -65537],
    "int64": [0, 1, -1, -(2**63), 2**63 - 1, 2**53 + 1, -(2**40)],
    "uint8": [0, 1, 2, 255, 128, 127, 7],
    "uint16": [0, 1, 2, 65535, 32768, 256, 7],
    "uint32": [0, 1, 2, 2**32 - 1, 2**31, 65536, 7],
    "uint64": [0, 1, 2, 2**64 - 1, 2**63, 2**53 + 1, 7],
    "float16": [0.0, 1.5, "-inf", 65504.0, 2.0**-24, -0.0, "nan"],
    "bfloat16": [0.0, 1.5, "-inf", 255 * 2.0**120, 2.0**-133, -0.0, "nan"],
    "float": [0.0, 0.1, "-inf", (2**24 - 1) * 2.0**104, 2.0**-149, -0.0, "nan"],
    "double": [0.0, 0.1, "-inf", 1.5e308, 2.0**-1050, -0.0, "nan"],
    "complex64": ["0+0j", "1+2j", "-1.5+0.25j", "0-1j", "inf-infj", "-0-0j", "nan+0.1j"],
    "complex128": ["0+0j", "0.1-0.2j", "-1.5+0.25j", "0-1j", "inf-infj", "-0-0j", "nan+1e-300j"],
    "string": ["", "one", "two words", "drei\n", "vier \u00e4\u00f6\u00fc", "\u4e94", "\U0001f603"],
}

DATA_2 = [[0, 1], [2, 3]]
DATA_3 = [[[0, 1], [2, 3]], [[4, 5], [6, 7]]]

SCATTER = [
    {
        "data": [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]],
        "indices": [[1, 0, 2], [0, 2, 1]],
        "updates": [[1.0, 1.1, 1.2], [2.0, 2.1, 2.2]],
        "output": [[2.0, 1.1, 0.0], [1.0, 0.0, 2.2], [0.0, 2.1, 1.2]],
    },
    {
        "attributes": {"axis": 1},
        "data": [[1.0, 2.0, 3.0, 4.0, 5.0]],
        "indices": [[1, 3]],
        "updates": [[1.1, 2.1]],
        "output": [[1.0, 1.1, 3.0, 2.1, 5.0]],
    },
]

GATHER_ND = [
    {"data": DATA_2, "indices": [[0, 0], [1, 1]], "output": [0, 3]},
    {"data": DATA_2, "indices": [[1], [0]], "output": [[2, 3], [0, 1]]},
    {"data": DATA_3, "indices": [[0, 1], [1, 0]], "output": [[2, 3], [4, 5]]},
    {"data": DATA_3, "indices": [[[0, 1]], [[1, 0]]], "output": [[[2, 3]], [[4, 5]]]},
]
# From version 12 on each example says its batch_dims.
BATCHED = [{"attributes": {"batch_dims": 0}, **example} for example in GATHER_ND] + [
    {
        "attributes": {"batch_dims": 1},
        "data": DATA_3,
        "indices": [[1], [0]],
        "output": [[2, 3], [4, 5]],
    }
]

TYPES = [t for t in PALETTES if t != "bfloat16"]
# Operator, version, examples, the type of the printed numbers, the types of the document.
DOCUMENTS = [
    ("Scatter", 9, SCATTER, "float", TYPES),
    ("Scatter", 11, SCATTER, "float", TYPES),
    ("GatherND", 11, GATHER_ND, "int32", TYPES),
    ("GatherND", 12, BATCHED, "int32", TYPES),
    ("GatherND", 13, BATCHED, "int32", [*TYPES, "bfloat16"]),
]
FOLDERS = {"Scatter": "scatter", "GatherND": "gather-nd"}


def check(example):
    """The printed output is what the definition gives."""
    attributes = example.get("attributes", {})
    data, indices = np.array(example["data"]), np.array(example["indices"])
    if "updates" in example:
        axis, output = attributes.get("axis", 0), data.copy()
        for at in np.ndindex(*indices.shape):
            to = list(at)
            to[axis] = indices[at]
            output[tuple(to)] = np.array(example["updates"])[at]
    else:
        batch = attributes.get("batch_dims", 0)
        outer = indices.shape[:-1]
        output = np.array([data[at[:batch] + tuple(indices[at])] for at in np.ndindex(*outer)])
        output = output.reshape(outer + output.shape[1:])
    assert np.array_equal(output, np.array(example["output"])), example


def shape(values):
    return np.array(values, dtype=object).shape


def onnx_type(name):
    return getattr(TensorProto, name.upper())


def recolour(example, palette):
    """The example with the numbers of data, updates and output replaced one by one."""
    names = [n for n in ("data", "updates", "output") if n in example]
    numbers = sorted({x for n in names for x in np.array(example[n]).ravel().tolist()})
    colours = dict(zip(numbers, palette, strict=False))
    assert len(numbers) <= len(palette)

    def paint(values):
        return [paint(v) for v in values] if isinstance(values, list) else colours[values]

    return {**example, **{n: paint(example[n]) for n in names}}


def write(operator, version, name, example, element_type, title):
    names = [n for n in ("data", "indices", "updates") if n in example]
    types = {n: TensorProto.INT64 if n == "indices" else onnx_type(element_type) for n in names}
    node = helper.make_node(operator, names, ["output"], **example.get("attributes", {}))
    graph = helper.make_graph(
        [node],
        f"{operator}-{version}",
        [helper.make_tensor_value_info(n, types[n], shape(example[n])) for n in names],
        [helper.make_tensor_value_info("output", onnx_type(element_type), shape(example["output"]))],
    )
    model = helper.make_model(
        graph,
        ir_version=IR_VERSION[version],
        opset_imports=[helper.make_opsetid("", version)],
        producer_name="ovir",
        doc_string=f"{operator}-{version}, {title}",
    )
    if (operator, version) != ("Scatter", 11):  # The checker refuses what is deprecated.
        onnx.checker.check_model(model, full_check=True)
    folder = ROOT / f"{FOLDERS[operator]}-{version}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.onnx").write_bytes(model.SerializeToString(deterministic=True))
    for kind, members in (("inputs", names), ("outputs", ["output"])):
        lines = [f"  {json.dumps(n)}: {json.dumps(example[n], ensure_ascii=False)}" for n in members]
        text = "{\n" + ",\n".join(lines) + "\n}\n"
        (folder / f"{name}.{kind}.json").write_text(text, encoding="utf-8")


def main():
    shutil.rmtree(ROOT, ignore_errors=True)
    for operator, version, examples, plain, types in DOCUMENTS:
        for number, example in enumerate(examples, 1):
            check(example)
            title = f"documented example {number}"
            write(operator, version, f"example-{number}", example, plain, title)
        for element_type in types:
            example = recolour(examples[0], PALETTES[element_type])
            title = f"documented example 1 with elements of {element_type}"
            write(operator, version, f"example-1-{element_type}", example, element_type, title)


if __name__ == "__main__":
    main()
