"""torch._logging: PyTorch's log of its compiler, which is not here."""

from .... import _missing

__getattr__ = _missing.getter(__name__, ("scribe",))
