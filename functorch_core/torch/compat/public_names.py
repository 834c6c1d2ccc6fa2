"""The module and qualified name that PyTorch gives each public function.

Its pickles refer to functions by them, so that a module saved with torch.save that holds F.relu is
read by the other library. Ops are named so when this package is imported; functions when the shim
is installed (without it nothing named torch can be imported, and plain pickles name our files).
"""

from __future__ import annotations

import sys
import types

from ... import names
from ..dispatch.op import Composite, TorchOp
from ..namespaces import autograd, fft, func, functional, linalg, special
from ..tensors.base import Tensor

OPS = (TorchOp, Composite)
# Functions of torch.nn.functional that PyTorch writes in C++, though not as functions of torch.
C_NN = frozenset(
    """avg_pool2d avg_pool3d elu_ gelu hardtanh_ leaky_relu_ linear logsigmoid one_hot
    scaled_dot_product_attention softplus softshrink""".split()
)
OTHER_FILES = {
    "lobpcg": "torch._lobpcg",
    "pca_lowrank": "torch._lowrank",
    "set_printoptions": "torch._tensor_str",
    "svd_lowrank": "torch._lowrank",
    "from_dlpack": "torch.utils.dlpack",
}
RENAMED = {"logsigmoid": "log_sigmoid"}

TORCH, NN = "functorch_core.torch", "functorch_core.nn.functional"
_names: dict[int, tuple[str, str]] = {}  # id of a function -> module, qualified name


def name_of(function) -> tuple[str, str] | None:
    """PyTorch's (module, qualified name) of a function of this library; None for any other."""
    if not _names:
        _find_names()
    return _names.get(id(function))


def name_ops():
    """Let the ops say what PyTorch's functions say."""
    _names.clear()
    for thing, (module, qualname) in _entries():
        if isinstance(thing, OPS):
            thing.__module__, thing.__qualname__ = module, qualname


def retitle(record: list):
    """The same for functions; `record` gets (function, its module, its qualified name) of each."""
    for thing, (module, qualname) in _entries():
        if isinstance(thing, types.FunctionType):
            record.append((thing, thing.__module__, thing.__qualname__))
            thing.__module__, thing.__qualname__ = module, qualname
    for method in vars(Tensor).values():
        if isinstance(method, types.FunctionType) and method.__qualname__.startswith("Tensor."):
            record.append((method, method.__module__, method.__qualname__))
            method.__module__ = "torch._tensor"


def _find_names():
    for thing, name in _entries():
        _names.setdefault(id(thing), name)


def _entries():
    """(function, its name) for the public functions; that of its first namespace counts."""
    seen: set[int] = set()
    spaces = (
        (func, _of_python("torch.func")),
        (autograd, _of_python("torch.autograd")),
        (sys.modules[TORCH], _of_torch(frozenset(functional._NAMES))),
        (sys.modules.get(NN), _of_nn),
        (linalg, _of_c("linalg")),
        (fft, _of_c("fft")),
        (special, _of_c("special")),
    )
    for space, name_in in spaces:
        if space is None:  # torch.nn.functional is not imported yet: it calls name_ops() when it is
            continue
        for name, thing in vars(space).items():
            if name.startswith("_") or id(thing) in seen:
                continue
            if (
                isinstance(thing, OPS)
                or isinstance(thing, types.FunctionType)
                and (thing.__module__.startswith(("functorch_core.", "torch.")))
            ):
                seen.add(id(thing))
                yield thing, name_in(name, thing)


def _of_torch(python: frozenset):
    def name_in(name: str, thing):
        if name in python or name in OTHER_FILES:
            return OTHER_FILES.get(name, "torch.functional"), name
        if isinstance(thing, OPS):
            return "torch", f"_VariableFunctionsClass.{thing.__name__}"
        module = names.torch_name(thing.__module__) or thing.__module__
        kept = module in ("torch.serialization", "torch.random")
        return module if kept else "torch", name

    return name_in


def _of_nn(name: str, thing):
    if name in C_NN:
        return "torch._C._nn", RENAMED.get(name, name)
    return "torch.nn.functional", name


def _of_c(space: str):
    return lambda name, thing: (f"torch._C._{space}", f"{space}_{name}")


def _of_python(module: str):
    def name_in(name: str, thing):
        own = names.torch_name(thing.__module__) or thing.__module__
        return own if own == "torch.autograd.gradcheck" else module, name

    return name_in
