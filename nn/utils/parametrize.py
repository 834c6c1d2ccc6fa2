"""Parameters that are computed from others."""

from __future__ import annotations

import contextlib
import copyreg
from collections.abc import Sequence
from copy import deepcopy

from ...torch.tape.modes import no_grad
from ...torch.tensors.base import Tensor
from ..modules.container import ModuleDict, ModuleList
from ..modules.module import Module
from ..parameter import Parameter

NO_PICKLE = (
    "Serialization of parametrized modules is only supported through state_dict(). See:\n"
    "https://pytorch.org/tutorials/beginner/saving_loading_models.html"
    "#saving-loading-a-general-checkpoint-for-inference-and-or-resuming-training"
)
CHANGES = "Registering a parametrization may not change the {what} of the tensor, unless {flag} flag is enabled.\n"
SEQUENCE = (
    "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is "
    "parametrized in terms of a sequence of tensors."
)

_cache: dict[tuple[int, str], Tensor] = {}
_caches = 0  # how many `cached` contexts are open


@contextlib.contextmanager
def cached():
    """Context: parametrized tensors are computed once and kept.

    >>> from torch.nn.utils import parametrize
    >>> layer = nn.utils.parametrizations.orthogonal(nn.Linear(2, 2))
    >>> with parametrize.cached():
    ...   layer.weight is layer.weight
    True
    """
    global _caches
    _caches += 1
    try:
        yield
    finally:
        _caches -= 1
        if not _caches:
            _cache.clear()


def _register(module, name: str, tensor):
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def _set(tensor, new):
    """Let a tensor have the memory of another."""
    if new is not tensor:
        tensor.data = new.detach()


