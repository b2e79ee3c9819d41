"""Element types: their codes, their numbers, and how the runtime packs them."""

import math

import numpy as np

INTS = {  # name: (bits, signed)
    "u1": (1, 0), "u2": (2, 0), "u3": (3, 0), "u4": (4, 0), "u6": (6, 0), "i4": (4, 1),
    "u8": (8, 0), "u16": (16, 0), "u32": (32, 0), "u64": (64, 0),
    "i8": (8, 1), "i16": (16, 1), "i32": (32, 1), "i64": (64, 1),
}
FLOATS = ["f64", "f32", "f16", "bf16", "f8e4m3", "f8e5m2", "f8e8m0", "f4e2m1", "nf4"]
TYPES = ["boolean", "bf16", "f16", "f32", "f64", "i4", "i8", "i16", "i32", "i64", "u1", "u2", "u3",
         "u4", "u6", "u8", "u16", "u32", "u64", "nf4", "f4e2m1", "f8e4m3", "f8e5m2", "f8e8m0"]
# How an array of the type is stored in an .npz, one element per entry.
STORED = {
    "boolean": "?", "bf16": "<u2", "f16": "<f2", "f32": "<f4", "f64": "<f8", "i4": "i1", "u1": "u1",
    "u2": "u1", "u3": "u1", "u4": "u1", "u6": "u1", "nf4": "u1", "f4e2m1": "u1", "f8e4m3": "u1",
    "f8e5m2": "u1", "f8e8m0": "u1",
}
for _n, (_b, _s) in INTS.items():
    STORED.setdefault(_n, ("<i" if _s else "<u") + str(_b // 8))
NUMPY = ["boolean", "f16", "f32", "f64", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"]
SUB_BYTE = {"u1": 1, "u2": 2, "u3": 3, "u4": 4, "i4": 4, "u6": 6, "nf4": 4, "f4e2m1": 4}

NF4 = [-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635,
       -0.18477343022823334, -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725,
       0.24611230194568634, 0.33791524171829224, 0.44070982933044434, 0.5626170039176941,
       0.7229568362236023, 1.0]


def small_float_table(name):
    """The values of all codes of a float type of at most eight bits."""
    if name == "nf4":
        return np.array(NF4)
    if name == "f4e2m1":
        half = [0.0, .5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]
        return np.array(half + [-x for x in half])
    if name == "f8e8m0":
        return np.array([math.ldexp(1.0, i - 127) for i in range(255)] + [math.nan])
    ebits, bias = (4, 7) if name == "f8e4m3" else (5, 15)
    mbits = 7 - ebits
    out = []
    for code in range(256):
        e, m = (code >> mbits) & ((1 << ebits) - 1), code & ((1 << mbits) - 1)
        if name == "f8e4m3" and (code & 127) == 127:
            v = math.nan
        elif name == "f8e5m2" and e == 31:
            v = math.inf if m == 0 else math.nan
        elif e == 0:
            v = math.ldexp(m, 1 - bias - mbits)
        else:
            v = math.ldexp((1 << mbits) + m, e - bias - mbits)
        out.append(-v if code & 128 else v)
    return np.array(out)


TABLE = {n: small_float_table(n) for n in ("nf4", "f4e2m1", "f8e4m3", "f8e5m2", "f8e8m0")}


def values_of(name, stored):
    """Stored form to numbers: float64 for floats, Python integers for integers."""
    stored = np.asarray(stored)
    if name in TABLE:
        return TABLE[name][stored]
    if name == "bf16":
        with np.errstate(all="ignore"):
            return (stored.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    if name in ("f16", "f32", "f64"):
        with np.errstate(all="ignore"):
            return stored.astype(np.float64)
    return stored


def encode(name, values):
    """Numbers to stored form, nearest (ties to even), or truncated for integers. Used for inputs only."""
    if name == "string":
        return np.array(values, dtype=np.str_)
    v = np.asarray(values)
    if name == "boolean":
        return v.astype(bool)
    if name in INTS:
        bits, signed = INTS[name]
        lo, hi = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
        flat = [min(hi, max(lo, int(x))) for x in v.ravel().tolist()]
        return np.array(flat, dtype=STORED[name]).reshape(v.shape)
    v = v.astype(np.float64)
    with np.errstate(all="ignore"):
        if name == "bf16":
            b = np.ascontiguousarray(v.astype(np.float32)).view(np.uint32).reshape(v.shape)
            r = (b + 0x7FFF + ((b >> 16) & 1)) >> 16
            r = np.where(np.isnan(v), 0x7FC0, r)
            return r.astype(np.uint16)
        if name in TABLE:
            t = TABLE[name]
            ok = [i for i in range(len(t)) if math.isfinite(t[i])]
            out = []
            for x in v.ravel():
                if math.isnan(x):
                    nan = [i for i in range(len(t)) if math.isnan(t[i])]
                    out.append(nan[0] if nan else 0)
                elif math.isinf(x) and name == "f8e5m2":
                    out.append(0x7C if x > 0 else 0xFC)
                else:
                    out.append(min(ok, key=lambda i: (abs(t[i] - x), math.copysign(1, t[i]) != math.copysign(1, x), i & 1)))
            return np.array(out, dtype=np.uint8).reshape(v.shape)
        return v.astype(STORED[name])


def pack(name, stored):
    """Stored form to the bytes of an OpenVINO tensor."""
    flat = np.ascontiguousarray(stored).ravel()
    if name not in SUB_BYTE:
        return flat.astype(STORED[name]).tobytes()
    bits = SUB_BYTE[name]
    codes = flat.astype(np.int64) & ((1 << bits) - 1)
    n = len(codes)
    if name in ("u3", "u6"):
        per = 8 if name == "u3" else 4
        codes = np.concatenate([codes, np.zeros(-n % per, np.int64)]).reshape(-1, per)
        out = bytearray()
        for g in codes.tolist():
            if name == "u3":
                out.append(sum((g[i] & 3) << (6 - 2 * i) for i in range(4)))
                out.append(sum((g[4 + i] & 3) << (6 - 2 * i) for i in range(4)))
                out.append(sum((g[i] >> 2) << (7 - i) for i in range(8)))
            else:
                out.append((g[0] & 15) << 4 | (g[1] & 15))
                out.append((g[2] & 15) << 4 | (g[3] & 15))
                out.append(sum((g[i] >> 4) << (6 - 2 * i) for i in range(4)))
        return bytes(out)
    per = 8 // bits
    codes = np.concatenate([codes, np.zeros(-n % per, np.int64)]).reshape(-1, per)
    shift = [(7 - i) if bits == 1 else bits * i for i in range(per)]
    return bytes(sum(c << s for c, s in zip(g, shift)) for g in codes.tolist())


def unpack(name, data, shape):
    """The bytes of an OpenVINO tensor to stored form."""
    n = math.prod(shape)
    if name not in SUB_BYTE:
        return np.frombuffer(data, dtype=STORED[name], count=n).reshape(shape).copy()
    bits, out = SUB_BYTE[name], []
    if name == "u3":
        for k in range(0, len(data) - len(data) % 3, 3):
            b = data[k:k + 3]
            for i in range(8):
                out.append((b[i // 4] >> (6 - 2 * (i % 4))) & 3 | ((b[2] >> (7 - i)) & 1) << 2)
    elif name == "u6":
        for k in range(0, len(data) - len(data) % 3, 3):
            b = data[k:k + 3]
            for i in range(4):
                out.append((b[i // 2] >> (0 if i % 2 else 4)) & 15 | ((b[2] >> (6 - 2 * i)) & 3) << 4)
    else:
        per = 8 // bits
        for byte in data:
            for i in range(per):
                out.append((byte >> ((7 - i) if bits == 1 else bits * i)) & ((1 << bits) - 1))
    out = np.array(out[:n], dtype=np.int64)
    if name == "i4":
        out = np.where(out > 7, out - 16, out)
    return out.astype(STORED[name]).reshape(shape)


def limits(name):
    """Lowest and highest value of an integer type (boolean counts as u1)."""
    if name == "boolean":
        return 0, 1
    bits, signed = INTS[name]
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)


# Of a float type: highest, least normal, least subnormal.
RANGE = {
    "f64": (1.7976931348623157e308, 2.0 ** -1022, 5e-324), "f32": (3.4028234663852886e38, 2.0 ** -126, 2.0 ** -149),
    "f16": (65504.0, 2.0 ** -14, 2.0 ** -24), "bf16": (3.3895313892515355e38, 2.0 ** -126, 2.0 ** -133),
    "f8e4m3": (448.0, 2.0 ** -6, 2.0 ** -9), "f8e5m2": (57344.0, 2.0 ** -14, 2.0 ** -16),
    "f8e8m0": (2.0 ** 127, 2.0 ** -127, 2.0 ** -127), "f4e2m1": (6.0, 1.0, 0.5), "nf4": (1.0, 0.0795803, 0.0795803),
}
MANTISSA = {"f64": 52, "f32": 23, "f16": 10, "bf16": 7, "f8e4m3": 3, "f8e5m2": 2, "f8e8m0": 0, "f4e2m1": 1, "nf4": 2}
