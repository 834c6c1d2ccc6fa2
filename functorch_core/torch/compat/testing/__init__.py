"""torch.testing: comparing tensors, and making some to test with."""

from ... import _missing
from ._comparison import assert_allclose, assert_close
from ._creation import make_tensor

__all__ = ["assert_allclose", "assert_close", "make_tensor"]
__getattr__ = _missing.getter(__name__, ("_utils",))
