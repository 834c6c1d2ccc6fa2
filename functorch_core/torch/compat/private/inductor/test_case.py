"""torch._inductor.test_case: PyTorch's TestCase."""

from ..._dynamo import test_case as _test_case

__getattr__ = _test_case.__getattr__
