"""torch.autograd.backward and torch.autograd.grad: from arguments to a pass over the tape."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from ...core import dtypes as dt
from ...core.aval import Aval
from ...core.warn import warn, warn_once
from ...engine.recorder import place_of
from ...engine.value import copied_to
from ...xla.device import further
from ..tensors.active import active, overridable
from ..tensors.base import Tensor, from_array
from ..tensors.explain import MISTAKES, explain
from ..tensors.types import named
from .accumulate import AccumulateGrad, Unfollowed
from .meta import is_meta, meta_tensor
from .modes import grad_mode, state
from .passes import Pass

NO_GRAD = "element {index} of tensors does not require grad and does not have a grad_fn"
UNUSED = (
    "The differentiated Tensor at index {index} appears to not have been used in the graph. "
    "Set allow_unused=True if this is the desired behavior."
)
IN_TRANSFORM = (
    "{name}() called inside a functorch transform. This is not supported, please use "
    "functorch.grad or functorch.vjp instead or call {name}() outside of functorch "
    "transforms."
)
SHAPES = "Mismatch in shape: grad_output[{i}] has a shape of {found} and output[{i}] has a shape of {wanted}."
BATCHED = (
    "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch dimension. The "
    "sizes of the remaining dimensions are expected to match the shape of corresponding output, but a mismatch was "
    "detected: grad_output[{i}] has a shape of {found} and output[{i}] has a shape of {wanted}. If you only want some "
    "tensors in `grad_output` to be considered batched, consider using vmap."
)
KINDS = (
    "For complex Tensors, both grad_output and output are required to have the same dtype. "
    "Mismatch in dtype: grad_output[{i}] has a dtype of {found} and output[{i}] has a dtype "
    "of {wanted}."
)


CYCLE = (
    "Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient "
    "which can cause a memory leak. We recommend using autograd.grad when creating the graph to avoid this. If you "
    "have to use this function, make sure to reset the .grad fields of your parameters to None after use to break the "
    "cycle and avoid the leak."
)


@overridable
def backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False, grad_variables=None, inputs=None):
    """Add the gradient of the sum of `tensors` to the `.grad` of the leaves (or of `inputs`).

    `grad_tensors` weigh the tensors; None is allowed for scalars. RuntimeError for a tensor that
    does not require grad, and for a graph whose saved values have been freed.

    >>> x = torch.ones(2, requires_grad=True)
    >>> torch.autograd.backward((x * 3).sum())
    >>> x.grad
    tensor([3., 3.])
    """
    _check_no_transform("backward")
    if create_graph:
        warn_once(CYCLE)
    if grad_variables is not None:
        warn("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning)
        grad_tensors = grad_variables if grad_tensors is None else grad_tensors
    try:
        if inputs is not None:
            inputs = as_tuple(inputs)
            if not inputs:
                raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
        tensors = as_tuple(tensors)
        roots = [edge_of_root(y, i) for i, y in enumerate(tensors)]
        wanted = None if inputs is None else {_edge_to_accumulate(x): x for x in inputs}
        retain = create_graph if retain_graph is None else retain_graph
        p = Pass(create_graph, retain, wanted, accumulate=True)
        with grad_mode(create_graph):
            p.run(roots, root_grads(tensors, grad_tensors))
            _retain(p, wanted or {}, create_graph)
    except MISTAKES as error:
        explain(error)
        raise


def _retain(p: Pass, wanted: dict, create_graph: bool):
    for edge, x in wanted.items():
        found = p.captured.get(edge)
        if found is not None and hasattr(x, "_retain") and not isinstance(edge[0], AccumulateGrad):
            x._retain(found, create_graph)


@overridable
def grad(
    outputs,
    inputs,
    grad_outputs=None,
    retain_graph=None,
    create_graph=False,
    only_inputs=True,
    allow_unused=None,
    is_grads_batched=False,
    materialize_grads=False,
) -> tuple:
    """The gradients of `outputs` by `inputs`, a tuple; `.grad` is left alone.

    RuntimeError where an input was not used, unless `allow_unused` (then None stands for it) or
    `materialize_grads` (then zeros do). With `is_grads_batched` the first dimension of the
    `grad_outputs` is a batch of cotangents.

    >>> x = torch.tensor(3., requires_grad=True)
    >>> torch.autograd.grad(x * x, x)
    (tensor(6.),)
    """
    try:
        if materialize_grads and allow_unused is False:
            raise ValueError(
                "Expected allow_unused to be True or not passed when materialize_grads=True, "
                "but got: allow_unused=False."
            )
        outputs, inputs = as_tuple(outputs), as_tuple(inputs)
        if not inputs:
            raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
        allow_unused = allow_unused or materialize_grads
        if is_grads_batched:
            found = _batched_grad(outputs, inputs, grad_outputs, create_graph)
        else:
            retain = create_graph if retain_graph is None else retain_graph
            roots = [edge_of_root(y, i) for i, y in enumerate(outputs)]
            edges = [edge_of_input(x) for x in inputs]
            cts = root_grads(outputs, grad_outputs)
            found = _pulled(outputs, roots, inputs, edges, cts, retain, create_graph)
            found = [
                x._gradient_of(g) if g is not None and hasattr(x, "_gradient_of") else g for g, x in zip(found, inputs)
            ]
        if materialize_grads:
            return tuple([_zeros_at(x, create_graph) if g is None else g for g, x in zip(found, inputs)])
        if not allow_unused:
            for i, g in enumerate(found):
                if g is None:
                    raise RuntimeError(UNUSED.format(index=i))
        return tuple(found)
    except MISTAKES as error:
        explain(error)
        raise


def _zeros_at(x, create_graph: bool):
    """The gradient that an unused input has when zeros stand for it."""
    if not isinstance(x, Tensor):
        raise RuntimeError("materialize_grads cannot be used when the given input is a GradientEdge")
    return x.new_zeros(x.shape, requires_grad=create_graph and x._level is None)


def _pulled(outputs, roots, inputs, edges, cts, retain: bool, create_graph: bool) -> list:
    """Cotangents pulled back; through tangents, too, if forward mode is on."""
    if active.levels is not None and any(getattr(x, "_level", None) is not None for x in (*outputs, *inputs, *cts)):
        return active.levels.pull(outputs, roots, edges, cts, retain, create_graph)
    return pull_edges(roots, edges, cts, retain, create_graph)


def pull_edges(roots, edges, cts, retain: bool, create_graph: bool) -> list:
    """What arrives at `edges` when `cts` start at `roots`; None where nothing does."""
    p = Pass(create_graph, retain, dict.fromkeys(edges), accumulate=False)
    with grad_mode(create_graph):
        p.run(roots, cts)
    return [p.captured.get(e) for e in edges]


def _batched_grad(outputs, inputs, grad_outputs, create_graph) -> list:
    for i, (y, g) in enumerate(zip(outputs, as_tuple(grad_outputs))):
        if isinstance(y, Tensor) and isinstance(g, Tensor) and g.shape[1:] != y.shape:
            raise RuntimeError(BATCHED.format(i=i, shape=g.shape, found=g.shape[1:], wanted=y.shape))

    def one(*cotangents):
        return grad(outputs, inputs, cotangents, True, create_graph, True, True)

    return list(active.vmap(one, as_tuple(grad_outputs)))


# ---- arguments -----------------------------------------------------------------------------------


def as_tuple(x) -> tuple:
    """A single tensor (or edge) as a tuple of one, what else can be iterated over as a tuple."""
    return (x,) if has_edge(x) else tuple(x)


def has_edge(x) -> bool:
    """Whether it is a tensor or a GradientEdge."""
    return hasattr(x, "_edge") or hasattr(x, "output_nr")


def root_grads(outputs: Sequence, grads) -> list:
    """The cotangent of each output; ones for a scalar where none is given."""
    grads = (None,) * len(outputs) if grads is None else as_tuple(grads)
    if len(grads) < len(outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(grads)} gradients")
    return [_root_grad(i, y, g) for i, (y, g) in enumerate(zip(outputs, grads))]


@functools.lru_cache(64)
def _one(a: Aval) -> np.ndarray:
    """The one that losses are differentiated by: NumPy takes 1.3 us to make it."""
    one = np.ones(a.shape, a.dtype)
    one.flags.writeable = False
    return one


def ones_like(tensor: Tensor) -> Tensor:
    """Ones of a tensor's shape and dtype, without history."""
    if tensor._level is not None:
        return active.levels.ones_like(tensor)
    if active.overrides is not None and (active.observer is not None or active.overrides.dispatches(tensor)):
        return named("ones_like")(tensor, memory_format=named("preserve_format"))
    value = tensor._read()
    a = value.aval
    on_meta = active.meets_meta and is_meta(tensor)
    if on_meta:
        return meta_tensor(a.shape, a.dtype)
    made = from_array(_one(a) if a.size == 1 else np.ones(a.shape, a.dtype))
    there = place_of(value) if further else None
    if there is not None:
        made._value = copied_to(made._value, there)
    if active.distributed is not None:
        made._value = active.distributed.beside(tensor, made._value)
    return made


