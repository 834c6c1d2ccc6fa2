"""Autograd above __torch_dispatch__: nodes whose backward is made of operators, which are dispatched in turn.

The formulas are PyTorch's, as its documentation of `derivatives.yaml` names them: for each operand a function of the
cotangents (`grad`), the operator's arguments and its results, by their names.
"""

from __future__ import annotations

import functools
import inspect
import weakref
from collections.abc import Callable, Sequence

from ....core import dtypes as dt
from ...tape.apply import FREED, modified, node_class_of
from ...tape.modes import state as grad_state
from ...tape.node import Node
from ...tensors.active import declared
from ...tensors.base import Tensor
from ...views.cells import make_alias
from . import ops
from .dispatching import ask, tensors_of
from .overloads import Overload

LEAF = "a leaf Variable that requires grad is being used in an in-place operation."
IN_VIEW = (
    "aten::{name} in place on a view of a tensor that requires grad, below __torch_dispatch__, is not implemented by "
    "functorch-core: write to the tensor itself, or use the form that is not in place"
)
NO_FORMULA = (
    "the backward of aten::{name} below __torch_dispatch__ is not known to functorch-core: it has a derivative only "
    "where no mode and no tensor with __torch_dispatch__ takes part"
)

RULES: dict[str, Rule] = {}


class Rule:
    """The derivatives of an operator: formulas by operand, or one for several operands (`together`); `parts`: how many
    results have a derivative, None for all."""

    def __init__(self, formulas: dict[str, Callable], parts: int | None, together: tuple | None):
        self.formulas, self.parts, self.together = formulas, parts, together
        self.needs = {name: tuple(inspect.signature(f).parameters) for name, f in formulas.items()}
        if together is not None:
            self.needs.update(dict.fromkeys(together[0], tuple(inspect.signature(together[1]).parameters)))


def rule(*names: str, parts: int | None = None, together: tuple | None = None, **formulas: Callable):
    """Declare the derivatives of operators."""
    for name in names:
        RULES[name] = Rule(formulas, parts, together)


def rule_of(schema: Overload) -> Rule | None:
    """The rule of an operator, or of that it is the in-place form of."""
    name = schema.qualified
    base = name.replace("_.", ".", 1)
    for each in (name, name.partition(".")[0], base, base.partition(".")[0]):
        if each in RULES:
            return RULES[each]
    return None


# ---- applying ------------------------------------------------------------------------------------


def with_history(overload, schema: Overload, args: tuple, kwargs: dict):
    """What a call is answered with, on the tape if an operand is."""
    known = grad_state.enabled and rule_of(schema)
    if not grad_state.enabled or known and known.parts == 0 or not any([x._edge() for x in tensors_of(args, kwargs)]):
        return _written(schema, args, ask(overload, args, kwargs))
    positional, named = schema.filled(args, kwargs)
    values = dict(zip([a.name for a in schema.positional], positional)) | named
    _check_writes(schema, values)
    node = DispatchedNode(schema, values)
    return node.take(_written(schema, args, ask(overload, args, kwargs)), values)


def _check_writes(schema: Overload, values: dict):
    for a in schema.arguments:
        written = values[a.name]
        if a.is_write and isinstance(written, Tensor):
            if written.requires_grad and written.is_leaf:
                raise RuntimeError(LEAF)
            if written._is_view():
                raise NotImplementedError(IN_VIEW.format(name=schema.short))


def _written(schema: Overload, args: tuple, made):
    """Of an operator in place the operand itself, at its next version."""
    if not schema.is_in_place or not isinstance(made, Tensor):
        return made
    if args[0]._device is not None:
        args[0]._own_version += 1
    return args[0]


def _tensors(value) -> list:
    """The tensors of one argument."""
    return [x for x in (value if isinstance(value, (list, tuple)) else (value,)) if isinstance(x, Tensor)]


