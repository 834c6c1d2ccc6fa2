"""torch._functorch.eager_transforms: derivatives."""

from .... import _missing
from ....levels.derivatives import grad, grad_and_value, jvp, linearize, pick, vjp
from ....operators.func.jacobians import hessian, jacfwd, jacrev
from ....operators.func.modules import functionalize

__all__ = ["functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize", "vjp"]
__getattr__ = _missing.getter(__name__)


def _as_tuple(values) -> tuple:
    """A value as a tuple of one, a tuple or list as a tuple."""
    return tuple(values) if isinstance(values, (tuple, list)) else (values,)


def _slice_argnums(args: tuple, argnums, as_tuple: bool = True):
    """The arguments at `argnums`, an int or a tuple of ints."""
    chosen, _ = pick(args, argnums)
    return (chosen,) if as_tuple and isinstance(argnums, int) else chosen
