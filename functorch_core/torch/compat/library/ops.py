"""torch.ops: operators by namespace and overload, `torch.ops.aten.add.Tensor(x, y)`.

`aten` holds this library's ops under PyTorch's names for them; other namespaces hold what
torch.library has defined. An overload has no rules of its own: which one is meant is seen from the
arguments.
"""

from __future__ import annotations

import importlib
import types
from collections.abc import Callable
from pathlib import Path

from ..._missing import MESSAGE, MissingAttribute
from ...dispatch.op import TorchOp
from ...tensors.active import active
from .aten import find
from .custom_ops import operators
from .overloads import schema_of

loaded_libraries: set[str] = set()


class _LibraryError(NotImplementedError, OSError):
    """A library of operators in C++ cannot be loaded; PyTorch raises OSError for one that is not made for it."""


_LibraryError.__name__ = _LibraryError.__qualname__ = "NotImplementedError"  # for users it is one
_LibraryError.__module__ = "builtins"


def load_library(path):
    """Define the operators of a library of torchvision or torchaudio; NotImplementedError for others.

    >>> torch.ops.load_library("lib.so")
    Traceback (most recent call last):
    NotImplementedError: torch.ops.load_library is not implemented ...
    """
    *folders, file = Path(path).parts
    library = file.partition(".")[0]
    for package in {"torchvision", "torchaudio"} & set(folders[-2:]):
        module = importlib.import_module(f"{__package__}.{package}")
        if library in module.LIBRARIES:
            module.define_operators(library)
            loaded_libraries.add(str(path))
            return
    raise _LibraryError(
        MESSAGE.format(name="torch.ops.load_library") + ": operators in C++ "
        f"({path}) need PyTorch; write them in Python with torch.library"
    )


class OpOverload:
    """One overload of an operator.

    >>> torch.ops.aten.add.Tensor(torch.ones(2), torch.ones(2))
    tensor([2., 2.])
    """

    __module__ = "torch._ops"

    def __init__(self, packet: OpOverloadPacket, overload: str):
        self.overloadpacket = self._overloadpacket = packet
        self._overloadname = overload
        self.namespace, self._opname = packet.namespace, packet.__name__
        self.__name__ = f"{self._opname}.{overload}"
        self.__qualname__ = f"{self.namespace}.{self.__name__}"
        self.__doc__ = packet.__doc__

    def __call__(self, /, *args, **kwargs):
        below = None if active.overrides is None else active.overrides.below
        if below is not None and below.applies(args, kwargs):
            return below.call_overload(self, args, kwargs)
        return self.overloadpacket(*args, **kwargs)

    def __repr__(self):
        return f"<OpOverload(op='{self.namespace}.{self._opname}', overload='{self._overloadname}')>"

    def __str__(self):
        return self.__qualname__

    def __deepcopy__(self, memo):
        return self

    def name(self) -> str:
        """aten::add.Tensor."""
        suffix = "" if self._overloadname == "default" else f".{self._overloadname}"
        return f"{self.namespace}::{self._opname}{suffix}"

    @property
    def tags(self) -> list:
        """The torch.Tags that an operator was defined with; those of PyTorch's own operators are not known."""
        found = getattr(self.overloadpacket._function, "tags", None)
        if found is None:
            raise MissingAttribute(MESSAGE.format(name=f"torch.ops.{self}.tags"))
        return list(found)

    @property
    def _schema(self):
        if self.namespace == "aten" and (found := schema_of(self._opname, self._overloadname)) is not None:
            return found
        schema = getattr(self.overloadpacket._function, "schema", None)
        if schema is None:
            raise MissingAttribute(MESSAGE.format(name=f"torch.ops.{self}._schema"))
        return schema