class DispatchedNode(Node):
    """The node of an operator that was dispatched."""

    __slots__ = ("schema", "rule", "places", "shapes", "saved", "avals")

    def __init__(self, schema: Overload, values: dict):
        self.schema, self.rule, self.places, edges, self.shapes = schema, rule_of(schema), {}, [], []
        for name, value in values.items():
            found = _tensors(value)
            self.places[name] = (len(edges), len(found))
            edges += [x._edge() for x in found]
            self.shapes += [(tuple(x.shape), x.dtype) for x in found]
        super().__init__(tuple(edges))
        used = self.names_used()
        self.saved = {n: self._save(n, v) for n, v in values.items() if n in used}
        self.avals: list = []

    def __new__(cls, schema: Overload, values: dict):
        return object.__new__(_class_of(schema))

    def _save(self, name: str, value):
        """A number as it is; a tensor with its version, before it is written to a copy."""
        if self.schema.is_in_place and name == self.schema.arguments[0].name:
            value = ask(ops.aten.clone.default, (value,), {})
        if isinstance(value, (list, tuple)) and _tensors(value):
            return [_Saved(x) if isinstance(x, Tensor) else x for x in value]
        return _Saved(value) if isinstance(value, Tensor) else value

    def wants(self, name: str) -> bool:
        """Whether an argument's gradient is asked for."""
        start, n = self.places.get(name, (0, 0))
        return any([e is not None for e in self.edges[start : start + n]])

    def names_used(self) -> set[str]:
        """The arguments and results that the formulas need."""
        if self.rule is None:
            return set()
        return {need for name, needs in self.rule.needs.items() if self.wants(name) for need in needs}

    def take(self, made, values: dict):
        """Give the results their history; what the formulas need of them is saved."""
        several = isinstance(made, (tuple, list))
        outs = list(made) if several else [made]
        self.n_outputs = len(outs)
        parts = len(outs) if self.rule is None or self.rule.parts is None else self.rule.parts
        operands = [x for value in values.values() for x in _tensors(value)]
        used = self.names_used()
        for i, y in enumerate(outs):
            if i < parts and isinstance(y, Tensor) and y._aval.dtype in dt.INEXACT:
                outs[i] = y = self._put(i, y, operands)
            for name in (f"result{i}", "result")[: 2 if i == 0 else 1]:
                if name in used:
                    self.saved[name] = _SavedResult(self, i, y) if y._ge is not None else _Saved(y)
            self.avals.append(y._aval if isinstance(y, Tensor) else None)
        return (
            type(made)(outs) if several and not hasattr(made, "_fields") else type(made)(*outs) if several else outs[0]
        )

    def _put(self, i: int, y: Tensor, operands: list) -> Tensor:
        if not self.schema.is_in_place and (y._ge is not None or any([x is y for x in operands])):
            y = make_alias(y) if y._device is None else ask(ops.aten.detach.default, (y,), {})
        y._ge = self, i
        return y

    def output_aval(self, index: int):
        """The aval of an output."""
        return self.avals[index]

    def apply(self, grads: Sequence, create_graph: bool) -> tuple:
        """The gradients of the operands, by the rule's formulas."""
        outs: list = [None] * len(self.edges)
        if all([g is None for g in grads]):
            return tuple(outs)
        if self.rule is None:
            raise NotImplementedError(NO_FORMULA.format(name=self.schema.qualified))
        if self.saved is None:
            raise RuntimeError(FREED)
        env = _Environment(self, grads)
        for name, formula in self.rule.formulas.items():
            if self.wants(name):
                start, n = self.places[name]
                found = formula(*[env.get(need) for need in self.rule.needs[name]])
                outs[start : start + n] = found if isinstance(found, (tuple, list)) else [found]
        if self.rule.together is not None:
            self._together(env, outs)
        return tuple([g if g is None or e is None else _like(g, *s) for g, s, e in zip(outs, self.shapes, self.edges)])

    def _together(self, env: _Environment, outs: list):
        """One operator that gives the gradients of several arguments."""
        names, formula = self.rule.together
        found = formula(*[env.get(need) for need in self.rule.needs[names[0]]])
        for name, g in zip(names, found):
            if self.places[name][1]:
                outs[self.places[name][0]] = g

    def __getattr__(self, name: str):
        """_saved_self, _saved_result: what the backward needs of the call."""
        shown = name.removeprefix("_saved_")
        if shown == name or self.saved is None or shown not in self.saved:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        return _Environment(self, [None]).get(shown)

    def release(self):
        """Free what is saved."""
        if self.saved:
            self.saved = None


