"""Custom Functions inside vmap, forward mode and tapes above those: one level at a time.

At each level the user's setup_context is called with what the level wraps, so that every level has
a ctx of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..tape.modes import state
from ..tensors.pytree import _broadcast_to_and_flatten, tree_flatten, tree_unflatten
from . import levels as _levels
from .forward_ad import SIZES, is_dual_level
from .function import (
    DIRTY_TANGENT,
    NO_VIEW,
    NOT_DIFFERENTIABLE,
    OTHER_VIEW,
    TANGENTS,
    Function,
    Like,
    VmapInfo,
    run,
    set_inputs,
)
from .levels import Batched, Dual, Taped, at_depth, batched_at, become, enter, peel, stack, wrap

NO_SETUP = (
    "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, "
    "jacrev, ...), it must override the setup_context staticmethod. For more details, "
    "please see https://pytorch.org/docs/main/notes/extending.func.html"
)
NO_VMAP = (
    "You tried to vmap over {name}, but it does not have vmap support. Please override and "
    "implement the vmap staticmethod or set generate_vmap_rule=True. For more details, "
    "please see https://pytorch.org/docs/main/notes/extending.func.html"
)
TWO_VMAPS = (
    "You tried to vmap over {name}, but it has both generate_vmap_rule=True and an "
    "overriden vmap staticmethod. Please set generate_vmap_rule=False or delete the "
    "overriden vmap staticmethod to avoid ambiguity. For more details, please see "
    "https://pytorch.org/docs/main/notes/extending.func.html"
)
TWO_RETURNS = (
    "Expected the vmap staticmethod to have two returns, an output and out_dims with pytree "
    "structure compatible with the output. Got {got} instead"
)
OTHER_STRUCTURE = (
    "The autograd.Function's vmap staticmethod returned an incompatible (output, out_dims) tuple. "
    "Expected out_dims={out_dims} to be compatible with the structure of `output`. out_dims has "
    "structure {structure} but output has structure {spec}. For more details, please see "
    "https://pytorch.org/docs/main/notes/extending.func.html"
)


def are_in_transforms(args: Sequence) -> bool:
    """Whether a wrapper is among the arguments, or a sparse tensor with a gradient, of which there
    is no rule; one without is a constant like any other."""
    return any(_levels.is_wrapper(x) and (x.requires_grad or not x.is_sparse) for x in args)


def apply_at_levels(cls: type, args: Sequence):
    """Apply a Function to arguments of which some are wrappers."""
    level = max((x._level for x in args if _levels.is_wrapper(x)), key=lambda lv: lv.depth)
    inner = [_levels.peel(x, level.depth) for x in args]
    rule = {_levels.Batched: _batched, _levels.Dual: _dual, _levels.Taped: _taped}
    return rule[type(level)](cls, args, inner, level)


def _has_setup(cls: type) -> bool:
    return cls.setup_context is not Function.setup_context


def require_setup(cls: type):
    """RuntimeError inside a func transform if the Function has no setup_context of its own."""
    if not _has_setup(cls) and not all(is_dual_level(frame.depth) for frame in stack.frames):
        raise RuntimeError(NO_SETUP)


def _map(fun, output):
    return tuple([fun(y) for y in output]) if isinstance(output, tuple) else fun(output)


# ---- reverse mode --------------------------------------------------------------------------------


def _taped(cls: type, args, inner, level):
    require_setup(cls)
    output = cls.apply(*inner)
    ctx = cls._backward_cls(())
    ctx._depth = level.depth
    edges = [x._ge if x is not y else None for x, y in zip(args, inner)]
    set_inputs(ctx, inner, edges)
    cls.setup_context(ctx, tuple(inner), output)
    outputs = output if isinstance(output, tuple) else (output,)
    if not state.enabled or not any(e is not None for e in edges):
        return output
    ctx.n_outputs = len(outputs)
    differentiable = [_is_differentiable(ctx, y) for y in outputs]
    ctx._outputs = tuple([Like(y) if hasattr(y, "_edge") else None for y in outputs])
    ctx._taped = tuple(differentiable)
    ctx.keep([x for x in inner if hasattr(x, "_edge")], outputs)
    made = tuple(
        [wrap(Taped(level.depth, y), (ctx, i)) if d else y for i, (y, d) in enumerate(zip(outputs, differentiable))]
    )
    return made if isinstance(output, tuple) else made[0]


def _is_differentiable(ctx, y) -> bool:
    return (
        hasattr(y, "_edge")
        and (y.is_floating_point() or y.is_complex())
        and not any(y is x for x in ctx.non_differentiable or ())
    )


# ---- forward mode --------------------------------------------------------------------------------


def _dual(cls: type, args, inner, level):
    if _has_setup(cls):
        output = cls.apply(*inner)
        ctx = cls._backward_cls(())
        set_inputs(ctx, inner, [None] * len(inner))
        ctx.needs_input_grad = tuple([x is not y for x, y in zip(args, inner)])
        cls.setup_context(ctx, tuple(inner), output)
    else:
        if any(_levels.is_wrapper(x) for x in inner) or not _is_forward_ad(level):
            raise RuntimeError(NO_SETUP)
        output, ctx = run(cls, inner)
    tangents = [_tangent(ctx, x, y, level.depth) for x, y in zip(args, inner)]
    given = [(x, y, t, t._version) for x, y, t in zip(args, inner, tangents) if x is not y]
    dots = ctx.apply_jvp(*tangents)
    outputs = output if isinstance(output, tuple) else (output,)
    dots = dots if isinstance(dots, tuple) else (dots,)
    if len(dots) != len(outputs):
        raise RuntimeError(TANGENTS.format(n=len(outputs), found=len(dots)))
    made = tuple([_with_tangent(ctx, i, y, t, given) for i, (y, t) in enumerate(zip(outputs, dots))])
    return made if isinstance(output, tuple) else made[0]


def _with_tangent(ctx, i: int, y, tangent, given: Sequence):
    """Output i with the tangent that the user's jvp gives it; `given` are the dual inputs: (dual, primal, tangent and
    its version)."""
    if not hasattr(y, "_edge"):
        return y
    if tangent is not None and not hasattr(tangent, "_edge"):
        raise RuntimeError(f"expected Variable or None (got {type(tangent).__name__}) for grad output {i}.")
    if not _is_differentiable(ctx, y):
        if tangent is not None:
            raise RuntimeError(NOT_DIFFERENTIABLE.format(i=i))
        return y
    for x, primal, its, version in given:
        if y is primal and any(y is z for z in ctx.dirty_tensors or ()):
            if tangent is not its or tangent._version == version:
                raise RuntimeError(DIRTY_TANGENT)
            return become(x, Dual(x._level.depth, y, tangent))
    if tangent is None:
        return y
    if tangent.shape != y.shape:
        raise RuntimeError(SIZES.format(primal=list(y.shape), tangent=list(tangent.shape)))
    for x, primal, its, _ in given:
        if y is primal or _is_part(y, primal):
            _check_is_part(tangent, its, its._is_view() or x._is_view())
    return wrap(Dual(given[0][0]._level.depth, y, tangent))


def _is_part(x, whole) -> bool:
    """Whether two tensors, other than by detach, have one memory."""
    return x._view is not None and whole._view is not None and x._view.cell is whole._view.cell


def _check_is_part(tangent, of, in_base: bool):
    """RuntimeError unless the tangent of a view is one of the tangent of what it is a view of."""
    if not tangent._is_view():
        raise RuntimeError(NO_VIEW)
    if not _is_part(tangent, of):
        raise RuntimeError(OTHER_VIEW.format(what="the same base as the given" if in_base else "the given"))


def _is_forward_ad(level) -> bool:
    return is_dual_level(level.depth)


def _tangent(ctx, x, primal, depth: int):
    if x is not primal:
        return x._level.tangent
    if hasattr(x, "_edge") and ctx.materialize_grads and x.is_floating_point():
        return x.detach() * 0
    return None


# ---- vmap ----------------------------------------------------------------------------------------


def _batched(cls: type, args, inner, level):
    require_setup(cls)
    own_vmap = cls.vmap is not Function.vmap
    if own_vmap and cls.generate_vmap_rule:
        raise RuntimeError(TWO_VMAPS.format(name=cls.__name__))
    dims = tuple([x._level.dim if x is not y else None for x, y in zip(args, inner)])
    frame = next((f for f in stack.frames if f.depth == level.depth), None)
    randomness = frame.randomness if frame else "error"
    if cls.generate_vmap_rule:
        made = _vmapped(cls, level.size, randomness, dims)
        return _map(
            lambda y: wrap(Batched(level.depth, level.size, y, 0)) if hasattr(y, "_edge") else y, made.apply(*inner)
        )
    if not own_vmap:
        raise RuntimeError(NO_VMAP.format(name=cls.__name__))
    leaves, spec = tree_flatten(tuple(args))
    inner = tree_unflatten([peel(x, level.depth) for x in leaves], spec)
    dims = tree_unflatten([getattr(at_depth(x, level.depth), "dim", None) for x in leaves], spec)
    return _wrap_outputs(cls.vmap(VmapInfo(level.size, randomness), dims, *inner), level)


def _wrap_outputs(returned, level):
    """The outputs that a vmap staticmethod returned with their dimensions, each as the level's."""
    if not isinstance(returned, tuple) or len(returned) != 2:
        got = f"{len(returned)} returns" if isinstance(returned, tuple) else f"a {type(returned)}"
        raise RuntimeError(TWO_RETURNS.format(got=got))
    output, out_dims = returned
    leaves, spec = tree_flatten(output)
    dims = _broadcast_to_and_flatten(out_dims, spec)
    if dims is None:
        structure = tree_flatten(out_dims)[1]
        raise RuntimeError(OTHER_STRUCTURE.format(out_dims=out_dims, structure=structure, spec=spec))

    def one(y, dim):
        if dim is None or not hasattr(y, "_edge"):
            return y
        return wrap(Batched(level.depth, level.size, y, dim % y.ndim))

    return tree_unflatten([one(y, dim) for y, dim in zip(leaves, dims)], spec)


