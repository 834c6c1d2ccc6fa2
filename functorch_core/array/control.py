"""Control flow inside compiled functions: scan, cond, while_loop and their kin, on pytrees."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence

import numpy as np

from ..core import dtypes as dt
from ..core import tree
from ..core.aval import Aval, aval, aval_of
from ..core.explain import explaining
from ..core.trace import run, state, trace
from ..core.unknown import place_of
from ..engine.units import SCALAR_AVALS
from ..ops.signature import Weak
from ..primitives import constant, convert
from ..transforms import associative
from ..transforms import cond as conds
from ..transforms import scan as scans
from ..transforms import while_loop as whiles
from ..transforms.callback import has_ordered, token_of_trace
from .array import as_value, wrap
from .functions import concat, stack
from .jit import Jitted
from .tracing import arguments, kind_of, name_of, shown_tree
from .trees import FlatFunction, flatten_values, rebuild, tell_arguments
from .vmap import vmap

NO_OPERAND = object()
INDEX = aval((), dt.DEFAULT_INT)

BOUNDS = (
    "fori_loop counts with integers, its bounds are {found}\n"
    "    wrong: fc.fori_loop(0, n / 2, body, x)    right: fc.fori_loop(0, n // 2, body, x)"
)
ELEMENTWISE = (
    "associative_scan: `{name}` must return what it takes, {wanted}; it returned {found}.\n"
    "    It is called with many elements at once along the axis, and combines them pairwise."
)
SAME_CARRY = "The carry keeps its structure, shapes and dtypes from step to step."
PAIR = (
    "{what}: `{name}` must return a pair (carry, y), it returned {found}\n"
    "    wrong: return carry + x          right: return carry + x, None"
)


# ---- under fc.disable_jit: step by step, so that a debugger sees numbers -----------------------------


def stepwise() -> bool:
    """Whether loops and branches run as Python's: fc.disable_jit is on, and nothing is traced."""
    return Jitted.disabled and state.builder is None


def as_arrays(values):
    """A tree whose leaves are Arrays."""
    return tree.map_arrays(lambda x: wrap(as_value(x)), values)


def steps_of(xs, length: int | None) -> int:
    """How many steps a scan has; 0 if that is not clear."""
    sizes = {len(x) for x in tree.leaves(xs)} | ({length} - {None})
    return sizes.pop() if len(sizes) == 1 else 0


def scan_by_steps(f: Callable, init, xs, length: int, reverse: bool):
    """scan, as a loop of Python's."""
    carry, xs, ys = as_arrays(init), as_arrays(xs), []
    order = range(length)
    for i in reversed(order) if reverse else order:
        carry, y = f(carry, tree.map(lambda x, i=i: x[i], xs))
        ys.append(as_arrays(y))
    return carry, tree.map(lambda *parts: stack(parts), *(ys[::-1] if reverse else ys))


def while_by_steps(cond_fun: Callable, body_fun: Callable, init_val):
    """while_loop, as a loop of Python's."""
    val = as_arrays(init_val)
    while cond_fun(val):
        val = as_arrays(body_fun(val))
    return val


# ---- loops ---------------------------------------------------------------------------------------


