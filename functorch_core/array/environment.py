"""Devices, names of scopes, settings as contexts: the rest of jax's own names, loaded when asked for."""

from __future__ import annotations

import contextlib
import functools
import platform
import sys
from collections.abc import Callable

import numpy as np

from .. import engine, xla
from ..core import tree
from ..core.explain import explaining
from ..core.trace import state
from ..engine.modes import settings
from ..engine.value import Value, from_buffer, from_sharded
from ..ops.keys import check_impl
from ..xla import processes
from ..xla.device import Device
from . import keys, leaks
from .array import Array, as_value, wrap
from .derivatives import vjp
from .indexing import DynamicSlice
from .inspection import result_type
from .jit import Jitted, eval_shape, functions, jit, make_graph
from .tracing import ShapeDtype, refuse

float0 = np.dtype([("float0", np.void, 0)])  # JAX's dtype of tangents of integers; here they are float32

ALWAYS = "{name}: 64 bits are always on\n    Ask for a narrower dtype where you want one: x.astype(fc.float32)."

# What cannot be set: the value that it has, here always.
FIXED = {
    "jax_enable_x64": True,
    "jax_threefry_partitionable": True,
    "jax_numpy_dtype_promotion": "standard",
    "jax_numpy_rank_promotion": "allow",
    "jax_enable_custom_prng": True,
}
FIXED_MESSAGE = (
    "{name} is {value!r}, always; got {found!r}\n    See docs/coming_from_jax.md for what is another way here."
)

# ---- devices -------------------------------------------------------------------------------------


def _platform(backend: str | None) -> str | None:
    return "cuda" if backend == "gpu" else backend


def devices(backend: str | None = None) -> list[Device]:
    """The devices of a platform, "cpu" or "cuda" ("gpu"); of the default device's without one.

    Of several processes (see fc.distributed) those of all.

    >>> import functorch_core as fc
    >>> len(fc.devices("cpu"))
    1
    """
    joined = processes.joined()
    if joined is not None and backend in (None, "cpu"):
        return list(joined.devices())
    return list(xla.devices(_platform(backend)))


def local_devices(process_index=None, backend: str | None = None, host_id=None) -> list[Device]:
    """The devices of this process, or of the one of a number; see devices.

    >>> import functorch_core as fc
    >>> fc.local_devices() == fc.devices()
    True
    """
    wanted = globals()["process_index"]() if process_index is None else process_index
    return [d for d in devices(backend) if d.process_index == wanted]


def device_count(backend: str | None = None) -> int:
    """The number of devices of a platform.

    >>> import functorch_core as fc
    >>> fc.device_count("cpu")
    1
    """
    return len(devices(backend))


def local_device_count(backend: str | None = None) -> int:
    """The number of devices of this process.

    >>> import functorch_core as fc
    >>> fc.local_device_count("cpu")
    1
    """
    return len(local_devices(backend=backend))


def process_count(backend: str | None = None) -> int:
    """The number of processes that have joined; see fc.distributed.

    >>> import functorch_core as fc
    >>> fc.process_count()
    1
    """
    joined = processes.joined()
    return 1 if joined is None else joined.size


def process_index(backend: str | None = None) -> int:
    """The number of this process among those that have joined.

    >>> import functorch_core as fc
    >>> fc.process_index()
    0
    """
    joined = processes.joined()
    return 0 if joined is None else joined.rank


def default_backend() -> str:
    """The platform of the default device: "cpu" or "gpu", as JAX calls it.

    >>> import functorch_core as fc
    >>> fc.default_backend()
    'cpu'
    """
    found = xla.default_device().platform
    return "gpu" if found == "cuda" else found


@contextlib.contextmanager
def default_device(device=None):
    """Context: new arrays are on a device, one of fc.devices(), or "cpu", "cuda", "cuda:1".

    >>> import functorch_core as fc
    >>> with fc.default_device(fc.devices("cpu")[0]):
    ...     x = fc.zeros(2)
    """
    saved = xla.default_device()
    if device is not None:
        xla.set_default_device(xla.device(_platform(device)) if isinstance(device, str) else device)
    try:
        yield
    finally:
        xla.set_default_device(saved)


