"""Convert: every type to every other."""

import math

import numpy as np

from .common import Case, P, operation
from .types import FLOATS, INTS, MANTISSA, NF4, RANGE, STORED, TABLE, TYPES, encode, limits, values_of


def near(x):
    return [np.nextafter(x, -math.inf), x, np.nextafter(x, math.inf)]


def float_targets(dst):
    """Numbers that decide how a conversion to the type rounds and where it ends."""
    if dst in INTS or dst == "boolean":
        lo, hi = limits(dst)
        out = [lo - 1, lo - .5, lo, lo + 1, hi - 1, hi, hi + .5, hi + 1, 2 * hi + 1, 2 * hi + 2, 3 * hi]
        # The nearest numbers inside the range that f32, f16 and bf16 can hold.
        for m in (24, 11, 8):
            if hi >> m:
                out += [hi + 1 - (hi + 1 >> m), hi + 1 + (hi + 1 >> m - 1)]
        return [float(x) for x in out]
    if dst == "nf4":
        mid = [(a + b) / 2 for a, b in zip(NF4, NF4[1:])]
        return mid + NF4[::4] + [-1.1, 1.1]
    if dst == "f4e2m1":
        return [.25, .26, .24, .75, 1.25, 1.75, 2.5, 3.5, 5, 5.5, 6.5, 7, 8, -.25, -.1, -1.25, -3.5, -5, -7]
    hi, normal, least = RANGE[dst]
    step = 2.0 ** -MANTISSA[dst]
    out = [hi, -hi, normal, least, least / 2, least * .75, least * 1.5, least * 2.5, normal - least / 2, 1 + step / 2,
           1 + step * 1.5, -(1 + step * 1.5), 1 + step * .51, 2 - step / 2]
    top = math.ldexp(step, math.frexp(hi)[1] - 1)
    if dst not in ("f64", "f32"):
        out += [hi + top / 4, hi + top / 2, hi + top * .75, hi + top, -(hi + top / 2), hi * 4]
    elif dst == "f32":
        out += [hi + top / 4, hi + top / 2, hi * 2, -hi * 2]
    if dst == "f8e8m0":
        out += [1.4, 1.5, 1.6, 2.9, 3.0, 3.1, .7, .75, .8, -1.0, -2.0]
    return out


BASE = [0.0, -0.0, 1, -1, .5, -.5, 1.5, 2.5, -1.5, -2.5, .999, 3.75, 100.25, -77.5, 1e-3, 1000, 70000, 3e9, -3e9, 1e19, 1e30]


def convert_inputs(src, dst):
    """Values of the source type in stored form."""
    if src == "boolean":
        return np.array([False, True, True, False, True])
    if src in INTS:
        lo, hi = limits(src)
        if hi - lo < 64:
            return np.arange(lo, hi + 1).astype(STORED[src])
        vals = [0, 1, -1, 2, -2, 3, 5, 7, 8, 9, 15, 16, 17, 100, -100, lo, lo + 1, hi - 1, hi]
        if dst in INTS:
            a, b = limits(dst)
            vals += [a - 1, a, a + 1, b - 1, b, b + 1, 2 * b + 2, 2 * b + 3, -b, -2 * b - 3]
        elif dst != "boolean":
            m = MANTISSA[dst]
            for k in (m + 1, m + 2, 31 if m < 30 else 62):  # ties and near ties
                vals += [(1 << k) + 1, (1 << k) + (1 << max(0, k - m - 1)), (1 << k) + 3 * (1 << max(0, k - m - 1)),
                         -(1 << k) - (1 << max(0, k - m - 1)), (1 << k) + 3 * (1 << max(0, k - m - 2))]
            h = RANGE[dst][0]
            if h < 2.0 ** 63:
                vals += [int(h), int(h) + 1, int(h * 1.03125), int(h * 1.0625), int(h * 1.25), -int(h) - 1, int(h * 1.13)]
        out = []
        for v in vals:
            if lo <= v <= hi and v not in out:
                out.append(v)
        return np.array(out, dtype=STORED[src])
    if src in ("nf4", "f4e2m1"):
        return np.arange(16).astype(np.uint8)
    if src == "f8e8m0":
        return np.array([0, 1, 2, 100, 117, 118, 119, 120, 121, 124, 125, 126, 127, 128, 129, 130, 131, 133, 134, 135, 136,
                         141, 142, 143, 157, 158, 159, 160, 189, 190, 191, 253, 254, 255], dtype=np.uint8)
    if src in TABLE:
        half = [0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 40, 44, 46, 48, 52, 55, 56, 57, 58, 60, 61, 62, 63, 64, 65, 66, 68, 71, 72, 76,
                80, 88, 94, 100, 110, 118, 119, 120, 121, 122, 123, 124, 125, 126, 127]
        return np.array(half + [x | 128 for x in half if x % 2 == 0] + [255], dtype=np.uint8)
    vals = list(BASE) + float_targets(dst)
    hi, normal, least = RANGE[src]
    vals += [hi, -hi, normal, least, -least, least * 2]
    if src == "f64":
        vals += [1e300, -1e300, 1 + 2.0 ** -24, 1 + 2.0 ** -24 + 2.0 ** -50, 1 + 2.0 ** -11 + 2.0 ** -40]
    code = encode(src, np.array(vals, np.float64))
    # Representable neighbours of a bound matter more than the bound, so keep each distinct code once.
    nan = encode(src, np.array([math.nan, math.inf, -math.inf]))
    both = np.concatenate([code, nan])
    bits = both.view({2: "<u2", 4: "<u4", 8: "<u8"}[both.dtype.itemsize])
    seen, keep = set(), []
    for i, b in enumerate(bits.tolist()):
        if b not in seen:
            seen.add(b)
            keep.append(i)
    return both[keep]


