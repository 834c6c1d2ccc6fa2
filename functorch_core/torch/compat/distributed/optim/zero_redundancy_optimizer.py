"""torch.distributed.optim.ZeroRedundancyOptimizer: each process keeps the optimizer's state of some parameters.

Rajbhandari et al.: ZeRO (2020), stage 1. A process updates its parameters and sends them to the others.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable

import numpy as np

from .....core.warn import warn
from .....optim import Optimizer
from ....tape.modes import no_grad
from ....tensors.base import Tensor
from .. import collectives
from ..algorithms.join import Join, Joinable, JoinHook
from ..group import default, get_rank, get_world_size

NOT_CONSOLIDATED = (
    "Optimizer state has not been consolidated on this rank. Please call `consolidate_state_dict(to={rank})` on all "
    "ranks beforehand if you meant to save the global state."
)
STEP_OF_BACKWARD = "`step()` should not be included in the training loop when `overlap_with_ddp=True`"


class _JoinHook(JoinHook):
    def __init__(self, zero: ZeroRedundancyOptimizer):
        self.zero = zero

    def main_hook(self):
        """An update without further gradients."""
        self.zero._step()


class ZeroRedundancyOptimizer(Optimizer, Joinable):
    """An optimizer of a class, whose state is divided over the processes by parameters.

    The largest parameters are given out first, each to the process that has least. `defaults` go to the class.
    `state_dict` has the whole state after `consolidate_state_dict` on all processes, on the one that it went to.
    `parameters_as_bucket_view` has no effect: what a process sends is one message in any case. With `overlap_with_ddp`
    steps are made at the end of backward passes, by `hook_with_zero_step`, and step() does nothing but warn.

    >>> from torch.distributed.optim import ZeroRedundancyOptimizer
    >>> model = nn.Linear(2, 1)
    >>> optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.Adam, lr=0.1)
    >>> model(torch.ones(1, 2)).sum().backward()
    >>> optimizer.step()
    """

    def __init__(
        self,
        params: Iterable,
        optimizer_class: type[Optimizer],
        process_group=None,
        parameters_as_bucket_view: bool = False,
        overlap_with_ddp: bool = False,
        **defaults,
    ):
        self._overlap_with_ddp = overlap_with_ddp
        self.process_group = process_group or default()
        self.rank, self.world_size = get_rank(self.process_group), get_world_size(self.process_group)
        self._optim_defaults, self._optim_constructor = defaults, optimizer_class
        self._consolidated: dict | None = None
        self.optim: Optimizer | None = None
        Joinable.__init__(self)
        Optimizer.__init__(self, params, defaults)
        self.initialized = True
        self._renew()

    # ---- who has what

    def _owners(self) -> list[int]:
        """For each parameter, in order, the process that updates it."""
        sizes = [p.numel() for p in self._all()]
        load, owners = [0] * self.world_size, [0] * len(sizes)
        for i in sorted(range(len(sizes)), key=lambda i: -sizes[i]):
            owners[i] = int(np.argmin(load))
            load[owners[i]] += sizes[i]
        return owners

    def _all(self) -> list[Tensor]:
        return [p for group in self.param_groups for p in group["params"]]

    def _renew(self):
        """Make the local optimizer of what this process has, which keeps its state."""
        before = None if self.optim is None else self.optim.state
        self.owners = owners = self._owners()
        places = iter(owners)
        groups = [{**g, "params": [p for p in g["params"] if next(places) == self.rank]} for g in self.param_groups]
        self.optim = self._optim_constructor(groups, **self._optim_defaults)
        if before is not None:
            self.optim.state.update(before)
        for mine, group in zip(self.optim.param_groups, self.param_groups):  # with the class's own options
            group.update({k: v for k, v in mine.items() if k != "params" and k not in group})
        self.state = self.optim.state

    def add_param_group(self, param_group: dict):
        """Optimize further parameters; to be called on all processes."""
        super().add_param_group(param_group)
        if self.optim is not None:
            self._renew()

    # ---- a step

    def step(self, closure: Callable | None = None, **kwargs):
        """Update this process's parameters, and take those of the others from them."""
        if self._overlap_with_ddp:
            warn(STEP_OF_BACKWARD)
            return None
        return self._step(closure, **kwargs)

    def _step_of_backward(self):
        with no_grad():
            self._step()

    def _step(self, closure: Callable | None = None, **kwargs):
        Join.notify_join_context(self)
        assert self.optim is not None
        for mine, group in zip(self.optim.param_groups, self.param_groups):
            mine.update({k: v for k, v in group.items() if k != "params"})
        loss = self.optim.step(**kwargs) if closure is None else self.optim.step(closure=closure, **kwargs)
        for mine, group in zip(self.optim.param_groups, self.param_groups):
            group.update({k: v for k, v in mine.items() if k != "params"})
        self._share()
        return loss

    def _share(self):
        if self.world_size == 1:
            return
        by_dtype: dict = {}
        for owner, p in zip(self.owners, self._all()):
            by_dtype.setdefault(p.dtype, []).append((owner, p))
        with no_grad():
            for pairs in by_dtype.values():
                self._share_of(pairs)

    def _share_of(self, pairs: list[tuple[int, Tensor]]):
        any_of = pairs[0][1]
        sizes = [sum(p.numel() for owner, p in pairs if owner == r) for r in range(self.world_size)]
        places = [any_of.new_empty(n) for n in sizes]
        mine, start = any_of.new_empty(sizes[self.rank]), 0
        for owner, p in pairs:
            if owner == self.rank:
                mine[start : start + p.numel()] = p.reshape(-1)
                start += p.numel()
        collectives.all_gather(places, mine, self.process_group)
        starts = [0] * self.world_size
        for owner, p in pairs:
            if owner != self.rank:
                p.copy_(places[owner][starts[owner] : starts[owner] + p.numel()].view(p.shape))
            starts[owner] += p.numel()

    # ---- states

    def consolidate_state_dict(self, to: int = 0):
        """Bring the state of all processes to one; to be called on all."""
        assert self.optim is not None
        n = len(self.optim.param_groups)
        own = [i for i, owner in enumerate(self.owners) if owner == self.rank]
        found = self.optim.state_dict()
        state = {own[i]: s for i, s in found["state"].items()}
        states = [None] * self.world_size if self.rank == to else None
        collectives.gather_object(state, states, group=self.process_group, group_dst=to)
        if states is None:
            return
        groups, start = [], 0
        for group in self.param_groups[:n]:
            size = len(group["params"])
            groups.append({**group, "params": list(range(start, start + size))})
            start += size
        state = {i: s for part in states for i, s in part.items()}
        self._consolidated = {"state": dict(sorted(state.items())), "param_groups": groups}

    def state_dict(self) -> dict:
        """The whole state as it was consolidated; RuntimeError where it was not."""
        if self._consolidated is None:
            raise RuntimeError(NOT_CONSOLIDATED.format(rank=self.rank))
        found, self._consolidated = self._consolidated, None
        return found

    def load_state_dict(self, state_dict: dict):
        """Take this process's part of a whole state."""
        assert self.optim is not None
        own = [i for i, owner in enumerate(self.owners) if owner == self.rank]
        groups = copy.deepcopy(state_dict["param_groups"])
        places = {whole: i for i, whole in enumerate(own)}
        for group in groups:
            group["params"] = [places[i] for i in group["params"] if i in places]
        state = {places[i]: s for i, s in state_dict["state"].items() if i in places}
        self.optim.load_state_dict({"state": state, "param_groups": groups})
        for mine, group in zip(self.optim.param_groups, self.param_groups):
            group.update({k: v for k, v in mine.items() if k != "params"})
        self.state = self.optim.state

    # ---- uneven inputs

    def join_hook(self, **kwargs) -> JoinHook:
        """What joined processes do: steps without gradients."""
        return _JoinHook(self)

    @property
    def join_device(self):
        """Where the parameters are."""
        return self.param_groups[0]["params"][0].device

    @property
    def join_process_group(self):
        """The processes that share the state."""
        return self.process_group
