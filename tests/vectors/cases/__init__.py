"""The cases of every operation version, by family."""

from . import (  # noqa: F401
    arithmetic, condition, convert, gather, generation, movement, reduction, scatter, shape, slices, sort, sparse, strings,
)
from .common import CASES  # noqa: F401
