"""torch.distributed.checkpoint: checkpoints that all processes write, and any number of processes reads."""

from .... import _missing
from .api import CheckpointException
from .default_planner import DefaultLoadPlanner, DefaultSavePlanner
from .filesystem import FileSystemReader, FileSystemWriter
from .metadata import BytesStorageMetadata, ChunkStorageMetadata, Metadata, TensorStorageMetadata
from .optimizer import load_sharded_optimizer_state_dict
from .planner import LoadPlan, LoadPlanner, ReadItem, SavePlan, SavePlanner, WriteItem
from .state_dict_loader import load, load_state_dict
from .state_dict_saver import async_save, save, save_state_dict
from .storage import StorageReader, StorageWriter

_MODULES = (
    "_nested_dict _sharded_tensor_utils api default_planner filesystem format_utils metadata optimizer planner staging "
)
_MODULES += "state_dict state_dict_loader state_dict_saver stateful storage utils"
__getattr__ = _missing.getter(__name__, tuple(_MODULES.split()))
