"""torch._functorch.vmap."""

from .... import _missing
from ....levels.vmap import vmap
from ....tensors.pytree import tree_flatten, tree_unflatten

__all__ = ["tree_flatten", "tree_unflatten", "vmap"]
__getattr__ = _missing.getter(__name__)
