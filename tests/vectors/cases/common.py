"""What every family of cases is written with."""

import math

import numpy as np

from .types import INTS, STORED, TABLE, TYPES, encode, limits


class P:
    """An input of the model."""
    const = False

    def __init__(self, et, stored):
        self.et, self.stored = et, np.asarray(stored)


class C(P):
    """A constant of the model."""
    const = True


class Case:
    def __init__(self, name, op, opset, args, attrs=None, prefer=None, doubt=None):
        """`prefer` names the oracle to take first; `doubt` tells of an oracle (or of both) why it is not believed."""
        self.name, self.op, self.opset, self.args = name, op, opset, args
        self.attrs, self.prefer, self.doubt = attrs or {}, prefer, doubt or {}


CASES = {}


def operation(name):
    def add(f):
        CASES[name] = f
        return f
    return add


INT_TYPES = ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"]
WIDE_FLOATS = ["f16", "bf16", "f32", "f64"]
ALL = TYPES + ["string"]
MOST = [t for t in ALL if t not in ("i16", "u16", "u32", "f8e5m2", "f8e8m0")]
SOME = ["boolean", "f16", "i4", "u8", "i64", "string"]
NAN, INF = math.nan, math.inf


def seq(et, shape, start=0, step=1):
    """A tensor whose elements differ as far as the type allows."""
    n = math.prod(shape)
    if et == "string":
        return np.array([f"s{start + i}é"[: 1 + (i * 7) % 5] if i % 4 else "" for i in range(n)], dtype=np.str_).reshape(shape)
    if et == "boolean":
        return (np.arange(n) * 5 % 3 == 1).reshape(shape)
    if et in TABLE:
        i = np.arange(n)
        return ((i * 5 + i * i // 3 + 1 + start) % len(TABLE[et])).astype(np.uint8).reshape(shape)
    if et in INTS:
        lo, hi = limits(et)
        size = hi - lo + 1
        v = [(start + i * step - (n // 3 if lo else 0)) for i in range(n)]
        if size <= 64:
            v = [start + i * 5 + i * i // 3 for i in range(n)]
        if size > 256 and n > 3:
            v[1], v[2] = hi, lo
        return np.array([(x - lo) % size + lo for x in v], dtype=STORED[et]).reshape(shape)
    return encode(et, ((start + np.arange(n) * step) * .5 - n / 4).reshape(shape))


def ints(values, et="i64", shape=None):
    a = np.array(values, dtype=STORED[et])
    return C(et, a if shape is None else a.reshape(shape))


def dims(shape):
    return "x".join(map(str, shape)) if shape else "scalar"


def p(et, values):
    """An input of numbers as they are written."""
    return P(et, encode(et, values))


def c(et, values):
    """A constant of numbers as they are written."""
    return C(et, encode(et, values))


def small(et, shape):
    """As `seq`, but without the large integers that the CPU plugin moves as `i32` or `f32`."""
    return encode(et, np.arange(math.prod(shape)).reshape(shape)) if et in ("i32", "i64", "u64") else seq(et, shape)


# Types to move that differ in size, order or kind.
MOVED = ["boolean", "bf16", "f16", "f64", "i8", "u16", "i32", "i64", "u64", "string"]
# Types to compute in that are not `f32`.
COMPUTED = ["bf16", "f16", "f64", "i8", "u8", "i32", "i64", "u64"]