def copy_to_host_async(x):
    """x, a pytree, whose arrays are being computed: reading them later waits for less.

    >>> import functorch_core as fc
    >>> fc.copy_to_host_async(fc.asarray(1.))
    Array(1., dtype=float32)
    """
    engine.flush("arrays will be read")
    return x


def effects_barrier():
    """Wait for all callbacks and computations that were begun.

    >>> import functorch_core as fc
    >>> fc.effects_barrier()
    """
    engine.flush("a barrier")


def print_environment_info(return_string: bool = False) -> str | None:
    """Print the versions and devices, for reports of problems; or return the text.

    >>> import functorch_core as fc
    >>> "numpy" in fc.print_environment_info(return_string=True)
    True
    """
    lines = [
        f"functorch-core: {sys.modules['functorch_core'].__version__}",
        f"numpy: {np.__version__}",
        f"python: {sys.version}",
        f"platform: {platform.platform()}",
        f"devices: {devices()}",
    ]
    text = "\n".join(lines) + "\n"
    return text if return_string else print(text, end="")


# ---- what functions are --------------------------------------------------------------------------


def typeof(x) -> ShapeDtype:
    """The shape and dtype of an array or a number.

    >>> import functorch_core as fc
    >>> fc.typeof(fc.zeros((2, 3)))
    ShapeDtype(shape=(2, 3), dtype=float32)
    """
    if x.__class__ is keys.KeyArray:
        return x._with(typeof(x._data))
    return ShapeDtype(np.shape(x) if x.__class__ is not Array else x.shape, result_type(x))


@explaining
def make_jaxpr(fun: Callable, static_argnums=(), axis_env=None, return_shape: bool = False) -> Callable:
    """A function that gives the graph fun is traced to; printing it shows the operations.

    Our graphs are no jaxprs, but are there for the same. return_shape: (graph, shapes of the result).

    >>> import functorch_core as fc
    >>> print(fc.make_jaxpr(lambda x: fc.sin(x) * 2)(1.))
    <lambda>(a: float64[]):
        b: float64[] = sin a
        c: float64[] = constant[value=2.0]
        d: float64[] = mul b c
        e: float32[] = convert[dtype=float32] d
        return e
    """
    refuse("make_jaxpr", "Map with fc.vmap(f, axis_name=...) inside of the function.", axis_env=axis_env)
    static = {static_argnums} if isinstance(static_argnums, int) else set(static_argnums)

    @functools.wraps(fun)
    def graph_of(*args, **kwargs):
        fixed = {i % len(args): args[i] for i in static}

        def inner(*rest, **keywords):
            rest = iter(rest)
            return fun(*[fixed[i] if i in fixed else next(rest) for i in range(len(args))], **keywords)

        inner.__name__ = getattr(fun, "__name__", "f")
        traced = [a for i, a in enumerate(args) if i not in fixed]
        graph = make_graph(inner)(*traced, **kwargs)
        return (graph, eval_shape(inner, *traced, **kwargs)) if return_shape else graph

    return graph_of


@contextlib.contextmanager
def named_scope(name: str):
    """Context (and decorator): the names of compiled operations inside begin with this one, "layer/sin".

    They are in the HLO and in what profilers show.

    >>> import functorch_core as fc
    >>> def f(x):
    ...     with fc.named_scope("layer"):
    ...         return fc.sin(x)
    >>> "layer/sin" in fc.jit(f).lower(1.).as_text()
    True
    """
    if not isinstance(name, str):
        raise TypeError(f"named_scope takes a name, got {type(name).__name__}: fc.named_scope('layer')")
    saved, state.scope = state.scope, f"{state.scope}/{name}" if state.scope else name.replace('"', "'")
    try:
        yield
    finally:
        state.scope = saved


