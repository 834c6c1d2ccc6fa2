"""torch.backends.python_native: operators that PyTorch compiles with other languages; none here."""

from .... import _missing

available_dsls: list[str] = []
all_dsls = ["cutedsl", "triton"]
__getattr__ = _missing.getter(__name__)
