"""Containers of modules and of parameters."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from itertools import chain

from ...core.warn import warn
from ...torch.tensors.base import Tensor
from ..parameter import Parameter
from ._names import typename
from .module import Module


class Container(Module):
    """Deprecated: Module itself does what this did.

    >>> isinstance(nn.Container, type)
    True
    """

    def __init__(self, **kwargs):
        warn(
            "`nn.Container` is deprecated. All of its functionality is now implemented "
            "in `nn.Module`. Subclass that instead.",
            FutureWarning,
        )
        super().__init__()
        for key, value in kwargs.items():
            self.add_module(key, value)


def _indented(text: str) -> str:
    return text.replace("\n", "\n  ")


class _Numbered(Module):
    """What Sequential and ModuleList share: modules under the names "0", "1", ..."""

    def _key(self, idx) -> str:
        """The name of the idx-th module; IndexError if there is none."""
        keys, idx = list(self._modules), operator.index(idx)
        if not -len(keys) <= idx < len(keys):
            raise IndexError(f"index {idx} is out of range")
        return keys[idx]

    def __setitem__(self, idx, module):
        setattr(self, self._key(idx), module)

    def __delitem__(self, idx):
        keys = list(self._modules)[idx] if isinstance(idx, slice) else [self._key(idx)]
        for key in keys:
            delattr(self, key)
        self._modules = dict(zip(map(str, range(len(self))), self._modules.values()))

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules.values())

    def append(self, module):
        """Add a module at the end; returns the container."""
        self.add_module(str(len(self)), module)
        return self

    def pop(self, key):
        """Remove a module and return it."""
        module = self[key]
        del self[key]
        return module

    def _make_room(self, index: int, module):
        for i in range(len(self), index, -1):
            self._modules[str(i)] = self._modules[str(i - 1)]
        self._modules[str(index)] = module


class Sequential(_Numbered):
    """Modules called one after another.

    >>> nn.Sequential(nn.Linear(2, 3), nn.ReLU())
    Sequential(
      (0): Linear(in_features=2, out_features=3, bias=True)
      (1): ReLU()
    )
    """

    def __init__(self, *args):
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            named = args[0].items()
        else:
            named = ((str(i), module) for i, module in enumerate(args))
        for name, module in named:
            self.add_module(name, module)

    def __getitem__(self, idx):
        if isinstance(idx, slice):
            return self.__class__(OrderedDict(list(self._modules.items())[idx]))
        return self._modules[self._key(idx)]

    def forward(self, input):
        for module in self._modules.values():
            input = module(input)
        return input

    def insert(self, index, module):
        """Put a module in front of the index-th; returns the container."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        n = len(self)
        if not -n <= index <= n:
            raise IndexError(f"Index out of range: {index}")
        self._make_room(index + n if index < 0 else index, module)
        return self

    def extend(self, sequential):
        """Add the modules of an iterable at the end; returns the container."""
        for layer in sequential:
            self.append(layer)
        return self

    # ---- operators

    def __add__(self, other):
        return Sequential().extend(self).extend(_sequential(other))

    def __iadd__(self, other):
        return self.extend(list(_sequential(other)))

    def __mul__(self, other):
        self._check_factor(other)
        return Sequential().extend([layer for _ in range(other) for layer in self])

    __rmul__ = __mul__

    def __imul__(self, other):
        self._check_factor(other)
        return self.extend([layer for _ in range(other - 1) for layer in self])

    def _check_factor(self, factor):
        if not isinstance(factor, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(factor)}")
        if factor <= 0:
            raise ValueError(f"Non-positive multiplication factor {factor} for {type(self)}")


def _sequential(other):
    if not isinstance(other, Sequential):
        raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
    return other


