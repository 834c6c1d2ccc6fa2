"""functorch: torch.func's package before PyTorch 2.0. `import functorch` finds it where the shim is installed."""

import importlib as _importlib

from ..private.functorch.deprecated import (
    combine_state_for_ensemble,
    functionalize,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    make_functional,
    make_functional_with_buffers,
    vjp,
    vmap,
)
from ..private.functorch.make_functional import FunctionalModule, FunctionalModuleWithBuffers
from ..version import __version__


def __getattr__(name: str):
    if name == "make_fx":  # it needs torch.fx
        return _importlib.import_module("functorch_core.torch.fx.experimental.proxy_tensor").make_fx
    raise AttributeError(f"module 'functorch' has no attribute '{name}'")


__all__ = [
    "FunctionalModule",
    "FunctionalModuleWithBuffers",
    "__version__",
    "combine_state_for_ensemble",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "make_functional",
    "make_functional_with_buffers",
    "make_fx",
    "vjp",
    "vmap",
]
