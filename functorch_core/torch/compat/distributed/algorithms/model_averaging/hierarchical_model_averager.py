"""torch.distributed.algorithms.model_averaging.hierarchical_model_averager: small groups often, large ones seldom."""

from __future__ import annotations

from collections.abc import Iterable

from ......core.warn import warn
from ...group import get_world_size, new_subgroups
from . import utils
from .averagers import ALWAYS, ModelAverager


class HierarchicalModelAverager(ModelAverager):
    """Average parameters within groups of several sizes, each at its own period.

    `period_group_size_dict` maps periods, ascending, to group sizes; the last size is that of the whole group. At a
    call whose number several periods divide, the largest of them counts. No call before `warmup_steps` averages.

    >>> from torch.distributed.algorithms.model_averaging.hierarchical_model_averager import HierarchicalModelAverager
    >>> averager = HierarchicalModelAverager(period_group_size_dict={4: 1}, warmup_steps=100)
    >>> averager.average_parameters(nn.Linear(2, 1).parameters())
    >>> averager.step
    1
    """

    def __init__(self, period_group_size_dict=None, warmup_steps=0, process_group=None):
        super().__init__(process_group)
        if not period_group_size_dict:
            raise ValueError("Arg ``period_group_size_dict`` must not be empty.")
        self._periods = list(period_group_size_dict)
        if self._periods[0] <= 0:
            raise ValueError("The minimum period in arg ``period_group_size_dict`` must be a positive value.")
        if self._periods[-1] == 1:
            warn(ALWAYS)
        whole, last = get_world_size(self.process_group), period_group_size_dict[self._periods[-1]]
        if last != whole:
            raise ValueError(
                f"The last value in arg ``period_group_size_dict`` {last} must be equal to the size of arg "
                f"``process_group`` {whole}."
            )
        if warmup_steps < 0:
            raise ValueError("Arg ``warmup_steps`` must be a non-negative number.")
        self.warmup_steps = warmup_steps
        if whole != get_world_size() and set(period_group_size_dict.values()) != {whole}:
            raise NotImplementedError(
                f"HierarchicalModelAverager: subgroups of a group of {whole} of {get_world_size()} processes "
                "are not made; leave out process_group, or give sizes equal to its own"
            )
        self.period_process_group_dict = {
            period: self.process_group if size == whole else new_subgroups(size, self.process_group)[0]
            for period, size in period_group_size_dict.items()
        }

    def _find_process_group(self):
        """The group of the largest period that divides the number of this call, or None."""
        for period in reversed(self._periods):
            if self.step % period == 0:
                return self.period_process_group_dict[period]
        return None

    def average_parameters(self, params: Iterable):
        """Average parameters, or an optimizer's groups, within the group whose turn it is; count the call."""
        group = self._find_process_group() if self.step >= self.warmup_steps else None
        if group is not None:
            utils.average_parameters_or_parameter_groups(params, group)
        self.step += 1