class ModuleList(_Numbered):
    """A list of modules.

    >>> layers = nn.ModuleList([nn.Linear(2, 2) for i in range(3)])
    >>> len(layers)
    3
    """

    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self += modules

    def __getitem__(self, idx):
        if isinstance(idx, slice):
            return self.__class__(list(self._modules.values())[idx])
        return self._modules[self._key(idx)]

    def __iadd__(self, modules):
        return self.extend(modules)

    def __add__(self, other):
        return ModuleList(chain(self, other))

    def insert(self, index, module):
        """Put a module in front of the index-th."""
        self._make_room(index, module)

    def extend(self, modules):
        """Add the modules of an iterable at the end; returns the list."""
        if not isinstance(modules, Iterable):
            raise TypeError("ModuleList.extend should be called with an iterable, but got " + type(modules).__name__)
        for module in list(modules):
            self.append(module)
        return self

    def __repr__(self):
        blocks: list[list] = []  # [first, last, text], neighbours of equal text together
        for i, text in enumerate(map(repr, self)):
            if blocks and blocks[-1][2] == text:
                blocks[-1][1] = i
            else:
                blocks.append([i, i, text])
        lines = [_indented(f"({a}): {text}" if a == b else f"({a}-{b}): {b - a + 1} x {text}") for a, b, text in blocks]
        if not lines:
            return f"{self._get_name()}()"
        return "{}(\n  {}\n)".format(self._get_name(), "\n  ".join(lines))


class ModuleDict(Module):
    """A dictionary of modules by name.

    >>> heads = nn.ModuleDict({"a": nn.Linear(2, 1), "b": nn.Linear(2, 2)})
    >>> list(heads)
    ['a', 'b']
    """

    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key):
        return self._modules[key]

    def __setitem__(self, key, module):
        self.add_module(key, module)

    def __delitem__(self, key):
        del self._modules[key]

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules)

    def __contains__(self, key):
        return key in self._modules

    def clear(self):
        """Remove all modules."""
        self._modules.clear()

    def pop(self, key):
        """Remove a module and return it."""
        return self._modules.pop(key)

    def keys(self):
        """The names."""
        return self._modules.keys()

    def items(self):
        """(name, module) of all."""
        return self._modules.items()

    def values(self):
        """The modules."""
        return self._modules.values()

    def update(self, modules):
        """Add modules from a mapping or an iterable of pairs."""
        for key, module in _pairs("ModuleDict", modules):
            self[key] = module


def _pairs(name: str, given, plural: str = ""):
    """The (key, value) pairs of a mapping or an iterable; TypeError or ValueError otherwise."""
    if not isinstance(given, Iterable):
        raise TypeError(
            f"{plural or name}.update should be called with an iterable of key/value "
            f"pairs, but got {type(given).__name__}"
        )
    if isinstance(given, (Mapping, ModuleDict, ParameterDict)):
        return list(given.items())
    pairs = list(given)
    for i, pair in enumerate(pairs):
        if not isinstance(pair, Iterable):
            raise TypeError(f"{name} update sequence element #{i} should be Iterable; is" + type(pair).__name__)
        if len(pair) != 2:
            raise ValueError(f"{name} update sequence element #{i} has length {len(pair)}; 2 is required")
    return pairs


# ---- parameters ----------------------------------------------------------------------------------


def _as_parameter(value):
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


def _described(key, value, type_of) -> str:
    """A line of the repr of a container of parameters."""
    if not isinstance(value, Tensor):
        return f"  ({key}): Object of type: {type(value).__name__}"
    kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
    place = f" ({value.device})" if value.device.type == "cuda" else ""
    size = "x".join(map(str, value.shape))
    return f"  ({key}): {kind} containing: [{type_of(value)} of size {size}{place}]"


