"""torch.func: composable function transforms."""

from ..levels.derivatives import grad, grad_and_value, jvp, linearize, vjp
from ..levels.vmap import vmap
from ..operators.func.jacobians import hessian, jacfwd, jacrev
from ..operators.func.modules import (
    debug_unwrap,
    functional_call,
    functionalize,
    replace_all_batch_norm_modules_,
    stack_module_state,
)

__all__ = [
    "debug_unwrap",
    "functional_call",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "replace_all_batch_norm_modules_",
    "stack_module_state",
    "vjp",
    "vmap",
]
