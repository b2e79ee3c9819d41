"""Conversions of colours. The runtime has none to NV12 that could be asked."""

import numpy as np

from .common import Case, P, operation


def image(et, shape, seed):
    n = int(np.prod(shape))
    values = (np.arange(n) * 37 + seed * 91 + np.arange(n) ** 2 // 3) % 256
    from .types import encode
    return P(et, encode(et, values.reshape(shape)))


def yuv(op, chroma, channels):
    @operation(f"{op}-8")
    def cases():
        for et in ("u8", "f32", "f16"):
            yield Case(f"{et}-one-plane", op, "opset8", [image(et, (1, 6, 6, 1), 1)])
            planes = [image(et, (2, 4, 2, 1), 2)] + [image(et, (2, 2, 1, channels), 3 + i) for i in range(chroma)]
            yield Case(f"{et}-planes", op, "opset8", planes)
        yield Case("u8-batch", op, "opset8", [image("u8", (3, 3, 4, 1), 5)])


for _op, _chroma, _channels in (("NV12toRGB", 1, 2), ("NV12toBGR", 1, 2), ("I420toRGB", 2, 1), ("I420toBGR", 2, 1)):
    yuv(_op, _chroma, _channels)
