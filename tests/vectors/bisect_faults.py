#!/usr/bin/env python3
"""Puts single-layer faults into real models, and checks that `ovir bisect` names the layer.

    python tests/vectors/bisect_faults.py MODELS --ovir target/release/ovir

MODELS is a folder of folders with model.xml, model.bin and inputs.npz (arrays named by input index,
or `step0/…`). Two parts, each of which can be left out:

* faults: twenty times one layer of a copy of a model is changed (a pad, an activation, a constant, the
  order of inputs …), and `ovir bisect faulty.xml --against openvino:CPU:model.xml` must name it. A
  layer that feeds constants only counts as part of the layer that takes them. A change that the outputs do
  not show, or that makes the model invalid, is no fault: the next layer of the kind is taken.
* clean: `ovir bisect model.xml --against openvino:CPU` must blame no layer, but for EXCEPTIONS.

It needs the packages `openvino` and `numpy`, for itself and for ovir (`--python`, by default the same).
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET

import numpy as np

# Known faults of the runtime, which docs/deviations.md tells at length.
EXCEPTIONS = {
    "hf_gpt2_stateful_nobeam": "the runtime loses a sequence to NaN where a token may see nothing",
    "tflite_mobilenet_quant": "the runtime computes in 8 bits what the model quantises",
    "hf_llama_stateful_int4": "the runtime multiplies in f32 what the model says to multiply in f16",
    "hf_llama_stateful_int8": "the runtime multiplies in f32 what the model says to multiply in f16",
    "hf_llama_paged": "the runtime cannot evaluate the model",
    "tf_nms_post": "the runtime crashes",
    "hf_maskformer_mask2former": "the runtime's outputs are doubtful",
}

TYPES = {"f32": np.float32, "f16": np.float16, "i64": np.int64, "i32": np.int32, "f64": np.float64}


class Model:
    """A model's XML and weights, to be changed."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.tree = ET.parse(self.folder / "model.xml")
        self.root = self.tree.getroot()
        self.layers = {layer.get("id"): layer for layer in self.root.find("layers")}
        self.edges = list(self.root.find("edges"))
        self.weights = None
        self.into = {}
        self.out_of = {}
        for edge in self.edges:
            self.into.setdefault(edge.get("to-layer"), []).append(edge)
            self.out_of.setdefault(edge.get("from-layer"), []).append(edge)
        self.varying = self.find_varying()

    def find_varying(self):
        varying, order = set(), list(self.layers)
        open_layers = [i for i in order if self.layers[i].get("type") == "Parameter"]
        while open_layers:
            layer = open_layers.pop()
            if layer in varying:
                continue
            varying.add(layer)
            open_layers += [edge.get("to-layer") for edge in self.out_of.get(layer, [])]
        return varying

    def of_type(self, *types):
        found = [layer for layer in self.layers.values() if layer.get("type") in types]
        return [layer for layer in found if layer.get("id") in self.varying or layer.get("type") == "Const"]

    def data(self, layer):
        return layer.find("data")

    def inputs(self, layer):
        """The layers that make the inputs, in the order of ports."""
        ports = [port.get("id") for port in layer.find("input")] if layer.find("input") is not None else []
        by_port = {edge.get("to-port"): edge for edge in self.into.get(layer.get("id"), [])}
        return [self.layers[by_port[port].get("from-layer")] for port in ports if port in by_port]

    def shape(self, layer, port):
        dims = list(layer.find("input"))[port].findall("dim")
        return [int(dim.text) for dim in dims]

    def constant(self, layer):
        """The Const behind an input, through layers such as Convert, and its array in a copy of the weights."""
        while layer.get("type") in ("Convert", "Reshape", "Multiply", "Subtract", "Unsqueeze"):
            if layer.get("id") in self.varying:
                return None
            layer = self.inputs(layer)[0]
        data = self.data(layer)
        if layer.get("type") != "Const" or data.get("element_type") not in TYPES:
            return None
        if self.weights is None:
            self.weights = bytearray((self.folder / "model.bin").read_bytes())
        shape = [int(d) for d in data.get("shape").split(",") if d.strip()]
        array = np.frombuffer(
            self.weights, TYPES[data.get("element_type")], int(np.prod(shape)), int(data.get("offset"))
        )
        return layer, array.reshape(shape)

    def names_of(self, layer):
        """The layer and, if it is constant, all that follow up to those that depend on inputs."""
        names, open_layers = set(), [layer.get("id")]
        while open_layers:
            at = open_layers.pop()
            names.add(self.layers[at].get("name"))
            if at not in self.varying:
                open_layers += [edge.get("to-layer") for edge in self.out_of.get(at, [])]
        return names

    def write(self, folder):
        self.tree.write(folder / "model.xml", encoding="utf-8", xml_declaration=True)
        if self.weights is None:
            shutil.copyfile(self.folder / "model.bin", folder / "model.bin")
        else:
            (folder / "model.bin").write_bytes(self.weights)


