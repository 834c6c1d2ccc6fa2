"""Operators that torch.library defines: functions of Python, found as torch.ops.NAMESPACE.NAME.

A call goes to the kernel for autograd if there is one, else to the kernel for the CPU, through a
torch.autograd.Function when a derivative or a batch dimension is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import functorch_core.torch as torch

from ...tensors import pytree
from ...tensors.active import active
from .arguments import converted
from .schemas import Schema
from .tags import as_list

operators: dict[tuple[str, str], Operator] = {}
_early: dict[tuple[str, str], dict[str, Callable]] = {}  # kernels of operators that are not defined yet
OWN = ("aten", "prim", "prims")  # namespaces of PyTorch's operators, which take no kernels

# Where kernels may be registered, the first that is there is called.
TRANSPARENT = ("Autograd", "AutogradCPU", "CompositeImplicitAutograd", "")
OPAQUE = (
    "CPU",
    "cpu",
    "CompositeExplicitAutograd",
    "CompositeExplicitAutogradNonFunctional",
    "BackendSelect",
    "default",
)
NO_FORMULA = (
    "Trying to backward through {name} but no autograd formula was registered. Please use register_autograd to add one."
)
NO_KERNEL = (
    "Could not run '{name}' with arguments from the 'CPU' backend. This operator was "
    "defined and has no kernel there; register one with torch.library.impl."
)


class Operator:
    """A custom operator; calling it is torch.ops.NAMESPACE.NAME(...)."""

    def __init__(self, namespace: str, schema_text: str, tags=()):
        name = schema_text.partition("(")[0].partition(".")[0].strip()
        self.name = f"{namespace}::{name}"
        self.schema = Schema(self.name, schema_text)
        self.overloads = [self.schema.overload_name or "default"]
        self.tags = as_list(tags)
        self.kernels: dict[str, Callable] = {}
        self.fake = self.backward = self.setup_context = self.vmap = None
        self.function: type | None = None
        self.distributed: Any = None  # what takes tensors over a mesh (register_sharding)

    def __call__(self, *args, **kwargs):
        if active.observer is not None and active.observer.takes(self):
            return active.observer.call(self, args, kwargs)
        args, kwargs = converted(self.schema, *self.schema.bind(args, kwargs))
        if "AutocastCPU" in self.kernels and torch.is_autocast_enabled("cpu"):
            return self.kernels["AutocastCPU"](*args, **kwargs)
        for key in TRANSPARENT:
            if key in self.kernels:
                return self.kernels[key](*args, **kwargs)
        if self.fake is not None and any(x.is_meta for x in _tensors((args, kwargs))):
            return self.fake(*args, **kwargs)
        if self._is_plain(args, kwargs):
            with torch.no_grad():
                found = self.computed(args, kwargs)
                self._count_writes(args, kwargs)
            return self._without_formula(found, args, kwargs) if self._writes() else found
        flat, spec = pytree.tree_flatten((args, kwargs))
        if self.function is None:
            self.function = _function_of(self)
        return self.function.apply(spec, *flat)

    def computed(self, args, kwargs):
        """What the kernel gives, without derivatives; of tensors over a mesh what register_sharding says."""
        if self.distributed is not None and self.distributed.takes(args, kwargs):
            return self.distributed(args, kwargs)
        return self.kernel()(*args, **kwargs)

    def _is_plain(self, args, kwargs) -> bool:
        """Whether nothing asks for a derivative or has a batch dimension."""
        if self._writes():
            return True
        tensors = _tensors((args, kwargs))
        wrapped = any(x._level is not None for x in tensors)
        return not wrapped and not (torch.is_grad_enabled() and any(x.requires_grad for x in tensors))

    def _writes(self) -> bool:
        return any(a.is_write for a in self.schema.arguments)

    def _count_writes(self, args, kwargs):
        """The versions of what it writes to: the kernel may have written by way of an array."""
        values = {**dict(zip([a.name for a in self.schema.arguments if not a.keyword_only], args)), **kwargs}
        for a in self.schema.arguments:
            if a.is_write:
                for x in _tensors(values.get(a.name)):
                    torch.autograd.graph.increment_version(x)

    def _without_formula(self, found, args, kwargs):
        """The results of an operator that writes: it has no derivative, and a backward pass through them says so."""
        leaves = [x for x in _tensors((args, kwargs)) if x.requires_grad]
        results = _tensors(found)
        if not (leaves and results and torch.is_grad_enabled()):
            return found
        return pytree.tree_map(
            lambda x: _NoFormula.apply(self.name, [x], *leaves) if isinstance(x, torch.Tensor) else x, found
        )

    def kernel(self) -> Callable:
        """What computes it; NotImplementedError if there is nothing."""
        for key in OPAQUE:
            if key in self.kernels:
                return self.kernels[key]
        raise NotImplementedError(NO_KERNEL.format(name=self.name))


class _NoFormula(torch.autograd.Function):
    """A result, whose gradient raises."""

    @staticmethod
    def forward(ctx, name, result, *leaves):
        ctx.name = name
        return result[0]

    @staticmethod
    def backward(ctx, *cotangents):
        raise RuntimeError(NO_FORMULA.format(name=ctx.name))


def _tensors(tree) -> list:
    return [x for x in pytree.tree_leaves(tree) if isinstance(x, torch.Tensor)]


def find(qualname) -> Operator:
    """The operator 'ns::name', or of a CustomOpDef or overload; RuntimeError if there is none."""
    qualname = getattr(qualname, "_qualified_op_name", qualname)  # of a packet of overloads
    qualname = getattr(qualname, "_qualname", None) or (
        qualname.name() if callable(getattr(qualname, "name", None)) else qualname
    )
    namespace, separator, name = qualname.partition("::")
    if not separator:
        raise ValueError(f"Expected qualname to be of the form 'namespace::name', got {qualname!r}")
    name = name.partition(".")[0]
    operator = operators.get((namespace, name))
    if operator is None:
        raise RuntimeError(f"operator {namespace}::{name} does not exist")
    return operator


def define(namespace: str, schema_text: str, tags=()) -> Operator:
    """A new operator."""
    operator = Operator(namespace, schema_text, tags)
    place = namespace, operator.name.partition("::")[2]
    operators[place] = operator
    operator.kernels.update(_early.pop(place, {}))
    return operator


def kernels_of(qualname) -> dict[str, Callable]:
    """Where the kernels of 'ns::name' are registered, which may be defined afterwards; RuntimeError for one of
    PyTorch's own."""
    namespace, _, name = qualname.partition("::") if isinstance(qualname, str) else ("", "", "")
    place = namespace, name.partition(".")[0]
    if not name or place in operators or namespace in OWN:
        return find(qualname).kernels
    return _early.setdefault(place, {})


