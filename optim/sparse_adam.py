"""torch.optim.SparseAdam."""

from __future__ import annotations

from . import functional
from ._checks import check_betas, check_lr
from ._stepping import AlgorithmOptimizer

DENSE = "SparseAdam does not support dense gradients, please consider Adam instead"


class SparseAdam(AlgorithmOptimizer):
    """Adam that touches only the rows in a sparse gradient, as nn.Embedding(sparse=True) has.

    >>> table = nn.Embedding(3, 2, sparse=True)
    >>> optimizer = optim.SparseAdam(table.parameters())
    >>> table(torch.tensor([1])).sum().backward()
    >>> optimizer.step()
    """

    algorithm = functional.sparse_adam

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, maximize=False):
        check_lr(lr)
        if not 0.0 < lr:
            raise ValueError(f"Invalid learning rate: {lr}")
        if not 0.0 < eps:
            raise ValueError(f"Invalid epsilon value: {eps}")
        check_betas(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        for what, is_one, advice in (
            ("Sparse", lambda p: p.is_sparse, "requires dense parameter tensors"),
            ("Complex", lambda p: p.is_complex(), "does not support complex parameters"),
        ):
            found = [
                [i, j] for i, group in enumerate(self.param_groups) for j, p in enumerate(group["params"]) if is_one(p)
            ]
            if found:
                raise ValueError(f"{what} params at indices {found}: SparseAdam {advice}")

    def _step_group(self, group: dict):
        params = [p for p in group["params"] if p._grad is not None]
        if any(not p._grad.is_sparse for p in params):
            raise RuntimeError(DENSE)
        for p in params:
            state = self._state_of(p, group)
            state["step"] += 1
            self._step_rows(p, p._grad, state, float(state["step"]), group)

    def _init_state(self, p, group):
        super()._init_state(p, group)
        self.state[p]["step"] = 0  # a Python number here, in PyTorch, too

    def __setstate__(self, state: dict):
        super(AlgorithmOptimizer, self).__setstate__(state)