class _Environment:
    """The names of a formula: cotangents, arguments, results, shapes; what is saved is taken out once."""

    def __init__(self, node: DispatchedNode, grads: Sequence):
        self.node, self.known = node, {"grad": grads[0], "grads": list(grads)}

    def get(self, name: str):
        """What a name stands for."""
        if name not in self.known:
            self.known[name] = self._found(name)
        return self.known[name]

    def _found(self, name: str):
        node = self.node
        if name == "wanted":
            return node.wants
        base, _, what = name.rpartition("_")
        if what in ("shape", "dtype") and name not in node.saved:
            start, n = node.places[base]
            found = [s[what == "dtype"] for s in node.shapes[start : start + n]]
            return found if node.schema.by_name[base].type.endswith("[]") else found[0] if found else None
        saved = node.saved[name]
        if isinstance(saved, list):
            return [x.unpack() if isinstance(x, _Saved) else x for x in saved]
        return saved.unpack() if isinstance(saved, (_Saved, _SavedResult)) else saved


class _Saved:
    """An argument that the backward needs."""

    __slots__ = ("tensor", "version")

    def __init__(self, tensor: Tensor):
        self.tensor, self.version = tensor, tensor._version

    def unpack(self) -> Tensor:
        """The tensor; RuntimeError if it was written to since."""
        if self.tensor._version != self.version:
            raise RuntimeError(modified(self.tensor, self.version))
        return self.tensor


class _SavedResult:
    """A result that the backward needs: without history, which would be a cycle."""

    __slots__ = ("node", "index", "kept", "result", "version")

    def __init__(self, node: DispatchedNode, index: int, result: Tensor):
        self.kept = ask(ops.aten.detach.default, (result,), {})
        self.node, self.index = weakref.ref(node), index
        self.result, self.version = weakref.ref(result), result._version

    def unpack(self) -> Tensor:
        """The result, with its history; RuntimeError if it was written to since."""
        result = self.result()
        if result is not None and result._version != self.version:
            raise RuntimeError(modified(result, self.version))
        found = ask(ops.aten.detach.default, (self.kept,), {})
        found._ge = self.node(), self.index
        return found


# ---- gradients in the operand's form -------------------------------------------------------------


def _like(g: Tensor, shape: tuple, dtype) -> Tensor:
    """A gradient summed to the operand's shape, in its dtype."""
    if tuple(g.shape) != shape:
        g = sum_to(g, shape)
    if g.dtype is not dtype:
        if g.dtype.is_complex and not dtype.is_complex:
            g = g.real
        g = g if g.dtype is dtype else g.to(dtype)
    return g


def sum_to(g: Tensor, shape: tuple) -> Tensor:
    """Summed over what was broadcast."""
    lead = g.ndim - len(shape)
    dims = [*range(lead), *[i + lead for i, n in enumerate(shape) if n == 1 and g.shape[i + lead] != 1]]
    found = ops.aten.sum.dim_IntList(g, dims, True) if dims else g
    return ops.aten.view.default(found, list(shape)) if lead else found


@functools.cache
def _node_class(name: str) -> type:
    return type(name, (DispatchedNode,), {"__slots__": (), "__module__": "torch.autograd"})


def _class_of(schema: Overload) -> type:
    """The class of an operator's nodes: MulBackward0."""
    short = schema.short
    said = declared[short].node if short in declared else None
    plain = said if isinstance(said, str) and "(" not in said else short
    return _node_class(node_class_of(plain).__name__)
