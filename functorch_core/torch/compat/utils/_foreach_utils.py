"""torch.utils._foreach_utils: where PyTorch's optimizers take lists of tensors at once.

The devices are PyTorch's answer; here one program updates all parameters on every device.
"""

from __future__ import annotations


def _get_foreach_kernels_supported_devices() -> list[str]:
    return ["cuda", "xpu", "mtia", "privateuseone"]


def _get_fused_kernels_supported_devices() -> list[str]:
    return ["mps", "cuda", "xpu", "hpu", "cpu", "mtia", "privateuseone"]


def _device_has_foreach_support(device) -> bool:
    return device.type in (*_get_foreach_kernels_supported_devices(), "cpu")


def _has_foreach_support(tensors, device) -> bool:
    return _device_has_foreach_support(device)


def _group_tensors_by_device_and_dtype(tensorlistlist, with_indices: bool = False) -> dict:
    """(device, dtype) of the first list's tensors -> (each list's tensors there, their places)."""
    found: dict = {}
    for i, column in enumerate(zip(*tensorlistlist)):
        lists, places = found.setdefault((column[0].device, column[0].dtype), ([[] for _ in column], []))
        for values, value in zip(lists, column):
            values.append(value)
        if with_indices:
            places.append(i)
    return found
