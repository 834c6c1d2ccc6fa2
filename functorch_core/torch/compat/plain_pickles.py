"""Plain pickles of modules and optimizers without the shim.

Their classes say torch.* as their module, which pickle could not import then: an instance is
pickled by our own name for its class. torch.save and the shim go by torch's names.
"""

from __future__ import annotations

import copyreg
import importlib
import sys

from ...names import pickles_name_torch, torch_name
from ..tensors.base import Tensor

_homes: dict[type, str] = {}


def register():
    """Tell pickle of the classes in this library's modules that say torch.* as theirs."""
    for name, module in list(sys.modules.items()):
        title = torch_name(name)
        if title is None or name == "functorch_core.torch":
            continue
        for thing in list(vars(module).values()):
            if isinstance(thing, type) and thing.__module__ == title and _needs_help(thing):
                _homes[thing] = name
                copyreg.pickle(thing, _reduce)


def _needs_help(cls: type) -> bool:
    return not issubclass(cls, (Tensor, Warning, BaseException, type)) and (
        cls.__reduce__ is object.__reduce__ and cls.__reduce_ex__ is object.__reduce_ex__
    )


def _reduce(instance):
    function, args, *rest = object.__reduce_ex__(instance, 2)
    if pickles_name_torch() or function is not copyreg.__newobj__:
        return function, args, *rest
    cls, *args = args
    return _new, (_homes[cls], cls.__qualname__, *args), *rest


def _new(module: str, name: str, *args):
    cls = getattr(importlib.import_module(module), name)
    return cls.__new__(cls, *args)
