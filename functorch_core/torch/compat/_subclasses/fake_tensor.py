"""torch._subclasses.fake_tensor: no tensor is a fake one; tensors on the device 'meta' have no data."""

from __future__ import annotations

from ... import _missing

FakeTensor = _missing.missing("torch._subclasses.fake_tensor.FakeTensor")
FakeTensorMode = _missing.missing("torch._subclasses.fake_tensor.FakeTensorMode")
__getattr__ = _missing.getter(__name__)


def is_fake(x) -> bool:
    """False."""
    return False