def _root_grad(i: int, y, g):
    if not isinstance(y, Tensor):
        return _grad_of_edge(i, y, g)
    if g is None:
        a = y._aval
        if a.size != 1:
            raise RuntimeError("grad can be implicitly created only for scalar outputs")
        if a.dtype not in dt.FLOATING:
            raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {y.dtype}")
        return ones_like(y)
    if not isinstance(g, Tensor):
        raise TypeError(f"gradients can be either Tensors or None, but got {type(g).__name__}")
    if g.shape != y.shape:
        raise RuntimeError(SHAPES.format(i=i, found=g.shape, wanted=y.shape))
    if g.is_complex() != y.is_complex():
        raise RuntimeError(KINDS.format(i=i, found=g.dtype, wanted=y.dtype))
    if g.is_meta != y.is_meta:
        raise RuntimeError(f"invalid gradient at index {i} - expected device {y.device} but got {g.device}")
    return g if g.dtype is y.dtype else g.to(y.dtype)


def _grad_of_edge(i: int, edge, g):
    """The cotangent of a GradientEdge; a node that does not know its output's shape takes what comes."""
    aval = edge[0].output_aval(edge[1])
    if g is None and aval is None:
        raise RuntimeError("grad_outputs must be given for a GradientEdge")
    if aval is None:
        return g
    return _root_grad(i, from_array(np.broadcast_to(np.zeros((), aval.dtype), aval.shape)), g)


