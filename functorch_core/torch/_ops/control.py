"""torch.cond and torch._assert: Python's if and assert as functions."""
from __future__ import annotations

from .._op import composite
from .._tensor_base import Tensor


@composite(method=False)
def cond(pred, true_fn, false_fn, operands=()):
    """true_fn(*operands) where pred holds, else false_fn(*operands).

    Ops are traced one by one here, so that it is decided at once, as in eager PyTorch.

    >>> torch.cond(torch.tensor(True), lambda x: x + 1, lambda x: x - 1, (torch.tensor(1),))
    tensor(2)
    """
    if not isinstance(pred, (bool, int, Tensor)):
        raise RuntimeError(f"Expected pred to be bool or tensor, but got {pred}.")
    if isinstance(pred, Tensor) and pred.numel() != 1:
        raise RuntimeError(f"Expected pred to be bool or single-element tensor, but got {pred}.")
    if not callable(true_fn) or not callable(false_fn):
        raise RuntimeError("Expect both branches to be callable.")
    return (true_fn if bool(pred) else false_fn)(*operands)


@composite(method=False)
def _assert(condition, message):
    """AssertionError with the message unless the condition holds."""
    assert condition, message
