"""torch.func.grad, vjp, jvp, and what is made of them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

from ..tape.backward import root_grads
from ..tape.modes import forward_mode, grad_mode, state
from ..tensors.base import Tensor
from ..tensors.pytree import tree_flatten, tree_map, tree_unflatten, treespec_pprint
from .levels import Dual, at_depth, enter, is_wrapper, wrap
from .tracking import Tracker, zeros_like

NOT_A_TENSOR = "grad_and_value(f)(*args): Expected f(*args) to return a Tensor, got {}"
NOT_A_SCALAR = (
    "grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor "
    "with {} dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
)
JVP = "jvp(f, primals, tangents)"
AUX = "grad_and_value(f)(*args): output of function f should be a tuple: (output, aux) if has_aux is True"
VJP_AUX = "vjp(f, *primals): output of function f should be a tuple: (output, aux) if has_aux is True"
JVP_AUX = "jvp(f, primals, tangents): output of function f should be a tuple: (output, aux) if has_aux is True"
ONLY_TENSORS = "{api}: expected f(*primals) to return only tensors, got unsupported type {type}"
EMPTY_OUTPUT = "{api}: Expected f to be a function that has non-empty output (got output = {out})"
COTANGENTS = (
    "Expected pytree structure of cotangents to be the same as pytree structure of "
    "outputs to the function. cotangents: {mine}, primal output: {theirs}"
)
SIZES = (
    "Trying to set a forward gradient that has a different size than that of the original "
    "Tensor, this is not supported. Tensor is of size {} while the given forward gradient is "
    "of size {}."
)


# ---- reverse mode --------------------------------------------------------------------------------


def grad_and_value(func: Callable, argnums=0, has_aux: bool = False) -> Callable:
    """A function that returns (gradient, value) of `func`, which returns a scalar tensor (and,
    with has_aux, something else: then (gradient, (value, aux))).

    >>> torch.func.grad_and_value(lambda x: (x ** 2).sum())(torch.tensor([1., 2.]))
    (tensor([2., 4.]), tensor(5.))
    """

    @functools.wraps(func)
    def wrapped(*args, **kwargs):
        outer = state.enabled
        with enter("grad", guards=True) as frame, grad_mode(True):
            tracker, args, spec = _track_arguments(frame, args, argnums, outer, kwargs)
            with tracker:
                output = func(*args, **kwargs)
                output, aux = _split_aux(output, has_aux, AUX)
                _check_scalar(output)
                outside = tracker.sees_outside([output])
                with grad_mode(outer):
                    seeds = root_grads([output], None) if tracker.is_tracked(output) else [None]
                    grads = tracker.pull([output], seeds, False, outside)
                value = tracker.released(output, outside)
                if has_aux:
                    value = value, _map_tensors(lambda x: tracker.released(x, outside), aux)
        return tree_unflatten(grads, spec), value

    return wrapped


def grad(func: Callable, argnums=0, has_aux: bool = False) -> Callable:
    """A function that returns the gradient of `func` by the arguments `argnums` (an int or a tuple
    of ints; arguments are trees of floating tensors); with has_aux, (gradient, aux).

    >>> torch.func.grad(lambda x: x ** 3)(torch.tensor(2.))
    tensor(12.)
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def wrapped(*args, **kwargs):
        grads, value = both(*args, **kwargs)
        return (grads, value[1]) if has_aux else grads

    return wrapped


def _track_arguments(frame, args: tuple, argnums, outer: bool, kwargs=None):
    """(tracker, arguments with the tracked tensors, structure of the gradient)."""
    chosen, numbers = pick(args, argnums)
    flat, spec = tree_flatten(chosen)
    for x in flat:
        if not isinstance(x, Tensor):
            raise ValueError(f"Thing passed to transform API must be Tensor, got {type(x)}")
    tracker = Tracker(frame, flat, outer)
    tracked = tree_unflatten(tracker.inputs, spec)
    others = [x for i, x in enumerate(args) if i not in numbers]
    tracker.give(frame, [x for x in tree_flatten((others, kwargs))[0] if isinstance(x, Tensor)])
    return tracker, replaced(args, numbers, tracked, argnums), spec


