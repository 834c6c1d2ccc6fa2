"""torch.fx.passes: of PyTorch's passes, shape_prop is there."""

from .... import _missing

__getattr__ = _missing.getter(__name__, ("shape_prop",))
