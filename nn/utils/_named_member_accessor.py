"""Tensors and modules inside of a module by their full names, taken and exchanged; tensordict asks for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...torch.tensors.base import Tensor
from ..modules.module import Module


class _Missing:
    def __repr__(self):
        return "<missing>"


_MISSING = _Missing()  # in the place of a member that is not there
KINDS = "{value!r} is not an instance of torch.Tensor"
DOTS = 'tensor name can\'t contain "."'
EMPTY = 'tensor name can\'t be empty string ""'


def _refuse(module: Module, name: str):
    if not isinstance(module, Module):
        raise TypeError(f"{module} is not an instance of torch.nn.Module")
    if "." in name:
        raise KeyError(DOTS)
    if name == "":
        raise KeyError(EMPTY)


def _place_of(module: Module, name: str) -> dict | None:
    """The dict of a module that has a member; None if it is an attribute, or is not there."""
    return next((held for held in (module._parameters, module._buffers) if name in held), None)


def set_tensor(module: Module, name: str, tensor: Tensor):
    """Put a tensor in the place of a parameter, a buffer or an attribute.

    >>> from torch.nn.utils._named_member_accessor import set_tensor
    >>> layer = nn.Linear(2, 1)
    >>> set_tensor(layer, "bias", torch.ones(1))
    >>> layer.bias
    tensor([1.])
    """
    _refuse(module, name)
    if not isinstance(tensor, Tensor) and tensor is not None:
        raise TypeError(KINDS.format(value=tensor))
    _put(module, name, tensor)


def _put(module: Module, name: str, tensor):
    held = _place_of(module, name)
    if held is not None:
        held[name] = tensor
    else:
        setattr(module, name, tensor)


def swap_tensor(module: Module, name: str, tensor, allow_missing: bool = False):
    """Put a tensor in the place of a parameter, a buffer or an attribute, and return what was there.

    KeyError for a name with dots, AttributeError for a member that is not there; with `allow_missing` it is made, and a
    mark is returned that takes it away again when it is put in its place.

    >>> from torch.nn.utils._named_member_accessor import swap_tensor
    >>> layer = nn.Linear(2, 1)
    >>> bias = swap_tensor(layer, "bias", torch.ones(1))
    >>> layer.bias, isinstance(bias, nn.Parameter)
    (tensor([1.]), True)
    """
    _refuse(module, name)
    if tensor is not _MISSING and not isinstance(tensor, Tensor) and tensor is not None:
        raise TypeError(KINDS.format(value=tensor))
    held = _place_of(module, name)
    if held is not None:
        before = held[name]
        if tensor is _MISSING:
            del held[name]
        else:
            held[name] = tensor
        return before
    before = getattr(module, name, _MISSING)
    if before is _MISSING and not allow_missing:
        raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
    if before is not _MISSING and not isinstance(before, Tensor) and before is not None:
        raise TypeError(f"attribute `{name}`: {before} is not an instance of torch.Tensor")
    if tensor is not _MISSING:
        setattr(module, name, tensor)
    elif before is not _MISSING:
        delattr(module, name)
    return before


def swap_submodule(module: Module, name: str, submodule: Module) -> Module:
    """Put a module in the place of another, and return that."""
    _refuse(module, name)
    if not isinstance(submodule, Module):
        raise TypeError(f"{submodule} is not an instance of torch.nn.Module")
    if name not in module._modules:
        raise KeyError(f'submodule "{name}" does not exist')
    before = module._modules[name]
    if before is None:
        raise KeyError(f'submodule "{name}" is None')
    module._modules[name] = submodule
    return before


class NamedMemberAccessor:
    """The members of a module, by names with dots.

    >>> from torch.nn.utils._named_member_accessor import NamedMemberAccessor
    >>> members = NamedMemberAccessor(nn.Sequential(nn.Linear(2, 1)))
    >>> weight = members.swap_tensor("0.weight", torch.ones(1, 2))
    >>> members.get_tensor("0.weight")
    tensor([[1., 1.]])
    """

    def __init__(self, module: Module):
        self.module = module

    def _at(self, name: str) -> tuple[Module, str]:
        prefix, _, own = name.rpartition(".")
        return self.get_submodule(prefix), own

    def get_submodule(self, name: str) -> Module:
        """The module of a name, itself for ''."""
        try:
            return self.module.get_submodule(name)
        except AttributeError as error:
            raise AttributeError(f"{self.module._get_name()} has no attribute `{name}`") from error

    def swap_submodule(self, path: str, value: Module) -> Module:
        """Exchange a module, and return the one before."""
        return swap_submodule(*self._at(path), value)

    def get_tensor(self, name: str) -> Tensor | None:
        """The tensor of a name."""
        module, own = self._at(name)
        try:
            found = getattr(module, own)
        except AttributeError as error:
            raise AttributeError(f"{module._get_name()} has no attribute `{own}`") from error
        if not isinstance(found, Tensor) and found is not None:
            raise TypeError(KINDS.format(value=found))
        return found

    def set_tensor(self, name: str, value: Tensor):
        """Put a tensor in a place."""
        set_tensor(*self._at(name), value)

    def del_tensor(self, name: str):
        """Take the tensor of a name away."""
        module, own = self._at(name)
        try:
            delattr(module, own)
        except AttributeError as error:
            raise AttributeError(f"{module._get_name()} has no attribute `{own}`") from error

    def swap_tensor(self, name: str, value, allow_missing: bool = False):
        """Exchange a tensor, and return the one before."""
        return swap_tensor(*self._at(name), value, allow_missing=allow_missing)

    def get_tensors(self, names: Iterable[str]) -> list[Tensor | None]:
        """The tensors of these names."""
        return [self.get_tensor(name) for name in names]

    def set_tensors(self, names: Iterable[str], values: Iterable[Tensor]):
        """Put a tensor in the place of each name."""
        names, values = list(names), list(values)
        if len(names) != len(values):
            raise ValueError("names and values must have the same length")
        for name, value in zip(names, values):
            self.set_tensor(name, value)

    def set_tensors_dict(self, named_tensors: dict[str, Tensor]):
        """The same of a dict."""
        for name, value in named_tensors.items():
            self.set_tensor(name, value)

    def del_tensors(self, names: Iterable[str]):
        """Take the tensors of these names away."""
        for name in names:
            self.del_tensor(name)

    def swap_tensors(self, names: Iterable[str], values: Iterable, allow_missing: bool = False) -> list:
        """Exchange a tensor for each name, and return those before."""
        names, values = list(names), list(values)
        if len(names) != len(values):
            raise ValueError("names and values must have the same length")
        return [self.swap_tensor(name, value, allow_missing=allow_missing) for name, value in zip(names, values)]

    def swap_tensors_dict(self, named_tensors: dict, allow_missing: bool = False) -> tuple[dict, list[str]]:
        """The same of a dict: (those before, the names that were not there). After an error all is as it was."""
        before: dict = {}
        try:
            for name, value in named_tensors.items():
                before[name] = self.swap_tensor(name, value, allow_missing=True)
            missing = [name for name, tensor in before.items() if tensor is _MISSING]
            if missing and not allow_missing:
                raise RuntimeError(f"Missing key(s): {', '.join(map(repr, missing))}.")
        except Exception:
            for name, tensor in before.items():
                self.swap_tensor(name, tensor, allow_missing=True)
            raise
        return before, missing

    def check_keys(self, keys: Iterable[str]) -> tuple[list[str], list[str]]:
        """(names that are not among the keys, keys that are no names), of parameters and buffers."""
        given = set(keys)
        there = {name for name, _ in self.named_tensors(remove_duplicate=False)}
        return sorted(there - given), sorted(given - there)

    def named_parameters(self, remove_duplicate: bool = True) -> Iterator[tuple[str, Tensor]]:
        """The parameters and their names."""
        yield from self.module.named_parameters(remove_duplicate=remove_duplicate)

    def named_buffers(self, remove_duplicate: bool = True) -> Iterator[tuple[str, Tensor]]:
        """The buffers and their names."""
        yield from self.module.named_buffers(remove_duplicate=remove_duplicate)

    def named_tensors(self, remove_duplicate: bool = True) -> Iterator[tuple[str, Tensor]]:
        """Both."""
        yield from self.named_parameters(remove_duplicate=remove_duplicate)
        yield from self.named_buffers(remove_duplicate=remove_duplicate)

    def named_modules(self, remove_duplicate: bool = True) -> Iterator[tuple[str, Module]]:
        """The modules and their names."""
        yield from self.module.named_modules(remove_duplicate=remove_duplicate)