class ParameterList(Module):
    """A list of parameters (tensors become parameters) and other objects.

    >>> nn.ParameterList([torch.ones(2)])
    ParameterList(  (0): Parameter containing: [torch.float32 of size 2])
    """

    def __init__(self, values=None):
        super().__init__()
        self._size = 0
        if values is not None:
            self += values

    def _key(self, idx) -> str:
        idx = operator.index(idx)
        if not -len(self) <= idx < len(self):
            raise IndexError(f"index {idx} is out of range")
        return str(idx % len(self))

    def __getitem__(self, idx):
        if isinstance(idx, slice):
            return self.__class__([self[i] for i in range(*idx.indices(len(self)))])
        return getattr(self, self._key(idx))

    def __setitem__(self, idx, param):
        setattr(self, self._key(idx), _as_parameter(param))

    def __len__(self):
        return self._size

    def __iter__(self):
        return iter([self[i] for i in range(len(self))])

    def __iadd__(self, parameters):
        return self.extend(parameters)

    def append(self, value):
        """Add a value at the end; returns the list."""
        self._size += 1
        self[len(self) - 1] = value
        return self

    def extend(self, values):
        """Add the values of an iterable at the end; returns the list."""
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError("ParameterList.extend should be called with an iterable, but got " + type(values).__name__)
        for value in list(values):
            self.append(value)
        return self

    def extra_repr(self):
        return "\n".join(_described(i, p, lambda t: t.dtype) for i, p in enumerate(self))

    def __call__(self, *args, **kwargs):
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """A dictionary of parameters (tensors become parameters) and other objects, by name.

    >>> nn.ParameterDict({'a': torch.ones(2)})
    ParameterDict(  (a): Parameter containing: [torch.FloatTensor of size 2])
    """

    def __init__(self, parameters=None):
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def _key_to_attr(self, key) -> str:
        if not isinstance(key, str):
            raise TypeError(
                "Index given to ParameterDict cannot be used as a key as it is not a "
                f"string (type is '{type(key).__name__}')."
            )
        return key

    def __getitem__(self, key):
        return getattr(self, self._key_to_attr(key))

    def __setitem__(self, key, value):
        self._keys[key] = None
        setattr(self, self._key_to_attr(key), _as_parameter(value))

    def __delitem__(self, key):
        del self._keys[key]
        delattr(self, self._key_to_attr(key))

    def __len__(self):
        return len(self._keys)

    def __iter__(self):
        return iter(self._keys)

    def __reversed__(self):
        return reversed(self._keys)

    def __contains__(self, key):
        return key in self._keys

    def copy(self):
        """Another dictionary of the same parameters."""
        return ParameterDict(OrderedDict(self.items()))

    def setdefault(self, key, default=None):
        """The value of a key, set to `default` if there is none."""
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self):
        """Remove everything."""
        for key in list(self._keys):
            del self[key]

    def pop(self, key):
        """Remove a value and return it."""
        value = self[key]
        del self[key]
        return value

    def popitem(self):
        """Remove the last (key, value) and return it."""
        key = next(reversed(self._keys)) if self._keys else self._keys.popitem()
        return key, self.pop(key)

    def get(self, key, default=None):
        """The value of a key, or `default`."""
        return self[key] if key in self else default

    def fromkeys(self, keys, default=None):
        """A new dictionary with one value for all keys."""
        return ParameterDict((key, default) for key in keys)

    def keys(self):
        """The keys."""
        return self._keys.keys()

    def items(self):
        """(key, value) of all."""
        return ((key, self[key]) for key in self._keys)

    def values(self):
        """The values."""
        return (self[key] for key in self._keys)

    def update(self, parameters):
        """Add values from a mapping or an iterable of pairs."""
        pairs = _pairs("ParameterDict", parameters, plural="ParametersDict")
        ordered = isinstance(parameters, (OrderedDict, ParameterDict))
        if isinstance(parameters, Mapping) and not ordered:
            pairs = sorted(pairs)
        for key, value in pairs:
            self[key] = value

    def extra_repr(self):
        return "\n".join(_described(key, p, typename) for key, p in self.items())

    def __call__(self, input):
        raise RuntimeError("ParameterDict should not be called.")

    def __or__(self, other):
        new = self.copy()
        new.update(other)
        return new

    def __ror__(self, other):
        new = other.copy()
        new.update(self)
        return new

    def __ior__(self, other):
        self.update(other)
        return self


__all__ = ["Container", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]
