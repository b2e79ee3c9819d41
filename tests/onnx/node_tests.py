#!/usr/bin/env python3
"""Runs the ONNX project's own node tests against `ovir eval` and prints the score per operator.

    node_tests.py [--ovir PROGRAM] [OPERATOR ...]     run them, and say what fails and why
    node_tests.py --write                             write vectors.zip, which `cargo test` runs

Needs the packages `onnx`, `numpy` and `ml_dtypes`. The random numbers of the tests are seeded, so
both give the same cases every time.
"""

import argparse
import io
import pathlib
import subprocess
import sys
import tempfile
import warnings
import zipfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
PROJECT = HERE.parents[1]

OPERATORS = (
    "Scatter ScatterElements ScatterND Gather GatherElements GatherND ReduceSum ReduceMean ReduceProd ReduceMin "
    "ReduceMax ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceSumSquare Cast Shape Constant Identity Reshape "
    "Squeeze Unsqueeze Concat Transpose Add Sub Mul Div"
).split()

# What files store instead of a type they lack: the codes of its elements.
CODES = {
    "bfloat16": np.uint16,
    "float8_e4m3fn": np.uint8,
    "float8_e5m2": np.uint8,
    "float8_e8m0fnu": np.uint8,
    "float4_e2m1fn": np.uint8,
    "uint4": np.uint8,
    "uint2": np.uint8,
    "int4": np.int8,
}
PLAIN = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128".split()


class Skip(Exception):
    """Why a case has no tensors that can be given."""


def collect():
    """The cases by operator: those whose model has no other operators than ours."""
    np.random.seed(0)
    warnings.simplefilter("ignore")
    from onnx.backend.test.case.node import collect_testcases

    cases = {operator: [] for operator in OPERATORS}
    for case in collect_testcases():
        types = {node.op_type for node in case.model.graph.node}
        name = case.name.removeprefix("test_")
        if not types <= set(OPERATORS) or name.startswith(("castlike", "range")):
            continue
        plain = name.replace("_", "")
        named = [t for t in types if plain.startswith(t.lower())]
        operator = "ReduceSumSquare" if "sum_square" in name else max(named or sorted(types), key=len)
        cases[operator].append(case)
    return cases


def stored(value):
    """A tensor as files store it, and the name of its type."""
    import onnx

    if isinstance(value, onnx.TensorProto):
        value = onnx.numpy_helper.to_array(value)
    if value is None or isinstance(value, list):
        raise Skip("not a tensor")
    value = np.asarray(value)
    name = value.dtype.name
    if name in PLAIN:
        return value, name
    if name in CODES:
        code = CODES[name]
        return (value.astype(code) if name == "int4" else value.view(code)), name
    if value.dtype.kind in "OSU":
        return value.astype(np.str_), "string"
    raise Skip(f"no type {name}")


def numbers(value, name):
    """Stored elements as numbers to compare."""
    import ml_dtypes

    if name in CODES and name != "int4" and value.dtype == CODES[name]:
        value = value.view(getattr(ml_dtypes, name))
    return value.astype(np.complex128 if name.startswith("complex") else np.float64)


