"""torch.utils."""

import importlib

from ... import _missing
from ...tape.accumulate import new_sink as _new_sink
from ...tensors.base import swap_attributes as _swap_attributes

_LAZY = (
    "_foreach_utils",
    "_import_utils",
    "_pytree",
    "_triton",
    "backcompat",
    "benchmark",
    "checkpoint",
    "collect_env",
    "cpp_extension",
    "data",
    "deterministic",
    "dlpack",
    "flop_counter",
    "hooks",
    "model_zoo",
    "module_tracker",
    "tensorboard",
    "viz",
)
_find = _missing.getter(__name__, _LAZY)


def __getattr__(name: str):
    if name == "data":
        return importlib.import_module("functorch_core.data")
    return _find(name)


def set_module(obj, mod: str):
    """Set an object's __module__.

    >>> class Mine: pass
    >>> torch.utils.set_module(Mine, "mine")
    >>> Mine.__module__
    'mine'
    """
    if not isinstance(mod, str):
        raise TypeError("The mod argument should be a string")
    obj.__module__ = mod


def swap_tensors(t1, t2):
    """Exchange two tensors: each becomes the other, for everybody who holds them.

    >>> a, b = torch.zeros(1), torch.ones(1)
    >>> torch.utils.swap_tensors(a, b)
    >>> a, b
    (tensor([1.]), tensor([0.]))
    """
    if t1._view is not None and t1._view.base is not None or (t2._view is not None and t2._view.base is not None):
        raise RuntimeError("swap_tensors: tensors that are views cannot be swapped")
    t1.__class__, t2.__class__ = t2.__class__, t1.__class__
    _swap_attributes(t1, t2)
    _new_sink(t1)
    _new_sink(t2)
