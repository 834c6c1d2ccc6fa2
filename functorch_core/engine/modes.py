"""Settings a user can reach: which tier computes, the log, and failing on recompilation.

FUNCTORCH_TIER=reference|per-op|fused|immediate|auto   how recordings are computed
FUNCTORCH_LOG=1                                         print flushes and compiles to stderr
FUNCTORCH_DEBUG_NANS=1                                  see engine.nans
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

from .. import xla

# auto: by how often a recording was seen. reference: NumPy. per-op: one program an op.
# fused: one program a recording, from its first sighting. immediate: per op, without recording.
TIERS = ("auto", "reference", "per-op", "fused", "immediate")


class _Settings:
    tier = "auto"
    direct = True  # programs may be run as they are: no tier is forced, this is no forked child, nobody watches
    log = bool(os.environ.get("FUNCTORCH_LOG"))
    fail_on_recompile = 0
    debug_nans = False  # results are looked at, for what `watched` says
    watched: frozenset[str] = frozenset()  # of "nan", "inf"
    watch: Any = None  # the Watch of engine.explain(), while one is taken: compiled functions tell it of their runs
    contexts: tuple[Any, ...] = ()  # of fc.make_user_context, what is not at its default: a part of what jit keys by
    sizes_by_name = False  # a function is traced for all sizes: what counts is computed, not a constant
    donates = False  # some memory may have been given away: a function donates, or delete() was called

    def runs_programs(self) -> bool:
        """Whether compiled functions run as they are."""
        return self.tier != "reference" and not self.debug_nans and not xla.in_forked_child()


settings = _Settings()
tier_changes: list[Callable[[], None]] = []  # what is called where the tier is chosen


def get_tier() -> str:
    """The tier in force: one of TIERS.

    >>> fc.engine.get_tier() in fc.engine.TIERS
    True
    """
    return settings.tier


def set_tier(tier: str) -> None:
    """Choose how recordings are computed from now on; ValueError for an unknown tier.

    >>> before = fc.engine.get_tier()
    >>> fc.engine.set_tier("fused")
    >>> fc.engine.get_tier()
    'fused'
    >>> fc.engine.set_tier(before)
    """
    _set_tier(tier, "set_tier")


def _set_tier(tier: str, asked_by: str) -> None:
    if tier not in TIERS:
        raise ValueError(f"{asked_by}: unknown tier {tier!r}; expected one of {', '.join(TIERS)}")
    settings.tier = tier
    settings.direct = settings.watch is None and settings.runs_programs()
    for call in tier_changes:
        call()


os.register_at_fork(after_in_child=lambda: setattr(settings, "direct", False))


@contextlib.contextmanager
def forced_tier(tier: str) -> Iterator[None]:
    """Context: compute by one tier. Recordings made before are computed on entry.

    >>> import functorch_core as fc
    >>> with fc.engine.forced_tier("reference"):
    ...     y = fc.asarray([1., 2.]) + 1.
    """
    from .recorder import flush

    flush("the tier changes")
    saved = settings.tier
    try:
        set_tier(tier)
        yield
        flush("the tier changes")
    finally:
        set_tier(saved)


@contextlib.contextmanager
def fail_on_recompile() -> Iterator[None]:
    """Context: raise RecompileError, with the cause, where anything would be compiled.

    >>> with fc.engine.fail_on_recompile():
    ...   y = 1 + 1
    """
    settings.fail_on_recompile += 1
    try:
        yield
    finally:
        settings.fail_on_recompile -= 1


def set_log(on: bool = True) -> None:
    """Print each flush, its key, and each compile with its cause, to stderr.

    >>> fc.engine.set_log(False)
    """
    settings.log = bool(on)


def log(message: str) -> None:
    """A line of the log, if it is on."""
    if settings.log:
        print(f"[functorch] {message}", file=sys.stderr)


_set_tier(os.environ.get("FUNCTORCH_TIER") or "auto", "FUNCTORCH_TIER")
