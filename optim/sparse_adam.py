"""torch.optim.SparseAdam."""
from __future__ import annotations

from ._checks import check_betas, check_lr
from .optimizer import Optimizer, loss_of, without_tape

DENSE = "SparseAdam does not support dense gradients, please consider Adam instead"
NO_SPARSE = ("SparseAdam.step: gradients with layout torch.sparse_coo are not implemented; make "
             "the layer's gradient dense (sparse=False) and use torch.optim.Adam")


class SparseAdam(Optimizer):
    """Adam that touches only the rows in a sparse gradient.

    Sparse tensors are not implemented yet, so that every step raises: as in PyTorch for a dense
    gradient.
    """

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
                ("Complex", lambda p: p.is_complex(), "does not support complex parameters")):
            found = [[i, j] for i, group in enumerate(self.param_groups)
                     for j, p in enumerate(group["params"]) if is_one(p)]
            if found:
                raise ValueError(f"{what} params at indices {found}: SparseAdam {advice}")

    @without_tape
    def step(self, closure=None):
        """Raises for every gradient."""
        loss = loss_of(closure)
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    raise NotImplementedError(NO_SPARSE) if p.grad.is_sparse else (
                        RuntimeError(DENSE))
        return loss
