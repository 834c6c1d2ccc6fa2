"""torch._subclasses: tensors that stand for others while PyTorch traces; nothing is traced here."""

from .fake_tensor import FakeTensor, FakeTensorMode

__all__ = ["FakeTensor", "FakeTensorMode"]
