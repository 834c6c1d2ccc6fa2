"""torch.distributed.checkpoint: checkpoints that all processes write, and any number of processes reads."""

from .... import _missing
from .filesystem import FileSystemReader, FileSystemWriter
from .metadata import BytesStorageMetadata, ChunkStorageMetadata, Metadata, TensorStorageMetadata
from .state_dict_saver import CheckpointException, async_save, load, load_state_dict, save, save_state_dict

__getattr__ = _missing.getter(
    __name__, ("filesystem", "metadata", "state_dict", "state_dict_loader", "state_dict_saver")
)