def named_call(fun: Callable, *, name: str | None = None) -> Callable:
    """fun, whose name in graphs and messages is another one; its operations are in a scope of that name.

    >>> import functorch_core as fc
    >>> fc.named_call(lambda x: x + 1, name="step").__name__
    'step'
    """

    @functools.wraps(fun)
    def call(*args, **kwargs):
        with named_scope(call.__name__):
            return fun(*args, **kwargs)

    call.__name__ = name or getattr(fun, "__name__", "call")
    return call


def ds(start, size=None, stride=None) -> slice:
    """size elements from start (0), every stride-th, as an index. The start may be traced.

    With a traced start a read is moved inside of the array, and a write (x.at[fc.ds(i, 2)].set(y)) that does not lie
    inside is left out.

    >>> import functorch_core as fc
    >>> fc.arange(6)[fc.ds(1, 3)]
    Array([1, 2, 3], dtype=int64)
    >>> fc.jit(lambda x, i: x[fc.ds(i, 3)])(fc.arange(6), 2)
    Array([2, 3, 4], dtype=int64)
    """
    if size is None:
        start, size = 0, start
    stride = 1 if stride is None else stride
    if start.__class__ is Array and start._value.__class__ is not Value:
        return DynamicSlice(start, size, stride)
    return slice(start, start + size * stride, stride)


# ---- settings ------------------------------------------------------------------------------------


@contextlib.contextmanager
def disable_jit(disable: bool = True):
    """Context: functions made by fc.jit run as they are, operation by operation, so that pdb can step.

    So do loops and branches (fc.scan, fc.while_loop, fc.cond) outside of transforms.

    >>> import functorch_core as fc
    >>> with fc.disable_jit():
    ...     y = fc.jit(lambda x: x + 1)(fc.asarray(1.))
    """
    saved = Jitted.disabled, settings.direct
    Jitted.disabled, settings.direct = bool(disable), settings.direct and not disable
    try:
        yield
    finally:
        Jitted.disabled, settings.direct = saved


@contextlib.contextmanager
def log_compiles(on: bool = True):
    """Context: each program that is compiled, with its cause, is printed to stderr.

    >>> import functorch_core as fc
    >>> with fc.log_compiles(False):
    ...     y = fc.asarray(1.) + 1
    """
    saved = settings.log
    engine.set_log(on)
    try:
        yield
    finally:
        engine.set_log(saved)


@contextlib.contextmanager
def enable_x64(new_val: bool = True):
    """Context: 64 bits are on, as they always are. NotImplementedError for False.

    >>> import functorch_core as fc
    >>> with fc.enable_x64(True):
    ...     x = fc.zeros(2, fc.float64)
    """
    if not new_val:
        raise NotImplementedError(ALWAYS.format(name="enable_x64(False)"))
    yield


@contextlib.contextmanager
def ensure_compile_time_eval():
    """Context: what is computed inside of known arrays is computed now, not traced.

    >>> import functorch_core as fc
    >>> @fc.jit
    ... def f(x):
    ...     with fc.ensure_compile_time_eval():
    ...         n = int(fc.asarray([1, 2]).sum())
    ...     return x * n
    >>> f(fc.asarray(2.))
    Array(6., dtype=float32)
    """
    saved, state.builder = state.builder, None
    try:
        yield
    finally:
        state.builder = saved


PRECISIONS = (None, "default", "high", "highest", "bfloat16", "tensorfloat32", "float32", "fastest")


@contextlib.contextmanager
def default_matmul_precision(new_val=None):
    """Context: at least this precision for products, which have that of their operands' dtype in any case.

    >>> import functorch_core as fc
    >>> with fc.default_matmul_precision("float32"):
    ...     y = fc.ones((2, 2)) @ fc.ones((2, 2))
    """
    _check_precision(new_val)
    yield


def _check_precision(value):
    if value not in PRECISIONS:
        raise ValueError(f"default_matmul_precision is one of {', '.join(map(repr, PRECISIONS))}, got {value!r}")


