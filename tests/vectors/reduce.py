#!/usr/bin/env python3
"""Does `ovir reduce` find a layer that a runtime computes wrongly?

    python tests/vectors/reduce.py OVIR FOLDER [--faults N] [--seed S] [--most LAYERS] [--strip-weights]

FOLDER holds `model.xml` and `inputs.npz` (arrays named by input index). For each fault a layer of
the model is drawn. The check is the OpenVINO runtime on the CPU, made to compute that one layer
wrongly: what the layer gives is multiplied by 2, plus 1, in every candidate that has it; its
outputs are compared with those of ovir. The result must have at most LAYERS layers, that layer among
them, and must give what ovir gives on the runtime as it is. Prints time and checks of each fault;
ends with 1 if one is not found. A fault that does not show in the outputs of the whole model gives
way to another.

With `--check LAYER MODEL INPUTS OUTPUTS` it is the check itself.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def spoil(ov, model, name):
    from openvino import opset13 as ops
    for node in model.get_ordered_ops():
        if node.get_friendly_name() != name or node.get_type_name() == "Parameter":
            continue
        for output in node.outputs():
            if output.get_element_type() not in (ov.Type.f32, ov.Type.f16):
                continue
            targets = output.get_target_inputs()
            like = ops.convert_like(ops.constant(2.0), output)
            wrong = ops.add(ops.multiply(output, like), ops.convert_like(ops.constant(1.0), output))
            for target in targets:
                target.replace_source_output(wrong.output(0))


def differences(xml, inputs, outputs, layer):
    """The largest difference of each output, as a part of its largest element."""
    import numpy as np
    import openvino as ov
    core = ov.Core()
    model = core.read_model(xml)
    if layer:
        spoil(ov, model, layer)
    compiled = core.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    given, expected = np.load(inputs), np.load(outputs)
    values = {}
    for index, port in enumerate(compiled.inputs):
        name = next((n for n in port.get_names() if n in given.files), str(index))
        values[index] = given[name]
    found = compiled(values)
    for index, name in enumerate(expected.files):
        a, b = found[index].astype(np.float64), expected[name].astype(np.float64)
        if a.shape != b.shape:
            yield float("inf")
        elif a.size:
            yield float(np.nanmax(np.abs(a - b)) / max(np.nanmax(np.abs(b)), 1e-6))


def check(layer, xml, inputs, outputs):
    worst = max(differences(xml, inputs, outputs, layer), default=0.0)
    print(f"largest difference {worst:.2e}")
    return 1 if worst > 0.02 else 0


def candidates(folder):
    """The float layers of a model that have weights or are functions, by name."""
    import openvino as ov
    model = ov.Core().read_model(folder / "model.xml")
    kinds = {"Convolution", "MatMul", "Add", "Multiply", "Softmax", "Relu", "Gelu", "MVN", "Sigmoid", "Tanh", "Divide",
             "Power", "Sqrt", "Swish", "Subtract", "GroupConvolution", "ReduceMean", "Exp", "HSwish"}
    varying, found = set(), []
    for node in model.get_ordered_ops():
        kind, name = node.get_type_name(), node.get_friendly_name()
        inputs = [i.get_source_output().get_node().get_friendly_name() for i in node.inputs()]
        if kind in ("Parameter", "ReadValue") or any(i in varying for i in inputs):
            varying.add(name)
            if kind in kinds and node.get_output_element_type(0) == ov.Type.f32:
                found.append(name)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ovir", help="the program")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--faults", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--most", type=int, default=5, metavar="LAYERS")
    parser.add_argument("--strip-weights", action="store_true")
    arguments = parser.parse_args()
    names, failed = candidates(arguments.folder), 0
    import numpy as np
    with tempfile.TemporaryDirectory() as home:
        left = arguments.faults
        for layer in random.Random(arguments.seed).sample(names, len(names)):
            if not left:
                break
            out = Path(home) / "result"
            command = f"{sys.executable} {__file__} --check '{layer}' {{}} {{inputs}} {{outputs}}"
            call = [arguments.ovir, "reduce", str(arguments.folder / "model.xml"), "-i",
                    str(arguments.folder / "inputs.npz"), "--check", command, "-o", str(out), "--json"]
            begun = time.time()
            done = subprocess.run(call + ["--strip-weights"] * arguments.strip_weights, capture_output=True, text=True)
            seconds = time.time() - begun
            if "nothing to reduce" in done.stderr:
                print(f"not visible in the outputs  {layer}", flush=True)
                continue
            left -= 1
            if done.returncode:
                print(f"{layer}: {done.stderr.strip()}", flush=True)
                failed += 1
                continue
            found = json.loads(done.stdout)
            named = layer in [node["name"] for node in found["graph"]]
            stock = max(differences(out / "model.xml", out / "inputs.npz", out / "outputs.npz", None), default=0.0)
            good = named and found["layers"] <= arguments.most and np.isfinite(stock) and stock < 0.02
            failed += not good
            print(f"{'found' if good else 'NOT FOUND'}  {layer}: {found['layers']} of {found['layers_before']} layers, "
                  f"{found['checks']} checks, {seconds:.1f} s; on the runtime as it is {stock:.1e}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--check"]:
        sys.exit(check(*sys.argv[2:]))
    sys.exit(main())
