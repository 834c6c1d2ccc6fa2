"""torch.sparse.FloatTensor and its kin: for isinstance, and the constructors of older programs."""

from __future__ import annotations

from ...tensors.base import Tensor
from ...tensors.types import of_numpy
from ..shape.legacy_types import LEGACY
from .tensor import sparse_coo_tensor


class LegacySparseType(type):
    """The type of torch.sparse.FloatTensor: isinstance looks at layout and dtype."""

    def __instancecheck__(cls, instance):
        return isinstance(instance, Tensor) and instance.is_sparse and (instance.dtype.numpy == cls.numpy)

    def __call__(cls, *args, device=None):
        """A sparse tensor of indices, values and perhaps a size, or an empty one of a size."""
        if args and isinstance(args[0], Tensor):
            return sparse_coo_tensor(*args, dtype=cls.dtype, device=device)
        size = args[0] if len(args) == 1 and not isinstance(args[0], int) else args
        return sparse_coo_tensor(tuple(size) or (0,), dtype=cls.dtype, device=device)


legacy_types = {
    name: LegacySparseType(
        name,
        (),
        {
            "__doc__": f"""Sparse tensors of {of_numpy(d)}: for isinstance, and the constructors of old programs.

            >>> isinstance(torch.eye(2, dtype={of_numpy(d)}).to_sparse(), torch.sparse.{name})
            True
            """,
            "numpy": d,
            "dtype": of_numpy(d),
            "__module__": "torch.sparse",
        },
    )
    for name, d in LEGACY.items()
}