def npz(arrays):
    """The bytes of an archive with the entries 0, 1, …"""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for index, array in enumerate(arrays):
            entry = io.BytesIO()
            np.lib.format.write_array(entry, np.asarray(array, order="C"), allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{index}.npy"), entry.getvalue())
    return buffer.getvalue()


def difference(found, expected, name, case):
    """What is wrong with an output, or nothing."""
    if found.shape != expected.shape:
        return f"shape {list(found.shape)}, expected {list(expected.shape)}"
    if name != "string" and found.dtype != expected.dtype:
        return f"stored as {found.dtype}, expected {expected.dtype}"
    if name == "string" or name in PLAIN and np.dtype(name).kind in "biu":
        same = found == expected
    else:
        found, expected = numbers(found, name), numbers(expected, name)
        same = np.isclose(found, expected, rtol=case.rtol, atol=case.atol, equal_nan=True)
    if not same.all():
        at = tuple(np.argwhere(~np.asarray(same))[0])
        return f"{found[at]} at {list(map(int, at))}, expected {expected[at]}"
    return ""


def run(ovir, case, folder):
    """Why a case fails, or nothing."""
    inputs, outputs = case.data_sets[0]
    inputs = [stored(value)[0] for value in inputs]
    outputs = [stored(value) for value in outputs]
    model, given, made = (str(folder / name) for name in ("model.onnx", "inputs.npz", "made.npz"))
    pathlib.Path(model).write_bytes(case.model.SerializeToString(deterministic=True))
    pathlib.Path(given).write_bytes(npz(inputs))
    pathlib.Path(made).unlink(missing_ok=True)
    command = [ovir, "eval", model, "-o", made, "--by-index", "--print", "none"]
    command += ["-i", given] if inputs else []
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode != 0:
        lines = done.stderr.replace(str(folder) + "/", "").splitlines() or ["no message"]
        return f"exit code {done.returncode}: {lines[0]}"
    with np.load(made) as archive:
        if len(archive.files) != len(outputs):
            return f"{len(archive.files)} outputs, expected {len(outputs)}"
        for index, (expected, name) in enumerate(outputs):
            problem = difference(archive[str(index)], expected, name, case)
            if problem:
                return f"output {index}: {problem}"
    return ""


def score(ovir, operators, cases):
    failures, skipped = [], []
    passed = total = 0
    with tempfile.TemporaryDirectory() as folder:
        for operator in operators:
            good = bad = 0
            for case in cases[operator]:
                try:
                    problem = run(ovir, case, pathlib.Path(folder))
                except Skip as why:
                    skipped.append(f"{case.name}: {why}")
                    continue
                good, bad = good + (not problem), bad + bool(problem)
                if problem:
                    failures.append(f"{case.name}: {problem}")
            print(f"{operator:16} {good:4} of {good + bad}")
            passed, total = passed + good, total + good + bad
    print(f"{'all':16} {passed:4} of {total}")
    for title, lines in (("failed", failures), ("skipped", skipped)):
        if lines:
            print(f"\n{title}:")
            print("\n".join(f"  {line}" for line in lines))
    return 1 if failures else 0


def write(cases):
    """One folder a case: the model, its inputs and its outputs."""
    count = 0
    path = HERE / "vectors.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for case in sorted((c for some in cases.values() for c in some), key=lambda c: c.name):
            try:
                inputs, outputs = ([stored(value)[0] for value in side] for side in case.data_sets[0])
            except Skip:
                continue
            count += 1
            model = case.model.SerializeToString(deterministic=True)
            for name, content in (("model.onnx", model), ("inputs.npz", npz(inputs)), ("outputs.npz", npz(outputs))):
                entry = zipfile.ZipInfo(f"{case.name.removeprefix('test_')}/{name}")
                entry.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(entry, content, compresslevel=9)
    print(f"{path.name}: {count} cases, {path.stat().st_size} bytes")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("operators", nargs="*", metavar="OPERATOR", help=f"default all: {' '.join(OPERATORS)}")
    parser.add_argument("--ovir", help="the program, by default that of this project's last build")
    parser.add_argument("--write", action="store_true", help="write vectors.zip and run nothing")
    args = parser.parse_args()
    unknown = sorted(set(args.operators) - set(OPERATORS))
    if unknown:
        parser.error(f"no such operators here: {' '.join(unknown)}")
    cases = collect()
    if args.write:
        write(cases)
        return 0
    built = [PROJECT / "target" / profile / "ovir" for profile in ("release", "debug")]
    built = sorted((p for p in built if p.exists()), key=lambda p: p.stat().st_mtime)
    if not args.ovir and not built:
        parser.error("there is no build of this project, give --ovir")
    return score(args.ovir or str(built[-1]), args.operators or OPERATORS, cases)


if __name__ == "__main__":
    sys.exit(main())
