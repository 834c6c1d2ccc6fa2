"""torch.distributed.algorithms.model_averaging: processes that train apart and average parameters now and then."""

from ..... import _missing

__getattr__ = _missing.getter(__name__, ("averagers", "hierarchical_model_averager", "utils"))