@operation("Convert-1")
def convert_1():
    for src in TYPES:
        for dst in TYPES:
            x = convert_inputs(src, dst)
            def case(tag, part, prefer=None):
                return Case(f"{src}-to-{dst}{tag}", "Convert", "opset1", [P(src, part)], {"destination_type": dst}, prefer=prefer)
            if src in FLOATS and dst in INTS:
                # A number out of range is undefined in C++.  Both oracles keep the low bits of the
                # truncated number while it fits a register (-outside); what lies further out, and
                # what is no number, becomes the lowest i32 or i64 first on x86 (-beyond).
                v = values_of(src, x)
                lo, hi = limits(dst)
                with np.errstate(all="ignore"):
                    t = np.trunc(v)
                    inside = np.isfinite(v) & (t >= lo) & ((t <= hi) if hi < 1 << 53 else (t < float(hi)))
                    low, high = (-2.0 ** 63, 2.0 ** 64) if dst == "u64" else (-2.0 ** 31, 2.0 ** 32 if dst == "u32" else 2.0 ** 31)
                    wraps = ~inside & (t > low) & (t < high)
                beyond = ~inside & ~wraps
                yield case("", x[inside])
                if wraps.any() and dst in (("i8", "u8", "i16", "u16", "i4", "u4", "u2", "u32", "u64") if src == "f32" else ("i8",)):
                    yield case("-outside", x[wraps])
                if beyond.any() and src in ("f32", "f64") and dst in ("i8", "u8", "i32", "i64"):
                    yield case("-beyond", x[beyond])
            elif dst == "bf16" and src not in ("boolean", "bf16"):
                # Core rounds down what lies above the middle over an even code, which is no rounding to
                # nearest; such values are left out.  From f32 the CPU plugin rounds to nearest, but
                # drops subnormals, so it vouches for the rounding of the others.
                v = np.asarray([float(k) for k in values_of(src, x).ravel().tolist()])
                with np.errstate(all="ignore"):
                    b = v.astype(np.float32).view(np.uint32)
                    odd = ((b & 0xFFFF) > 0x8000) & ((b >> 16 & 1) == 0) & ~np.isnan(v) & np.isfinite(v.astype(np.float32))
                    normal = (np.abs(v) >= 2.0 ** -125)
                yield case("", x[~odd])
                if src == "f32":
                    yield case("-rounding", x[odd & normal], prefer="cpu")
            elif dst == "f16" and src == "i32":
                # Core ends at 65504 for this one source and at infinity for all others.
                yield case("", x, prefer="cpu")
            else:
                yield case("", x)
