"""Recurrent cells and sequences, and what goes with connectionist temporal classification."""

import numpy as np

from .common import C, Case, P, operation
from .types import encode

FUNCTIONS = {"RNN": ["tanh"], "GRU": ["sigmoid", "tanh"], "LSTM": ["sigmoid", "tanh", "tanh"]}
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


def spread(shape, seed):
    """Numbers in -1..1 with few bits, so that any float holds them."""
    r = np.random.default_rng(seed)
    return r.integers(-32, 33, shape) / 32


def cell(kind, version, name, et="f32", batch=2, n=3, inputs=2, linear=None, const=True, doubt=None, **more):
    op = f"{kind}Cell"
    gates = GATES[kind]
    w = C if const else P
    args = [P(et, encode(et, spread((batch, inputs), 1))), P(et, encode(et, spread((batch, n), 2)))]
    if kind == "LSTM":
        args.append(P(et, encode(et, spread((batch, n), 3))))
    biases = 4 if linear else gates
    args += [w(et, encode(et, spread(s, 4 + i))) for i, s in enumerate(((gates * n, inputs), (gates * n, n), (biases * n,)))]
    attrs = {"hidden_size": n, "activations": FUNCTIONS[kind], "activations_alpha": [], "activations_beta": [], "clip": 0.0}
    if linear is not None:
        attrs["linear_before_reset"] = linear
    if version == 1 and kind == "LSTM":
        args.append(w(et, encode(et, np.zeros(3 * n))))
        attrs |= {"weights_format": "fico", "input_forget": False}
    attrs |= more
    return Case(name, op, f"opset{version}", args, attrs, doubt=doubt)


def cells(kind, version):
    @operation(f"{kind}Cell-{version}")
    def cases():
        linears = (False, True) if kind == "GRU" else (None,)
        for linear in linears:
            name = "linear-" if linear else ""
            yield cell(kind, version, name + "f32", linear=linear)
            yield cell(kind, version, name + "clip", linear=linear, clip=.3)
            yield cell(kind, version, name + "relu", linear=linear, activations=["relu"] * len(FUNCTIONS[kind]))
            yield cell(kind, version, name + "others", linear=linear, activations=["tanh", "sigmoid", "relu"][:len(FUNCTIONS[kind])])
            yield cell(kind, version, name + "batch-1-inputs", linear=linear, batch=1, const=False)
        yield cell(kind, version, "f16", et="f16", linear=linears[0])
        yield cell(kind, version, "hidden-1", n=1, inputs=1, linear=linears[0])
    return cases


cells("RNN", 1)
cells("GRU", 3)
cells("LSTM", 1)
cells("LSTM", 4)


def sequence(kind, name, direction="forward", lengths=None, et="f32", it="i32", batch=2, steps=4, n=2, inputs=3, linear=None, **more):
    gates, d = GATES[kind], 2 if direction == "bidirectional" else 1
    args = [P(et, encode(et, spread((batch, steps, inputs), 1))), P(et, encode(et, spread((batch, d, n), 2)))]
    if kind == "LSTM":
        args.append(P(et, encode(et, spread((batch, d, n), 3))))
    args.append(P(it, np.array(lengths or [steps] * batch, dtype=it.replace("i", "int"))))
    biases = 4 if linear else gates
    shapes = ((d, gates * n, inputs), (d, gates * n, n), (d, biases * n))
    args += [C(et, encode(et, spread(s, 4 + i))) for i, s in enumerate(shapes)]
    attrs = {"hidden_size": n, "direction": direction, "activations": FUNCTIONS[kind], "activations_alpha": [],
             "activations_beta": [], "clip": 0.0}
    if linear is not None:
        attrs["linear_before_reset"] = linear
    return Case(name, f"{kind}Sequence", "opset5", args, attrs | more)


def sequences(kind):
    @operation(f"{kind}Sequence-5")
    def cases():
        linear = False if kind == "GRU" else None
        for direction in ("forward", "reverse", "bidirectional"):
            yield sequence(kind, direction, direction, linear=linear)
            yield sequence(kind, direction + "-lengths", direction, [4, 2], linear=linear)
        yield sequence(kind, "length-0", "bidirectional", [0, 3], it="i64", linear=linear)
        yield sequence(kind, "clip", linear=linear, clip=.4)
        yield sequence(kind, "one-of-all", "bidirectional", batch=1, steps=1, n=1, inputs=1, linear=linear)
        yield sequence(kind, "f16", et="f16", linear=linear)
        if linear is False:
            yield sequence(kind, "linear-reverse", "reverse", linear=True)
            yield sequence(kind, "linear-bidirectional-lengths", "bidirectional", [2, 4], linear=True)
    return cases


