"""Evaluates a model with an installed runtime, for ovir.

    python backend.py REQUEST.json

The request names the model, the runtime, its inputs (an .npz file beside the request) and the tensors
of inner layers to read. The answer goes to answer.json and outputs.npz in the same folder. Element
types that NumPy lacks are codes: bf16 as uint16, f8 as uint8.
"""

import json
import os
import sys
import threading

STAGE = ""
FOLDER = os.path.dirname(os.path.abspath(sys.argv[1]))
CODES = {"bf16": "uint16", "f8e4m3": "uint8", "f8e5m2": "uint8", "f8e8m0": "uint8"}


def stage(name):
    """Notes what is going on, for an error or a crash."""
    global STAGE
    STAGE = name
    with open(os.path.join(FOLDER, "stage"), "w", encoding="utf-8") as file:
        file.write(name)


def one_line(error):
    return " ".join(str(error).split()) or type(error).__name__


class Arrays:
    """The arrays of the answer: entries of outputs.npz with their element types."""

    def __init__(self):
        self.entries = {}

    def add(self, array, element_type):
        name = str(len(self.entries))
        self.entries[name] = array
        return {"entry": name, "element_type": element_type}


# -- OpenVINO ----------------------------------------------------------------------------------------


def ov_type(ov, name):
    return getattr(ov.Type, name)


def ov_input(ov, array, name):
    tensor = ov.Tensor(ov_type(ov, name), ov.Shape(list(array.shape)))
    if name == "string":
        if array.size:
            tensor.str_data = array
    elif array.size:
        import numpy as np

        if tensor.byte_size != array.nbytes:
            raise ValueError(f"elements of {name} cannot be handed over")
        data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        tensor.data.reshape(-1).view(np.uint8)[:] = data
    return tensor


def ov_output(tensor, arrays):
    import numpy as np

    name = tensor.element_type.to_string()
    shape = tuple(tensor.shape)
    if name == "string":
        array = np.array(tensor.str_data) if tensor.size else np.zeros(shape, "<U1")
        return arrays.add(array.reshape(shape).astype(np.str_), name)
    if tensor.element_type.bitwidth < 8:
        return {"entry": None, "element_type": name}
    if not tensor.size:
        return arrays.add(np.zeros(shape, CODES.get(name) or tensor.element_type.to_dtype()), name)
    data = tensor.data.copy()
    if name in CODES:
        data = data.reshape(-1).view(np.uint8).view(CODES[name])
    return arrays.add(data.reshape(shape), name)


def ov_config(core, device, asked):
    """What keeps the runtime at the precision of the model, where it knows of it; then what is asked."""
    wanted = {
        "INFERENCE_PRECISION_HINT": "f32",
        "KV_CACHE_PRECISION": "f32",
        "DYNAMIC_QUANTIZATION_GROUP_SIZE": "0",
    }
    try:
        known = core.get_property(device, "SUPPORTED_PROPERTIES")
    except Exception:
        known = {"INFERENCE_PRECISION_HINT": "RW"}
    config = {key: value for key, value in wanted.items() if known.get(key) == "RW"}
    config.update(asked)
    return config


def uses_extension(path):
    if not path.lower().endswith(".xml"):
        return False
    with open(path, "rb") as file:
        return b'version="extension"' in file.read()


def ov_executed(compiled):
    """The executed graph: every node with the layers of the model that it stands for."""

    def text(value):
        value = getattr(value, "value", value)
        return value if isinstance(value, str) else str(value)

    nodes = []
    for node in compiled.get_runtime_model().get_ordered_ops():
        info = {}
        for key, value in node.get_rt_info().items():
            info[key] = text(value.astype(str) if hasattr(value, "astype") else value)
        layers = info.get("originalLayersNames", "")
        nodes.append(
            {
                "name": node.get_friendly_name(),
                "type": info.get("layerType", node.get_type_name()),
                "primitive": info.get("primitiveType", ""),
                "precision": info.get("runtimePrecision", ""),
                "layers": [name for name in layers.split(",") if name],
            }
        )
    return nodes