def _vmapped(cls: type, size: int, randomness: str, dims: tuple) -> type:
    """A Function that is `cls` for a whole batch; outputs and their cotangents are batched at 0."""
    key = (size, randomness, dims)
    made = cls.__dict__.get("_vmapped_classes")
    if made is None:
        made = cls._vmapped_classes = {}
    if key not in made:
        batch = Batch(cls, size, randomness, dims)
        made[key] = type(
            f"Vmapped{cls.__name__}",
            (Function,),
            {
                "generate_vmap_rule": True,
                "forward": staticmethod(batch.forward),
                "setup_context": staticmethod(batch.setup_context),
                "backward": staticmethod(batch.backward),
                "jvp": staticmethod(batch.jvp),
            },
        )
    return made[key]


class Batch:
    """The staticmethods of a Function made from another by vmap."""

    def __init__(self, cls: type, size: int, randomness: str, dims: tuple):
        self.cls, self.size, self.randomness, self.dims = cls, size, randomness, dims

    def forward(self, *inner):
        """The user's forward on wrappers."""
        with self._level() as depth:
            return self._unwrapped(depth, self.cls.forward(*self._wrapped(depth, inner)))

    def setup_context(self, ctx, inputs, output):
        """The user's setup_context on wrappers; what it saves is saved unwrapped."""
        with self._level() as depth:
            proxy = ctx.proxy = self.cls._backward_cls(())
            proxy.needs_input_grad = ctx.needs_input_grad
            wrapped = self._wrapped(depth, inputs)
            outs = _map(lambda y: self._wrap(depth, y, 0), output)
            self.cls.setup_context(proxy, tuple(wrapped), outs)
            swap = {id(w): x for w, x in zip(wrapped, inputs)}
            swap.update(zip(map(id, _flat(outs)), _flat(output)))
            save, forward = proxy.to_save or (), proxy.saved_for_forward or ()
            ctx.saved_dims = [getattr(at_depth(x, depth), "dim", None) for x in save]
            ctx.forward_dims = [getattr(at_depth(x, depth), "dim", None) for x in forward]
            ctx.save_for_backward(*[self._saved(x, swap, depth) for x in save])
            if forward:
                ctx.save_for_forward(*[self._saved(x, swap, depth) for x in forward])
            ctx.set_materialize_grads(proxy.materialize_grads)
            ctx.mark_non_differentiable(*[swap.get(id(x), x) for x in proxy.non_differentiable or ()])
            proxy.to_save = proxy.saved_for_forward = ()

    def _saved(self, x, swap: dict, depth: int):
        return swap[id(x)] if id(x) in swap else peel(x, depth)

    def backward(self, ctx, *grads):
        """The user's backward on wrappers; summed over the batch for inputs that have none."""
        with self._level() as depth:
            ctx.proxy.to_save = tuple(self._wrap(depth, x, d) for x, d in zip(ctx.saved_tensors, ctx.saved_dims))
            found = ctx.proxy._backward_of_user()(ctx.proxy, *[self._wrap(depth, g, 0) for g in grads])
            found = found if isinstance(found, tuple) else (found,)
            return tuple([self._reduced(depth, g, d, like) for g, d, like in zip(found, self.dims, ctx._inputs)])

    def _reduced(self, depth: int, grad, dim, like):
        if grad is None:
            return None
        if dim is not None:
            return batched_at(grad, depth, self.size, dim)
        return batched_at(grad, depth, self.size, 0).sum(0)

    def jvp(self, ctx, *tangents):
        """The user's jvp on wrappers."""
        with self._level() as depth:
            ctx.proxy.saved_for_forward = tuple(
                self._wrap(depth, x, d) for x, d in zip(ctx.saved_for_forward or (), ctx.forward_dims)
            )
            found = ctx.proxy.apply_jvp(*self._wrapped(depth, tangents))
            return self._unwrapped(depth, found)

    def _level(self):
        return _Depth(enter("vmap", self.size, self.randomness))

    def _wrapped(self, depth: int, inner) -> list:
        return [self._wrap(depth, x, d) for x, d in zip(inner, self.dims)]

    def _wrap(self, depth: int, x, dim):
        if dim is None or not hasattr(x, "_edge"):
            return x
        return wrap(Batched(depth, self.size, x, dim))

    def _unwrapped(self, depth: int, output):
        return _map(lambda y: batched_at(y, depth, self.size, 0) if hasattr(y, "_edge") else y, output)


class _Depth:
    """An entered level, as its depth."""

    def __init__(self, entered):
        self.entered = entered

    def __enter__(self) -> int:
        return self.entered.__enter__().depth

    def __exit__(self, *exc):
        self.entered.__exit__(*exc)


def _flat(output) -> tuple:
    return output if isinstance(output, tuple) else (output,)
