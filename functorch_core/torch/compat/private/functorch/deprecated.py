"""torch._functorch.deprecated: what the package functorch had, with a warning that it is torch.func's."""

from __future__ import annotations

import functools

from .....core.warn import warn
from ....levels import derivatives
from ....levels import vmap as batching
from ....operators.func import jacobians, modules
from . import make_functional as functional

MOVED = (
    "We've integrated functorch into PyTorch. As the final step of the integration, `functorch.{name}` is "
    "deprecated as of PyTorch 2.0 and will be deleted in a future version of PyTorch >= 2.3. Please use "
    "`{new}` instead; see the PyTorch 2.0 release notes and/or the `torch.func` migration guide for more "
    "details https://pytorch.org/docs/main/func.migrating.html"
)


def _deprecated(function, new: str = ""):
    name = function.__name__

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        warn(MOVED.format(name=name, new=new or f"torch.func.{name}"), FutureWarning)
        return function(*args, **kwargs)

    return wrapper


vmap = _deprecated(batching.vmap, "torch.vmap")
grad, grad_and_value = _deprecated(derivatives.grad), _deprecated(derivatives.grad_and_value)
jvp, vjp = _deprecated(derivatives.jvp), _deprecated(derivatives.vjp)
jacfwd, jacrev, hessian = map(_deprecated, (jacobians.jacfwd, jacobians.jacrev, jacobians.hessian))
functionalize = _deprecated(modules.functionalize)
make_functional = _deprecated(functional.make_functional, "torch.func.functional_call")
make_functional_with_buffers = _deprecated(functional.make_functional_with_buffers, "torch.func.functional_call")
combine_state_for_ensemble = _deprecated(functional.combine_state_for_ensemble, "torch.func.stack_module_state")
