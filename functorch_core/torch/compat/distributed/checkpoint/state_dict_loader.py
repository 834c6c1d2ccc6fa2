"""torch.distributed.checkpoint.state_dict_loader: the names of state_dict_saver that load."""

from .... import _missing

__getattr__ = _missing.getter(__name__)