@explaining
def scan(f: Callable, init, xs=None, length: int | None = None, reverse: bool = False, unroll: int | bool = 1):
    """Carry a value through a loop over leading axes: (last carry, stacked ys).

    f(carry, x) -> (carry, y); carry, x and y are pytrees. xs is sliced along axis 0; `length` is
    needed where xs is None. The loop is compiled once, whatever its length; derivatives of both
    modes exist. `unroll` is JAX's hint, which changes nothing here. TypeError if the carry changes
    shape, dtype or structure.

    >>> import functorch_core as fc
    >>> fc.scan(lambda total, x: (total + x, total), fc.asarray(0.), fc.asarray([1., 2., 3.]))
    (Array(6., dtype=float32), Array([0., 1., 3.], dtype=float32))
    """
    name_of(f)  # raises where it is no function; so below
    if not isinstance(unroll, bool) and operator.index(unroll) < 1:
        raise ValueError(
            f"scan: unroll is a bool or a positive int, got {unroll!r}; it changes no result, leave it out"
        )
    if stepwise() and steps_of(xs, length):  # of none the results' shapes are not known
        return scan_by_steps(f, init, xs, steps_of(xs, length), reverse)
    carry_values, carry_tree = flatten_values(init, "the carry", "scan")
    x_values, x_tree = flatten_values(xs, "xs", "scan")
    found = {}

    def body(carry, x):
        tell_arguments(f, tree.treedef_tuple((carry_tree, x_tree)))
        out = f(rebuild(carry_tree, carry), rebuild(x_tree, x))
        if not isinstance(out, tuple) or len(out) != 2:
            raise TypeError(PAIR.format(what="scan", name=name_of(f), found=out))
        new, new_tree = flatten_values(out[0], "scan: the carry", "f")
        if not tree.alike(new_tree, carry_tree):
            raise TypeError(
                f"scan: `{name_of(f)}` returned a carry of structure "
                f"{shown_tree(new_tree)}, it takes {shown_tree(carry_tree)}.\n"
                f"    {SAME_CARRY}"
            )
        ys, found["tree"] = flatten_values(out[1], "scan: a y", "f")
        return new, ys

    n, slices = len(carry_values), [slice_aval(x) for x in x_values]
    carry_values = with_weak_numbers(carry_values, init, slices, lambda *flat: body(flat[:n], flat[n:])[0])

    def step(carry, x):
        new, ys = body(carry, x)
        check_carry("scan", f, carry_tree, carry, new)
        return new, ys

    last, ys = scans.scan(step, carry_values, x_values, length=length, reverse=reverse)
    return rebuild(carry_tree, last), rebuild(found["tree"], ys)


CARRY = """{what}: the carry changes from step to step, `{name}` returns another one than it takes
    {changes}
    {advice}"""


def check_carry(what: str, fun: Callable, start: tree.PyTreeDef, before: Sequence, after: Sequence):
    """TypeError, which names the part of the carry, unless a step keeps its shapes and dtypes."""
    pairs = [(aval_of(b), aval_of(a)) for b, a in zip(before, after)]
    if all(b is a for b, a in pairs):
        return
    paths = [path for path, _ in tree.leaves_with_path(start.unflatten(list(range(len(pairs)))))]
    wrong = [(f"carry{tree.keystr(path)}", b, a) for path, (b, a) in zip(paths, pairs) if b is not a]
    changes = "\n    ".join(f"{place} is {b} at first, {a} after a step" for place, b, a in wrong)
    _, b, a = wrong[0]
    advice = f"{SAME_CARRY} Broadcast the initial one, or reduce in the function."
    if b.shape == a.shape:
        wide = dt.promote(b.dtype, a.dtype)
        kept = f"in the function: y.astype(fc.{b.dtype.name})"
        advice = f"Begin with {wide.name}: init.astype(fc.{wide.name}); or convert back {kept}."
        if wide != a.dtype:
            advice = f"Convert back {kept}."
    raise TypeError(CARRY.format(what=what, name=name_of(fun), changes=changes, advice=advice))


def listed(avals: Sequence[Aval]) -> str:
    """float32[3], int64[]: avals in a message."""
    return ", ".join([str(a) for a in avals])


def slice_aval(x) -> Aval:
    """The aval of an element along axis 0."""
    a = aval_of(x)
    return a.with_shape(a.shape[1:])


def with_weak_numbers(values: list, init, more: list, step: Callable) -> list:
    """The initial carry: Python numbers in it take the dtypes that step(*carry, *more) returns."""
    leaves = tree.leaves(init)
    kinds = [kind_of(x) for x in leaves]
    if not any(kinds):
        return values
    kinds_of_all = kinds + [None] * len(more)

    def step_of_weak(*flat):
        return step(*[Weak(v, k) if k else v for v, k in zip(flat, kinds_of_all)])

    avals = [SCALAR_AVALS[k] if k else aval_of(v) for k, v in zip(kinds, values)]
    graph, _ = trace(step_of_weak, avals + more, "body")
    dtypes = [a.dtype for a in graph.out_avals]
    if len(dtypes) != len(values):
        return values
    return [
        convert(arguments([x], "the carry")[0][0], dtype=d)  # of the number: v has float32's digits
        if k and dt.promote_scalar(d, k) == d != v.aval.dtype
        else v
        for x, v, k, d in zip(leaves, values, kinds, dtypes)
    ]