def pick(args: tuple, argnums):
    """(the arguments at argnums, their non-negative numbers)."""
    if not isinstance(argnums, (int, tuple)):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    numbers = [_argnum(args, i) for i in (argnums if isinstance(argnums, tuple) else (argnums,))]
    if not numbers:
        raise RuntimeError("argnums must be non-empty")
    if len(set(numbers)) != len(numbers):
        raise RuntimeError(f"argnums elements must be unique, got {argnums}")
    if isinstance(argnums, int):
        return args[numbers[0]], numbers
    return tuple(args[i] for i in numbers), numbers


def _argnum(args: tuple, i) -> int:
    if not isinstance(i, int):
        raise RuntimeError(f"argnum must be int, got: {type(i)}")
    if not -len(args) <= i < len(args):
        raise RuntimeError(f"Got argnum={i}, but only {len(args)} positional inputs")
    return i % len(args)


def replaced(args: tuple, numbers: Sequence[int], new, argnums) -> tuple:
    """The arguments with others at argnums."""
    args = list(args)
    for i, x in zip(numbers, (new,) if isinstance(argnums, int) else new):
        args[i] = x
    return tuple(args)


def _split_aux(output, has_aux: bool, message: str):
    if not has_aux:
        return output, None
    if not (isinstance(output, tuple) and len(output) == 2):
        raise RuntimeError(message)
    return output


def _map_tensors(fun: Callable, aux):
    """The auxiliary output, mapped; RuntimeError for anything in it that is no tensor."""

    def leaf(x):
        if not isinstance(x, Tensor):
            raise RuntimeError(f"Expected tensors, got unsupported type {type(x)}")
        return fun(x)

    return tree_map(leaf, aux)


def _check_scalar(output):
    if not isinstance(output, Tensor):
        raise RuntimeError(NOT_A_TENSOR.format(type(output)))
    if output.ndim != 0:
        raise RuntimeError(NOT_A_SCALAR.format(output.ndim))


def _flat_tensors(output, api: str):
    """The tensors of an output and its structure; RuntimeError for anything else in it."""
    flat, spec = tree_flatten(output)
    if not flat or output is None:
        raise RuntimeError(EMPTY_OUTPUT.format(api=api, out=flat))
    for y in flat:
        if not isinstance(y, Tensor):
            raise RuntimeError(ONLY_TENSORS.format(api=api, type=type(y)))
    return flat, spec


def vjp(func: Callable, *primals, has_aux: bool = False):
    """(output, vjp_fn) or (output, vjp_fn, aux): vjp_fn takes a cotangent of the output's structure
    and returns a tuple of gradients, one for each primal.

    >>> y, pull = torch.func.vjp(torch.sin, torch.zeros(2))
    >>> pull(torch.ones(2))
    (tensor([1., 1.]),)
    """
    return vjp_by(func, primals, None, has_aux)


def vjp_by(func: Callable, primals: tuple, argnums=None, has_aux: bool = False):
    """vjp by the arguments `argnums` (None: by all, gradients as a tuple)."""
    outer = state.enabled
    chosen = tuple(range(len(primals))) if argnums is None else argnums
    with enter("grad", guards=True) as frame, grad_mode(True):
        tracker, args, spec = _track_arguments(frame, primals, chosen, outer)
        with tracker:
            output, aux = _split_aux(func(*args), has_aux, VJP_AUX)
            outputs, out_spec = _flat_tensors(output, "vjp(f, *primals)")
            outputs = tracker.apart(outputs)
            outside = tracker.sees_outside(outputs)
            released = tree_unflatten([tracker.released(y, outside) for y in outputs], out_spec)
            aux = _map_tensors(lambda x: tracker.released(x, outside), aux) if has_aux else None

    def vjp_fn(cotangents, retain_graph=True, create_graph=None):
        cts, ct_spec = tree_flatten(cotangents)
        if ct_spec != out_spec:
            raise RuntimeError(COTANGENTS.format(mine=treespec_pprint(ct_spec), theirs=treespec_pprint(out_spec)))
        cts = root_grads(outputs, cts)
        return tree_unflatten(tracker.pull(outputs, cts, retain_graph, outside), spec)

    return (released, vjp_fn, aux) if has_aux else (released, vjp_fn)