# ---- derivatives and batching --------------------------------------------------------------------


def _function_of(operator: Operator) -> type:
    """The autograd function of an operator; its arguments are a tree spec and the tree's leaves."""

    def forward(spec, *flat):
        args, kwargs = pytree.tree_unflatten(list(flat), spec)
        out = operator.computed(args, kwargs)
        return tuple(out) if isinstance(out, list) else out

    def setup_context(ctx, inputs, output):
        spec, *flat = inputs
        ctx._tree = spec
        if operator.setup_context is not None:
            args, kwargs = operator.schema.filled(*pytree.tree_unflatten(flat, spec))
            names = {"keyword_only_inputs": kwargs} if kwargs else {}
            operator.setup_context(ctx=ctx, inputs=args, output=output, **names)

    def backward(ctx, *cotangents):
        if operator.backward is None:
            raise RuntimeError(NO_FORMULA.format(name=operator.name))
        flat_needs = ctx.needs_input_grad
        ctx.needs_input_grad = pytree.tree_unflatten(list(flat_needs[1:]), ctx._tree)[0]
        try:
            found = operator.backward(ctx, *cotangents)
        finally:
            ctx.needs_input_grad = flat_needs
        return None, *_flat_gradients(found, ctx._tree)

    def vmap(info, in_dims, spec, *flat):
        args, kwargs = pytree.tree_unflatten(list(flat), spec)
        if operator.vmap is None:
            return _one_by_one(operator, info.batch_size, in_dims[1:], spec, flat)
        dims = pytree.tree_unflatten(list(in_dims[1:]), spec)[0]
        return operator.vmap(info, dims, *args, **kwargs)

    return type(
        operator.name.replace("::", "_"),
        (torch.autograd.Function,),
        {f.__name__: staticmethod(f) for f in (forward, setup_context, backward, vmap)},
    )


def _one_by_one(operator: Operator, n: int, in_dims: Sequence, spec, flat: Sequence) -> tuple:
    """The batched operator where there is no rule: (outputs, their batch dimensions)."""
    outputs = []
    for i in range(n):
        sample = [x if d is None else x.select(d, i) for x, d in zip(flat, in_dims)]
        args, kwargs = pytree.tree_unflatten(sample, spec)
        outputs.append(operator(*args, **kwargs))
    if isinstance(outputs[0], (tuple, list)):
        return tuple(torch.stack(column) for column in zip(*outputs)), (0,) * len(outputs[0])
    return torch.stack(outputs), 0


def _flat_gradients(found, spec) -> list:
    """A gradient for each leaf of the arguments: None for a list means None for all in it."""
    found = found if isinstance(found, tuple) else (found,)
    args_spec, kwargs_spec = spec.children_specs
    parts = args_spec.children_specs
    if len(found) > len(parts) and all(g is None for g in found[len(parts) :]):
        found = found[: len(parts)]  # for defaults
    if len(found) != len(parts):
        raise RuntimeError(f"the backward of an operator returned {len(found)} gradients for {len(parts)} arguments")
    flat = []
    for gradient, part in zip(found, parts):
        n = part.num_leaves
        flat += (
            [None] * n
            if gradient is None
            else pytree.tree_leaves(gradient)
            if (isinstance(gradient, (list, tuple)))
            else [gradient]
        )
    return flat + [None] * kwargs_spec.num_leaves
