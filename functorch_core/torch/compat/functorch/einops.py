"""functorch.einops: not implemented; the package einops takes tensors of this library."""

from ..._missing import missing as _missing

rearrange = _missing("functorch.einops.rearrange", "use einops.rearrange")
