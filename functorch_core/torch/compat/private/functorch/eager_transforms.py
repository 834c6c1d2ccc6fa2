"""torch._functorch.eager_transforms: derivatives."""

from .... import _missing
from ....levels.derivatives import grad, grad_and_value, jvp, linearize, vjp
from ....operators.func.jacobians import hessian, jacfwd, jacrev
from ....operators.func.modules import functionalize

__all__ = ["functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize", "vjp"]
__getattr__ = _missing.getter(__name__)
