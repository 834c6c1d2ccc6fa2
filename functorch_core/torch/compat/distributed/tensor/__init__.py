"""torch.distributed.tensor: tensors over the processes of a mesh."""

from .... import _missing
from ..device_mesh import DeviceMesh, init_device_mesh
from .api import DTensor, distribute_module, distribute_tensor, empty, full, ones, rand, randn, zeros
from .placement_types import Partial, Placement, Replicate, Shard

__getattr__ = _missing.getter(__name__, ("_utils", "api", "debug", "experimental", "parallel", "placement_types"))
