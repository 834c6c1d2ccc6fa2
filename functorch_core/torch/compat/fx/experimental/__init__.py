"""torch.fx.experimental: of PyTorch's modules, proxy_tensor is there."""

from .... import _missing

__getattr__ = _missing.getter(__name__, ("proxy_tensor",))
