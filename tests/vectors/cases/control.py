"""Layers that evaluate bodies: If, Loop, TensorIterator."""

import numpy as np

from .common import Case, P, operation


def case(name, op, opset, arrays, build):
    made = Case(name, op, opset, [P({"float32": "f32", "int32": "i32", "int64": "i64", "bool": "boolean"}[str(a.dtype)], a) for a in arrays])
    made.build = build
    return made


def f32(*shape):
    n = int(np.prod(shape))
    return ((np.arange(n) % 7 - 3) * 0.5).astype(np.float32).reshape(shape)


def model(ov, opset, arrays, make, dynamic=()):
    """A model with a Parameter for each array; `make` gives its outputs from them."""
    params = []
    for i, a in enumerate(arrays):
        shape = [-1 if i in dynamic else d for d in a.shape]
        params.append(opset.parameter(ov.PartialShape(shape), a.dtype, name=f"in{i}"))
    outputs = make(*[p.output(0) for p in params])
    return ov.Model([opset.result(o, name=f"result{i}") for i, o in enumerate(outputs)], params, "m")


def loop(ov, ops, trips, condition, states, invariants=(), sliced=(), body=None):
    """A Loop whose body is given (iteration, states, invariants, parts), and gives (condition, states, more)."""
    n = ops.parameter([], np.int64, name="n")
    s = [ops.parameter(ov.PartialShape([-1] * x.get_partial_shape().rank.get_length()), x.get_element_type(), name=f"s{i}") for i, x in enumerate(states)]
    v = [ops.parameter(x.get_partial_shape(), x.get_element_type(), name=f"v{i}") for i, x in enumerate(invariants)]
    c = [ops.parameter(ov.PartialShape([1 if k == axis else -1 for k in range(x.get_partial_shape().rank.get_length())]), x.get_element_type(), name=f"c{i}") for i, (x, axis) in enumerate(sliced)]
    go, new, more = body(n, s, v, c)
    results = [ops.result(go, name="go")] + [ops.result(x, name=f"r{i}") for i, x in enumerate([*new, *more])]
    node = ops.loop(trips, condition)
    node.set_function(ov.Model(results, [n, *s, *v, *c], "body"))
    node.set_special_body_ports([0, 0])
    for p, x, r in zip(s, states, results[1:]):
        node.set_merged_input(p, x, r.output(0))
    for p, x in zip(v, invariants):
        node.set_invariant_input(p, x)
    for p, (x, axis) in zip(c, sliced):
        node.set_sliced_input(p, x, 0, 1, 1, -1, axis)
    return node, [r.output(0) for r in results]


@operation("Loop-5")
def loops():
    def growing(ov):
        """A state that grows, and all its sums put together."""
        import openvino.opset13 as ops
        a = f32(1, 3)

        def make(x):
            def body(n, s, v, c):
                longer = ops.concat([s[0], ops.add(v[0], ops.convert(n, "f32"))], 0)
                return ops.constant(True), [longer], [ops.reduce_sum(longer, ops.constant([0, 1]), True)]
            node, r = loop(ov, ops, ops.constant(np.int64(4)), ops.constant(True), [x], [x], (), body)
            return [node.get_iter_value(r[1], -1), node.get_concatenated_slices(r[2], 0, 1, 1, -1, 0)]
        return model(ov, ops, [a], make)
    yield case("growing-state", "Loop", "opset5", [f32(1, 3)], growing)

    def trips(ov):
        import openvino.opset13 as ops

        def make(x, n, go):
            def body(i, s, v, c):
                return ops.constant(True), [ops.add(s[0], ops.convert(i, "f32"))], []
            node, r = loop(ov, ops, n, go, [x], (), (), body)
            return [node.get_iter_value(r[1], -1)]
        return model(ov, ops, [f32(2, 2), np.int64(0), np.bool_(True)], make)
    for n, go in ((3, True), (0, True), (3, False)):
        yield case(f"trips-{n}-{'on' if go else 'off'}", "Loop", "opset5", [f32(2, 2), np.array(n, np.int64), np.array(go)], trips)

    def sliced(ov):
        import openvino.opset13 as ops

        def make(x, y):
            def body(i, s, v, c):
                both = ops.add(s[0], c[0])
                return ops.constant(True), [both], [ops.tanh(both)]
            node, r = loop(ov, ops, ops.constant(np.int64(5)), ops.constant(True), [y], (), [(x, 1)], body)
            return [node.get_concatenated_slices(r[2], 0, 1, 1, -1, 1), node.get_iter_value(r[1], -1)]
        return model(ov, ops, [f32(2, 5, 3), f32(2, 1, 3)], make)
    yield case("parts-of-an-input", "Loop", "opset5", [f32(2, 5, 3), f32(2, 1, 3)], sliced)

    def nested(ov):
        import openvino.opset13 as ops

        def make(x):
            def inner(i, s, v, c):
                return ops.constant(True), [ops.add(s[0], ops.multiply(v[0], ops.convert(i, "f32")))], []

            def outer(n, s, v, c):
                node, r = loop(ov, ops, n, ops.constant(True), [s[0].output(0)], [v[0].output(0)], (), inner)
                return ops.constant(True), [node.get_iter_value(r[1], -1)], []
            node, r = loop(ov, ops, ops.constant(np.int64(4)), ops.constant(True), [x], [x], (), outer)
            return [node.get_iter_value(r[1], -1)]
        return model(ov, ops, [f32(3)], make)
    yield case("a-loop-in-a-loop", "Loop", "opset5", [f32(3)], nested)


