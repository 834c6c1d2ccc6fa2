"""Functions of pytrees as functions of flat values, for the control-flow primitives."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..core import tree
from ..core.trace import state
from ..engine.units import SCALAR_AVALS
from ..ops.signature import Weak
from .array import wrap
from .tracing import argument_name, arguments, leaf_values, name_of

RESULT_TREE = """{what}: `{name}` returned {found},
    expected the structure {wanted}.
    {advice}"""


def tell_arguments(fun: Callable, in_tree: tree.PyTreeDef):
    """Let errors of the trace that goes on name the arguments of fun, if these are its inputs, in order."""
    builder = state.builder
    if builder is not None and builder.arguments is None and len(builder.inputs) == in_tree.num_leaves:
        builder.arguments = fun, lambda i: argument_name(fun, in_tree, False, i)


class FlatFunction:
    """fun(*args) on trees, called with and returning flat values; remembers its result's tree.

    `kinds`: float or int for each argument that is a Python number, see tracing.arguments. With
    `wide`, numbers among the results stay as wide as they are, and `out_kinds` tells which they are.
    """

    def __init__(
        self, fun: Callable, in_tree: tree.PyTreeDef, what: str, kinds: Sequence | None = None, wide: bool = False
    ):
        self.fun, self.in_tree, self.what, self.kinds = fun, in_tree, what, kinds
        self.name, self.wide = name_of(fun), wide
        self.out_tree: tree.PyTreeDef | None = None
        self.out_kinds: list = []

    def __call__(self, *values) -> list:
        tell_arguments(self.fun, self.in_tree)
        args = rebuild(self.in_tree, values, self.kinds)
        leaves, self.out_tree = tree.flatten(self.fun(*args))
        if not self.wide:
            return leaf_values(leaves, f"{self.what}: a result", self.name)
        values, self.out_kinds = arguments(leaves, self.name, where=f"{self.what}: a result")
        return values

    def check_tree(self, wanted: tree.PyTreeDef, advice: str):
        """TypeError unless the last result had this structure."""
        if self.out_tree is not None and not tree.alike(self.out_tree, wanted):
            raise TypeError(
                RESULT_TREE.format(what=self.what, name=self.name, wanted=wanted, found=self.out_tree, advice=advice)
            )


def flatten_values(args, what: str, name: str) -> tuple[list, tree.PyTreeDef]:
    """(flat values, structure) of arguments."""
    leaves, treedef = tree.flatten(args)
    return leaf_values(leaves, what, name), treedef


def rebuild(treedef: tree.PyTreeDef, values: Sequence, kinds: Sequence | None = None):
    """A tree of Arrays; those whose kind is float or int are weak numbers."""
    if kinds is not None:
        values = [Weak(v, k) if k in SCALAR_AVALS else v for v, k in zip(values, kinds)]
    return treedef.unflatten([wrap(v) for v in values])
