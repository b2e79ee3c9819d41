"""Element types and inputs as examples/worker.rs spells them."""

import os

import numpy as np

TYPES = {
    "f64": np.float64, "f32": np.float32, "f16": np.float16, "i64": np.int64, "i32": np.int32,
    "i16": np.int16, "i8": np.int8, "u64": np.uint64, "u32": np.uint32, "u16": np.uint16,
    "u8": np.uint8, "boolean": np.bool_,
}  # fmt: skip
NAMES = {np.dtype(value): key for key, value in TYPES.items()}


def read_inputs(path):
    folder, inputs = os.path.dirname(path), {}
    with open(path) as file:
        for name, type_name, dims, data in map(str.split, file):
            shape = [] if dims == "-" else [int(size) for size in dims.split(",")]
            elements = np.fromfile(os.path.join(folder, data), TYPES[type_name])
            inputs[name] = elements.reshape(shape)
    return inputs


def write_inputs(folder, inputs):
    with open(os.path.join(folder, "inputs.txt"), "w") as file:
        for name, value in inputs.items():
            value.tofile(os.path.join(folder, f"{name}.bin"))
            dims = ",".join(map(str, value.shape)) or "-"
            file.write(f"{name} {NAMES[value.dtype]} {dims} {name}.bin\n")
