"""Cases of the operations of tokenizers, version `extension`."""

from .cases import CASES, kept
