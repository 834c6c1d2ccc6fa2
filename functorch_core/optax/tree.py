"""optax.tree: arithmetic of trees of arrays."""

from __future__ import annotations

import functools
import operator

import numpy as np

import functorch_core as fc

from .base import global_norm, squared
from .transforms import bias_correction, update_infinity_moment, update_moment, update_moment_per_elem_norm


def add(tree_x, tree_y, *other_trees):
    """The sum of trees.

    >>> from functorch_core import optax
    >>> optax.tree.add({"a": 1}, {"a": 2}, {"a": 3})
    {'a': 6}
    """
    return fc.tree.map(lambda *xs: functools.reduce(operator.add, xs), tree_x, tree_y, *other_trees)


def sub(tree_x, tree_y):
    """The difference of two trees."""
    return fc.tree.map(operator.sub, tree_x, tree_y)


def mul(tree_x, tree_y):
    """The product of two trees, leaf by leaf."""
    return fc.tree.map(operator.mul, tree_x, tree_y)


def div(tree_x, tree_y):
    """The quotient of two trees, leaf by leaf."""
    return fc.tree.map(operator.truediv, tree_x, tree_y)


def scale(scalar, tree):
    """A number times a tree."""
    return fc.tree.map(lambda x: scalar * x, tree)


def add_scale(tree_x, scalar, tree_y):
    """tree_x + scalar * tree_y.

    >>> from functorch_core import optax
    >>> optax.tree.add_scale({"a": 1.}, 0.5, {"a": 4.})
    {'a': 3.0}
    """
    return fc.tree.map(lambda x, y: x + scalar * y, tree_x, tree_y)


def vdot(tree_x, tree_y):
    """The product of two trees as vectors; the first one is conjugated."""
    parts = fc.tree.map(lambda x, y: fc.sum(fc.conj(fc.asarray(x)) * y), tree_x, tree_y)
    return fc.tree.reduce(operator.add, parts, 0)


def sum(tree, associative_reduction=False):
    """The sum of all numbers. associative_reduction adds halves to halves."""
    parts = fc.tree.map(fc.sum, fc.tree.map(fc.asarray, tree))
    if associative_reduction:
        return fc.tree.reduce_associative(operator.add, parts, identity=0)
    return fc.tree.reduce(operator.add, parts, 0)


def max(tree):
    """The largest number."""
    return functools.reduce(fc.maximum, [fc.max(fc.asarray(x)) for x in fc.tree.leaves(tree)], -np.inf)


def min(tree):
    """The least number."""
    return functools.reduce(fc.minimum, [fc.min(fc.asarray(x)) for x in fc.tree.leaves(tree)], np.inf)


def size(tree) -> int:
    """How many numbers there are.

    >>> import functorch_core as fc
    >>> from functorch_core import optax
    >>> optax.tree.size({"a": fc.zeros((2, 3)), "b": 1.})
    7
    """
    return int(np.sum([np.size(x) if np.isscalar(x) else x.size for x in fc.tree.leaves(tree)], dtype=np.int64))


def norm(tree, ord=None, squared=False):  # noqa: A002
    """The norm of all numbers together: Euclidean (None, 2, "fro"), of absolute values (1) or the largest (inf).

    squared: its square.

    >>> import functorch_core as fc
    >>> from functorch_core import optax
    >>> optax.tree.norm({"a": fc.asarray([3.]), "b": fc.asarray(4.)})
    Array(5., dtype=float32)
    """
    if ord in (None, 2, "fro"):
        return _squares(tree) if squared else global_norm(tree)
    if ord == 1:
        found = sum(fc.tree.map(fc.abs, tree))
    elif ord in (np.inf, "inf"):
        found = max(fc.tree.map(fc.abs, tree))
    else:
        raise ValueError(f"optax.tree.norm: ord is None, 1, 2 or inf, got {ord!r}")
    return found**2 if squared else found


def _squares(tree):
    return functools.reduce(operator.add, [fc.sum(squared(fc.asarray(x))) for x in fc.tree.leaves(tree)], 0)


def where(condition, tree_x, tree_y):
    """tree_x where the condition is true, tree_y elsewhere."""
    return fc.tree.map(lambda x, y: fc.where(condition, x, y), tree_x, tree_y)


def clip(tree, min_value=None, max_value=None):
    """Each number moved into [min_value, max_value]."""
    return fc.tree.map(lambda x: fc.clip(fc.asarray(x), min_value, max_value), tree)


