"""torch.utils.backcompat."""

from types import SimpleNamespace as _SimpleNamespace

broadcast_warning = _SimpleNamespace(enabled=False)
keepdim_warning = _SimpleNamespace(enabled=False)
