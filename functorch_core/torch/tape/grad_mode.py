"""torch.autograd.grad_mode."""

from ..tensors.base import Tensor
from .modes import enable_grad, inference_mode, no_grad, set_grad_enabled, set_multithreading_enabled


class _unsafe_preserve_version_counter:
    """Context: writes to these tensors leave their `_version` as it is."""

    def __init__(self, tensors):
        self.tensors = (tensors,) if isinstance(tensors, Tensor) else tuple(tensors)

    def __enter__(self):
        self.versions = [x._version for x in self.tensors]

    def __exit__(self, *exc):
        for x, version in zip(self.tensors, self.versions):
            set_version(x, version)


def set_version(tensor, version: int):
    """Let a tensor's `_version` be another."""
    if tensor._view is None:
        tensor._own_version = version
    else:
        tensor._view.cell.unseen += tensor._version - version


__all__ = ["enable_grad", "inference_mode", "no_grad", "set_grad_enabled", "set_multithreading_enabled"]