# Every fault changes a layer of the model and gives the names that may be blamed; None if the layer does
# not allow it.


def numbers(text):
    return [int(x) for x in text.split(",") if x.strip()]


def shifted_pads(model, layer):
    data = model.data(layer)
    begin, end = numbers(data.get("pads_begin", "")), numbers(data.get("pads_end", ""))
    if not begin or not any(end) or data.get("auto_pad") not in (None, "explicit"):
        return None
    axis = next(i for i, pad in enumerate(end) if pad)
    begin[axis] += 1
    end[axis] -= 1
    data.set("pads_begin", ",".join(map(str, begin)))
    data.set("pads_end", ",".join(map(str, end)))
    return model.names_of(layer)


def same_pads(model, layer):
    data = model.data(layer)
    other = {"same_upper": "same_lower", "same_lower": "same_upper"}.get(data.get("auto_pad"))
    if other is None:
        return None
    data.set("auto_pad", other)
    return model.names_of(layer)


def attribute(name, change):
    def fault(model, layer):
        data = model.data(layer)
        value = data.get(name) if data is not None else None
        other = change(value) if value is not None else None
        if other is None or other == value:
            return None
        data.set(name, other)
        return model.names_of(layer)

    return fault


def other_type(to, version="opset1"):
    def fault(model, layer):
        layer.set("type", to)
        layer.set("version", version)
        data = model.data(layer)
        if data is not None and to not in ("Subtract", "Add"):
            layer.remove(data)
        return model.names_of(layer)

    return fault


def swapped_inputs(model, layer):
    edges = sorted(model.into[layer.get("id")], key=lambda e: int(e.get("to-port")))
    if len(edges) < 2 or model.shape(layer, 0) != model.shape(layer, 1):
        return None
    a, b = edges[:2]
    if (a.get("from-layer"), a.get("from-port")) == (b.get("from-layer"), b.get("from-port")):
        return None
    for key in ("from-layer", "from-port"):
        x, y = a.get(key), b.get(key)
        a.set(key, y)
        b.set(key, x)
    return model.names_of(layer)


