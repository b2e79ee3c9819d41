#!/usr/bin/env python3
"""Make the test vectors of the operations of tokenizers, version `extension`.

    python tests/vectors/generate_tokenizers.py [--all] [NAME ...]

Needs openvino, openvino_tokenizers (of one version) and numpy.  Writes NAME-extension.zip beside
this file for each operation named (all of them when none is), and prints the cases that the
runtime refuses.  With `--all` every case is written, not only those that are kept.  The format is that of `generate.py`; the oracle is the CPU plugin, which
evaluates these operations by their only implementation.
"""

import os
import sys
import zipfile

import numpy as np
import openvino as ov
import openvino_tokenizers
from openvino import op as ovop

from generate import npz
from runtime import from_tensor, serialise
from tokenizer_cases import CASES, kept

HERE = os.path.dirname(os.path.abspath(__file__))


def tensor(array):
    return ov.Tensor(np.ascontiguousarray(array)) if array.ndim else ov.Tensor(array.reshape(1), ov.Shape([]))


def named(node, name):
    node.set_friendly_name(name)
    return node


def build(case):
    parameters, nodes = [], []
    for i, arg in enumerate(case.inputs):
        if arg.const:
            nodes.append(named(ovop.Constant(np.array(arg.value)), f"const{i}"))
            continue
        shape = ov.PartialShape([-1] * arg.value.ndim)
        ty = ov.Type.string if arg.value.dtype.kind == "U" else ov.Type(arg.value.dtype)
        parameters.append(named(ovop.Parameter(ty, shape), f"in{i}"))
        nodes.append(parameters[-1])
    outputs = [node.output(0) for node in nodes]
    node = openvino_tokenizers._get_factory().create(case.op, outputs, dict(case.attrs))
    node.set_friendly_name("node")
    results = [named(ovop.Result(output), f"result{i}") for i, output in enumerate(node.outputs())]
    return ov.Model(results, parameters, "m")


def entries(core, case):
    model = build(case)
    xml, weights = serialise(ov, model)
    request = core.compile_model(model, "CPU", {"INFERENCE_NUM_THREADS": 1}).create_infer_request()
    inputs = [arg.value for arg in case.inputs if not arg.const]
    for i, array in enumerate(inputs):
        request.set_input_tensor(i, tensor(array))
    request.infer()
    outputs = [from_tensor(request.get_output_tensor(i))[1] for i in range(len(model.outputs))]
    return {"model.xml": xml, "model.bin": weights, "inputs.npz": npz(inputs), "outputs.npz": npz(outputs), "oracle.txt": b"cpu\n"}


def main():
    core = ov.Core()
    names = [name for name in sys.argv[1:] if name != "--all"]
    for op in names or sorted(CASES):
        path = os.path.join(HERE, f"{op}-extension.zip")
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for case in CASES[op]:
                if "--all" not in sys.argv and not kept(case):
                    continue
                try:
                    made = entries(core, case)
                except RuntimeError as error:
                    print(f"SKIPPED {op} {case.name}: {' '.join(str(error).split())[-150:]}")
                    continue
                for name, data in made.items():
                    info = zipfile.ZipInfo(f"{case.name}/{name}", (1980, 1, 1, 0, 0, 0))
                    archive.writestr(info, data, zipfile.ZIP_DEFLATED, 9)
        print(f"{op}-extension.zip {os.path.getsize(path)} bytes")


if __name__ == "__main__":
    main()