# ---- forward mode --------------------------------------------------------------------------------


def jvp(func: Callable, primals: tuple, tangents: tuple, *, strict: bool = False, has_aux: bool = False):
    """(output, tangent of the output) or (output, tangent, aux) of func(*primals) in the direction
    of the tangents, which have the structure of the primals.

    >>> torch.func.jvp(torch.sin, (torch.zeros(2),), (torch.ones(2),))
    (tensor([0., 0.]), tensor([1., 1.]))
    """
    api = JVP
    if not isinstance(primals, tuple):
        raise RuntimeError(f"{api}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals).")
    flat, spec = _flat_inputs(primals, "primals")
    dots, dot_spec = tree_flatten(tangents)
    if spec != dot_spec:
        raise RuntimeError(
            f"{api}: Expected primals and tangents to have the same python "
            f"structure. For example, if primals is a tuple of 3 tensors, tangents "
            f"also must be. Got primals with structure {spec} and tangents with "
            f"structure {dot_spec}"
        )
    _flat_inputs(tangents, "tangents")
    with enter("jvp", guards=True) as frame, forward_mode(True):
        duals = [_dual(frame.depth, p, t) for p, t in zip(flat, dots)]
        output, aux = _split_aux(func(*tree_unflatten(duals, spec)), has_aux, JVP_AUX)
        outputs, out_spec = _flat_tensors(output, api)
        levels = [at_depth(y, frame.depth) for y in outputs]
        if strict and None in levels:
            raise RuntimeError(
                f"{api}: The output of f is independent of the inputs. This is not allowed with strict=True."
            )
        values = [y if lv is None else lv.primal for y, lv in zip(outputs, levels)]
        slopes = [zeros_like(y) if lv is None else lv.tangent for y, lv in zip(outputs, levels)]
        aux = _map_tensors(lambda x: _primal(x, frame.depth), aux) if has_aux else None
    found = tree_unflatten(values, out_spec), tree_unflatten(slopes, out_spec)
    return (*found, aux) if has_aux else found


def _flat_inputs(tree, what: str):
    flat, spec = tree_flatten(tree)
    if not flat:
        raise RuntimeError(f"{JVP}: Expected {what} to contain at least one Tensor.")
    for x in flat:
        if not isinstance(x, Tensor):
            raise RuntimeError(f"{JVP}: Expected {what} to only contain Tensors, got {type(x)}")
    return flat, spec


def _dual(depth: int, primal: Tensor, tangent: Tensor) -> Tensor:
    if not (primal.is_floating_point() or primal.is_complex()):
        raise ValueError(f"Expected primal to be floating point or complex, but got: {primal.dtype}")
    if primal.shape != tangent.shape:
        raise RuntimeError(SIZES.format(list(primal.shape), list(tangent.shape)))
    if tangent.dtype is not primal.dtype:
        tangent = tangent.to(primal.dtype)
    return wrap(Dual(depth, primal, tangent))


def _primal(x, depth: int):
    level = at_depth(x, depth) if is_wrapper(x) else None
    return x if level is None else level.primal


def linearize(func: Callable, *primals):
    """(output, jvp_fn): jvp_fn maps tangents of the primals to the tangent of the output, at these
    primals.

    >>> output, jvp_fn = torch.func.linearize(lambda x: x ** 2, torch.tensor(3.))
    >>> output, jvp_fn(torch.tensor(1.))
    (tensor(9.), tensor(6.))
    """
    output = func(*primals)
    _flat_tensors(output, "linearize(f, *primals)")
    spec = tree_flatten(primals)[1]

    def jvp_fn(*tangents):
        if tree_flatten(tangents)[1] != spec:
            raise RuntimeError(
                f"Expected the tangents of a linearized function to have the structure of its primals: {spec}"
            )
        return jvp(func, primals, tangents)[1]

    return output, jvp_fn
