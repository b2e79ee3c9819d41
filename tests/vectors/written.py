#!/usr/bin/env python3
"""The models that ovir writes, read by the OpenVINO runtime: do they give what the originals give?

    cargo run --example rewrite -- FOLDER WRITTEN
    python tests/vectors/written.py FOLDER WRITTEN [--only TEXT] [--after CASE]

FOLDER holds cases, each a folder with `model.xml` and `inputs.npz` (arrays named by input index);
WRITTEN the same models under the same paths, written anew. Both are compiled for the CPU with
inference in f32 and given the same inputs. Inputs and outputs must have the same names, types and
partial shapes, and the values must be the same bits (any NaN is any NaN), in each of several
inferences where a case has inputs for more (`step0/NAME`). Where they are not, the original is asked
once more: what differs from itself, such as random numbers, is counted apart.

It needs `openvino` and `numpy`, and `openvino_tokenizers` for models of that extension. Prints what
is not equal, and the counts; ends with 1 if a model is not read or gives other values.
"""

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np


def terminals(ports):
    return [[sorted(p.get_names()), str(p.get_element_type()), str(p.get_partial_shape())] for p in ports]


class Runtime:
    def __init__(self):
        import openvino as ov
        try:
            import openvino_tokenizers  # noqa: F401  registers its operations
        except ImportError:
            pass
        self.ov, self.core = ov, ov.Core()

    def run(self, path, inputs):
        from runtime import from_tensor, to_tensor
        model = self.core.read_model(path)
        signature = [terminals(model.inputs), terminals(model.outputs)]
        compiled = self.core.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
        request = compiled.create_infer_request()
        outputs = []
        for step in steps(inputs):
            given = {}
            for index, port in enumerate(compiled.inputs):
                stored = next(step[name] for name in [str(index), *port.get_names()] if name in step)
                given[index] = to_tensor(self.ov, port.get_element_type().to_string(), stored)
            request.infer(given)
            outputs += [from_tensor(request.get_output_tensor(i)) for i in range(len(compiled.outputs))]
        return signature, outputs


def steps(inputs):
    """The inputs of each inference: entries `NAME`, or `step0/NAME`, `step1/NAME` ... of several."""
    found = {}
    for name in inputs:
        number, _, rest = name.partition("/")
        if number.startswith("step") and rest:
            found.setdefault(int(number[4:]), {})[rest] = inputs[name]
        else:
            found.setdefault(0, {})[name] = inputs[name]
    return [found[number] for number in sorted(found)] or [{}]


def same(a, b):
    (ty, x), (other, y) = a, b
    if ty != other or x.shape != y.shape:
        return False
    if x.dtype.kind == "f":
        nan = np.isnan(x) & np.isnan(y)
        bits = f"u{x.dtype.itemsize}"
        return bool(np.all(nan | (np.ascontiguousarray(x).view(bits) == np.ascontiguousarray(y).view(bits))))
    return bool(np.array_equal(x, y))


def all_same(a, b):
    return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b))


def verdict(runtime, original, written):
    inputs = np.load(original / "inputs.npz", allow_pickle=False) if (original / "inputs.npz").exists() else {}
    try:
        signature, expected = runtime.run(original / "model.xml", inputs)
    except Exception as error:  # noqa: BLE001  whatever the runtime says
        try:
            runtime.core.read_model(written / "model.xml")
            return "the original does not run", str(error).splitlines()[0]
        except Exception as other:  # noqa: BLE001
            return "not read, nor is the original run", str(other).splitlines()[0]
    try:
        found_signature, found = runtime.run(written / "model.xml", inputs)
    except Exception as error:  # noqa: BLE001
        return "NOT READ", str(error)[:400]
    if all_same(expected, found):
        if signature != found_signature:
            return "NAMES DIFFER", f"{signature} {found_signature}"
        return "equal", ""
    for _ in range(3):
        _, again = runtime.run(original / "model.xml", inputs)
        if not all_same(expected, again):
            return "the original differs from itself", ""
    return "DIFFERENT", ""


def work():
    """Answers cases from standard input until there are no more."""
    sys.path.insert(0, os.path.dirname(__file__))
    runtime = Runtime()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        original, written = map(Path, json.loads(line))
        print(json.dumps(verdict(runtime, original, written)), file=answers, flush=True)


def worker():
    return subprocess.Popen([sys.executable, __file__, "--work"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, text=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("written", type=Path)
    parser.add_argument("--only", default="", help="cases whose path holds this text")
    parser.add_argument("--after", default="", help="cases behind this one, in order of their paths")
    arguments = parser.parse_args()
    counts, process = Counter(), worker()
    for model in sorted(arguments.folder.rglob("model.xml")):
        case = model.parent.relative_to(arguments.folder)
        if arguments.only not in str(case) or str(case) <= arguments.after:
            continue
        written = arguments.written / case
        if not (written / "model.xml").exists():
            answer = ("NOT WRITTEN", "")
        else:
            print(json.dumps([str(model.parent), str(written)]), file=process.stdin, flush=True)
            line = process.stdout.readline()
            if line:
                answer = json.loads(line)
            else:
                answer = ("the process ended", "")
                process = worker()
        counts[answer[0]] += 1
        if answer[0] != "equal":
            print(f"{case}: {answer[0]} {answer[1]}", flush=True)
    process.stdin.close()
    for kind, count in counts.most_common():
        print(f"{count:5} {kind}")
    sys.exit(any(kind.isupper() for kind in counts))


if __name__ == "__main__":
    if sys.argv[1:] == ["--work"]:
        work()
    else:
        main()
