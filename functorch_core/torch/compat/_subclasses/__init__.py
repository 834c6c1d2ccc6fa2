"""torch._subclasses: tensors that stand for others while PyTorch traces; nothing is traced here."""

from ... import _missing
from ..utils._python_dispatch import TorchDispatchMode
from .fake_tensor import FakeTensor, FakeTensorMode


class CrossRefFakeMode(TorchDispatchMode):
    """A mode that would compare every operator with its fake: it can be derived from, and raises when it is entered."""

    def __init__(self, ignore_op_fn=None, **checks):
        super().__init__()


__getattr__ = _missing.getter(__name__)
__all__ = ["CrossRefFakeMode", "FakeTensor", "FakeTensorMode"]
