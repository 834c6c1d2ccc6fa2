"""torch._subclasses: tensors that stand for others while PyTorch traces; nothing is traced here."""

from ... import _missing
from .fake_tensor import FakeTensor, FakeTensorMode

__getattr__ = _missing.getter(__name__)
__all__ = ["FakeTensor", "FakeTensorMode"]
