"""torch._functorch: torch.func by the names of its files."""

from .... import _missing

LAZY = ("apis", "deprecated", "eager_transforms", "functional_call", "make_functional", "vmap")
__getattr__ = _missing.getter(__name__, LAZY)
