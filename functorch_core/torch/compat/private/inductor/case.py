"""torch._inductor.test_case: PyTorch's TestCase."""

from ..._dynamo import case as _case

__getattr__ = _case.__getattr__