def changed_constant(port, change, least=1):
    def fault(model, layer):
        inputs = model.inputs(layer)
        found = model.constant(inputs[port]) if len(inputs) > port else None
        if found is None:
            return None
        const, array = found
        # One that others take too is no fault of a single layer.
        if array.size < least or len(model.out_of[const.get("id")]) > 1:
            return None
        changed = array.copy()
        change(changed)
        if np.array_equal(changed, array):
            return None
        # Constants of equal bytes share them: the changed one gets bytes of its own.
        model.weights = bytearray(bytes(model.weights).ljust(-(-len(model.weights) // 64) * 64, b"\0"))
        model.data(const).set("offset", str(len(model.weights)))
        model.weights += changed.tobytes()
        return model.names_of(const)

    return fault


def rounded(array):
    step = np.abs(array.astype(np.float64)).max() / 64
    array[...] = np.round(array.astype(np.float64) / step) * step


def first_row_zero(array):
    array[0] = 0


def one_element(array):
    flat = array.reshape(-1)
    at = int(np.abs(flat.astype(np.float64)).argmax())
    flat[at] = -flat[at]


def scaled(array):
    array[...] = array * array.dtype.type(1.1)


def swapped_order(array):
    order = array.reshape(-1)
    if order.size >= 4:
        order[[-1, -2]] = order[[-2, -1]]


FAULTS = [
    ("tv_resnet18", "a pad moved", ("Convolution",), shifted_pads, 0.5),
    ("ul_yolov8n", "a pad moved", ("Convolution",), shifted_pads, 0.8),
    ("timm_lcnet_050", "a pad of a depthwise convolution moved", ("GroupConvolution",), shifted_pads, 0.6),
    ("tf_mobilenetv2", "same_upper for same_lower", ("GroupConvolution", "Convolution"), same_pads, 0.0),
    ("tv_resnet18", "a pad of a pooling moved", ("MaxPool",), shifted_pads, 0.0),
    ("tv_resnet18", "another activation", ("ReLU",), other_type("Tanh"), 0.4),
    ("tv_shufflenet_v2_x0_5", "another activation", ("ReLU",), other_type("Sigmoid"), 0.7),
    ("hf_bert_qa_eager", "another activation", ("Gelu",), other_type("HSwish", "opset4"), 0.5),
    ("hf_vit", "rounded weights", ("MatMul",), changed_constant(1, rounded, 64), 0.5),
    ("onnx_tv_squeezenet1_1", "rounded weights", ("Convolution",), changed_constant(1, rounded, 64), 0.6),
    ("tv_mnasnet0_5", "a filter lost", ("Convolution",), changed_constant(1, first_row_zero, 64), 0.7),
    ("hf_roberta", "the sign of one weight", ("MatMul",), changed_constant(1, one_element, 64), 0.3),
    ("tv_vit_small", "another epsilon", ("MVN",),
     attribute("eps", lambda v: str(float(v) + 0.05)), 0.6),
    ("hf_distilbert", "a changed bias", ("Add",), changed_constant(1, scaled, 8), 0.5),
    ("tv_mnasnet0_5", "Add for Subtract", ("Add",), other_type("Subtract"), 0.9),
    ("superres_espcn_unet", "inputs of Concat swapped", ("Concat",), swapped_inputs, 0.0),
    ("hf_swin", "another order", ("Transpose",), changed_constant(1, swapped_order, 4), 0.3),
    ("rnn_lstm_bi", "rounded weights", ("LSTMSequence",), changed_constant(4, rounded, 16), 0.5),
    ("onnx_hf_bert", "the sign of one weight", ("MatMul",), changed_constant(1, one_element, 64), 0.6),
    ("hf_llama_eager", "a changed scale", ("Multiply",), changed_constant(1, scaled, 1), 0.5),
    ("hf_deit", "rounded weights", ("MatMul",), changed_constant(1, rounded, 64), 0.7),
]


def inputs_of(folder, to):
    """The inputs of the first step, as a file for -i."""
    with np.load(folder / "inputs.npz") as file:
        arrays = {name: file[name] for name in file.files}
    steps = sorted({name.split("/")[0] for name in arrays if "/" in name})
    if steps:
        prefix = steps[0] + "/"
        arrays = {name[len(prefix):]: a for name, a in arrays.items() if name.startswith(prefix)}
    np.savez(to, **arrays)
    return to


def bisect(args, model, against, inputs, more=()):
    command = [args.ovir, "bisect", str(model), "--against", against, "-i", str(inputs), "--json"]
    command += ["--python", args.python, "--timeout", f"{args.timeout}s", *more]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        return done.returncode, done.stderr.strip()
    return done.returncode, json.loads(done.stdout)


def candidates(layers, start):
    """All of them, from a part of the way on, round to it."""
    at = int(len(layers) * start)
    return layers[at:] + layers[:at]


def try_fault(args, work, number, case):
    name, what, types, fault, start = case
    folder = pathlib.Path(args.models) / name
    given = inputs_of(folder, work / "inputs.npz")
    count = len(Model(folder).of_type(*types))
    void = []
    for index in candidates(list(range(count)), start):
        model = Model(folder)
        layer = model.of_type(*types)[index]
        expected = fault(model, layer)
        if expected is None:
            continue
        faulty = work / f"fault-{number}"
        faulty.mkdir(exist_ok=True)
        model.write(faulty)
        # Both sides name the same file of weights otherwise.
        code, found = bisect(args, faulty / "model.xml", f"openvino:CPU:{folder / 'model.xml'}", given)
        if code == 3:
            void.append(f"{layer.get('name')}: {found}")
            continue
        if code not in (0, 1):
            return False, layer, f"exit {code}: {found}", void
        if found["verdict"] == "equal":
            void.append(f"{layer.get('name')}: the outputs do not show it")
            continue
        blamed = found.get("blamed") or {}
        named = (blamed.get("layer") or {}).get("name")
        good = found["verdict"] == "layer" and named in expected and len(blamed["layers"]) <= 1
        told = f"{named} ({found['verdict']}, {len(blamed.get('layers', []))} layers, asked {found['asked']} times)"
        return good, layer, told, void
    return None, None, "no layer allows it", void


def faults(args, work):
    named = asked = 0
    for number, case in enumerate(FAULTS):
        if args.only and case[0] not in args.only or not (pathlib.Path(args.models) / case[0]).exists():
            continue
        good, layer, told, void = try_fault(args, work, number, case)
        asked += 1
        named += good is True
        verdict = {True: "named", False: "NOT NAMED", None: "NO FAULT"}[good]
        print(f"{verdict:10} {case[0]:24} {case[1]:40} {layer.get('name') if layer is not None else '-'}", flush=True)
        if good is not True or args.verbose:
            print(f"           found: {told}")
            for line in void[:3]:
                print(f"           passed over: {line[:150]}")
    print(f"{named} of {asked} faults were named")
    return named == asked


def clean(args, work):
    good = True
    counts = {}
    for folder in sorted(pathlib.Path(args.models).iterdir()):
        if args.only and folder.name not in args.only or not (folder / "inputs.npz").exists():
            continue
        given = inputs_of(folder, work / "inputs.npz")
        code, found = bisect(args, folder / "model.xml", "openvino:CPU", given)
        if code not in (0, 1):
            verdict, told = f"exit {code}", found
        else:
            verdict = found["verdict"]
            blamed = (found.get("blamed") or {}).get("layer") or {}
            told = f"{blamed.get('name')} ({blamed.get('type')})" if blamed else f"{found['compared']} tensors"
        excepted = EXCEPTIONS.get(folder.name)
        blame = verdict not in ("equal", "grown")
        label = f"{verdict}, excepted" if blame and excepted else verdict
        counts[label] = counts.get(label, 0) + 1
        if blame and not excepted:
            good = False
        print(f"{label:20} {folder.name:32} {'' if verdict == 'equal' else told[:150]}", flush=True)
        if blame and excepted:
            print(f"{'':20} {excepted}")
    print(", ".join(f"{count} {label}" for label, count in sorted(counts.items())))
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", help="a folder of folders with model.xml, model.bin and inputs.npz")
    parser.add_argument("--ovir", default="ovir", help="the program")
    parser.add_argument("--python", default=sys.executable, help="the Python that ovir drives")
    parser.add_argument("--only", nargs="+", help="names of models")
    parser.add_argument("--part", choices=["faults", "clean"], help="only this part")
    parser.add_argument("--timeout", type=int, default=300, help="seconds for one search")
    parser.add_argument("--verbose", action="store_true", help="tell what was found and passed over")
    args = parser.parse_args()
    args.ovir = shutil.which(args.ovir) or args.ovir
    good = True
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        if args.part != "clean":
            good &= faults(args, work)
        if args.part != "faults":
            good &= clean(args, work)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
