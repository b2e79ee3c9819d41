"""The cases of every operation version; each module of this folder holds a family."""

import importlib
import pkgutil

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")

from .common import CASES  # noqa: E402, F401