@contextlib.contextmanager
def checking_leaks(on: bool = True):
    """Context: an error at the end of a trace of which a value is still held (by a global, a list).

    Without it the error comes where that value is used.

    >>> import functorch_core as fc
    >>> with fc.checking_leaks():
    ...     y = fc.jit(lambda x: x + 1)(1.)
    """
    saved, leaks.checked = leaks.checked, bool(on)
    try:
        yield
    finally:
        leaks.checked = saved


check_tracer_leaks = checking_leaks


@contextlib.contextmanager
def default_prng_impl(new_val: str):
    """Context: the generator of keys that are made inside, "threefry2x32", "rbg" or "unsafe_rbg".

    >>> import functorch_core as fc
    >>> with fc.default_prng_impl("rbg"):
    ...     fc.random.key(0).dtype
    key<rbg>
    """
    saved, keys.default = keys.default, check_impl(new_val, "default_prng_impl")
    try:
        yield
    finally:
        keys.default = saved


explain_cache_misses = log_compiles


def _fixed(name: str) -> Callable:
    """A context for a setting that has one value, which is accepted."""

    @contextlib.contextmanager
    def context(new_val=FIXED["jax_" + name]):
        if new_val != FIXED["jax_" + name]:
            raise NotImplementedError(FIXED_MESSAGE.format(name=name, value=FIXED["jax_" + name], found=new_val))
        yield

    context.__name__ = context.__qualname__ = name
    context.__doc__ = f"""Context: {name} is {FIXED["jax_" + name]!r}, as always. NotImplementedError for another value.

    >>> import functorch_core as fc
    >>> with fc.{name}({FIXED["jax_" + name]!r}):
    ...     x = fc.zeros(2)
    """
    return context


def clear_caches():
    """Forget the programs of all functions that fc.jit made; they are traced anew.

    >>> import functorch_core as fc
    >>> fc.clear_caches()
    """
    for jitted in list(functions):
        jitted.clear_cache()


def live_arrays(platform: str | None = None) -> list[Array]:
    """All arrays in the memory of a platform's devices.

    >>> import functorch_core as fc
    >>> x = fc.zeros(3).block_until_ready()
    >>> any(y.shape == (3,) for y in fc.live_arrays())
    True
    """
    buffers = xla.live_buffers(_platform(platform))
    return [wrap(from_buffer(b) if xla.sharding_of(b) is None else from_sharded(b)) for b in buffers]


@explaining
def fwd_and_bwd(fun: Callable, argnums, has_aux: bool = False, jitted: bool = True) -> tuple[Callable, Callable]:
    """(fwd, bwd): fwd(*args) -> (result, residuals), bwd(residuals, cotangent) -> cotangents of `argnums`.

    As vjp, but bwd is compiled once for all calls of fwd. has_aux: fwd returns (result, residuals, aux).

    >>> import functorch_core as fc
    >>> fwd, bwd = fc.fwd_and_bwd(lambda x, y: x * y, argnums=0)
    >>> value, residuals = fwd(2., 3.)
    >>> bwd(residuals, fc.asarray(1.))
    Array(3., dtype=float32)
    """
    single = isinstance(argnums, int)
    nums = (argnums,) if single else tuple(argnums)

    def forward(*args):
        def of_some(*some):
            full = list(args)
            for i, x in zip(nums, some):
                full[i] = x
            return fun(*full)

        of_some.__name__ = getattr(fun, "__name__", "fun")
        value, vjp_fun, *aux = vjp(of_some, *[args[i] for i in nums], has_aux=has_aux)
        return (value, Residuals([wrap(r) for r in vjp_fun.residuals], vjp_fun.backward), *aux)

    def backward(residuals, cotangent):
        found = residuals.backward([as_value(r) for r in residuals.arrays], cotangent)
        return found[0] if single else found

    return (jit(forward), jit(backward)) if jitted else (forward, backward)


class Residuals:
    """What a forward pass keeps: a pytree of arrays, and how to go back from them."""

    def __init__(self, arrays, backward: Callable):
        self.arrays, self.backward = arrays, backward