for each in GATES:
    sequences(each)


def scores(shape, seed):
    """Distinct numbers, so that one class is best."""
    r = np.random.default_rng(seed)
    n = int(np.prod(shape))
    return (r.permutation(n) / 8 - n / 16).reshape(shape)


@operation("CTCGreedyDecoder-1")
def decoder():
    def d(name, steps=5, batch=3, classes=3, lengths=None, et="f32", **attrs):
        mask = np.arange(steps)[:, None] < np.array(lengths or [steps] * batch)[None]
        args = [P(et, encode(et, scores((steps, batch, classes), 5))), P(et, encode(et, mask.astype(float)))]
        return Case(name, "CTCGreedyDecoder", "opset1", args, attrs)
    for merge in (True, False):
        yield d(f"merge-{merge}", ctc_merge_repeated=merge)
        yield d(f"merge-{merge}-lengths", lengths=[5, 2, 0], ctc_merge_repeated=merge)
        yield d(f"merge-{merge}-two-classes", classes=2, steps=8, ctc_merge_repeated=merge)
    yield d("default")
    yield d("f16", et="f16")
    yield d("one", steps=1, batch=1)


@operation("CTCGreedyDecoderSeqLen-6")
def decoder_with_lengths():
    def d(name, steps=5, batch=3, classes=3, lengths=None, blank=None, et="f32", it="i32", **attrs):
        args = [P(et, encode(et, scores((batch, steps, classes), 7))), P(it, encode(it, lengths or [steps] * batch))]
        args += [] if blank is None else [C(it, encode(it, blank))]
        return Case(name, "CTCGreedyDecoderSeqLen", "opset6", args, attrs)
    for merge in (True, False):
        yield d(f"merge-{merge}", merge_repeated=merge)
        yield d(f"merge-{merge}-lengths", lengths=[5, 2, 0], merge_repeated=merge)
        yield d(f"merge-{merge}-blank-0", blank=0, merge_repeated=merge)
        yield d(f"merge-{merge}-two-classes", classes=2, steps=8, merge_repeated=merge)
    yield d("blank-1-list", blank=[1])
    yield d("i64", it="i64", blank=2, classes_index_type="i64", sequence_length_type="i64")
    yield d("i32-i64", classes_index_type="i32", sequence_length_type="i64")
    yield d("f16", et="f16")


@operation("CTCLoss-4")
def loss():
    def l(name, labels, counts, times=None, steps=4, classes=4, blank=None, et="f32", it="i32", **attrs):
        batch = len(labels)
        args = [P(et, encode(et, spread((batch, steps, classes), 9) * 2)), P(it, encode(it, times or [steps] * batch)),
                P(it, encode(it, labels)), P(it, encode(it, counts))]
        args += [] if blank is None else [C(it, encode(it, blank))]
        flags = {"preprocess_collapse_repeated": False, "ctc_merge_repeated": True, "unique": False}
        return Case(name, "CTCLoss", "opset4", args, flags | attrs)
    labels, counts = [[0, 2, 1, 0], [1, 0, 0, 2]], [2, 3]
    for collapse in (False, True):
        for merge in (False, True):
            for unique in (False, True):
                flags = {"preprocess_collapse_repeated": collapse, "ctc_merge_repeated": merge, "unique": unique}
                yield l("-".join(k.split("_")[0] for k, v in flags.items() if v) or "no-flags", labels, counts, **flags)
    yield l("times", labels, [2, 1], [3, 2])
    yield l("blank-0", [[1, 3, 2, 1], [2, 1, 1, 3]], counts, blank=0)
    yield l("i64", labels, counts, it="i64", blank=3)
    yield l("f16", labels, counts, et="f16")
    yield l("as-many-labels-as-steps", [[0, 1, 2, 0]], [4])
    yield l("repeated", [[0, 0, 1, 1, 0, 0]], [3], steps=6)
    yield l("two-classes", [[0, 0, 0, 0, 0]], [2], steps=5, classes=2)
