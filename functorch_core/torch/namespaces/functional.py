"""torch.functional: functions that PyTorch writes in Python; all of them are in torch."""

from ..tensors import types as _types

_NAMES = """atleast_1d atleast_2d atleast_3d align_tensors block_diag broadcast_shapes
    broadcast_tensors cartesian_prod cdist chain_matmul einsum lu meshgrid norm split stft tensordot
    unique unique_consecutive unravel_index""".split()


def __getattr__(name: str):
    if name in _NAMES:
        return _types.named(name)
    raise AttributeError(f"module 'torch.functional' has no attribute {name!r}")
