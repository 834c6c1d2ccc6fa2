"""Counters of what the engine did."""

from __future__ import annotations

from .. import xla

counters = {
    "flushes": 0,
    "reference_ops": 0,
    "op_runs": 0,
    "fused_runs": 0,
    "cut_recordings": 0,
    "plans": 0,
    "donated": 0,
}


def count(name: str, amount: int = 1) -> None:
    """Add to a counter."""
    counters[name] += amount


def stats() -> dict[str, float]:
    """Counters since the start (or reset_stats): flushes, compiles, compile_seconds, disk_hits,
    reference_ops, op_runs, fused_runs, and more.

    >>> import functorch_core as fc
    >>> sorted(fc.engine.stats())[:3]
    ['compile_seconds', 'compiles', 'cut_recordings']
    """
    now = xla.compile_stats()
    return {**counters, **{k: now[k] - _base.get(k, 0) for k in now}}


_base: dict[str, float] = {}


def reset_stats() -> None:
    """Set every counter to zero.

    >>> fc.engine.reset_stats()
    """
    for name in counters:
        counters[name] = 0
    _base.update(xla.compile_stats())
