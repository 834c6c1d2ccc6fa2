"""torch._functorch.apis: the transforms that torch.func and torch have."""

from .... import _missing
from ....levels.derivatives import grad, grad_and_value
from ....levels.vmap import vmap

__all__ = ["grad", "grad_and_value", "vmap"]
__getattr__ = _missing.getter(__name__)
