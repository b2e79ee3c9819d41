"""The two oracles, asked in a child process: some of their calls end the process."""

import math
import os
import pickle
import subprocess
import sys
import tempfile

import numpy as np

from cases import CASES
from cases.types import STORED, pack, unpack


def to_tensor(ov, et, stored):
    t = ov.Tensor(getattr(ov.Type, et), ov.Shape(list(stored.shape)))
    if et == "string":
        if stored.size:
            t.str_data = stored
        return t
    if stored.size:
        t.data.reshape(-1).view(np.uint8)[:] = np.frombuffer(pack(et, stored), np.uint8)
    return t


def from_tensor(t):
    et, shape = t.element_type.to_string(), tuple(t.shape)
    if et == "string":
        a = np.array(t.str_data) if t.size else np.zeros(shape, "<U1")
        return et, a.reshape(shape).astype(np.str_)
    if math.prod(shape) == 0:
        return et, np.zeros(shape, STORED[et])
    return et, unpack(et, t.data.reshape(-1).view(np.uint8).tobytes(), shape)


def build(ov, case):
    if hasattr(case, "build"):
        return case.build(ov)
    from openvino import op as ovop
    from openvino.utils.node_factory import NodeFactory
    params, nodes = [], []
    for a in case.args:
        if a.const:
            nodes.append(ovop.Constant(to_tensor(ov, a.et, a.stored)))
            nodes[-1].set_friendly_name(f"const{len(nodes) - 1}")
        else:
            p = ovop.Parameter(getattr(ov.Type, a.et), ov.PartialShape(list(a.stored.shape)))
            p.set_friendly_name(f"in{len(params)}")
            p.output(0).get_tensor().set_names({f"in{len(params)}"})
            params.append(p)
            nodes.append(p)
    node = NodeFactory(case.opset).create(case.op, [n.output(0) for n in nodes], dict(case.attrs))
    node.set_friendly_name("node")
    results = []
    for k, output in enumerate(node.outputs()):
        number = str(k) if len(node.outputs()) > 1 else ""
        output.get_tensor().set_names({f"out{number}"})
        results.append(ovop.Result(output))
        results[-1].set_friendly_name(f"result{number}")
    return ov.Model(results, params, "m")


def serialise(ov, model):
    with tempfile.TemporaryDirectory() as d:
        x, b = os.path.join(d, "model.xml"), os.path.join(d, "model.bin")
        ov.serialize(model, x, b)
        with open(x, "rb") as f:
            xml = f.read()
        with open(b, "rb") as f:
            return xml, f.read()


def empty(ov, output):
    """A tensor for an output: zeros, or none where the size depends on the data."""
    shape = output.get_partial_shape()
    t = ov.Tensor(output.get_element_type(), shape.to_shape() if shape.is_static else ov.Shape([0]))
    if t.size and t.element_type != ov.Type.string:
        t.data.reshape(-1).view(np.uint8)[:] = 0
    return t


def child(which, skip, distrust):
    """Answer for every case not skipped; announce each step first so that a crash can be placed."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    import openvino as ov
    core = ov.Core()

    def say(x):
        pickle.dump(x, out)
        out.flush()

    for i, case in enumerate(CASES[which]()):
        for step in ("model", "core", "cpu"):
            if (i, step) in skip:
                continue
            say(("begin", i, step))
            try:
                if step != "model" and distrust(case, step):
                    raise RuntimeError("not asked: " + distrust(case, step))
                model = build(ov, case)
                ins = [to_tensor(ov, a.et, a.stored) for a in case.args if not a.const]
                if step == "model":
                    say(("done", i, step, serialise(ov, model)))
                elif step == "core":
                    outs = [empty(ov, output) for output in model.outputs]
                    if not model.evaluate(outs, ins):
                        raise RuntimeError("evaluate returned false")
                    say(("done", i, step, [from_tensor(t) for t in outs]))
                else:
                    c = core.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1,
                                                          "NUM_STREAMS": 1, "DYNAMIC_QUANTIZATION_GROUP_SIZE": 0})
                    r = c.create_infer_request()
                    for k, t in enumerate(ins):
                        r.set_input_tensor(k, t)
                    r.infer()
                    outs = [r.get_output_tensor(k) for k in range(len(model.outputs))]
                    say(("done", i, step, [from_tensor(t) for t in outs]))
            except BaseException as e:
                text = " ".join(str(e).split())
                say(("fail", i, step, text))
    say(("end",))
    out.close()
    os._exit(0)


def run(which):
    """All answers for an operation version: {(case index, step): ("done", value) or ("fail", text)}."""
    got = {}
    while True:
        p = subprocess.Popen([sys.executable, os.path.abspath(sys.argv[0]), "--child", which], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        p.stdin.write(pickle.dumps(set(got)))
        p.stdin.close()
        pending, ended = None, False
        while True:
            try:
                m = pickle.load(p.stdout)
            except (EOFError, pickle.UnpicklingError):
                break
            if m[0] == "end":
                ended = True
            elif m[0] == "begin":
                pending = m[1:]
            else:
                got[m[1], m[2]] = (m[0], m[3])
                pending = None
        p.wait()
        if ended:
            return got
        if pending is None:
            raise SystemExit(f"{which}: the child process ended with {p.returncode} between cases")
        got[pending] = ("fail", f"crashed with {p.returncode}")
