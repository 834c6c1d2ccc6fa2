"""torch._C: the few names of PyTorch's C++ module that Python programs use."""
from .._missing import getter as _getter
from .._overrides import (
    DisableTorchFunction, DisableTorchFunctionSubclass, _disabled_torch_function_impl)
from .._ops.storage import TypedStorage as StorageBase
from .._tensor_base import Tensor as TensorBase
from .._types import Size, device, dtype, iinfo, finfo, layout, memory_format, named
from ..random import Generator, default_generator

_TensorBase = TensorBase


class _Functions(type):
    def __getattr__(cls, name: str):
        return named(name)


class _VariableFunctionsClass(metaclass=_Functions):
    """The functions of torch: what pickles of PyTorch call torch.relu an attribute of."""

    __module__ = "torch._C"


__getattr__ = _getter(__name__)


def _log_api_usage_once(event: str):
    """No effect: nothing is counted."""


def _get_tracing_state():
    """None: nothing is ever traced by torch.jit."""


def _is_torch_function_enabled() -> bool:
    """Whether subclasses override torch functions now."""
    from .._overrides import state
    return state.everything and state.subclasses


def _cuda_isCurrentStreamCapturing() -> bool:
    """False."""
    return False
