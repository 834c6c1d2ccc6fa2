"""jax.profiler: XLA's profiles, and names for what is seen in them."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable

from . import engine, xla
from .array.compose import missing_name
from .core.explain import explaining
from .locks import RLock
from .xla import profiling
from .xla.profiling import ProfileData, ProfileEvent, ProfileOptions, ProfilePlane

RUNNING = "a profile is being made already, for {folder}; there is one at a time"
NOT_RUNNING = "no profile is being made: fc.profiler.start_trace(folder), or `with fc.profiler.trace(folder):`"

_lock = RLock()
_running: tuple[profiling.Session, str] | None = None
_server = None


@explaining
def start_trace(
    log_dir, create_perfetto_link: bool = False, create_perfetto_trace: bool = False, profiler_options=None
):
    """Begin a profile, which stop_trace writes to a folder: `tensorboard --logdir` shows it, ProfileData reads it.

    profiler_options: ProfileOptions, which say what is recorded.

    create_perfetto_link and create_perfetto_trace are JAX's; TensorBoard's trace viewer shows the same.
    """
    global _running
    with _lock:
        if _running is not None:
            raise RuntimeError(RUNNING.format(folder=_running[1]))
        engine.flush("a profile begins")
        _running = profiling.Session(profiler_options), os.fspath(log_dir)


@explaining
def stop_trace():
    """End the profile, and write it."""
    global _running
    with _lock:
        if _running is None:
            raise RuntimeError(NOT_RUNNING)
        engine.flush("a profile ends")
        session, folder = _running
        _running = None
        session.stop(folder)


@contextlib.contextmanager
def trace(log_dir, create_perfetto_link: bool = False, create_perfetto_trace: bool = False, profiler_options=None):
    """Context: what runs inside is profiled, into a folder; see start_trace.

    >>> import functorch_core as fc
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with fc.profiler.trace(folder):
    ...         y = fc.sin(1.).block_until_ready()
    """
    start_trace(log_dir, create_perfetto_link, create_perfetto_trace, profiler_options)
    try:
        yield
    finally:
        stop_trace()


class TraceAnnotation(profiling.Annotation):
    """Context: a name, with properties, for what Python does inside, as profiles show it.

    >>> import functorch_core as fc
    >>> with fc.profiler.TraceAnnotation("load", batch=3):
    ...     x = fc.zeros(2)
    """


class StepTraceAnnotation(TraceAnnotation):
    """Context: a step of training, with its number.

    >>> import functorch_core as fc
    >>> with fc.profiler.StepTraceAnnotation("train", step_num=1):
    ...     x = fc.zeros(2)
    """

    def __init__(self, name: str, **kwargs):
        super().__init__(name, _r=1, **kwargs)


def annotate_function(func: Callable, name: str | None = None, **decorator_kwargs) -> Callable:
    """func, whose calls have a name in profiles.

    >>> import functorch_core as fc
    >>> fc.profiler.annotate_function(lambda x: x + 1, name="add")(1)
    2
    """
    name = name or getattr(func, "__qualname__", "function")

    @functools.wraps(func)
    def call(*args, **kwargs):
        with TraceAnnotation(name, **decorator_kwargs):
            return func(*args, **kwargs)

    return call


def device_memory_profile(backend: str | None = None) -> bytes:
    """What is in the memory of the device, as a profile for pprof.

    >>> import functorch_core as fc
    >>> isinstance(fc.profiler.device_memory_profile(), bytes)
    True
    """
    return profiling.heap_profile(xla.devices("cuda" if backend == "gpu" else backend)[0])


def save_device_memory_profile(filename, backend: str | None = None):
    """Write device_memory_profile to a file."""
    with open(filename, "wb") as file:
        file.write(device_memory_profile(backend))


@explaining
def start_server(port: int, requires_backend: bool = True):
    """Let other processes (TensorBoard) ask this one for profiles, at a port.

    requires_backend: start the default device first, as JAX's.
    """
    global _server
    if _server is not None:
        raise ValueError("a server for profiles is running; there is one at a time: stop_server()")
    if requires_backend:
        xla.default_device()
    _server = profiling.start_server(port)
    return _server


@explaining
def stop_server():
    """End the server for profiles."""
    global _server
    if _server is None:
        raise ValueError("no server for profiles is running: start_server(port)")
    _server = None


__getattr__ = missing_name(
    "profiler", {"register_subprocess": "It belongs to several processes: each makes its own profile."}
)

__all__ = [
    "ProfileData", "ProfileEvent", "ProfileOptions", "ProfilePlane",
    "StepTraceAnnotation", "TraceAnnotation", "annotate_function", "device_memory_profile",
    "save_device_memory_profile", "start_server", "start_trace", "stop_server", "stop_trace", "trace",
]  # fmt: skip
