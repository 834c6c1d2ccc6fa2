"""PyTorch's checkpoint files, both directions, without the Tensor class.

`save` asks `describe(obj)` which objects are tensors; `load` asks `rebuild(spec)` to make them.
What passes between the two sides are the specs: NumPy storage, offset, size, stride.
"""

from .api import load, save
from .specs import GlobalName, ParameterSpec, StorageSpec, TensorSpec

__all__ = ["GlobalName", "ParameterSpec", "StorageSpec", "TensorSpec", "load", "save"]
