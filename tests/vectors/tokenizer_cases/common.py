"""What the cases are made of: strings taken apart, rows of them, and texts."""

from dataclasses import dataclass, field

import numpy as np


@dataclass
class Arg:
    value: np.ndarray
    const: bool = False


@dataclass
class Case:
    name: str
    op: str
    inputs: list
    attrs: dict = field(default_factory=dict)


def encoded(strings):
    return [s.encode() if isinstance(s, str) else s for s in strings]


def strings(texts, const=False, shape=None):
    parts = encoded(texts)
    ends = np.cumsum([len(p) for p in parts], dtype=np.int32).astype(np.int32)
    begins = np.concatenate([[0], ends[:-1]]).astype(np.int32) if parts else ends
    if shape is not None:
        begins, ends = begins.reshape(shape), ends.reshape(shape)
    symbols = np.frombuffer(b"".join(parts), np.uint8)
    return [Arg(begins, const), Arg(ends, const), Arg(symbols, const)]


def rows(lengths):
    ends = np.cumsum(lengths, dtype=np.int32).astype(np.int32)
    begins = np.concatenate([[0], ends[:-1]]).astype(np.int32) if len(lengths) else ends
    return [Arg(begins), Arg(ends)]


def ragged(lists):
    return rows([len(l) for l in lists]) + strings([s for l in lists for s in l])


def texts(words):
    """A row of one string for each."""
    return ragged([[w] for w in words])


def flags(values):
    return Arg(np.array(values, np.bool_))


def text(s):
    return Arg(np.frombuffer(s.encode() if isinstance(s, str) else s, np.uint8), True)


def ints(values, et=np.int32, const=False):
    return Arg(np.array(values, et), const)


TEXTS = [
    "Hello, world!",
    "It's  a test: I'll pay $12.50 (or 3,000)...",
    "  two  spaces\tand tabs\r\nlines\n\n",
    "naïve café Ångström ÉCOLE straße",
    "e\u0301 A\u030a o\u0323\u0302",
    "漢字かな カナ 한국어 々〆、。",
    "👍🏽 👨‍👩‍👧 🇩🇪 ☕️",
    "[CLS] a [MASK] b<|end|>[SEP]",
    "ﬁ ½ Ⅷ ㎏ Ａｂｃ１",
    "x",
    "ΣΊΣΥΦΟΣ İıſẞ",
    "\u00a0\u2003\u200b\u180e\u0085z",
    "snake_case camelCase 1a2b",
    "مرحبا שלום नमस्ते ไทย",
]
