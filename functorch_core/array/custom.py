"""custom_jvp, custom_vjp and checkpoint on pytrees; pure_callback, debug.print."""

from __future__ import annotations

import _string
import functools
import inspect
import logging
import string
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..annotations import lenient_signature
from ..core import dtypes as dt
from ..core import tree
from ..core.aval import aval
from ..core.explain import MISTAKES, as_function, explained, explaining, result_of
from ..engine.units import SCALAR_AVALS
from ..primitives import convert
from ..primitives import name as name_value
from ..transforms import callback as callbacks
from ..transforms import custom as rules
from ..transforms import remat
from .array import Array, as_value, wrap
from .sharding_pictures import inspect_array_sharding, visualize_array_sharding, visualize_sharding
from .tracing import ONE_DEVICE, arguments, name_of, refuse, resolve_arguments
from .trees import FlatFunction, flatten_values, rebuild

NO_RULE = """`{name}` was declared with fc.{kind} but has no rule yet.
    Give it one before it is called: {name}.{how}(rule)"""


KEYWORD_ONLY = """`{name}` has a derivative of its own and keyword-only arguments ({names}), which
    the rule, called by position, cannot get. Let them be positional, or close over them."""
UNHASHABLE = """`{name}`: of the arguments {value!r:.60}, not differentiated by (nondiff_argnums), one
    is not hashable; a rule is traced once for each such value. Use a tuple for a list, or pass an
    array as an ordinary argument, whose cotangent may be None."""
JVP_PAIR = """`{name}`: its jvp rule must return (result, tangent of the result), it returned {found}
    wrong: return f(x)              right: return f(x), df(x) * t"""
SPEC = """pure_callback: result_shape_dtypes has {leaf!r:.60} ({kind}), which has no shape and dtype.
    It is a pytree of fc.ShapeDtype(shape, dtype), or of arrays like the results."""


def signature_of(fun: Callable) -> inspect.Signature | None:
    """The signature of a function, None of a builtin that does not tell it."""
    try:
        return lenient_signature(fun)
    except (TypeError, ValueError):
        return None


FORWARDED = ("def_vmap", "defjvp", "defjvps", "defvjp")


