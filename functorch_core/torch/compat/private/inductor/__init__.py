"""torch._inductor: PyTorch's compiler, which is not here: XLA compiles. Its settings are kept."""

from .... import _missing

__getattr__ = _missing.getter(__name__, ("config", "test_case", "utils"))
