"""torch.distributed.optim.post_localSGD_optimizer: an optimizer after whose steps parameters are averaged."""

from __future__ import annotations

import copy

from .....core.warn import warn
from .....optim import Optimizer


class PostLocalSGDOptimizer(Optimizer):
    """Another optimizer, after each of whose steps an averager averages the parameters, when it is time.

    Source: Lin et al. 2018, "Don't use large mini-batches, use local SGD".

    >>> from torch.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
    >>> from torch.distributed.optim import PostLocalSGDOptimizer
    >>> model = nn.Linear(2, 1)
    >>> averager = PeriodicModelAverager(period=4, warmup_steps=100)
    >>> optimizer = PostLocalSGDOptimizer(torch.optim.SGD(model.parameters(), lr=0.1), averager)
    >>> model(torch.ones(1, 2)).sum().backward()
    >>> optimizer.step()
    >>> optimizer.state_dict()["step"]
    1
    """

    def __init__(self, optim: Optimizer, averager) -> None:
        self.optim, self.averager = optim, averager
        self.param_groups = optim.param_groups

    @property
    def state(self):
        """That of the optimizer."""
        return self.optim.state

    def __repr__(self):
        return repr(self.optim)

    def state_dict(self):
        """That of the optimizer, with the averager's count as "step"."""
        return {**self.optim.state_dict(), "step": self.averager.step}

    def load_state_dict(self, state_dict):
        """Go on from what state_dict() gave."""
        self.optim.load_state_dict({k: copy.copy(v) for k, v in state_dict.items() if k != "step"})
        if "step" not in state_dict:
            warn("Loaded state dict does not contain a step counter for an averager. Setting it to 0.")
        self.averager.step = state_dict.get("step", 0)
        self.param_groups = self.optim.param_groups

    def step(self):
        """A step of the optimizer, and the average if it is time."""
        self.optim.step()
        self.averager.average_parameters(params=self.param_groups)

    def zero_grad(self, set_to_none: bool = True):
        """Forget the gradients."""
        self.optim.zero_grad(set_to_none=set_to_none)

    def add_param_group(self, param_group):
        """Add parameters."""
        self.optim.add_param_group(param_group)
