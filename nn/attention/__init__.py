"""torch.nn.attention: kinds of attention, and what computes it."""

from __future__ import annotations

import contextlib
import enum

from .._names import lazy as _lazy
from .._names import publish as _publish


class SDPBackend(enum.IntEnum):
    """The kernels PyTorch has for scaled dot product attention.

    >>> from torch.nn.attention import SDPBackend, sdpa_kernel
    >>> q = torch.ones(1, 1, 2, 4)
    >>> with sdpa_kernel(SDPBackend.MATH):
    ...   F.scaled_dot_product_attention(q, q, q).shape
    torch.Size([1, 1, 2, 4])
    """

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4

    __str__ = enum.Enum.__str__


_allowed = [[backend for backend in SDPBackend if backend is not SDPBackend.ERROR]]


@contextlib.contextmanager
def sdpa_kernel(backends, set_priority: bool = False):
    """Context: let attention be computed by these kernels. There is one here, XLA's; the choice is
    kept, but changes nothing.

    >>> q = torch.ones(1, 1, 2, 4)
    >>> with nn.attention.sdpa_kernel(nn.attention.SDPBackend.MATH):
    ...     out = F.scaled_dot_product_attention(q, q, q)
    >>> out.shape
    torch.Size([1, 1, 2, 4])
    """
    if not isinstance(backends, (list, SDPBackend)):
        raise AssertionError(
            "Backend must be an instance of SDPBackend or a list of SDPBackend "
            f"instances, got {type(backends).__name__}"
        )
    backends = [backends] if isinstance(backends, SDPBackend) else list(dict.fromkeys(backends))
    _allowed.append(backends)
    try:
        yield {}
    finally:
        _allowed.pop()


def _cur_sdpa_kernel_backends(with_priority: bool = False) -> list[SDPBackend]:
    return list(_allowed[-1])


__all__ = ["SDPBackend", "sdpa_kernel"]

__getattr__ = _lazy(__name__, ("bias", "experimental", "flex_attention"))

_publish()
