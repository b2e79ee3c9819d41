"""The cases of every operation version, by family."""

from . import arithmetic, convert, gather, movement, reduction, scatter, shape  # noqa: F401
from .common import CASES  # noqa: F401