class OpOverloadPacket:
    """An operator: all its overloads.

    >>> torch.ops.aten.add, "Tensor" in torch.ops.aten.add.overloads()
    (<OpOverloadPacket(op='aten.add')>, True)
    """

    __module__ = "torch._ops"

    def __init__(self, namespace: str, name: str, function, overloads: tuple[str, ...]):
        self.namespace, self.__name__, self._function = namespace, name, function
        self._overloads = overloads
        self._qualified_op_name = f"{namespace}::{name}"
        self.__qualname__ = f"{namespace}.{name}"
        self.__doc__ = getattr(function, "__doc__", None)

    def __call__(self, /, *args, **kwargs):
        if "self" in kwargs and not isinstance(self._function, TorchOp):  # ops know it as `input`
            args = kwargs.pop("self"), *args
        return self._function(*args, **kwargs)

    def __repr__(self):
        return f"<OpOverloadPacket(op='{self.namespace}.{self.__name__}')>"

    def __str__(self):
        return f"{self.namespace}.{self.__name__}"

    def __deepcopy__(self, memo):
        return self

    def __getattr__(self, overload: str):
        if overload.startswith("__") or overload not in self.overloads():
            raise AttributeError(f"The underlying op of '{self}' has no overload name '{overload}'")
        found = self.__dict__[overload] = OpOverload(self, overload)
        return found

    def __dir__(self):
        return [*super().__dir__(), *self.overloads()]

    def __iter__(self):
        return iter(self.overloads())

    def overloads(self) -> list[str]:
        """The names of the overloads."""
        return list(self._overloads)


class HigherOrderOperator:
    """An operator with an implementation for each dispatch key, given by `py_impl`.

    Computed by its implementation for autograd on the CPU, or else by the first of the others that compute.
    Transforms and autograd differentiate and batch what that is made of: rules for them, as for tracing, are
    taken and not asked. The implementation for autograd must therefore be made of torch functions.

    >>> torch.ops.HigherOrderOperator.__name__
    'HigherOrderOperator'
    """

    __module__ = "torch._ops"
    KERNELS = ("CompositeImplicitAutograd", "AutogradCPU", "Autograd", "CompositeExplicitAutograd", "CPU")

    def __init__(self, name: str, *, cacheable: bool = False):
        self._name = self.__name__ = self.__qualname__ = name
        self.py_kernels: dict = {}

    def py_impl(self, key) -> Callable:
        """A decorator: the implementation for a dispatch key, a kind of transform or a mode."""

        def decorator(fun: Callable) -> Callable:
            self.py_kernels[getattr(key, "name", key)] = fun
            return fun

        return decorator

    def name(self) -> str:
        """The operator's name."""
        return self._name

    def __str__(self) -> str:
        return self._name

    def fallthrough(self, key):
        """No effect: there is no next key."""

    def __call__(self, /, *args, **kwargs):
        for key in self.KERNELS:
            if key in self.py_kernels:
                return self.py_kernels[key](*args, **kwargs)
        raise NotImplementedError(f"HigherOrderOperator '{self._name}' has no implementation for the CPU")


class _OpNamespace(types.ModuleType):
    """torch.ops.NAME."""

    def __init__(self, name: str):
        super().__init__(f"torch.ops.{name}")
        self.name = name
        self._packets: dict[str, OpOverloadPacket] = {}

    def __getattr__(self, op_name: str):
        if op_name in ("__file__", "__path__", "__wrapped__"):
            raise AttributeError(op_name)
        found = _found(self.name, op_name)
        if found is None:
            raise AttributeError(f"'_OpNamespace' '{self.name}' object has no attribute '{op_name}'")
        packet = self._packets.get(op_name)
        if packet is None or packet._function is not found[0]:  # others than aten's may be defined anew
            packet = self._packets[op_name] = OpOverloadPacket(self.name, op_name, *found)
        if self.name == "aten":
            setattr(self, op_name, packet)
        return packet


def _has_no_kernels() -> bool:
    """False: oneDNN computes nothing here."""
    return False


# Operators without a tensor, which no library has to define.
QUESTIONS = {("mkldnn", f"_is_mkldnn_{kind}_supported"): _has_no_kernels for kind in ("acl", "bf16", "fp16")}


def _found(namespace: str, name: str):
    """(the function, the names of its overloads) of an operator; None if there is no such one."""
    if namespace == "aten":
        return find(name)
    if (namespace, name) in QUESTIONS:
        return QUESTIONS[namespace, name], ("default",)
    operator = operators.get((namespace, name))
    return None if operator is None else (operator, tuple(operator.overloads))


def __getattr__(name: str):
    if name.startswith("__"):
        raise AttributeError(f"module 'torch.ops' has no attribute '{name}'")
    found = globals()[name] = _OpNamespace(name)
    return found
