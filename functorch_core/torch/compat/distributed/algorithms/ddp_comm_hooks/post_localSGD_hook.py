"""torch.distributed.algorithms.ddp_comm_hooks.post_localSGD_hook: gradients averaged over all processes, later over
a few."""

from __future__ import annotations

from ....futures import Future
from ...group import default, new_subgroups
from .default_hooks import allreduce_hook


class PostLocalSGDState:
    """What post_localSGD_hook knows: from the step `start_localSGD_iter` on the gradients of `subgroup` (by default the
    processes of one machine) are averaged, or, without post_local_gradient_allreduce, none.

    >>> from torch.distributed.algorithms.ddp_comm_hooks.post_localSGD_hook import PostLocalSGDState
    >>> PostLocalSGDState(process_group=None, subgroup=None, start_localSGD_iter=10).iter
    0
    """

    def __init__(self, process_group, subgroup, start_localSGD_iter: int, post_local_gradient_allreduce: bool = True):
        self.process_group, self.subgroup = process_group, subgroup
        self.start_localSGD_iter = start_localSGD_iter
        self.post_local_gradient_allreduce = post_local_gradient_allreduce
        self.iter = 0

    def maybe_increase_iter(self, bucket) -> None:
        """Count a step, with its last bucket."""
        self.iter += bucket.is_last()


def post_localSGD_hook(state: PostLocalSGDState, bucket) -> Future:
    """The mean of the gradients of all processes, later of those of a subgroup; parameters are then to be averaged
    now and then (`PeriodicModelAverager`, `PostLocalSGDOptimizer`).

    Source: Lin et al. 2018, "Don't use large mini-batches, use local SGD".

    >>> from torch.distributed.algorithms.ddp_comm_hooks.post_localSGD_hook import PostLocalSGDState, post_localSGD_hook
    >>> model = nn.parallel.DistributedDataParallel(nn.Linear(2, 1))
    >>> model.register_comm_hook(PostLocalSGDState(None, None, 10), post_localSGD_hook)
    >>> model(torch.ones(1, 2)).sum().backward()
    """
    if state.iter < state.start_localSGD_iter:
        state.maybe_increase_iter(bucket)
        return allreduce_hook(state.process_group or default(), bucket)
    if not state.post_local_gradient_allreduce:
        done = Future()
        done.set_result(bucket.buffer())
        return done
    if state.subgroup is None:
        state.subgroup, _ = new_subgroups()
    return allreduce_hook(state.subgroup, bucket)
