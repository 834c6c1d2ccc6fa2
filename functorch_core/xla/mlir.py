"""The MLIR bindings: parse and verify a module's text in one shared context.

Needed for programs with Python callbacks, for deviceless compilation and for `verify`; XLA takes
all other programs as text. Importing it takes 25 ms, so that whoever needs it does so when it does.
"""

from __future__ import annotations

import os
from typing import Any

from jaxlib.mlir import ir
from jaxlib.mlir._mlir_libs import _jax_mlir_ext
from jaxlib.mlir.dialects import chlo, sdy
from jaxlib.mlir.dialects import stablehlo as hlo

from ..locks import RLock
from .errors import compile_error

_lock = RLock()
_context: ir.Context | None = None
_pool: ir.ThreadPool | None = None  # the context does not keep its pool alive
_before_fork: list[Any] = []


def _new_context(pool: ir.ThreadPool) -> ir.Context:
    registry = ir.DialectRegistry()
    _jax_mlir_ext.register_dialects(registry)
    context = ir.Context()
    context.append_dialect_registry(registry)
    context.set_thread_pool(pool)
    # Loads it: without, func.func would be an unregistered operation. All dialects take 3 ms.
    context.dialects["func"]
    for dialect in (hlo, chlo, sdy):
        dialect.register_dialect(context)
    return context


def _shared_context() -> ir.Context:
    global _context, _pool
    with _lock:
        if _context is None:
            _pool = ir.ThreadPool()
            _context = _new_context(_pool)
        return _context


def parse(text: str, name: str = "") -> ir.Module:
    """The module of a text; a CompileError that names operation and location if it is not valid."""
    try:
        return ir.Module.parse(text, _shared_context())
    except ir.MLIRError as error:
        raise compile_error(error, text, name) from None


def _after_fork_in_child() -> None:
    """Start afresh: the parent's thread pool is gone, and freeing it would wait for its threads."""
    global _context, _lock
    _lock = RLock()
    _before_fork.append((_context, _pool))
    _context = None


os.register_at_fork(after_in_child=_after_fork_in_child)


# ---- portable artifacts --------------------------------------------------------------------------


def portable_artifact(text: str) -> bytes:
    """A StableHLO module as bytes that later versions, and other runtimes, read."""
    version = hlo.get_version_from_compatibility_requirement(hlo.StablehloCompatibilityRequirement.WEEK_12)
    return bytes(hlo.serialize_portable_artifact_str(str(parse(text)), version))


def module_text(artifact: bytes) -> str:
    """The text of the module of a portable artifact."""
    return str(hlo.deserialize_portable_artifact(_shared_context(), artifact))
