"""The cases of every operation version, by family."""

from . import (  # noqa: F401
    arithmetic, blocks, colours, condition, control, convert, gather, generated, generation, movement, pairs, reduction, scatter, shape, slices, sort, sparse,
)
from .common import CASES  # noqa: F401