tree.register_node(Residuals, lambda r: ((r.arrays,), r.backward), lambda how, children: Residuals(children[0], how))


class Config:
    """fc.config: settings by JAX's names; `update(name, value)` sets one for good.

    Switches: jax_disable_jit, jax_debug_nans, jax_debug_infs, jax_log_compiles, jax_check_tracer_leaks; values:
    jax_default_prng_impl, jax_default_matmul_precision, jax_default_device. jax_enable_x64 is True, and others
    (FIXED) have one value, too.

    >>> import functorch_core as fc
    >>> fc.config.update("jax_enable_x64", True)
    >>> fc.config.jax_debug_nans
    False
    """

    CONTEXTS = {
        "jax_disable_jit": disable_jit,
        "jax_debug_nans": engine.debug_nans,
        "jax_debug_infs": engine.debug_infs,
        "jax_log_compiles": log_compiles,
        "jax_check_tracer_leaks": checking_leaks,
    }
    NAMES = (*CONTEXTS, *FIXED, "jax_default_prng_impl", "jax_default_matmul_precision", "jax_default_device")

    def __init__(self):
        self._open: dict[str, contextlib.ExitStack] = {}
        self._precision = self._device = None

    def __getattr__(self, name: str):
        return self.read(name)

    def read(self, name: str):
        """The value of a setting."""
        self._check(name)
        if name in FIXED:
            return FIXED[name]
        return {
            "jax_disable_jit": lambda: Jitted.disabled,
            "jax_debug_nans": lambda: "nan" in settings.watched,
            "jax_debug_infs": lambda: "inf" in settings.watched,
            "jax_log_compiles": lambda: settings.log,
            "jax_check_tracer_leaks": lambda: leaks.checked,
            "jax_default_prng_impl": lambda: keys.default,
            "jax_default_matmul_precision": lambda: self._precision,
            "jax_default_device": lambda: self._device,
        }[name]()

    def update(self, name: str, value):
        """Set a setting."""
        self._check(name)
        if name in FIXED:
            if value != FIXED[name]:
                if name == "jax_enable_x64":
                    raise NotImplementedError(ALWAYS.format(name="jax_enable_x64=False"))
                raise NotImplementedError(FIXED_MESSAGE.format(name=name, value=FIXED[name], found=value))
        elif name in self.CONTEXTS:
            self._switch(name, value)
        elif name == "jax_default_prng_impl":
            keys.default = check_impl(value, "config")
        elif name == "jax_default_device":
            self._device = value
            xla.set_default_device(value or xla.devices()[0])
        else:
            _check_precision(value)
            self._precision = value

    def _switch(self, name: str, value):
        before = self._open.pop(name, None)
        if before is not None:
            before.close()
        if value:
            stack = self._open[name] = contextlib.ExitStack()
            stack.enter_context(self.CONTEXTS[name](True))

    def _check(self, name: str):
        if name not in self.NAMES:
            raise AttributeError(f"config has no {name!r}; it has {', '.join(self.NAMES)}")


config = Config()
enable_custom_prng, numpy_dtype_promotion = _fixed("enable_custom_prng"), _fixed("numpy_dtype_promotion")
numpy_rank_promotion, threefry_partitionable = _fixed("numpy_rank_promotion"), _fixed("threefry_partitionable")

__all__ = [
    "Config", "Device", "check_tracer_leaks", "checking_leaks", "clear_caches", "config", "copy_to_host_async",
    "default_backend", "default_device", "default_matmul_precision", "default_prng_impl", "device_count", "devices",
    "disable_jit", "ds", "effects_barrier", "enable_custom_prng", "enable_x64", "ensure_compile_time_eval",
    "explain_cache_misses", "float0", "fwd_and_bwd", "live_arrays", "local_device_count", "local_devices",
    "log_compiles", "make_jaxpr", "named_call", "named_scope", "numpy_dtype_promotion", "numpy_rank_promotion",
    "print_environment_info", "process_count", "process_index", "threefry_partitionable", "typeof",
]  # fmt: skip