@explaining
def map(f: Callable, xs, *, batch_size: int | None = None):  # noqa: A001  the name is JAX's
    """f applied to each slice of xs along axis 0, one after the other; results stacked.

    Needs the memory of one step, where vmap needs that of all; with `batch_size`, of so many
    steps, which are computed together.

    >>> import functorch_core as fc
    >>> fc.map(lambda x: x * 2, fc.asarray([1., 2.]))
    Array([2., 4.], dtype=float32)
    """
    if batch_size is not None and operator.index(batch_size) < 1:
        raise ValueError(
            f"map: batch_size is a positive int, got {batch_size!r}; leave it out for one element after the other"
        )
    if batch_size is None:
        return scan(lambda carry, x: (carry, f(x)), None, xs)[1]
    n = {len(x) for x in tree.leaves(xs)}.pop()
    whole = n - n % batch_size
    grouped = tree.map(lambda x: x[:whole].reshape((-1, batch_size, *x.shape[1:])), xs)
    outs = tree.map(lambda y: y.reshape((whole, *y.shape[2:])), map(vmap(f), grouped))
    if whole == n:
        return outs
    rest = vmap(f)(tree.map(lambda x: x[whole:], xs))
    return tree.map(lambda a, b: concat([a, b]), outs, rest)


@explaining
def cond(pred, true_fun: Callable, false_fun: Callable, *operands, operand=NO_OPERAND):
    """true_fun(*operands) if the bool scalar `pred` holds, else false_fun(*operands).

    Both are traced and must return equal structures, shapes and dtypes; one runs. Under vmap with a
    batched predicate both run. `operand` is JAX's older way to give the only operand.

    >>> import functorch_core as fc
    >>> fc.cond(fc.asarray(True), lambda x: x + 1, lambda x: x - 1, fc.asarray(1.))
    Array(2., dtype=float32)
    """
    operands = _operands("cond", operands, operand)
    if stepwise():
        return (true_fun if pred else false_fun)(*operands)
    pred = as_value(pred)
    a = aval_of(pred)
    if a.shape != ():
        raise TypeError(
            f"cond takes a scalar predicate, got {a}; reduce it with .any() or .all(), "
            "or choose elementwise with fc.where"
        )
    pred = pred if a.dtype == dt.bool_ else as_value(wrap(pred) != 0)
    return _branches("cond", convert(pred, dtype=dt.int32), (false_fun, true_fun), operands)


@explaining
def switch(index, branches: Sequence[Callable], *operands, operand=NO_OPERAND):
    """branches[index](*operands); the index is clamped. All branches return equal structures.

    >>> import functorch_core as fc
    >>> fc.switch(fc.asarray(1), [lambda x: x, lambda x: -x], fc.asarray(3.))
    Array(-3., dtype=float32)
    """
    operands = _operands("switch", operands, operand)
    if not branches:
        raise ValueError("switch takes one branch or more, got none")
    if stepwise():
        return branches[min(max(operator.index(index), 0), len(branches) - 1)](*operands)
    index = as_value(index)
    if index.aval.shape != () or index.aval.dtype not in dt.INTEGER:
        raise TypeError(f"switch takes an integer scalar as its index, got {index.aval}")
    return _branches("switch", convert(index, dtype=dt.int32), tuple(branches), operands)


def _operands(what: str, operands: tuple, operand) -> tuple:
    """The operands of a branch, which may be one that came by keyword."""
    if operand is NO_OPERAND:
        return operands
    if operands:
        raise TypeError(f"{what}: operands came by position and as operand=...; give them all by position")
    return (operand,)


