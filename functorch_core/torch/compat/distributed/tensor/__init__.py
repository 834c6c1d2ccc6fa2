"""torch.distributed.tensor: where the parts of a distributed tensor lie, said of no tensor here.

The placements are there, as packages hold tables of them; distributed tensors are not.
"""

from .... import _missing
from .placement_types import Partial, Placement, Replicate, Shard

__getattr__ = _missing.getter(__name__)
