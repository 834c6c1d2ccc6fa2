"""PyTorch's documented names that are not implemented: they exist, and raise when they are used.

So `import torch.fx` and `isinstance(x, torch.fx.GraphModule)` work in a program that never traces;
one that does is told what is missing. Names PyTorch does not have stay AttributeErrors.
"""

from __future__ import annotations

import functools
import importlib.abc
import importlib.machinery
import types
from collections.abc import Callable
from pathlib import Path

from ..aliases import public_name
from ..names import torch_name

MESSAGE = "{name} is not implemented by functorch-core: it is a name of PyTorch that this library does not have yet"


class MissingAttribute(NotImplementedError, AttributeError):
    """An attribute of something that is not implemented; hasattr is False."""


def _error(name: str) -> NotImplementedError:
    return NotImplementedError(MESSAGE.format(name=name))


def missing(name: str, why: str = ""):
    """What stands for a missing name of PyTorch: a class or function that raises at use."""
    short = name.rpartition(".")[2]
    if name in decorators:
        made = _missing_decorator(name)
    elif short.lstrip("_")[:1].isupper():
        made = _missing_class(name)
    else:
        made = _missing_function(name, why)
    made.__module__, made.__qualname__ = name.rpartition(".")[0], short
    made.is_missing = True
    return made


def _missing_function(name: str, why: str = "") -> Callable:
    def function(*args, **kwargs):
        raise NotImplementedError(MESSAGE.format(name=name) + (f": {why}" if why else ""))

    function.__name__ = name.rpartition(".")[2]
    function.__doc__ = "Not implemented: raises NotImplementedError."
    return function


def _missing_decorator(name: str) -> Callable:
    """Applied where modules are imported: the functions raise when they are called."""

    def decorator(function):
        return functools.wraps(function)(_missing_function(name))

    return decorator


class _MissingType(type):
    def __call__(cls, *args, **kwargs):
        raise _error(f"{cls.__module__}.{cls.__qualname__}")

    def __getattr__(cls, attribute):
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        raise MissingAttribute(MESSAGE.format(name=f"{cls.__module__}.{cls.__qualname__}.{attribute}"))


def _missing_class(name: str) -> type:
    def refuse(cls, **kwargs):
        raise _error(name)

    return _MissingType(
        name.rpartition(".")[2],
        (),
        {
            "__init_subclass__": classmethod(refuse),
            "__doc__": "Not implemented: raises NotImplementedError when it is made or derived from.",
        },
    )


# ---- modules -------------------------------------------------------------------------------------


# The index of PyTorch's documentation (without torch.nn, optim, linalg, fft, special, autograd, func,
# utils.data), and what it does not document but widely used packages import.
FILES = ("documented_names.txt", "further_names.txt")
decorators: set[str] = set()  # those that are marked @ in the tables


@functools.cache
def table() -> dict[str, frozenset[str]]:
    """The names of PyTorch that exist here at least as what raises, module by module."""
    found: dict[str, frozenset[str]] = {}
    for file in FILES:
        text = (Path(__file__).parent / file).read_text(encoding="ascii")
        for line in text.replace("\n    ", " ").splitlines():  # indented lines continue
            module, _, names = line.partition(":")
            title = f"torch.{module}".rstrip(".")
            decorators.update(f"{title}.{name[1:]}" for name in names.split() if name[0] == "@")
            found[title] = found.get(title, frozenset()) | {n.lstrip("@") for n in names.split()}
    return found


def getter(module: str, lazy: tuple[str, ...] = ()) -> Callable[[str], object]:
    """A module's `__getattr__`: lazy submodules, then names that are missing, then an error.

    `module` is this library's name for it, as __name__ says.
    """
    module = public_name(module)
    title = torch_name(module) or module

    def __getattr__(name: str):
        if name in lazy:
            return importlib.import_module(f"{module}.{name}")
        if name in table().get(title, ()):
            found = _resolved(title, name)
            importlib.import_module(module).__dict__[name] = found
            return found
        if f"{title}.{name}" in table():
            return importlib.import_module(f"{module}.{name}")
        raise AttributeError(f"module '{title}' has no attribute '{name}'")

    return __getattr__


_made: dict[str, object] = {}


def _resolved(title: str, name: str):
    """The one object for a missing name."""
    path = f"{title}.{name}"
    if path not in _made:
        _made[path] = missing(path)
    return _made[path]


class _MissingFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Makes documented modules that have no file here; asked after all other finders."""

    def find_spec(self, fullname, path=None, target=None):
        """A spec for a missing module of PyTorch."""
        title = torch_name(fullname)
        if title is None or title not in table():
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec):
        """An empty module."""
        return types.ModuleType(spec.name, "Not implemented: its names raise when they are used.")

    def exec_module(self, module):
        """Its names are made when they are asked for."""
        names = table()[torch_name(module.__name__) or module.__name__]
        module.__getattr__ = getter(module.__name__)
        module.__dir__ = lambda: sorted({*vars(module), *names})
        module.__path__ = []
        module.__all__ = sorted(name for name in names if not name.startswith("_"))


finder = _MissingFinder()


# ---- methods of Tensor ---------------------------------------------------------------------------

TENSOR_METHODS = (
    "dequantize int_repr q_per_channel_axis q_per_channel_scales q_per_channel_zero_points q_scale "
    "q_zero_point qscheme refine_names align_to align_as rename rename_ smm sparse_resize_ "
    "sparse_resize_and_clear_ sspaddmm to_mkldnn xpu "
    "_addmm_activation _autocast_to_full_precision _autocast_to_reduced_precision _coalesced_ "
    "_dimI _dimV _is_all_true _is_any_true _is_zerotensor _nested_tensor_size "
    "_nested_tensor_storage_offsets _nested_tensor_strides _philox_normal_ _philox_uniform_ _sparse_mask_projection "
    "_to_dense is_distributed "
    "slice_inverse to_padded_tensor"
)


def tensor_methods() -> dict[str, Callable]:
    """The methods of Tensor that PyTorch documents and this library does not have."""
    return {name: missing(f"torch.Tensor.{name}") for name in TENSOR_METHODS.split()}
