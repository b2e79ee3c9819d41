#!/usr/bin/env python3
"""Every tensor of a model as the OpenVINO runtime computes it, for a comparison layer by layer.

    python tests/vectors/layers.py FOLDER OUT.npz

FOLDER holds model.xml and inputs.npz (arrays named by input index). Writes an entry `NAME/INDEX`
for every output of every layer of the model's graph that the CPU plugin gives; constants are left
out. `cargo run --release --example conformance -- --layers OUT.npz FOLDER` then evaluates every
layer on these inputs.
"""

import sys

import numpy as np
import openvino as ov


def main():
    folder, out = sys.argv[1:]
    core = ov.Core()
    model = core.read_model(f"{folder}/model.xml")
    arrays = np.load(f"{folder}/inputs.npz")
    wanted = {}
    for node in model.get_ordered_ops():
        if node.get_type_name() in ("Constant", "Parameter", "Result"):
            continue
        for output in node.outputs():
            name = f"layer{len(wanted)}"
            output.get_tensor().add_names({name})
            wanted[name] = (f"{node.get_friendly_name()}/{output.get_index()}", output)
    model.add_outputs([output for _, output in wanted.values()])
    compiled = core.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    inputs = [arrays[str(i)] for i in range(len(model.inputs))]
    found = compiled(inputs)
    # Names of tensors that the runtime merges are lost.
    given = set().union(*(output.get_names() for output in compiled.outputs))
    np.savez(out, **{key: found[name] for name, (key, _) in wanted.items() if name in given})


if __name__ == "__main__":
    main()
