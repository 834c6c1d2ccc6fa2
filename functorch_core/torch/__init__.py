"""The PyTorch-compatible namespace: `import functorch_core.torch as torch`."""
from . import _ops, _tensor
from ._install import install as _install
from ._parameter import Parameter as _Parameter
from ._tensor_base import Tensor
from ._types import (
    Size, channels_last, channels_last_3d, contiguous_format, device, dtype, finfo, get_default_device,
    get_default_dtype, iinfo, layout, memory_format, preserve_format, set_default_device,
    set_default_dtype, sparse_coo, sparse_csr, strided)
from ._types import by_name as _by_name
from .autograd.modes import (
    enable_grad, inference_mode, is_grad_enabled, is_inference_mode_enabled, no_grad,
    set_grad_enabled)

globals().update(_by_name)
_install(globals())
globals().update(_ops.NAMESPACE)

from . import autograd, fft, func, linalg, return_types, special, utils
from ._func.vmap import vmap

from .. import nn  # last: it is written with the names above


def __getattr__(name: str):
    if name == "optim":  # loaded when it is used: half of what importing torch would cost
        from .. import optim
        return optim
    raise AttributeError(f"module 'torch' has no attribute {name!r}")
