#!/usr/bin/env python3
"""Evaluates a model in another runtime at the word of a program that measures: the line protocol
of examples/worker.rs, for OpenVINO's CPU plugin and for onnxruntime.

    worker.py openvino|onnxruntime --model FILE --inputs FILE [--threads N] [--cold]

Inputs and outputs are bound once and the request is used again, so that little but the runtime is
timed. `base_kb` is the memory that Python and the runtime's libraries hold before a model is read."""

import argparse
import os
import sys
from time import perf_counter_ns as now

import numpy as np
import protocol

def memory(name):
    """A figure of this process, in kB; 0 where the system does not tell."""
    try:
        with open("/proc/self/status") as file:
            return next((int(line.split()[1]) for line in file if line.startswith(name)), 0)
    except OSError:
        return 0


class OpenVino:
    def __init__(self, threads):
        import openvino

        self.openvino = openvino
        self.core = openvino.Core()
        options = {
            "INFERENCE_NUM_THREADS": threads,
            "NUM_STREAMS": 1,
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_PRECISION_HINT": "f32",
            # Otherwise left sides of products by compressed weights are rounded to i8.
            "DYNAMIC_QUANTIZATION_GROUP_SIZE": 0,
        }
        self.core.set_property("CPU", options)

    def load(self, path):
        self.model = self.core.read_model(path)

    def compile(self):
        self.compiled = self.core.compile_model(self.model, "CPU")
        self.request = self.compiled.create_infer_request()

    def bind(self, inputs):
        for index, (name, value) in enumerate(inputs.items()):
            names = [port.get_names() for port in self.compiled.inputs]
            port = next((i for i, given in enumerate(names) if name in given), index)
            tensor = self.openvino.Tensor(value, shared_memory=True)
            self.request.set_input_tensor(port, tensor)

    def run(self):
        # Without this, every output would be copied.
        self.request.infer(share_outputs=True)

    def outputs(self):
        for index, port in enumerate(self.compiled.outputs):
            name = next(iter(port.get_names()), str(index))
            yield name, self.request.get_output_tensor(index).data


class OnnxRuntime:
    def __init__(self, threads):
        import onnxruntime

        self.onnxruntime = onnxruntime
        self.options = onnxruntime.SessionOptions()
        self.options.intra_op_num_threads = threads
        self.options.inter_op_num_threads = 1
        self.options.log_severity_level = 3

    def load(self, path):
        self.path = path

    def compile(self):
        self.session = self.onnxruntime.InferenceSession(
            self.path, self.options, providers=["CPUExecutionProvider"]
        )

    def bind(self, inputs):
        self.inputs = inputs
        self.binding = None

    def run(self):
        if self.binding is None:
            # The first result tells how large the memory of the others must be.
            self.results = self.session.run(None, self.inputs)
            self.binding = self.session.io_binding()
            for name, value in self.inputs.items():
                self.binding.bind_cpu_input(name, value)
            for port, value in zip(self.session.get_outputs(), self.results):
                if value.size == 0:
                    self.binding.bind_output(port.name, "cpu")
                    continue
                place = ("cpu", 0, value.dtype, value.shape, value.ctypes.data)
                self.binding.bind_output(port.name, *place)
        else:
            self.session.run_with_iobinding(self.binding)

    def outputs(self):
        return zip((port.name for port in self.session.get_outputs()), self.results)


def dump(engine, folder):
    os.makedirs(folder, exist_ok=True)
    for index, (name, value) in enumerate(engine.outputs()):
        value = np.ascontiguousarray(value)
        file = os.path.join(folder, f"out{index}.bin")
        value.tofile(file)
        dims = ",".join(map(str, value.shape)) or "-"
        print("o", name.replace(" ", "_"), protocol.NAMES[value.dtype], dims, file)
    print(".", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("engine", choices=["openvino", "onnxruntime"])
    parser.add_argument("--model", required=True)
    parser.add_argument("--inputs", required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--cold", action="store_true")
    options = parser.parse_args()
    engine = {"openvino": OpenVino, "onnxruntime": OnnxRuntime}[options.engine](options.threads)
    base = memory("VmRSS:")
    inputs = protocol.read_inputs(options.inputs)
    moments = [now()]
    for step in (
        lambda: engine.load(options.model),
        engine.compile,
        lambda: (engine.bind(inputs), engine.run()),
    ):
        step()
        moments.append(now())
    load, compiled, first = np.diff(moments)
    figures = f"load_ns {load} compile_ns {compiled} first_ns {first} hwm_kb {memory('VmHWM:')}"
    print("cold" if options.cold else "ready", figures, f"base_kb {base}", flush=True)
    if options.cold:
        return
    for line in sys.stdin:
        word, *rest = line.split()
        if word == "run":
            times = []
            for _ in range(int(rest[0])):
                start = now()
                engine.run()
                times.append(now() - start)
            print("t", *times, flush=True)
        elif word == "dump":
            engine.run()
            dump(engine, rest[0])
        elif word == "quit":
            break
        else:
            print("?", line.strip(), flush=True)


main()
