"""JAX's settings and functions of processes that say nothing here: they take what is so in any case.

The guards of transfers, threads and tracing are switches of JAX's own machinery. Programs that set them to what
holds here run; another value is a NotImplementedError that says what holds.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import xla
from ..core.explain import explaining
from ..engine.modes import settings
from . import keys
from .environment import process_index
from .further import device_put
from .sharding import named, with_sharding_constraint

HOLDS = "{name}({found!r}): here {reason}.\n    Leave it out, or give {value!r}."
ANY = object()

# Of each: the value that holds, or ANY where it makes no difference; and what it says.
SETTINGS: dict[str, tuple[Any, str]] = {
    "softmax_custom_jvp": (ANY, "the derivative of softmax is made of its result"),
    "allow_f16_reductions": (ANY, "sums of float16 are accumulated in float32"),
    "jax2tf_associative_scan_reductions": (ANY, "nothing is converted to TensorFlow"),
    "enable_checks": (ANY, "graphs are always checked as they are built"),
    "legacy_prng_key": ("allow", "keys as numbers are taken without a word"),
    "thread_guard": (False, "arrays may be used from any thread"),
    "no_tracing": (False, "functions are traced when they are called with new shapes"),
    "no_execution": (False, "what is recorded is computed when it is looked at"),
    "array_garbage_collection_guard": ("allow", "arrays in cycles are collected as all objects"),
    "transfer_guard": ("allow", "arrays and NumPy's are copied where that is asked for"),
    "transfer_guard_host_to_device": ("allow", "NumPy's arrays are copied to devices where they are used"),
    "transfer_guard_device_to_host": ("allow", "arrays are copied to the host where they are read"),
    "transfer_guard_device_to_device": ("allow", "arrays are copied to the device of a program"),
}


class _UserContext:
    """What make_user_context returns."""

    def __init__(self, default_value: Any):
        self._default = default_value

    @property
    def value(self) -> Any:
        """The value in force."""
        return next((value for context, value in reversed(settings.contexts) if context is self), self._default)

    get_global = value.fget

    @contextlib.contextmanager
    def __call__(self, new_value: Any):
        hash(new_value)  # TypeError for what no program can be found by
        saved = settings.contexts, settings.direct
        settings.contexts, settings.direct = (*saved[0], (self, new_value)), False
        try:
            yield
        finally:
            settings.contexts, settings.direct = saved


@explaining
def make_user_context(default_value: Any = None) -> _UserContext:
    """A value that functions of fc.jit may read; for each value they are traced anew.

    `with context(value):` sets it, `context.value` reads it. The values are hashable.

    >>> import functorch_core as fc
    >>> scale = fc.make_user_context(1.)
    >>> f = fc.jit(lambda x: x * scale.value)
    >>> with scale(3.):
    ...     y = f(2.)
    >>> f(2.), y
    (Array(2., dtype=float32), Array(6., dtype=float32))
    """
    return _UserContext(default_value)


@contextlib.contextmanager
def debug_key_reuse(new_val: bool = True):
    """Context: errors.KeyReuseError where a typed key, the same object, is drawn from or split twice.

    Keys taken out of an array (keys[0]) are new objects each time. fold_in and clone use no key up.

    >>> import functorch_core as fc
    >>> with fc.debug_key_reuse(True):
    ...     one, two = fc.random.split(fc.random.key(0))
    ...     x, y = fc.random.normal(one), fc.random.normal(two)
    """
    saved, keys.KeyArray.watching = keys.KeyArray.watching, bool(new_val)
    try:
        yield
    finally:
        keys.KeyArray.watching = saved


def _setting(name: str, value: Any, reason: str) -> Callable:
    @contextlib.contextmanager
    def context(new_val: Any = None if value is ANY else value):
        if value is not ANY and new_val != value:
            raise NotImplementedError(HOLDS.format(name=name, found=new_val, reason=reason, value=value))
        yield

    given = True if value is ANY else value
    context.__name__ = context.__qualname__ = name
    context.__doc__ = f"""Context: {reason}{"." if value is not ANY else ", whatever is given."}

    >>> import functorch_core as fc
    >>> with fc.{name}({given!r}):
    ...     x = fc.zeros(2)
    """
    return context


globals().update({name: _setting(name, *said) for name, said in SETTINGS.items()})

# ---- processes -----------------------------------------------------------------------------------


def process_indices(backend=None) -> list[int]:
    """The numbers of all processes.

    >>> import functorch_core as fc
    >>> fc.process_indices()
    [0]
    """
    return sorted({d.process_index for d in xla.devices()})


def host_id(backend=None) -> int:
    """process_index, by its older name.

    >>> import functorch_core as fc
    >>> fc.host_id()
    0
    """
    return process_index()


def host_ids(backend=None) -> list[int]:
    """process_indices, by its older name.

    >>> import functorch_core as fc
    >>> fc.host_ids()
    [0]
    """
    return process_indices()


def host_count(backend=None) -> int:
    """process_count, by its older name.

    >>> import functorch_core as fc
    >>> fc.host_count()
    1
    """
    return len(process_indices())


# ---- arrays on meshes ----------------------------------------------------------------------------


@explaining
def reshard(xs, out_shardings):
    """xs, a pytree, divided otherwise: as lax.with_sharding_constraint; outside of fc.jit as device_put.

    >>> import functorch_core as fc
    >>> mesh = fc.make_mesh((1,), ("x",))
    >>> fc.reshard(fc.ones(2), fc.NamedSharding(mesh, fc.P("x")))
    Array([1., 1.], dtype=float32)
    """
    return with_sharding_constraint(xs, out_shardings)


@explaining
def make_array_from_process_local_data(sharding, local_data, global_shape=None):
    """An array on a mesh of what this process has of it, which is all of it: there is one process.

    >>> import functorch_core as fc, numpy as np
    >>> mesh = fc.make_mesh((1,), ("x",))
    >>> fc.make_array_from_process_local_data(fc.NamedSharding(mesh, fc.P("x")), np.ones(2, np.float32))
    Array([1., 1.], dtype=float32)
    """
    sharding = named(sharding, "make_array_from_process_local_data")
    if global_shape is not None and tuple(global_shape) != np.shape(local_data):
        raise ValueError(
            f"make_array_from_process_local_data: this process has {np.shape(local_data)}, the whole is to be "
            f"{tuple(global_shape)}; of one process both are equal"
        )
    return device_put(local_data, sharding)


class set_mesh:  # noqa: N801  the name is JAX's
    """Give PartitionSpecs a mesh from now on, or inside of `with fc.set_mesh(mesh):`.

    >>> import functorch_core as fc
    >>> with fc.set_mesh(fc.make_mesh((1,), ("x",))):
    ...     fc.device_put(fc.ones(2), fc.P("x"))
    Array([1., 1.], dtype=float32)
    """

    def __init__(self, mesh):
        self.mesh = mesh
        mesh.__enter__()

    def __enter__(self):
        return self.mesh

    def __exit__(self, *error):
        return self.mesh.__exit__(*error)


__all__ = [
    *SETTINGS, "debug_key_reuse", "host_count", "host_id", "host_ids", "make_array_from_process_local_data",
    "make_user_context", "process_indices", "reshard", "set_mesh",
]  # fmt: skip
