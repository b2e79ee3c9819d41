"""Random graphs: what `ovir` makes of them beside the real runtime.

    python tests/vectors/random_graphs.py --count 500 --seed 1 [--ovir target/release/ovir]

It needs the packages `openvino` and `numpy`, and prints the graphs on which the two disagree: their folder
holds the model and the inputs. Sums are rounded in another order, so that floats may differ by 1e-5 of the
tensor's norm; a value that went through a sum goes to no operation that makes small errors large.
"""

import argparse
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import openvino as ov
from openvino import opset13 as op

# Not softplus: the runtime loses the last digits of small results (docs/deviations.md).
UNARY = "relu sigmoid tanh erf sin cos atan softsign hswish hsigmoid mish abs negative".split()
STEEP = "exp floor ceiling sign sinh cosh".split()
BINARY = "add subtract multiply maximum minimum squared_difference".split()
COMPARE = "equal not_equal less less_equal greater greater_equal".split()
REDUCE = "reduce_sum reduce_mean reduce_l1 reduce_l2".split()
TYPES = [np.float32, np.float32, np.float32, np.int32, np.int64]


class Graph:
    """Outputs with their shapes, and whether a sum went into them."""

    def __init__(self, seed):
        self.draw = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        self.parameters, self.inputs, self.values = [], [], []
        for _ in range(1 + self.draw.randrange(3)):
            self.parameter(self.shape(self.draw.randrange(1, 5)), self.draw.choice(TYPES))

    def shape(self, rank):
        return [self.draw.choice([1, 2, 3, 4, 5, 8, 17]) for _ in range(rank)]

    def array(self, shape, dtype):
        if dtype == np.float32:
            return self.numbers.uniform(-2, 2, shape).astype(dtype)
        return self.numbers.integers(-7, 8, shape).astype(dtype)

    def parameter(self, shape, dtype):
        node = op.parameter(shape, dtype, name=f"in{len(self.parameters)}")
        node.output(0).get_tensor().set_names({node.get_friendly_name()})
        self.parameters.append(node)
        self.inputs.append(self.array(shape, dtype))
        return self.keep(node, False)

    def keep(self, node, summed):
        for output in node.outputs():
            self.values.append((output, summed))
        return node.output(0), summed

    def new(self, shape, dtype):
        if self.draw.random() < 0.6:
            return op.constant(self.array(shape, dtype)).output(0), False
        return self.parameter(shape, dtype)

    def pick(self, takes, rank=2, exact=False):
        found = [v for v in self.values if takes(v[0]) and not (exact and v[1])]
        # No chain begins with a constant: the runtime folds Abs away there (docs/deviations.md).
        return self.draw.choice(found[-6:]) if found else self.parameter(self.shape(rank), np.float32)

    def step(self):
        floats = lambda least: lambda o: is_float(o) and len(o.get_shape()) >= least
        ranked = lambda least: lambda o: len(o.get_shape()) >= least
        number = lambda o: o.get_element_type() != ov.Type.boolean
        draw, kind = self.draw, self.draw.randrange(14)
        if kind == 0:
            value, summed = self.pick(floats(0))
            self.keep(getattr(op, draw.choice(UNARY))(value), summed)
        elif kind == 1:
            value, summed = self.pick(floats(0), exact=True)
            self.keep(getattr(op, draw.choice(STEEP))(value), summed)
        elif kind in (2, 3):
            value, summed = self.pick(number)
            shape = [1 if draw.random() < 0.3 else d for d in value.get_shape()]
            other, more = self.new(shape[draw.randrange(len(shape) + 1):], dtype_of(value))
            pair = [value, other] if draw.random() < 0.7 else [other, value]
            self.keep(getattr(op, draw.choice(BINARY))(*pair), summed or more)
        elif kind == 4:
            value, _ = self.pick(number, exact=True)
            other, _ = self.new(list(value.get_shape()), dtype_of(value))
            self.keep(getattr(op, draw.choice(COMPARE))(value, other), False)
        elif kind == 5:
            value, _ = self.pick(floats(1))
            axes = self.axes(value)
            self.keep(getattr(op, draw.choice(REDUCE))(value, axes, draw.random() < 0.5), True)
        elif kind == 6:
            value, _ = self.pick(floats(2))
            depth, columns = value.get_shape()[-1], draw.choice([1, 4, 8, 17])
            turned = draw.random() < 0.5
            other, _ = self.new([columns, depth] if turned else [depth, columns], np.float32)
            self.keep(op.matmul(value, other, False, turned), True)
        elif kind == 7:
            value, summed = self.pick(ranked(1))
            order = draw.sample(range(len(value.get_shape())), len(value.get_shape()))
            self.keep(op.transpose(value, np.array(order)), summed)
        elif kind == 8:
            value, summed = self.pick(ranked(1))
            shape = list(value.get_shape())
            draw.shuffle(shape)
            self.keep(op.reshape(value, np.array(shape), False), summed)
        elif kind == 9:
            value, summed = self.pick(ranked(1))
            axis = draw.randrange(len(value.get_shape()))
            size = value.get_shape()[axis]
            indices = self.numbers.integers(-size, size, self.shape(draw.randrange(3)))
            self.keep(op.gather(value, indices, np.array(axis)), summed)
        elif kind == 10:
            value, summed = self.pick(ranked(1))
            axis = draw.randrange(len(value.get_shape()))
            shape = list(value.get_shape())
            shape[axis] = draw.randrange(1, 4)
            other, more = self.new(shape, dtype_of(value))
            self.keep(op.concat([value, other], axis), summed or more)
        elif kind == 11:
            value, _ = self.pick(lambda o: is_float(o) and len(o.get_shape()) == 4, 4)
            channels = value.get_shape()[1]
            size = min(draw.choice([1, 2, 3]), *value.get_shape()[2:])
            filters = self.array([draw.choice([1, 4, 8]), channels, size, size], np.float32)
            pads, stride = [draw.randrange(2)] * 2, [draw.choice([1, 2])] * 2
            # The runtime moves the stride of such a filter before its padding: docs/deviations.md.
            pads = [0, 0] if size == 1 else pads
            self.keep(op.convolution(value, op.constant(filters), stride, pads, pads, [1, 1]), True)
        elif kind == 12:
            value, _ = self.pick(floats(1))
            self.keep(op.softmax(value, draw.randrange(len(value.get_shape()))), True)
        else:
            value, summed = self.pick(ranked(1))
            shape = value.get_shape()
            start = [draw.randrange(-d, d) for d in shape]
            stop, step = [draw.randrange(-d, d + 2) for d in shape], [draw.choice([1, 2, -1]) for _ in shape]
            node = op.slice(value, *map(np.array, (start, stop, step)))
            if 0 not in node.get_output_shape(0):
                self.keep(node, summed)

    def axes(self, value):
        rank = len(value.get_shape())
        return np.array(sorted(self.draw.sample(range(rank), self.draw.randrange(1, rank + 1))))

    def model(self):
        made = [v for v in self.values if v[0].get_node().get_type_name() != "Parameter"]
        used = [(o, s) for o, s in made if not o.get_target_inputs()] or made[-1:]
        results = []
        for index, (output, _) in enumerate(used):
            output.get_tensor().set_names({f"out{index}"})
            results.append(op.result(output))
        return ov.Model(results, self.parameters, "random"), [summed for _, summed in used]


