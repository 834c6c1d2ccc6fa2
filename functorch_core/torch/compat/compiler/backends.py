"""The names of torch.compile's backends. XLA compiles whatever is named; a function of the user's is called."""

from __future__ import annotations

from collections.abc import Callable

# PyTorch's: their programs give what running the function gives, which is what XLA's do. Last, the debugging ones.
NAMES = ("cudagraphs", "inductor", "openxla", "xla")
DEBUGGING = (
    "aot_eager",
    "aot_eager_decomp_partition",
    "aot_eager_default_partitioner",
    "aot_ts",
    "eager",
    "eager_debug",
    "eager_noexcept",
    "invoke_subgraph",
    "pre_dispatch_eager",
    "ts",
)
_registered: dict[str, Callable] = {}
_debugging: set[str] = {*DEBUGGING}


def list_backends(exclude_tags=("debug", "experimental")) -> list[str]:
    """The names that torch.compile takes; those for debugging too with exclude_tags=None.

    >>> "inductor" in torch.compiler.list_backends()
    True
    """
    names = {*NAMES, *DEBUGGING, *_registered}
    return sorted(names - _debugging if exclude_tags and "debug" in exclude_tags else names)


def register_backend(compiler_fn: Callable | None = None, name: str | None = None, tags=()):
    """Give a function of (graph module, example inputs) a name; also a decorator."""
    if compiler_fn is None:
        return lambda function: register_backend(function, name, tags)
    if not callable(compiler_fn):
        raise AssertionError(f"compiler_fn must be callable, got {type(compiler_fn)}")
    name = name or compiler_fn.__name__
    _registered[name] = compiler_fn
    if "debug" in tags:
        _debugging.add(name)
    return compiler_fn


def lookup(name: str) -> Callable | None:
    """The function registered under a name, None for PyTorch's own; InvalidBackend for other names."""
    if name in _registered:
        return _registered[name]
    if name in NAMES or name in DEBUGGING:
        return None
    from .._dynamo.exc import InvalidBackend

    raise InvalidBackend(f"Invalid backend: {name!r}, see `torch._dynamo.list_backends()` for available backends.")