def edge_of(x):
    """The edge of a tensor, or a GradientEdge as a plain edge; None without history; RuntimeError for anything else."""
    if not has_edge(x):
        raise RuntimeError(f"all inputs have to be Tensors or GradientEdges, but got {type(x).__name__}")
    return x._edge() if hasattr(x, "_edge") else (x[0], x[1])


def edge_of_root(y, index: int):
    """The edge a pass starts from; RuntimeError without one."""
    if not has_edge(y):
        raise AssertionError("Expected output to be a torch.Tensor")
    edge = edge_of(y)
    if edge is None or not edge[0].followed:
        raise RuntimeError(NO_GRAD.format(index=index))
    return edge


def edge_of_input(x):
    """The edge a gradient is wanted at; RuntimeError without one."""
    edge = _edge_wanted(x)
    if edge is not None and not edge[0].followed:
        return Unfollowed(), 0  # which no other has
    if edge is None:
        raise RuntimeError("One of the differentiated Tensors does not require grad")
    return edge


def _edge_wanted(x):
    """The edge of an input: of a sparse tensor that of its values."""
    return x._edge_wanted() if hasattr(x, "_edge_wanted") else edge_of(x)


def _edge_to_accumulate(x):
    edge = _edge_wanted(x)
    if edge is None:
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    return edge


def _check_no_transform(name: str):
    if state.transforms:
        raise RuntimeError(IN_TRANSFORM.format(name=name))