def conj(tree):
    """The conjugates."""
    return fc.tree.map(lambda x: fc.conj(fc.asarray(x)), tree)


def real(tree):
    """The real parts."""
    return fc.tree.map(lambda x: fc.real(fc.asarray(x)), tree)


def allclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether all numbers of two trees are nearly equal."""
    close = functools.partial(fc.allclose, rtol=rtol, atol=atol, equal_nan=equal_nan)
    return functools.reduce(operator.and_, fc.tree.leaves(fc.tree.map(close, a, b)), fc.asarray(True))


def zeros_like(tree, dtype=None):
    """Zeros in the shapes of a tree."""
    return fc.tree.map(lambda x: fc.zeros_like(fc.asarray(x), dtype=dtype), tree)


def ones_like(tree, dtype=None):
    """Ones in the shapes of a tree."""
    return fc.tree.map(lambda x: fc.ones_like(fc.asarray(x), dtype=dtype), tree)


def full_like(tree, fill_value, dtype=None):
    """One number in the shapes of a tree."""
    return fc.tree.map(lambda x: fc.full_like(fc.asarray(x), fill_value, dtype=dtype), tree)


def cast(tree, dtype):
    """The tree in a dtype; None leaves it."""
    return tree if dtype is None else fc.tree.map(lambda x: fc.asarray(x).astype(dtype), tree)


def cast_like(tree, other_tree):
    """Each leaf in the dtype of another tree's."""
    return fc.tree.map(lambda x, y: fc.asarray(x).astype(fc.asarray(y).dtype), tree, other_tree)


def dtype(tree, mixed_dtype_handler=None):
    """The dtype of all leaves; of several what `mixed_dtype_handler` says: "promote", "highest", "lowest"."""
    found = {np.dtype(fc.asarray(x).dtype) for x in fc.tree.leaves(tree)}
    if not found:
        return np.dtype(np.float32)
    if len(found) == 1:
        return found.pop()
    if mixed_dtype_handler == "promote":
        return functools.reduce(fc.promote_types, found)
    if mixed_dtype_handler in ("highest", "lowest"):
        best = functools.reduce(fc.promote_types, found)
        if mixed_dtype_handler == "highest" and best in found:
            return best
        least = [d for d in found if all(fc.promote_types(d, e) == e for e in found)]
        if mixed_dtype_handler == "lowest" and least:
            return least[0]
    raise ValueError(
        f"optax.tree.dtype: the leaves have {sorted(d.name for d in found)}; mixed_dtype_handler='promote'"
    )


def batch_shape(tree, shape=()):
    """Zeros in the shapes of a tree with further dimensions in front."""
    return fc.tree.map(lambda x: fc.zeros((*shape, *x.shape), dtype=x.dtype), tree)


def split_key_like(rng_key, target_tree):
    """A key for each leaf."""
    structure = fc.tree.structure(target_tree)
    return structure.unflatten(list(fc.random.split(rng_key, structure.num_leaves)))


def random_like(rng_key, target_tree, sampler=fc.random.normal, dtype=None):
    """Random numbers, sampler(key, shape, dtype), in the shapes of a tree.

    >>> import functorch_core as fc
    >>> from functorch_core import optax
    >>> optax.tree.random_like(fc.random.key(0), {"a": fc.zeros((2, 3))})["a"].shape
    (2, 3)
    """
    leaves, structure = fc.tree.flatten(target_tree)
    keys = fc.random.split(rng_key, len(leaves))
    return structure.unflatten([sampler(k, x.shape, dtype or x.dtype) for k, x in zip(keys, leaves)])


def unwrap_random_key_data(input_tree):
    """The tree with the numbers of typed keys in their places."""
    structure = fc.tree.structure(input_tree)
    return (
        fc.tree.map(lambda x: fc.random.key_data(x) if hasattr(x.dtype, "impl") else x, input_tree) if structure else ()
    )


# ---- states --------------------------------------------------------------------------------------


def _named(tree, path=()):
    """Pairs of path and node, for what a state has by name: fields of named tuples, keys of dicts, attributes."""
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        items = [((f"{type(tree).__name__}.{f}", f), getattr(tree, f)) for f in tree._fields]
    elif isinstance(tree, dict):
        items = [((f"[{k!r}]", k), v) for k, v in tree.items()]
    elif isinstance(tree, (tuple, list)):
        items = [((f"[{i}]", None), v) for i, v in enumerate(tree)]
    else:
        return
    for (shown, name), value in items:
        yield (*path, shown), name, value
        yield from _named(value, (*path, shown))


