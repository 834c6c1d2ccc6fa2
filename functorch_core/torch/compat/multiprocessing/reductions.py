"""How tensors travel between processes: as arrays, quicker than as checkpoints."""

from __future__ import annotations

from multiprocessing.reduction import ForkingPickler

import numpy as np

from ...dispatch.parameter import Parameter
from ...tensors.base import Tensor, from_array
from ..serialization.tensors import attributes_of, reduce_tensor, set_state


def _received(is_parameter: bool, array: np.ndarray, requires_grad: bool, state) -> Tensor:
    tensor = from_array(array)
    if is_parameter:
        return set_state(Parameter(tensor, requires_grad), None, state)
    tensor.requires_grad = requires_grad
    return set_state(tensor, None, state)


def reduce_for_sending(tensor: Tensor):
    """(function, arguments) that make the tensor in another process; RuntimeError for a non-leaf
    that requires grad."""
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            "Cowardly refusing to serialize non-leaf tensor which requires_grad, "
            "since autograd does not support crossing process boundaries.  If you "
            "just want to transfer the data, call detach() on the tensor before "
            "serializing (e.g., putting it on the queue)."
        )
    if not tensor.is_contiguous():
        return reduce_tensor(tensor)
    return _received, (
        type(tensor) is Parameter,
        np.asarray(tensor._array()),
        tensor.requires_grad,
        attributes_of(tensor),
    )


def init_reductions():
    """Register with Python's multiprocessing."""
    for cls in (Tensor, Parameter):
        ForkingPickler.register(cls, reduce_for_sending)
