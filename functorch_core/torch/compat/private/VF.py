"""torch._VF: functions of torch that PyTorch's C++ has under these names."""

from ...tensors.types import named


def __getattr__(name: str):
    if name.startswith("__"):
        raise AttributeError(f"module 'torch._VF' has no attribute '{name}'")
    return named(name)