class _Custom:
    """What custom_jvp and custom_vjp share: static arguments, and one rule per structure."""

    kind = how = ""

    def __init__(self, fun: Callable, nondiff_argnums: Sequence[int] = (), nondiff_argnames: Sequence[str] = ()):
        functools.update_wrapper(self, fun)
        self.fun, self.name, self.signature = fun, name_of(fun), signature_of(fun)
        self.nondiff, _ = resolve_arguments(fun, nondiff_argnums, nondiff_argnames, type(self).__name__)
        self._rules: dict[tuple, object] = {}

    def __getattr__(self, name: str):
        if name in FORWARDED:  # of a function that is declared with custom_vmap, or another rule, too
            return getattr(self.fun, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __get__(self, instance, owner=None):
        return self if instance is None else functools.partial(self, instance)

    def _bound(self, args, kwargs) -> tuple:
        """All arguments by position, as a rule gets them."""
        if self.signature is None:
            if kwargs:
                raise TypeError(KEYWORD_ONLY.format(name=self.name, names=", ".join(kwargs)))
            return args
        bound = self.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        if bound.kwargs:
            raise TypeError(KEYWORD_ONLY.format(name=self.name, names=", ".join(bound.kwargs)))
        return bound.args

    def _split(self, args) -> tuple[tuple, tuple]:
        return (
            tuple((i, args[i]) for i in sorted(self.nondiff) if i < len(args)),
            tuple(a for i, a in enumerate(args) if i not in self.nondiff),
        )

    def _joined(self, static: tuple, dynamic: Sequence) -> list:
        full = list(dynamic)
        for i, value in static:
            full.insert(i, value)
        return full

    def __call__(self, *args, **kwargs):
        try:
            return self._call(args, kwargs)
        except MISTAKES as error:
            raise explained(error, lambda: as_function(self.name, args, kwargs))

    def _call(self, args, kwargs):
        self._check_ready()
        static, dynamic = self._split(self._bound(args, kwargs))
        leaves, in_tree = tree.flatten(dynamic)
        values, kinds = arguments(leaves, self.name)
        kinds = tuple([k if k in SCALAR_AVALS else None for k in kinds])  # numbers stay weak
        fun = FlatFunction(lambda *a: self.fun(*self._joined(static, a)), in_tree, self.name, kinds)
        key = (in_tree, kinds, static, tuple([v.aval for v in values]))
        try:
            found = self._rules.get(key)
        except TypeError:
            values = [value for _, value in static]
            raise TypeError(UNHASHABLE.format(name=self.name, value=values)) from None
        if found is None:
            found = self._rules[key] = self._rule(static, in_tree, kinds)
        rule, cell = found

        def flat(*vals):
            outs = fun(*vals)
            cell["out_tree"] = fun.out_tree
            return outs

        outs = self._apply(flat, rule, values)
        return rebuild(cell["out_tree"], outs)


class custom_jvp(_Custom):
    """A function with a derivative of its own, for both modes.

    @fc.custom_jvp
    def f(x): ...
    @f.defjvp
    def _(primals, tangents): return f(*primals), tangent_of_the_result

    `nondiff_argnums` and `nondiff_argnames` are static arguments, which the rule gets first.

    >>> import functorch_core as fc
    >>> @fc.custom_jvp
    ... def f(x):
    ...     return fc.sin(x)
    >>> @f.defjvp
    ... def f_jvp(primals, tangents):
    ...     return f(*primals), 2 * tangents[0]
    >>> fc.grad(f)(fc.asarray(0.))
    Array(2., dtype=float32)
    """

    def __init__(self, fun: Callable, nondiff_argnums: Sequence[int] = (), nondiff_argnames: Sequence[str] = ()):
        super().__init__(fun, nondiff_argnums, nondiff_argnames)
        self.jvp: Callable | None = None

    def defjvp(self, jvp: Callable, symbolic_zeros: bool = False) -> Callable:
        """Set the rule: jvp(*static, primals, tangents) -> (result, tangent of the result). Tangents that are zero
        come as zeros, with symbolic_zeros, too."""
        self.jvp = jvp
        return jvp

    def defjvps(self, *jvps: Callable | None):
        """Set the rule by one function an argument: jvp_i(tangent, result, *primals)."""

        def jvp(primals, tangents):
            out = self(*primals)
            terms = [j(t, out, *primals) for j, t in zip(jvps, tangents) if j is not None]
            return out, functools.reduce(lambda a, b: tree.map(lambda x, y: x + y, a, b), terms)

        self.jvp = jvp

    def _check_ready(self):
        if self.jvp is None:
            raise AttributeError(NO_RULE.format(name=self.name, kind="custom_jvp", how="defjvp"))

    def _rule(self, static, in_tree, kinds):
        cell: dict = {}

        def flat(primals, tangents):
            dots = [zeros(v) if t is None else t for v, t in zip(primals, tangents)]
            args = rebuild(in_tree, primals, kinds), rebuild(in_tree, dots, kinds)
            both = self.jvp(*(s for _, s in static), *args)
            if not isinstance(both, (tuple, list)) or len(both) != 2:
                raise TypeError(JVP_PAIR.format(name=self.name, found=type(both).__name__))
            out, dot = both
            outs, _ = flatten_values(out, "the jvp rule's result", self.name)
            leaves = tree.leaves(dot)
            return outs, [
                None if o.aval.dtype not in dt.INEXACT else as_value(x) for o, x in zip(outs, leaves, strict=True)
            ]

        return rules.JvpRule(flat, self.name), cell

    def _apply(self, flat, rule, values):
        return rules.custom_jvp(flat, rule, values)


def zeros(value):
    """The tangent of an integer value, as a rule sees it: zeros of its shape."""
    return as_value(np.zeros(value.aval.shape, value.aval.dtype))


@dataclass(frozen=True)
class CustomVJPPrimal:
    """An argument of the forward rule of custom_vjp with symbolic_zeros=True."""

    value: Array
    perturbed: bool


class custom_vjp(_Custom):
    """A function with a reverse-mode derivative of its own.

    f.defvjp(fwd, bwd): fwd(*args) -> (result, residuals);
    bwd(*static, residuals, cotangent) -> a tuple of cotangents, one an argument.

    >>> import functorch_core as fc
    >>> @fc.custom_vjp
    ... def clip_gradient(x):
    ...     return x
    >>> clip_gradient.defvjp(lambda x: (x, None), lambda _, g: (fc.clip(g, -1, 1),))
    >>> fc.grad(lambda x: 10 * clip_gradient(x))(fc.asarray(1.))
    Array(1., dtype=float32)
    """

    def __init__(self, fun: Callable, nondiff_argnums: Sequence[int] = (), nondiff_argnames: Sequence[str] = ()):
        super().__init__(fun, nondiff_argnums, nondiff_argnames)
        self.fwd: Callable | None = None
        self.bwd: Callable | None = None
        self.symbolic_zeros = False

    def defvjp(self, fwd: Callable, bwd: Callable, symbolic_zeros: bool = False, optimize_remat: bool = False):
        """Set the two halves of the rule. `optimize_remat` is JAX's hint: under a checkpoint only
        what is needed is computed again in any case. With symbolic_zeros fwd gets a CustomVJPPrimal for each array:
        its `value`, and whether it is `perturbed`: differentiated by. Cotangents that are zero come as zeros."""
        self.fwd, self.bwd, self.symbolic_zeros = fwd, bwd, symbolic_zeros

    def _check_ready(self):
        if self.fwd is None:
            raise AttributeError(NO_RULE.format(name=self.name, kind="custom_vjp", how="defvjp"))

    def _rule(self, static, in_tree, kinds):
        cell: dict = {}
        return self._halves(static, in_tree, kinds, cell), cell

    def _halves(self, static, in_tree, kinds, cell: dict, perturbed: tuple[bool, ...] | None = None) -> rules.VjpRule:
        """The rule, which with symbolic_zeros is one for each set of perturbed arguments."""

        def fwd(*primals):
            given = rebuild(in_tree, primals, kinds)
            if perturbed is not None:
                given = tree.map(CustomVJPPrimal, given, in_tree.unflatten(perturbed))
            out = self.fwd(*self._joined(static, given))
            if not isinstance(out, tuple) or len(out) != 2:
                raise TypeError(
                    f"`{self.name}`: fwd must return (result, residuals), it returned "
                    f"{type(out).__name__}\n    wrong: return f(x)              "
                    "right: return f(x), (x,)"
                )
            outs, cell["fwd_tree"] = flatten_values(out[0], "fwd's result", self.name)
            leaves, cell["residual_tree"] = tree.flatten(out[1])
            residuals, cell["residual_kinds"] = arguments(leaves, self.name, where="a residual")
            return outs, residuals

        def bwd(residuals, cotangents):
            ct = cell["fwd_tree"].unflatten([None if c is None else wrap(c) for c in cotangents])
            kept = rebuild(cell["residual_tree"], residuals, cell["residual_kinds"])
            grads = self.bwd(*(s for _, s in static), kept, ct)
            return [
                convert(g, dtype=SCALAR_AVALS[k].dtype) if k and g is not None else g
                for g, k in zip(_cotangents_of(grads, in_tree, self.name), kinds)
            ]

        def by_perturbed(perturbed):
            return self._halves(static, in_tree, kinds, {}, perturbed)

        each = by_perturbed if self.symbolic_zeros and perturbed is None else None
        return rules.VjpRule(fwd, bwd, self.name, each)

    def _apply(self, flat, rule, values):
        return rules.custom_vjp(flat, rule, values)


def _cotangents_of(grads, in_tree: tree.PyTreeDef, name: str) -> list:
    n = len(in_tree.children())
    if not isinstance(grads, (tuple, list)) or len(grads) != n:
        found = f"{len(grads)}" if isinstance(grads, (tuple, list)) else type(grads).__name__
        raise TypeError(
            f"`{name}`: bwd must return a tuple of {n} cotangents, one an argument; "
            f"got {found}\n    wrong: return g * x     right: return (g * x,)"
        )
    out: list = []
    for grad, child in zip(grads, in_tree.children()):
        if grad is None:
            out += [None] * child.num_leaves
        else:
            out += [None if x is None else as_value(x) for x in tree.matching(f"`{name}`: bwd", child, grad, 1)]
    return out


# ---- checkpoint --------------------------------------------------------------------------------------


class checkpoint_policies:
    """What fc.checkpoint may keep: everything, nothing, dots, named('a', 'b'). JAX's names, too.

    A policy is a function (prim, *avals, **params) -> bool of an operation.

    >>> f = fc.checkpoint(lambda x: fc.sin(fc.sin(x)), policy=fc.checkpoint_policies.everything_saveable)
    >>> fc.grad(f)(1.0)
    Array(0.36003944, dtype=float32)
    """

    everything = everything_saveable = staticmethod(remat.everything_saveable)
    nothing = nothing_saveable = staticmethod(remat.nothing_saveable)
    dots = dots_saveable = checkpoint_dots = staticmethod(remat.dots_saveable)
    dots_with_no_batch_dims_saveable = checkpoint_dots_with_no_batch_dims = staticmethod(
        remat.dots_with_no_batch_dims_saveable
    )
    named = save_only_these_names = remat.save_only_these_names
    save_any_names_but_these = remat.save_any_names_but_these
    save_anything_except_these_names = remat.save_anything_except_these_names
    save_from_both_policies = remat.save_from_both_policies


@explaining
def checkpoint(
    fun: Callable | None = None,
    *,
    prevent_cse: bool = True,
    policy: Callable | None = None,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
) -> Callable:
    """fun, whose intermediate values are computed again in the backward pass instead of kept.

    policy(prim, *avals, **params) -> bool says which values may be kept all the same; see
    fc.checkpoint_policies. The default keeps nothing. Python numbers among the arguments, and the
    static ones, are passed as they are. `prevent_cse` is JAX's; here XLA is always prevented.

    >>> import functorch_core as fc
    >>> fc.grad(fc.checkpoint(lambda x: fc.sin(fc.sin(x))))(fc.asarray(0.))
    Array(1., dtype=float32)
    """
    if fun is None:
        return functools.partial(
            checkpoint, policy=policy, static_argnums=static_argnums, static_argnames=static_argnames
        )
    static, static_names = resolve_arguments(fun, static_argnums, static_argnames, "checkpoint")

    @result_of(checkpoint, fun, policy=policy, static_argnums=static_argnums, static_argnames=static_argnames)
    def wrapped(*args, **kwargs):
        fixed = {i: args[i] for i in static if i < len(args)}
        fixed_names = {k: kwargs[k] for k in static_names if k in kwargs}
        rest = [None if i in fixed else a for i, a in enumerate(args)]
        leaves, in_tree = tree.flatten((rest, {k: v for k, v in kwargs.items() if k not in fixed_names}))
        arrays = [x for x in leaves if not isinstance(x, (int, float))]

        def on_arrays(*values):
            values = iter(values)
            full, keywords = in_tree.unflatten([x if isinstance(x, (int, float)) else next(values) for x in leaves])
            return fun(*[fixed.get(i, a) for i, a in enumerate(full)], **keywords, **fixed_names)

        values, array_tree = flatten_values(tuple(arrays), "an argument", name_of(fun))
        flat = FlatFunction(on_arrays, array_tree, f"checkpoint of {name_of(fun)}")
        outs = remat.remat(flat, values, policy=policy or remat.nothing_saveable)
        return rebuild(flat.out_tree, outs)

    return wrapped


@explaining
def checkpoint_name(x, name: str):
    """x, marked with a name that checkpoint_policies.save_only_these_names looks for.

    >>> import functorch_core as fc
    >>> fc.checkpoint_name(fc.asarray(1.), "hidden")
    Array(1., dtype=float32)
    """
    if not isinstance(name, str):
        raise TypeError(f"checkpoint_name takes a string as the name, got {name!r:.60}")
    return tree.map_arrays(lambda leaf: wrap(name_value(as_value(leaf), name=name)), x)


# ---- callbacks ---------------------------------------------------------------------------------------


@explaining
def pure_callback(
    callback: Callable, result_shape_dtypes, *args, sharding=None, vmap_method: str | None = None, **kwargs
):
    """callback(*numpy_arrays, **kwargs) called by the running program.

    Its result has the declared shapes.
    result_shape_dtypes is a pytree of fc.ShapeDtype (or arrays). The callback must be pure: it may
    run any number of times. vmap_method: 'sequential', 'sequential_unrolled' (which is
    the same here), 'expand_dims' or 'broadcast_all'.

    >>> import functorch_core as fc, numpy as np
    >>> fc.pure_callback(np.sort, fc.ShapeDtype((3,), fc.float32), fc.asarray([3., 1., 2.]))
    Array([1., 2., 3.], dtype=float32)
    """
    refuse("pure_callback", ONE_DEVICE, sharding=sharding)
    specs, out_tree = tree.flatten(result_shape_dtypes)
    for leaf in specs:
        if not hasattr(leaf, "shape") or not hasattr(leaf, "dtype"):
            raise TypeError(SPEC.format(leaf=leaf, kind=type(leaf).__name__))
    avals = [aval(tuple(s.shape), s.dtype) for s in specs]
    values, in_tree = flatten_values((args, kwargs), "an argument", "pure_callback")

    def flat(*arrays):
        positional, keywords = in_tree.unflatten(arrays)
        return tuple(np.asarray(x) for x in tree.leaves(callback(*positional, **keywords)))

    flat.__name__ = flat.__qualname__ = name_of(callback)
    return rebuild(out_tree, callbacks.pure_callback(flat, avals, values, vmap_method=vmap_method))


BOTH_CALLS = """debug.{name}: options stand in the call without the {what}, or in the only one:
    fc.debug.{name}(ordered=True)(...)   or   fc.debug.{name}(..., ordered=True)"""


class _Namespace(type):
    """The class of debug, which is a namespace: a name that it has not says what to use."""

    def __getattr__(cls, name: str):
        raise AttributeError(f"fc.debug has no {name!r}. {NOT_IN_DEBUG.get(name, 'It has callback and print.')}")


NOT_IN_DEBUG = {
    "DebugEffect": "It marks calls in JAX's graphs; here their primitive says so: node.primitive.effect.",
    "OrderedDebugEffect": "It marks ordered calls in JAX's graphs: fc.debug.print(..., ordered=True) makes one.",
}


class debug(metaclass=_Namespace):
    """Looking into a traced function: fc.debug.print, fc.debug.callback; and at how arrays lie on devices.

    >>> def f(x):
    ...   fc.debug.print("x is {}", x)
    ...   return x + 1
    >>> fc.jit(f)(2)
    x is 2
    Array(3, dtype=int64)
    """

    @staticmethod
    def callback(callback: Callable | None = None, *args, ordered: bool = False, partitioned: bool = False, **kwargs):
        """Call callback(*numpy_arrays, **kwargs) when the program runs, for its effect.

        `ordered` calls come in the order of the program, one program after the other (but what
        follows a loop without results does not wait for it); others as their data do. Without a
        callback: a function that takes it, debug.callback(ordered=True).
        `partitioned` is JAX's, for several devices: NotImplementedError.

        >>> import functorch_core as fc
        >>> seen = []
        >>> y = fc.jit(lambda x: (fc.debug.callback(seen.append, x), x + 1)[1])(fc.asarray(1.))
        """
        refuse("debug.callback", ONE_DEVICE, partitioned=partitioned)
        if callback is None:
            if args or kwargs:
                raise TypeError(BOTH_CALLS.format(name="callback", what="callback"))
            return functools.partial(debug.callback, ordered=ordered)
        values, in_tree = flatten_values((args, kwargs), "an argument", "debug.callback")

        def on_arrays(*arrays):
            positional, keywords = in_tree.unflatten(arrays)
            callback(*positional, **keywords)

        callbacks.debug_callback(on_arrays, values, ordered=ordered)

    @staticmethod
    def print(
        fmt: str | None = None,
        *args,
        ordered: bool = False,
        partitioned: bool = False,
        skip_format_check: bool = False,
        **kwargs,
    ):
        """Print fmt.format(*args, **kwargs) with the values, when the program runs.

        `ordered`, `partitioned` and the call without fmt: see debug.callback. The format is checked
        by the arguments when it is traced, unless `skip_format_check`.

        >>> import functorch_core as fc
        >>> y = fc.jit(lambda x: (fc.debug.print("x = {}", x), x + 1)[1])(fc.asarray(1.))
        x = 1.0
        """
        refuse("debug.print", ONE_DEVICE, partitioned=partitioned)
        if fmt is None:
            if args or kwargs:
                raise TypeError(BOTH_CALLS.format(name="print", what="format"))
            return functools.partial(debug.print, ordered=ordered, skip_format_check=skip_format_check)
        if not skip_format_check:
            _check_format(fmt, args, kwargs)

        def show(positional, keywords):
            print(fmt.format(*positional, **keywords))

        debug.callback(show, args, kwargs, ordered=ordered)

    @staticmethod
    def log(
        fmt: str | None = None,
        *args,
        ordered: bool = False,
        partitioned: bool = False,
        skip_format_check: bool = False,
        **kwargs,
    ):
        """Log fmt.format(*args, **kwargs) with the values, when the program runs: at level INFO of
        Python's logger "functorch_core". See debug.print for the rest.

        >>> import functorch_core as fc
        >>> y = fc.jit(lambda x: (fc.debug.log("x = {}", x), x + 1)[1])(fc.asarray(1.))
        """
        refuse("debug.log", ONE_DEVICE, partitioned=partitioned)
        if fmt is None:
            if args or kwargs:
                raise TypeError(BOTH_CALLS.format(name="log", what="format"))
            return functools.partial(debug.log, ordered=ordered, skip_format_check=skip_format_check)
        if not skip_format_check:
            _check_format(fmt, args, kwargs)

        def write(positional, keywords):
            logging.getLogger("functorch_core").info(fmt.format(*positional, **keywords))

        debug.callback(write, args, kwargs, ordered=ordered)

    visualize_sharding = staticmethod(visualize_sharding)
    visualize_array_sharding = staticmethod(visualize_array_sharding)
    inspect_array_sharding = staticmethod(inspect_array_sharding)

    @staticmethod
    def breakpoint(
        *,
        backend: str | None = None,
        filter_frames: bool = True,
        num_frames: int | None = None,
        ordered: bool = False,
        token=None,
        **kwargs,
    ):
        """Stop in the debugger (sys.breakpointhook, pdb) when the program runs; `arrays` has the caller's
        variables that are Arrays, as NumPy arrays.

        The other parameters are JAX's: of frames there is the one that called.

        >>> import functorch_core as fc
        >>> def f(x):
        ...     fc.debug.breakpoint()
        ...     return x + 1
        """
        refuse("debug.breakpoint", "sys.breakpointhook says which debugger it is.", backend=backend, token=token)
        found = {k: v for k, v in sys._getframe(1).f_locals.items() if v.__class__ is Array}
        debug.callback(_stop, found, ordered=ordered)


def _stop(arrays: dict):
    """What a breakpoint of a compiled program runs."""
    sys.breakpointhook()


BAD_FORMAT = """debug.print: the format {fmt!r:.60} does not fit its arguments: {why}
    wrong: fc.debug.print(f"x = {{x}}")     right: fc.debug.print("x = {{}}", x)"""


class _Seen(string.Formatter):
    """A formatter that formats nothing and remembers which arguments there were."""

    def __init__(self):
        self.unused: set = set()

    def check_unused_args(self, used_args, args, kwargs):
        self.unused = (set(range(len(args))) | set(kwargs)) - set(used_args)

    def format_field(self, value, format_spec):
        return ""

    def convert_field(self, value, conversion):
        return value

    def get_field(self, field_name, args, kwargs):
        first, _ = _string.formatter_field_name_split(field_name)
        return self.get_value(first, args, kwargs), first


def _check_format(fmt: str, args, kwargs):
    """ValueError unless each argument is in the format, and what is in it an argument."""
    seen = _Seen()
    try:
        seen.vformat(fmt, args, kwargs)
    except (IndexError, KeyError, ValueError) as error:
        raise ValueError(BAD_FORMAT.format(fmt=fmt, why=repr(error))) from None
    if seen.unused:
        unused = ", ".join(map(str, sorted(seen.unused, key=str)))
        raise ValueError(BAD_FORMAT.format(fmt=fmt, why=f"{unused} is not in it"))
