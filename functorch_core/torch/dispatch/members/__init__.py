"""The members of Tensor that are written by hand: a class for each subject, whose bodies
`operators/tensor_class.py` puts together."""

from importlib import import_module

from ...tensors.base import Tensor


def __getattr__(name: str):
    """What PyTorch's pickles call a function of torch._tensor."""
    if name != "_rebuild_from_type_v2":
        raise AttributeError(f"module 'torch._tensor' has no attribute '{name}'")
    return getattr(import_module("...compat.serialization.rebuilders", __package__), name)