def get_all_with_path(tree, key, filtering=None) -> list:
    """Pairs of path and value, for all that a state has by the name `key`; filtering(path, value) chooses.

    >>> from functorch_core import optax
    >>> import functorch_core as fc
    >>> state = optax.adam(1.).init(fc.zeros(1))
    >>> [value for _, value in optax.tree.get_all_with_path(state, "mu")]
    [Array([0.], dtype=float32)]
    """
    found = [(path, value) for path, name, value in _named(tree) if name == key]
    return [pair for pair in found if filtering is None or filtering(*pair)]


def get(tree, key, default=None, filtering=None):
    """The value that a state has by a name; KeyError for several of them.

    >>> import functorch_core as fc
    >>> from functorch_core import optax
    >>> optax.tree.get(optax.adam(1.).init(fc.zeros(1)), "count")
    Array(0, dtype=int32)
    """
    found = get_all_with_path(tree, key, filtering)
    if len(found) > 1:
        raise KeyError(f"{key!r} is in the state {len(found)} times, at {[p for p, _ in found]}: choose by filtering=")
    return found[0][1] if found else default


def set(tree, /, filtering=None, **kwargs):  # noqa: A001
    """The state with other values by name; KeyError for a name that it has not.

    >>> import functorch_core as fc
    >>> from functorch_core import optax
    >>> state = optax.tree.set(optax.adam(1.).init(fc.zeros(1)), count=fc.asarray(3))
    >>> optax.tree.get(state, "count")
    Array(3, dtype=int64)
    """
    for key in kwargs:
        if not get_all_with_path(tree, key, filtering):
            raise KeyError(f"the state has no {key!r}")
    return _replaced(tree, kwargs, filtering, ())


def _replaced(tree, values, filtering, path):
    def child(shown, name, value):
        at = (*path, shown)
        if name in values and (filtering is None or filtering(at, value)):
            return values[name]
        return _replaced(value, values, filtering, at)

    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return type(tree)(*[child(f"{type(tree).__name__}.{f}", f, getattr(tree, f)) for f in tree._fields])
    if isinstance(tree, dict):
        return type(tree)({k: child(f"[{k!r}]", k, v) for k, v in tree.items()})
    if isinstance(tree, (tuple, list)):
        return type(tree)([child(f"[{i}]", None, v) for i, v in enumerate(tree)])
    return tree


class _Copy:
    """What stands for a tree of parameters in a state: a node of trees that has no leaves."""


fc.tree_util.register_pytree_node(_Copy, lambda _: ((), None), lambda *_: _Copy())


def map_params(initable, f, state, /, *rest, transform_non_params=None, is_leaf=None):
    """The state with f(leaf, *leaves of rest) for each leaf of its copies of the parameters, as `mu` and `nu` of Adam.

    initable: the transformation that the state is of, or its `init`. rest: trees like the parameters.
    transform_non_params: what to do with all others (counts, learning rates), which stay as they are by default.

    >>> import functorch_core as fc
    >>> from functorch_core import optax
    >>> optimizer = optax.sgd(0.1, momentum=0.9)
    >>> state = optimizer.init({"w": fc.ones(2)})
    >>> optax.tree_map_params(optimizer, lambda leaf, name: name, state, {"w": "data"})[0].trace
    {'w': 'data'}
    """
    shape = getattr(initable, "init", initable)(_Copy())

    def one(copy, part):
        if isinstance(copy, _Copy):
            return fc.tree.map(f, part, *rest, is_leaf=is_leaf)
        return part if transform_non_params is None else transform_non_params(part)

    return fc.tree.map(one, shape, state, is_leaf=lambda x: isinstance(x, _Copy))


__all__ = [
    "add", "add_scale", "allclose", "batch_shape", "bias_correction", "cast", "cast_like", "clip", "conj", "div",
    "dtype", "map_params",
    "full_like", "get", "get_all_with_path", "max", "min", "mul", "norm", "ones_like", "random_like", "real", "scale",
    "set", "size", "split_key_like", "sub", "sum", "unwrap_random_key_data", "update_infinity_moment", "update_moment",
    "update_moment_per_elem_norm", "vdot", "where", "zeros_like",
]  # fmt: skip
