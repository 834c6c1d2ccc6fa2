"""optax.tree_utils: the functions of optax.tree by their older names, tree_add for tree.add."""

from __future__ import annotations

from . import tree as _tree

globals().update({f"tree_{name}": getattr(_tree, name) for name in _tree.__all__})
__all__ = [f"tree_{name}" for name in _tree.__all__]