def _check_unchanged(names: tuple[str, str], old: tuple, new, flag: str):
    """ValueError unless a parametrized tensor has the dtype and shape it had."""
    for what, before, after in zip(("dtype", "shape"), old, (new.dtype, new.shape)):
        if before != after:
            raise ValueError(
                CHANGES.format(what=what, flag=flag) + f"{names[0]}{what}: {before}\n{names[1]}{what}: {after}"
            )


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, and what they start from: `original`, or `original0`,
    `original1`, ... if the last right_inverse returns several.

    >>> from torch.nn.utils import parametrize
    >>> class Symmetric(nn.Module):
    ...   def forward(self, x):
    ...     return x.triu() + x.triu(1).T
    >>> layer = parametrize.register_parametrization(nn.Linear(2, 2), "weight", Symmetric())
    >>> len(layer.parametrizations.weight), layer.parametrizations.weight.original.shape
    (1, torch.Size([2, 2]))
    """

    def __init__(self, modules, original, unsafe: bool = False):
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        before = original.dtype, original.shape
        new = self._inverted(original)
        self.is_tensor = isinstance(new, Tensor)
        self.ntensors = 1 if self.is_tensor else len(new)
        if self.is_tensor:
            self._keep_one(original, new)
        else:
            self._keep_several(original, new)
        if not unsafe:
            result = self()
            if not isinstance(result, Tensor):
                raise ValueError(f"A parametrization must return a tensor. Got {type(result).__name__}.")
            _check_unchanged(("unparametrized ", "parametrized "), before, result, "`unsafe`")

    @no_grad()
    def _inverted(self, value):
        """What the parametrizations make `value` of, as far as they tell."""
        for module in reversed(list(self)):
            if hasattr(module, "right_inverse"):
                with contextlib.suppress(NotImplementedError):
                    value = module.right_inverse(value)
        if not isinstance(value, (Tensor, Sequence)):
            raise ValueError(
                "'right_inverse' must return a Tensor or a Sequence of tensors (list, "
                f"tuple...). Got {type(value).__name__}"
            )
        return value

    def _keep_one(self, original, new):
        for what in ("dtype", "device"):
            if getattr(original, what) != getattr(new, what):
                raise ValueError(
                    f"When `right_inverse` outputs one tensor, it may not change the "
                    f"{what}.\noriginal.{what}: {getattr(original, what)}\n"
                    f"right_inverse(original).{what}: {getattr(new, what)}"
                )
        _set(original, new)
        _register(self, "original", original)

    def _keep_several(self, original, new):
        for i, part in enumerate(new):
            if not isinstance(part, Tensor):
                raise ValueError(
                    "'right_inverse' must return a Tensor or a Sequence of tensors "
                    f"(list, tuple...). Got element {i} of the sequence with type "
                    f"{type(part).__name__}."
                )
            if isinstance(original, Parameter):
                part = Parameter(part.detach(), original.requires_grad)
            part.requires_grad_(original.requires_grad)
            _register(self, f"original{i}", part)

    def _originals(self) -> list:
        return [self.original] if self.is_tensor else [getattr(self, f"original{i}") for i in range(self.ntensors)]

    @no_grad()
    def right_inverse(self, value) -> None:
        """Set the originals so that the parametrized tensor becomes `value`."""
        for module in reversed(list(self)):
            if not hasattr(module, "right_inverse"):
                raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
            value = module.right_inverse(value)
        if self.is_tensor:
            if not isinstance(value, Tensor):
                raise ValueError(f"`right_inverse` should return a tensor. Got {type(value).__name__}")
            if value.dtype != self.original.dtype:
                raise ValueError(
                    f"The tensor returned by `right_inverse` has dtype {value.dtype} "
                    f"while `original` has dtype {self.original.dtype}"
                )
            value = [value]
        else:
            self._check_several(value)
        for original, new in zip(self._originals(), value):
            _set(original, new)

    def _check_several(self, value):
        if not isinstance(value, Sequence):
            raise ValueError(f"'right_inverse' must return a sequence of tensors. Got {type(value).__name__}.")
        if len(value) != self.ntensors:
            raise ValueError(
                "'right_inverse' must return a sequence of tensors of length "
                f"{self.ntensors}. Got a sequence of length {len(value)}."
            )
        for i, (new, original) in enumerate(zip(value, self._originals())):
            if not isinstance(new, Tensor):
                raise ValueError(
                    "'right_inverse' must return a sequence of tensors or "
                    f"reference-type opaques. Got element {i} of type "
                    f"{type(new).__name__}."
                )
            if new.dtype != original.dtype:
                raise ValueError(
                    f"Tensor {i} returned by `right_inverse` has dtype {new.dtype} "
                    f"while `original{i}` has dtype {original.dtype}"
                )

    def forward(self):
        first, *rest = self
        x = first(*self._originals())
        for module in rest:
            x = module(x)
        return x


# ---- registering ---------------------------------------------------------------------------------


def _inject_new_class(module: Module):
    """Give a module a class of its own, on which properties can stand for its tensors."""
    cls = type(module)

    def __getstate__(self):
        raise RuntimeError(NO_PICKLE)

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            replica = memo[id(self)] = self.__new__(type(self))
            replica.__dict__ = deepcopy(self.__dict__, memo)
            for slot in copyreg._slotnames(type(self)):
                if hasattr(self, slot):
                    setattr(replica, slot, deepcopy(getattr(self, slot), memo))
        return memo[id(self)]

    members = {"__getstate__": __getstate__, "__module__": "torch.nn.utils.parametrize"}
    if not hasattr(cls, "__deepcopy__"):
        members["__deepcopy__"] = __deepcopy__
    module.__class__ = type(f"Parametrized{cls.__name__}", (cls,), members)


def _inject_property(module: Module, name: str):
    """Compute the tensor when it is read; writing sets the originals."""
    if hasattr(module, name):
        raise AssertionError(f"Module already has an attribute named '{name}'")

    def read(self):
        if not _caches:
            return self.parametrizations[name]()
        key = id(self), name
        if key not in _cache:
            _cache[key] = self.parametrizations[name]()
        return _cache[key]

    def write(self, value):
        self.parametrizations[name].right_inverse(value)

    setattr(type(module), name, property(read, write))


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Let a tensor of a module be what `parametrization` makes of it (or of a former one's result).

    The original becomes module.parametrizations.NAME.original. ValueError where dtype or shape
    would change, unless `unsafe`. Returns the module.

    >>> class Symmetric(nn.Module):
    ...     def forward(self, x):
    ...         return x.triu() + x.triu(1).mT
    >>> layer = nn.Linear(3, 3)
    >>> _ = nn.utils.parametrize.register_parametrization(layer, "weight", Symmetric())
    >>> bool((layer.weight == layer.weight.T).all())
    True
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            _check_further(module, tensor_name, parametrization)
        module.parametrizations[tensor_name].append(parametrization)
        module.parametrizations[tensor_name].unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        original = getattr(module, tensor_name)
        parametrizations = ParametrizationList([parametrization], original, unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            _inject_new_class(module)
            module.parametrizations = ModuleDict()
        _inject_property(module, tensor_name)
        module.parametrizations[tensor_name] = parametrizations
    else:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a "
            f"parametrized element with name '{tensor_name}'"
        )
    return module


def _check_further(module: Module, name: str, parametrization: Module):
    """ValueError where one more parametrization changes dtype or shape."""
    old = getattr(module, name)
    new = parametrization(old)
    if not isinstance(new, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(new).__name__}.")
    _check_unchanged(
        (f"module.{name}.", f"parametrization(module.{name})."), (old.dtype, old.shape), new, "the `unsafe`"
    )
    if not hasattr(parametrization, "right_inverse"):
        return
    try:
        back = parametrization.right_inverse(new)
    except NotImplementedError:
        return
    if not isinstance(back, Tensor):
        raise ValueError(f"parametrization.right_inverse must return a tensor. Got: {type(back).__name__}")
    for what in ("dtype", "shape"):
        if getattr(back, what) != getattr(old, what):
            raise ValueError(
                "The tensor returned by parametrization.right_inverse must have the "
                f"same {what} as module.{name}, unless the `unsafe` flag is enabled.\n"
                f"module.{name}.{what}: {getattr(old, what)}\nreturned {what}: "
                f"{getattr(back, what)}"
            )


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a tensor (or any) of a module is parametrized.

    >>> from torch.nn.utils import parametrize
    >>> layer = nn.utils.parametrizations.orthogonal(nn.Linear(2, 2))
    >>> parametrize.is_parametrized(layer), parametrize.is_parametrized(layer, "bias")
    (True, False)
    """
    found = getattr(module, "parametrizations", None)
    if not isinstance(found, ModuleDict):
        return False
    return len(found) > 0 if tensor_name is None else tensor_name in found


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Make a tensor of a module plain again, with its parametrized value or its original one.

    >>> from torch.nn.utils import parametrize
    >>> layer = nn.utils.parametrizations.orthogonal(nn.Linear(2, 2))
    >>> layer = parametrize.remove_parametrizations(layer, "weight")
    >>> parametrize.is_parametrized(layer)
    False
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    parametrizations = module.parametrizations[tensor_name]
    if not parametrizations.is_tensor and not leave_parametrized:
        raise ValueError(SEQUENCE)
    value = getattr(module, tensor_name) if leave_parametrized else None
    if parametrizations.is_tensor:
        original = parametrizations.original
        if leave_parametrized:
            _set(original, value)
    else:
        original = Parameter(value.detach()) if value.requires_grad else value
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _register(module, tensor_name, original)
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Module) -> type:
    """The class of a module, without parametrizations.

    >>> from torch.nn.utils import parametrize
    >>> layer = nn.utils.parametrizations.orthogonal(nn.Linear(2, 2))
    >>> type(layer).__name__, parametrize.type_before_parametrizations(layer).__name__
    ('ParametrizedLinear', 'Linear')
    """
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Give another module the parametrizations (of one tensor) of a module and their originals.

    >>> from torch.nn.utils import parametrize
    >>> layer = nn.utils.parametrizations.orthogonal(nn.Linear(2, 2))
    >>> other = parametrize.transfer_parametrizations_and_params(layer, nn.Linear(2, 2))
    >>> parametrize.is_parametrized(other, "weight")
    True
    """
    if not is_parametrized(from_module):
        return to_module
    names = list(from_module.parametrizations) if tensor_name is None else [tensor_name]
    for name in names:
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name).detach()))
        source = from_module.parametrizations[name]
        for parametrization in source:
            register_parametrization(to_module, name, parametrization)
        for key, original in (*source._parameters.items(), *source._buffers.items()):
            setattr(to_module.parametrizations[name], key, original)
    return to_module


__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]
