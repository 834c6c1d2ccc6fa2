"""torch._C._autograd: switches of the tape under PyTorch's private names."""

from __future__ import annotations

from ...tape.grad_mode import set_version
from ...tape.modes import state
from ...tape.passes import current_pass
from ...tape.saved import SavedTensor

__all__ = ["SavedTensor"]


def _saved_tensors_hooks_is_enabled() -> bool:
    """Whether saved_tensors_hooks may be entered."""
    return state.hooks_disabled is None


def _saved_tensors_hooks_disable(error_message: str):
    """Let saved_tensors_hooks raise RuntimeError(error_message)."""
    state.hooks_disabled = error_message


def _saved_tensors_hooks_enable():
    """Let saved_tensors_hooks be entered."""
    state.hooks_disabled = None


def _get_current_graph_task_keep_graph() -> bool:
    """Whether the backward pass that runs keeps the graph; True where none runs."""
    running = current_pass()
    return running is None or running.retain_graph


def _unsafe_set_version_counter(tensors, versions):
    """Set the versions of tensors."""
    for tensor, version in zip(tensors, versions, strict=True):
        set_version(tensor, version)
