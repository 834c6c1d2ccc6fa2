"""Functions of pytrees as functions of flat values, for the control-flow primitives."""
from __future__ import annotations

from collections.abc import Callable, Sequence

from ..core import tree
from .array import wrap
from .tracing import leaf_values, name_of

RESULT_TREE = """{what}: `{name}` returned {found},
    expected the structure {wanted}.
    {advice}"""


class FlatFunction:
    """fun(*args) on trees, called with and returning flat values; remembers its result's tree."""

    def __init__(self, fun: Callable, in_tree: tree.PyTreeDef, what: str):
        self.fun, self.in_tree, self.what = fun, in_tree, what
        self.name = name_of(fun)
        self.out_tree: tree.PyTreeDef | None = None

    def __call__(self, *values) -> list:
        args = self.in_tree.unflatten([wrap(v) for v in values])
        leaves, self.out_tree = tree.flatten(self.fun(*args))
        return leaf_values(leaves, f"{self.what}: a result", self.name)

    def check_tree(self, wanted: tree.PyTreeDef, advice: str):
        """TypeError unless the last result had this structure."""
        if self.out_tree is not None and self.out_tree != wanted:
            raise TypeError(RESULT_TREE.format(what=self.what, name=self.name, wanted=wanted,
                                               found=self.out_tree, advice=advice))


def flatten_values(args, what: str, name: str) -> tuple[list, tree.PyTreeDef]:
    """(flat values, structure) of arguments."""
    leaves, treedef = tree.flatten(args)
    return leaf_values(leaves, what, name), treedef


def rebuild(treedef: tree.PyTreeDef, values: Sequence):
    """A tree of Arrays."""
    return treedef.unflatten([wrap(v) for v in values])
