"""torch.library: custom operators. They are Python functions here; derivatives come from
register_autograd, or from torch.autograd.Function."""
from . import _missing

__getattr__ = _missing.getter(__name__)