def _branches(what: str, index, branches, operands):
    leaves, in_tree = tree.flatten(tuple(operands))
    values, kinds = arguments(leaves, what, where="an operand")
    flat = [FlatFunction(b, in_tree, what, kinds, wide=True) for b in branches]
    traced = []
    for branch in flat:
        traced.append(trace(branch, [aval_of(v) for v in values], branch.name))
        if branch.out_tree != flat[0].out_tree:
            raise TypeError(_different_branches(what, flat, branch, lambda b: shown_tree(b.out_tree)))
    dtypes = [_common_dtype(outs) for outs in zip(*[b.out_kinds for b in flat])]

    shown = [_shown_kinds(branch.out_kinds, dtypes) for branch in flat]
    for branch, kinds in zip(flat, shown):
        if kinds != shown[0]:
            raise TypeError(_different_branches(what, flat, branch, lambda b: shown[flat.index(b)]))

    def converted(i: int):
        graph, captures = traced[i]

        def branch(*args):
            outs = run(graph, [*args, *captures])
            return [convert(o, dtype=d) if k in SCALAR_AVALS else o for o, k, d in zip(outs, flat[i].out_kinds, dtypes)]

        return branch

    waited = not flat[0].out_kinds and any(has_ordered(graph) for graph, _ in traced)
    outs = conds.switch(index, [waitable(converted(i)) if waited else converted(i) for i in range(len(flat))], values)
    return rebuild(flat[0].out_tree, outs[: flat[0].out_tree.num_leaves])


BRANCHES = """{what}: {first} and {second} return different things
    {first} returns {one}
    {second} returns {other}
    All branches return the same structure, shapes and dtypes: broadcast and convert inside them."""


def _different_branches(what: str, flat: Sequence[FlatFunction], branch: FlatFunction, shown: Callable) -> str:
    """What two branches return: with their parameters' names in cond, numbered in switch."""
    roles = ["false_fun", "true_fun"] if what == "cond" else [f"branches[{i}]" for i in range(len(flat))]
    pairs = [
        (f"{role} `{b.name}`{place_of(b.fun)}", shown(b)) for role, b in zip(roles, flat) if b is flat[0] or b is branch
    ]
    (first, one), (second, other) = pairs if what == "switch" else reversed(pairs)
    return BRANCHES.format(what=what, first=first, one=one, second=second, other=other)


def _shown_kinds(kinds: Sequence, dtypes: Sequence) -> str:
    """The avals of a branch's results, a number being of the dtype that it becomes."""
    return listed([aval((), d) if k in SCALAR_AVALS else k for k, d in zip(kinds, dtypes)]) or "nothing"


def waitable(branch: Callable) -> Callable:
    """A branch without results, with one that comes after its ordered callbacks."""

    def with_token(*args):
        branch(*args)
        return [*token_of_trace(), constant(np.zeros((), np.uint8))][:1]

    return with_token


def _common_dtype(kinds: Sequence):
    """The dtype that numbers among the results of the branches take: of the arrays, if any."""
    numbers = [k for k in kinds if k in SCALAR_AVALS]
    dtypes = [k.dtype for k in kinds if k not in SCALAR_AVALS] or [dt.canonical(numbers[0])]
    return functools.reduce(dt.promote_scalar, numbers, dtypes[0])


@explaining
def while_loop(cond_fun: Callable, body_fun: Callable, init_val, max_steps: int | None = None):
    """val = body_fun(val) while cond_fun(val) holds.

    Forward-mode derivatives exist; reverse mode needs `max_steps`, a static bound on the number of
    steps. Under vmap with a batched condition the loop runs until the last example is done.

    >>> import functorch_core as fc
    >>> fc.while_loop(lambda x: x < 100, lambda x: x * 2, fc.asarray(1))
    Array(128, dtype=int64)
    """
    for fun in (cond_fun, body_fun):
        name_of(fun)
    if stepwise():
        return while_by_steps(cond_fun, body_fun, init_val)
    values, treedef = flatten_values(init_val, "the initial value", "while_loop")

    def predicate(*flat):
        tell_arguments(cond_fun, tree.treedef_tuple((treedef,)))
        out = as_value(cond_fun(rebuild(treedef, flat)))
        if out.aval.shape != () or out.aval.dtype != dt.bool_:
            raise TypeError(
                "while_loop: cond_fun must return a bool scalar, it returned "
                f"{out.aval}; reduce it with .any() or .all(), or compare it: x > 0"
            )
        return out

    def body(*flat):
        tell_arguments(body_fun, tree.treedef_tuple((treedef,)))
        leaves, found = flatten_values(body_fun(rebuild(treedef, flat)), "while_loop: a value", "body_fun")
        if not tree.alike(found, treedef):
            raise TypeError(
                f"while_loop: body_fun returned structure {shown_tree(found)}, "
                f"it takes {shown_tree(treedef)}.\n    {SAME_CARRY}"
            )
        return leaves

    values = with_weak_numbers(values, init_val, [], body)

    def step(*flat):
        new = body(*flat)
        check_carry("while_loop", body_fun, treedef, flat, new)
        return new

    if max_steps is None:
        return rebuild(treedef, whiles.while_loop(predicate, step, values))
    return rebuild(treedef, whiles.bounded_while(predicate, step, values, max_steps=max_steps))


