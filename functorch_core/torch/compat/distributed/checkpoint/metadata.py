"""torch.distributed.checkpoint.metadata: what is in a checkpoint, and where. Files of PyTorch's have the same."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from ....tensors.types import Size, contiguous_format, preserve_format, strided


@dataclass
class ChunkStorageMetadata:
    """A part of a tensor.

    >>> from torch.distributed.checkpoint import ChunkStorageMetadata
    >>> ChunkStorageMetadata(offsets=torch.Size([0]), sizes=torch.Size([2])).sizes
    torch.Size([2])
    """

    offsets: Size
    sizes: Size


class _MEM_FORMAT_ENCODING(Enum):
    TORCH_CONTIGUOUS_FORMAT = 0
    TORCH_CHANNELS_LAST = 1
    TORCH_PRESERVE_FORMAT = 2


@dataclass
class TensorProperties:
    """What a tensor is besides its elements.

    >>> from torch.distributed.checkpoint.metadata import TensorProperties
    >>> TensorProperties(dtype=torch.float64).dtype
    torch.float64
    """

    dtype: Any = None
    layout: Any = field(default_factory=lambda: strided)
    requires_grad: bool = False
    memory_format: Any = field(default_factory=lambda: contiguous_format)
    pin_memory: bool = False

    def __getstate__(self):
        return (
            self.dtype,
            self.layout,
            self.requires_grad,
            _MEM_FORMAT_ENCODING.TORCH_CONTIGUOUS_FORMAT,
            self.pin_memory,
        )

    def __setstate__(self, state):
        self.dtype, self.layout, self.requires_grad, form, self.pin_memory = state
        kept = form == _MEM_FORMAT_ENCODING.TORCH_PRESERVE_FORMAT
        self.memory_format = preserve_format if kept else contiguous_format


@dataclass
class TensorStorageMetadata:
    """A tensor, and the parts that it is saved in.

    >>> import tempfile
    >>> import torch.distributed.checkpoint as dcp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...   metadata = dcp.save({"weight": torch.ones(2)}, checkpoint_id=folder)
    >>> metadata.state_dict_metadata["weight"].properties.dtype
    torch.float32
    """

    properties: TensorProperties
    size: Size
    chunks: list[ChunkStorageMetadata]


@dataclass
class BytesStorageMetadata:
    """Something else.

    >>> import tempfile
    >>> import torch.distributed.checkpoint as dcp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...   metadata = dcp.save({"step": 3}, checkpoint_id=folder)
    >>> type(metadata.state_dict_metadata["step"]).__name__
    'BytesStorageMetadata'
    """


@dataclass(frozen=True)
class MetadataIndex:
    """A tensor's part by its name and offset, or something else by its name.

    >>> from torch.distributed.checkpoint.metadata import MetadataIndex
    >>> MetadataIndex("weight").fqn
    'weight'
    """

    fqn: str
    offset: Size | None = None
    index: int | None = field(hash=False, compare=False, default=None)


@dataclass
class StorageMeta:
    """When a checkpoint was saved.

    >>> from torch.distributed.checkpoint.metadata import StorageMeta
    >>> StorageMeta(checkpoint_id="here").checkpoint_id
    'here'
    """

    checkpoint_id: Any = None
    save_id: str | None = None
    load_id: str | None = None
    modules: list[str] = field(default_factory=list)


@dataclass
class Metadata:
    """All that is in a checkpoint: what each name is, which keys lead to it, and where it is stored.

    >>> import tempfile
    >>> import torch.distributed.checkpoint as dcp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...   metadata = dcp.save({"weight": torch.ones(2)}, checkpoint_id=folder)
    >>> metadata.state_dict_metadata["weight"].size
    torch.Size([2])
    """

    state_dict_metadata: dict[str, TensorStorageMetadata | BytesStorageMetadata]
    planner_data: Any = None
    storage_data: Any = None
    storage_meta: StorageMeta | None = None
    version: str | None = None
