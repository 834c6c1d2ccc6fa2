"""What torch.distributed checks in debug mode: with $TORCH_DISTRIBUTED_DEBUG=DETAIL the processes of a group tell each
other, by the runtime's key-value store, which collective they are about to run."""

from __future__ import annotations

import contextlib
import enum
import functools
import inspect
import json
import os
from collections.abc import Callable
from typing import Any

from .... import xla
from ...tensors.base import Tensor
from .group import ProcessGroup, _rank_not_in_group, default, of_ranks, runtime

MISMATCH = "Detected mismatch between collectives on ranks. {rank} is running {own}, but {others}."
ALONE = "Rank {rank} is running {own}, but rank {other} did not call a collective of this group within {seconds:g} s."
NO_LEVEL = "The value of TORCH_DISTRIBUTED_DEBUG must be OFF, INFO, or DETAIL."
ROOTS = ("src", "dst")


class DebugLevel(enum.Enum):
    """How much is checked: INFO is as OFF, DETAIL has all processes of a group agree about each collective.

    >>> import torch.distributed as dist
    >>> dist.get_debug_level() == dist.DebugLevel.OFF
    True
    """

    OFF, INFO, DETAIL = range(3)


DebugLevel.__module__ = "torch.distributed"


class _Level:
    current = DebugLevel.OFF
    watching = contextlib.ExitStack()  # of programs for a mesh, in detail

    @classmethod
    def set(cls, level: DebugLevel):
        cls.current = level
        cls.watching.close()
        if level is DebugLevel.DETAIL:
            cls.watching.enter_context(xla.watching(_compare_programs))


def get_debug_level() -> DebugLevel:
    """How much is checked.

    >>> torch.distributed.get_debug_level().name
    'OFF'
    """
    return _Level.current


def set_debug_level(level: DebugLevel):
    """Check as much as a level says, in all processes alike.

    >>> import torch.distributed as dist
    >>> dist.set_debug_level(dist.DebugLevel.DETAIL)
    >>> dist.get_debug_level().name
    'DETAIL'
    >>> dist.set_debug_level(dist.DebugLevel.OFF)
    """
    _Level.set(DebugLevel(level))


def set_debug_level_from_env():
    """The level of $TORCH_DISTRIBUTED_DEBUG; RuntimeError if that is none.

    >>> torch.distributed.set_debug_level_from_env()
    """
    name = os.environ.get("TORCH_DISTRIBUTED_DEBUG", "OFF").upper()
    if name not in DebugLevel.__members__:
        raise RuntimeError(NO_LEVEL)
    _Level.set(DebugLevel[name])


def compared(*names: str) -> Callable[[Callable], Callable]:
    """A collective that, in detail, first is compared with the other processes': by its name, and its arguments of
    these names."""

    def decorate(collective: Callable) -> Callable:
        signature = inspect.signature(collective)

        @functools.wraps(collective)
        def checked(*args, **kwargs):
            if _Level.current is DebugLevel.DETAIL:
                given = signature.bind(*args, **kwargs)
                given.apply_defaults()
                _compare(collective.__name__, given.arguments, names)
            return collective(*args, **kwargs)

        return checked

    return decorate


def _compare(name: str, given: dict[str, Any], names: tuple[str, ...]):
    group = given["group"]
    if _rank_not_in_group(group):
        return
    g: ProcessGroup = default() if group is None else group
    if g.size() == 1:
        return
    parts = [_shown(n, given) for n in names]
    agree(g, f"{name}({', '.join(p for p in parts if p)})")


def _compare_programs(program: xla.MeshProgram):
    """Compare a program of several processes that exchanges something with the others'."""
    ranks = sorted({device.process_index for device in program.mesh.devices.flat})
    if len(ranks) > 1 and runtime().rank in ranks and program.collectives:
        agree(of_ranks(ranks), program.label)


def _shown(name: str, given: dict[str, Any]) -> str:
    x = given[name]
    if name in ROOTS:
        in_group, group = given.get(f"group_{name}"), given["group"]
        return f"{name}={x or 0}" if in_group is None else f"{name}={(group or default()).ranks[in_group]}"
    if isinstance(x, (list, tuple)):
        return f"{name}=[{', '.join(map(_tensor, x))}]"
    return f"{name}={_tensor(x) if isinstance(x, Tensor) else getattr(getattr(x, 'op', x), 'name', x)}"


def _tensor(x) -> str:
    return f"{str(x.dtype).rpartition('.')[2]}{list(x.shape)}" if isinstance(x, Tensor) else type(x).__name__


def agree(g: ProcessGroup, own: str):
    """RuntimeError in all processes, naming the ranks, unless all of them run this; and in one that waits in vain."""
    shared, g.n_compared = runtime(), g.n_compared + 1
    own = f"collective {g.n_compared} of the group: {own}"
    key = f"compared/{g.key}/{g.n_compared}"
    shared.set(f"{key}/{g.global_rank}", json.dumps(own).encode())
    found = {}
    for rank in g.ranks:
        try:
            found[rank] = json.loads(shared.get(f"{key}/{rank}", g.timeout))
        except RuntimeError:
            text = ALONE.format(rank=g.global_rank, own=own, other=rank, seconds=g.timeout)
            raise RuntimeError(text) from None
    others = {rank: what for rank, what in found.items() if what != own}
    if others:
        said = ", ".join(f"rank {rank} is running {what}" for rank, what in others.items())
        raise RuntimeError(MISMATCH.format(rank=f"Rank {g.global_rank}", own=own, others=said))
    if g.n_compared > 1:  # all have begun this one, so all have read the last
        shared.delete(f"compared/{g.key}/{g.n_compared - 1}/{g.global_rank}")


set_debug_level_from_env()