def openvino(request, given, answer, arrays):
    stage("import openvino")
    import openvino as ov

    answer["versions"]["openvino"] = ov.get_version()
    core = ov.Core()
    device = request["device"]
    stage(f"find the device {device}")
    name = device.split(":")[0].split(".")[0]
    have = core.available_devices
    if name not in ("AUTO", "HETERO", "MULTI", "BATCH") and name not in {d.split(".")[0] for d in have}:
        raise RuntimeError(f"there is no such device; there are {', '.join(have)}")
    try:
        answer["device"] = core.get_property(device, "FULL_DEVICE_NAME")
    except Exception:
        answer["device"] = device
    stage("read the model")
    if uses_extension(request["model"]):
        try:
            import openvino_tokenizers  # noqa: F401, brings operations to the core
        except ImportError:
            pass
    model = core.read_model(request["model"])
    outputs = len(model.outputs)
    taps = request["taps"]
    found = []
    if taps:
        stage("mark inner tensors")
        by_name, twice = {}, set()
        for node in model.get_ordered_ops():
            name = node.get_friendly_name()
            (twice.add(name) if name in by_name else by_name.setdefault(name, node))
        marked = {}
        for tap in taps:
            node = by_name.get(tap["layer"])
            port = None
            if node is not None and tap["layer"] not in twice and tap["output"] < len(node.outputs()):
                port = node.output(tap["output"])
            if port is None or port.get_element_type().bitwidth < 8 and port.get_element_type() != ov.Type.string:
                found.append(None)
                continue
            key = (node.get_name(), tap["output"])
            if key not in marked:
                marked[key] = (len(marked), port)
            found.append(marked[key][0])
        for number, port in marked.values():
            port.get_tensor().add_names({f"ovir.tap.{number}"})
        model.add_outputs([port for _, port in marked.values()])
    config = ov_config(core, device, request["config"])
    answer["config"] = config
    stage(f"compile the model for {device}")
    compiled = core.compile_model(model, device, config)
    if request["executed"]:
        stage("read the executed graph")
        answer["executed"] = ov_executed(compiled)
    stage("take the inputs")
    infer = compiled.create_infer_request()
    if len(given) != len(compiled.inputs):
        raise ValueError(f"the model takes {len(compiled.inputs)} inputs, there are {len(given)}")
    for index, (array, element_type) in enumerate(given):
        port = compiled.inputs[index]
        wanted = port.get_element_type().to_string()
        infer.set_input_tensor(index, ov_input(ov, array, element_type if wanted == "dynamic" else wanted))
    stage("evaluate the model")
    infer.infer()
    stage("read the outputs")
    for index in range(outputs):
        port = compiled.outputs[index]
        entry = ov_output(infer.get_output_tensor(index), arrays)
        names = sorted(n for n in port.get_names() if not n.startswith("ovir.tap."))
        answer["outputs"].append({**entry, "names": names})
    if taps:
        # Names of tensors that the runtime merges are lost.
        places = {}
        for index, port in enumerate(compiled.outputs):
            for name in port.get_names():
                if name.startswith("ovir.tap."):
                    places[int(name.rsplit(".", 1)[1])] = index
        read = {}
        for number in found:
            place = places.get(number)
            if place is None:
                answer["taps"].append(None)
                continue
            if place not in read:
                read[place] = ov_output(infer.get_output_tensor(place), arrays)
            answer["taps"].append(read[place])


# -- ONNX Runtime ------------------------------------------------------------------------------------

