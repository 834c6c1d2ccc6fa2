"""torch.distributed.algorithms._checkpoint: modules whose activations are computed again, or kept elsewhere."""

from ..... import _missing

__getattr__ = _missing.getter(__name__, ("checkpoint_wrapper",))