@explaining
def fori_loop(lower, upper, body_fun: Callable, init_val, *, unroll: int | bool | None = None):
    """val = body_fun(i, val) for i = lower, ..., upper - 1. `unroll` is a hint: see scan.

    With Python ints as bounds the loop is a scan, and has reverse-mode derivatives.

    >>> import functorch_core as fc
    >>> fc.fori_loop(0, 5, lambda i, total: total + i, fc.asarray(0))
    Array(10, dtype=int64)
    """
    name_of(body_fun)
    if stepwise():
        return functools.reduce(lambda val, i: body_fun(i, val), range(int(lower), int(upper)), as_arrays(init_val))
    values, treedef = flatten_values(init_val, "the initial value", "fori_loop")

    def body(i, *flat):
        leaves, found = flatten_values(body_fun(wrap(i), rebuild(treedef, flat)), "fori_loop: a value", "body_fun")
        if not tree.alike(found, treedef):
            raise TypeError(
                f"fori_loop: body_fun returned structure {shown_tree(found)}, it takes "
                f"{shown_tree(treedef)}.\n    {SAME_CARRY}"
            )
        return leaves

    bounds = [b if isinstance(b, int) else as_value(b) for b in (lower, upper)]
    for bound in bounds:
        if not isinstance(bound, int) and (bound.aval.shape or bound.aval.dtype not in dt.INTEGER):
            raise TypeError(
                BOUNDS.format(found=", ".join(str(b) if isinstance(b, int) else str(b.aval) for b in bounds))
            )
    index = next((aval_of(b) for b in bounds if not isinstance(b, int)), INDEX)
    values = with_weak_numbers(values, init_val, [index], lambda *flat: body(flat[-1], *flat[:-1]))

    def step(i, *flat):
        new = body(i, *flat)
        check_carry("fori_loop", body_fun, treedef, flat, new)
        return new

    return rebuild(treedef, whiles.fori_loop(*bounds, step, values))


@explaining
def associative_scan(fn: Callable, elems, reverse: bool = False, axis: int = 0):
    """All prefixes of elems under an associative function, in parallel.

    fn(a, b) -> c on pytrees like elems, elementwise along `axis`.

    >>> import functorch_core as fc
    >>> fc.associative_scan(fc.add, fc.asarray([1., 2., 3.]))
    Array([1., 3., 6.], dtype=float32)
    """
    name_of(fn)
    values, treedef = flatten_values(elems, "elems", "associative_scan")

    def flat(a, b):
        outs, _ = flatten_values(fn(rebuild(treedef, a), rebuild(treedef, b)), "a result", "fn")
        found, wanted = ([aval_of(x) for x in values] for values in (outs, a))
        if found != wanted:
            raise TypeError(ELEMENTWISE.format(name=name_of(fn), found=listed(found), wanted=listed(wanted)))
        return outs

    ndim = min((v.aval.ndim for v in values), default=1)
    if not -ndim <= operator.index(axis) < ndim:
        raise IndexError(f"associative_scan: axis {axis} is out of range for elems of {ndim} dimensions")
    outs = associative.associative_scan(flat, values, axis=axis % ndim, reverse=reverse)
    return rebuild(treedef, outs)