ORT_TYPES = {
    "tensor(float)": "f32",
    "tensor(double)": "f64",
    "tensor(float16)": "f16",
    "tensor(bool)": "boolean",
    "tensor(string)": "string",
    **{f"tensor({sign}int{bits})": f"{sign or 'i'}{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
}


def onnxruntime(request, given, answer, arrays):
    stage("import onnxruntime")
    import numpy as np
    import onnxruntime as ort

    ort.set_default_logger_severity(3)
    answer["versions"]["onnxruntime"] = ort.__version__
    provider = request["device"]
    model = request["model"]
    source, wanted, outputs = model, [], None
    if request["taps"]:
        stage("import onnx, which reading inner tensors needs")
        import onnx

        answer["versions"]["onnx"] = onnx.__version__
        stage("mark inner tensors")
        proto = onnx.load(model, load_external_data=False)
        made = {name for node in proto.graph.node for name in node.output if name}
        have = {output.name for output in proto.graph.output}
        outputs = len(have)
        for tap in request["taps"]:
            names = [name for name in tap["names"] if name in made]
            wanted.append(names[0] if names else None)
        for name in dict.fromkeys(n for n in wanted if n and n not in have):
            proto.graph.output.append(onnx.ValueInfoProto(name=name))
        source = proto.SerializeToString()
    options = ort.SessionOptions()
    folder = os.path.dirname(os.path.abspath(model))
    if wanted:
        options.add_session_config_entry("session.model_external_initializers_file_folder_path", folder)
    for key, value in request["config"].items():
        options.add_session_config_entry(key, value)
    stage("find the provider")
    have = ort.get_available_providers()
    match = [p for p in have if p.lower().removesuffix("executionprovider") == provider.lower()]
    if not match:
        names = ", ".join(p.removesuffix("ExecutionProvider") for p in have)
        raise RuntimeError(f"there is no provider {provider}; there are {names}")
    answer["device"] = match[0]
    stage("compile the model")
    session = ort.InferenceSession(source, options, providers=match[:1])
    stage("take the inputs")
    feed = {}
    if len(given) != len(session.get_inputs()):
        raise ValueError(f"the model takes {len(session.get_inputs())} inputs, there are {len(given)}")
    by_name = {name: array for name, (array, _) in zip(request["input_names"], given)}
    for port, (array, _) in zip(session.get_inputs(), given):
        array = by_name.get(port.name, array)
        feed[port.name] = array.astype(object) if array.dtype.kind == "U" else array
    stage("evaluate the model")
    results = session.run(None, feed)
    stage("read the outputs")
    found = {}
    for port, array in zip(session.get_outputs(), results):
        element_type = ORT_TYPES.get(port.type)
        if element_type is None or not isinstance(array, np.ndarray):
            raise ValueError(f"output {port.name} is {port.type}, which is not read")
        if array.dtype == object:
            array = array.astype(np.str_)
        found[port.name] = arrays.add(array, element_type)
    for port in session.get_outputs()[:outputs]:
        answer["outputs"].append({**found[port.name], "names": [port.name]})
    answer["taps"] = [found.get(name) for name in wanted]


def end_with_parent():
    """Nothing is ever written to standard input: it ends when the process that waits for the answer does."""
    sys.stdin.buffer.read()
    os._exit(1)


def main():
    threading.Thread(target=end_with_parent, daemon=True).start()
    folder = FOLDER
    with open(sys.argv[1], encoding="utf-8") as file:
        request = json.load(file)
    answer = {
        "versions": {"python": sys.version.split()[0]},
        "device": "",
        "config": {},
        "outputs": [],
        "taps": [],
        "executed": [],
    }
    try:
        stage("import numpy")
        import numpy as np

        answer["versions"]["numpy"] = np.__version__
        stage("read the inputs")
        with np.load(os.path.join(folder, "inputs.npz")) as file:
            given = [(file[i["entry"]], i["element_type"]) for i in request["inputs"]]
        arrays = Arrays()
        {"openvino": openvino, "onnxruntime": onnxruntime}[request["runtime"]](request, given, answer, arrays)
        stage("write the answer")
        np.savez(os.path.join(folder, "outputs.npz"), **arrays.entries)
    except BaseException as error:
        answer["error"] = {"stage": STAGE, "kind": type(error).__name__, "message": one_line(error)}
    temporary = os.path.join(folder, "answer.tmp")
    with open(temporary, "w", encoding="utf-8") as file:
        json.dump(answer, file)
    os.replace(temporary, os.path.join(folder, "answer.json"))
    # Runtimes that crash when they are torn down must not spoil the answer.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