def is_float(output):
    return output.get_element_type() == ov.Type.f32


def dtype_of(output):
    return output.get_element_type().to_dtype().type


def differ(found, expected, summed):
    """Why two arrays are not the same, or nothing."""
    if found.shape != expected.shape:
        return f"shape {found.shape}, expected {expected.shape}"
    if expected.dtype.kind != "f":
        return "" if np.array_equal(found, expected) else "elements differ"
    found, expected = found.astype(np.float64), expected.astype(np.float64)
    finite = np.isfinite(expected)
    same = np.array_equal(np.isfinite(found), finite) and np.array_equal(found[~finite], expected[~finite], True)
    if not same:
        return "other infinities or NaN"
    error = np.linalg.norm((found - expected)[finite])
    # Functions of single elements are polynomials in the runtime.
    bound = (1e-5 if summed else 5e-6) * (np.linalg.norm(expected[finite]) + 1e-6 * expected.size**0.5)
    return "" if error <= bound else f"off by {error / max(np.linalg.norm(expected[finite]), 1e-30):.1e}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--layers", type=int, default=10)
    parser.add_argument("--ovir", default="target/release/ovir")
    options = parser.parse_args()
    core, disagreements, refused = ov.Core(), 0, 0
    exact = {"INFERENCE_PRECISION_HINT": "f32"}
    for seed in range(options.seed, options.seed + options.count):
        graph = Graph(seed)
        while len(graph.values) < options.layers + len(graph.parameters):
            graph.step()
        model, summed = graph.model()
        folder = pathlib.Path(tempfile.mkdtemp(prefix=f"graph-{seed}-"))
        ov.save_model(model, folder / "model.xml", compress_to_fp16=False)
        model = core.read_model(folder / "model.xml")
        names = [f"in{index}" for index in range(len(graph.inputs))]
        np.savez(folder / "inputs.npz", **dict(zip(names, graph.inputs)))
        try:
            result = core.compile_model(model, "CPU", exact)(dict(zip(names, graph.inputs)))
        except RuntimeError as error:
            print(f"{folder}: the runtime fails: {str(error).splitlines()[-1]}", flush=True)
            refused += 1
            continue
        call = [options.ovir, "eval", folder / "model.xml", "-o", folder / "outputs.npz"]
        for name in names:
            call += ["-i", f"{name}={folder}/inputs.npz:{name}"]
        run = subprocess.run(call, capture_output=True, text=True)
        problems = [run.stderr.strip()] if run.returncode else []
        if not problems:
            outputs = np.load(folder / "outputs.npz")
            for index, output in enumerate(result.values()):
                why = differ(outputs[f"out{index}"], output, summed[index])
                problems += [f"out{index}: {why}"] if why else []
        if problems:
            disagreements += 1
            print(f"{folder}: {'; '.join(problems)}", flush=True)
        else:
            shutil.rmtree(folder)
    print(f"{disagreements} of {options.count} graphs disagree, the runtime fails on {refused}")
    return 1 if disagreements else 0


if __name__ == "__main__":
    sys.exit(main())
