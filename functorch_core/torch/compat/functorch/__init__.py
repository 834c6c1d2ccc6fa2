"""functorch: torch.func's package before PyTorch 2.0. `import functorch` finds it where the shim is installed."""

from ..._missing import missing as _missing
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

make_fx = _missing("functorch.make_fx")
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
