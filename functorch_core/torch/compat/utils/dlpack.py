"""torch.utils.dlpack: tensors of other libraries."""

import enum as _enum

from .... import torch


class DLDeviceType(_enum.IntEnum):
    """How DLPack numbers devices.

    >>> torch.utils.dlpack.DLDeviceType.kDLCPU.value
    1
    """

    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3


def from_dlpack(ext_tensor, *, device=None, copy=None):
    """A tensor of the data of an object with `__dlpack__`, or of a DLPack capsule.

    >>> import numpy as np
    >>> torch.utils.dlpack.from_dlpack(np.arange(3.))
    tensor([0., 1., 2.], dtype=torch.float64)
    """
    return torch.from_dlpack(ext_tensor, device=device, copy=copy)


def to_dlpack(tensor):
    """A DLPack capsule of the tensor's data.

    >>> torch.from_dlpack(torch.to_dlpack(torch.arange(3)))
    tensor([0, 1, 2])
    """
    return tensor.__dlpack__()