@operation("TensorIterator-1")
def iterators():
    def iterator(start, end, stride, part, back):
        def build(ov):
            import openvino.opset13 as ops

            def make(x, y):
                c = ops.parameter([2, part, 3], np.float32, name="c")
                s = ops.parameter([2, 1, 3], np.float32, name="s")
                total = ops.add(s, ops.reduce_sum(c, ops.constant([1]), True))
                scaled = ops.multiply(c, s)
                r = [ops.result(total, name="r0"), ops.result(scaled, name="r1")]
                node = ops.tensor_iterator()
                node.set_body(ov.Model(r, [c, s], "body"))
                node.set_sliced_input(c, x, start, stride, part, end, 1)
                node.set_merged_input(s, y, r[0].output(0))
                sign = -1 if back else 1
                first, last = (-1, 0) if back else (0, -1)
                return [node.get_iter_value(r[0].output(0), -1), node.get_concatenated_slices(r[1].output(0), first, sign * part, part, last, 1)]
            return model(ov, ops, [f32(2, 6, 3), f32(2, 1, 3)], make)
        return build
    inputs = [f32(2, 6, 3), f32(2, 1, 3)]
    yield case("forward", "TensorIterator", "opset1", inputs, iterator(0, -1, 1, 1, False))
    yield case("backward", "TensorIterator", "opset1", inputs, iterator(-1, 0, -1, 1, True))
    yield case("backward-in", "TensorIterator", "opset1", inputs, iterator(-1, 0, -1, 1, False))
    yield case("backward-out", "TensorIterator", "opset1", inputs, iterator(0, -1, 1, 1, True))
    yield case("parts-of-two", "TensorIterator", "opset1", inputs, iterator(0, -1, 2, 2, False))


@operation("If-8")
def branches():
    def build(dynamic):
        def made(ov):
            import openvino.opset13 as ops

            def make(x, y, which):
                then = ops.parameter([-1, 3], np.float32, name="a")
                other = ops.parameter([-1, 3], np.float32, name="b")
                t = [ops.result(ops.add(then, ops.constant(np.float32(1))), name="t0"), ops.result(ops.shape_of(then), name="t1")]
                o = [ops.result(ops.concat([other, other], 0), name="o0"), ops.result(ops.shape_of(other), name="o1")]
                node = ops.if_op(which)
                node.set_then_body(ov.Model(t, [then], "then"))
                node.set_else_body(ov.Model(o, [other], "else"))
                node.set_input(x, then, None)
                node.set_input(y, None, other)
                return [node.set_output(t[0], o[0]), node.set_output(t[1], o[1])]
            return model(ov, ops, [f32(2, 3), f32(3, 3), np.bool_(True)], make, (0, 1) if dynamic else ())
        return made
    for which in (True, False):
        for dynamic in (True, False):
            name = f"{'then' if which else 'else'}{'-dynamic' if dynamic else ''}"
            yield case(name, "If", "opset8", [f32(2, 3), f32(3, 3), np.array(which)], build(dynamic))
