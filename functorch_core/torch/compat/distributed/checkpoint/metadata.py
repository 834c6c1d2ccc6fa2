"""torch.distributed.checkpoint.metadata: what is in a checkpoint, and where. Files of PyTorch's have the same."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from ....tensors.types import Size, contiguous_format, preserve_format, strided


@dataclass
class ChunkStorageMetadata:
    """A part of a tensor."""

    offsets: Size
    sizes: Size


class _MEM_FORMAT_ENCODING(Enum):
    TORCH_CONTIGUOUS_FORMAT = 0
    TORCH_CHANNELS_LAST = 1
    TORCH_PRESERVE_FORMAT = 2


@dataclass
class TensorProperties:
    """What a tensor is besides its elements."""

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
    """A tensor, and the parts that it is saved in."""

    properties: TensorProperties
    size: Size
    chunks: list[ChunkStorageMetadata]


@dataclass
class BytesStorageMetadata:
    """Something else."""


@dataclass(frozen=True)
class MetadataIndex:
    """A tensor's part by its name and offset, or something else by its name."""

    fqn: str
    offset: Size | None = None
    index: int | None = field(hash=False, compare=False, default=None)


@dataclass
class StorageMeta:
    """When a checkpoint was saved."""

    checkpoint_id: Any = None
    save_id: str | None = None
    load_id: str | None = None
    modules: list[str] = field(default_factory=list)


@dataclass
class Metadata:
    """All that is in a checkpoint: what each name is, which keys lead to it, and where it is stored."""

    state_dict_metadata: dict[str, TensorStorageMetadata | BytesStorageMetadata]
    planner_data: Any = None
    storage_data: Any = None
    storage_meta: StorageMeta | None = None
    version: str | None = None
