"""torch._export: PyTorch's exporter, which is not here; what classes of tensors are marked with for it."""

from .... import _missing

__getattr__ = _missing.getter(__name__, ("wrappers",))
