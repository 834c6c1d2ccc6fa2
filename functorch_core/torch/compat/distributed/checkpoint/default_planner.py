"""torch.distributed.checkpoint.default_planner: each process writes what it has of DTensors, and one that has
it everything else; each reads the parts that overlap with what it has."""

from __future__ import annotations

import dataclasses
import io
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..... import xla
from .....engine import to_numpy
from .....engine.value import from_sharded
from ....operators.shape.creation import empty
from ....tape.modes import no_grad
from ....tensors.base import Tensor, from_array
from ....tensors.types import Size
from ... import serialization
from ..tensor.api import _distributed, is_distributed, sharding_of_tensor
from ._nested_dict import Path, flatten_state_dict, set_element, unflatten_state_dict
from .metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    TensorProperties,
    TensorStorageMetadata,
)
from .planner import (
    LoadItemType,
    LoadPlan,
    LoadPlanner,
    ReadItem,
    SavePlan,
    SavePlanner,
    TensorWriteData,
    WriteItem,
    WriteItemType,
)

MISSING = "Missing key in checkpoint state_dict: {name}."
OTHER_SIZE = "Size mismatch between saved {saved} and current: {found} for {name}"
INCOMPLETE = "the checkpoint has not all elements of {name}: its files are of several saves"
INVALID = "Failed to validate global plan: {name} of size {size} is written in {n} parts, which are not the whole"


# ---- parts of tensors ----------------------------------------------------------------------------


class _Part(NamedTuple):
    """What a process has of a tensor over a mesh: an array, and where it lies in the whole."""

    array: np.ndarray
    offset: Size


def _parts_here(tensor: Tensor) -> list[_Part]:
    """What this process has of a DTensor, on each of its devices."""
    sharding, shape = sharding_of_tensor(tensor), tuple(tensor.shape)
    places = [Size([s.start or 0 for s in index]) for index in sharding.indices(shape)]
    arrays = xla.parts_here(tensor.detach()._read().data)
    return [_Part(array, places[i]) for i, array in zip(sharding.mesh.here, arrays)]


def _put_parts(tensor: Tensor, arrays: Sequence[np.ndarray]) -> Tensor:
    """A DTensor that lies as another one, of the arrays of this process's devices."""
    return _distributed(from_sharded(xla.put_parts(tuple(tensor.shape), sharding_of_tensor(tensor), list(arrays))))


def _overlap(start: Sequence[int], shape: Sequence[int], other_start: Sequence[int], other_shape: Sequence[int]):
    """(where two parts of a tensor meet in the one, in the other, its size); None where they do not."""
    low = [max(a, b) for a, b in zip(start, other_start)]
    high = [min(a + n, b + m) for a, n, b, m in zip(start, shape, other_start, other_shape)]
    if any(a >= b for a, b in zip(low, high)):
        return None
    mine, theirs = ([a - b for a, b in zip(low, starts)] for starts in (start, other_start))
    return Size(mine), Size(theirs), Size([b - a for a, b in zip(low, high)])


# ---- saving --------------------------------------------------------------------------------------


def create_default_local_save_plan(state_dict: dict[str, Any], is_coordinator: bool) -> SavePlan:
    """What a process has of a flat state dict: its parts of DTensors, and all else.

    >>> from torch.distributed.checkpoint.default_planner import create_default_local_save_plan
    >>> [item.index.fqn for item in create_default_local_save_plan({"x": torch.ones(2), "n": 3}, True).items]
    ['x', 'n']
    """
    items: list[WriteItem] = []
    for name, leaf in state_dict.items():
        if not isinstance(leaf, Tensor):
            items.append(WriteItem(MetadataIndex(name), WriteItemType.BYTE_IO))
        elif is_distributed(leaf):
            places = {p.offset: Size(p.array.shape) for p in _parts_here(leaf) if p.array.size or not leaf.numel()}
            items += [_item(name, leaf, offset, size, WriteItemType.SHARD) for offset, size in places.items()]
        else:
            offset = Size([0] * leaf.ndim)
            items.append(_item(name, leaf, offset, Size(leaf.shape), WriteItemType.TENSOR))
    return SavePlan(items)


def _item(name: str, tensor: Tensor, offset: Size, size: Size, kind: WriteItemType) -> WriteItem:
    properties = TensorProperties(tensor.dtype, requires_grad=tensor.requires_grad)
    data = TensorWriteData(ChunkStorageMetadata(offset, size), properties, Size(tensor.shape))
    return WriteItem(MetadataIndex(name, offset), kind, tensor_data=data)


def create_default_global_save_plan(
    all_plans: list[SavePlan], rewrite_index_hints: bool = True
) -> tuple[list[SavePlan], Metadata]:
    """(the plans, what then is in the checkpoint). With hints the indices of parts count those of a tensor.

    >>> import torch.distributed.checkpoint as dcp
    >>> from torch.distributed.checkpoint import default_planner
    >>> plan = default_planner.create_default_local_save_plan({"x": torch.ones(2)}, True)
    >>> plans, metadata = default_planner.create_default_global_save_plan([plan])
    >>> metadata.state_dict_metadata["x"].size
    torch.Size([2])
    """
    found: dict[str, TensorStorageMetadata | BytesStorageMetadata] = {}
    plans = []
    for plan in all_plans:
        items = []
        for item in plan.items:
            data = item.tensor_data
            if data is None:
                found.setdefault(item.index.fqn, BytesStorageMetadata())
                items.append(item)
                continue
            tensor = found.setdefault(item.index.fqn, TensorStorageMetadata(data.properties, data.size, []))
            if rewrite_index_hints:
                index = dataclasses.replace(item.index, index=len(tensor.chunks))
                item = dataclasses.replace(item, index=index)
            tensor.chunks.append(data.chunk)
            items.append(item)
        plans.append(dataclasses.replace(plan, items=items))
    return plans, Metadata(found)


def _without_copies(plans: list[SavePlan], to_first: bool) -> list[SavePlan]:
    """Each item by one process: the first that has it, or of those that do the one with the least to write so far."""
    owners: dict[MetadataIndex, list[int]] = {}
    items: dict[MetadataIndex, WriteItem] = {}
    for k, plan in enumerate(plans):
        for item in plan.items:
            owners.setdefault(item.index, []).append(k)
            items[item.index] = item
    load = [0] * len(plans)
    taken: list[set[MetadataIndex]] = [set() for _ in plans]
    for index, those in owners.items():
        k = those[0] if to_first else min(those, key=load.__getitem__)
        load[k] += items[index].tensor_storage_size() or 1
        taken[k].add(index)
    return [
        dataclasses.replace(plan, items=[item for item in plan.items if item.index in mine])
        for plan, mine in zip(plans, taken)
    ]


def _check(metadata: Metadata) -> None:
    for name, found in metadata.state_dict_metadata.items():
        if isinstance(found, TensorStorageMetadata):
            inside = all(o + n <= m for c in found.chunks for o, n, m in zip(c.offsets, c.sizes, found.size))
            if not inside or sum(math.prod(c.sizes) for c in found.chunks) != math.prod(found.size):
                raise ValueError(INVALID.format(name=name, size=found.size, n=len(found.chunks)))


class DefaultSavePlanner(SavePlanner):
    """What save takes when it is given no planner. Subclasses change what is saved (set_up_planner), which process
    writes it (create_global_plan), or what is written (resolve_data, lookup_object, transform_object).

    flatten_state_dict: save nested dicts by names such as "model.weight"; else only the values of the outer one.
    dedup_save_to_lowest_rank: what several processes have is written by the first of them; else by whichever has the
    least to write.

    >>> import tempfile
    >>> import torch.distributed.checkpoint as dcp
    >>> class Prefixed(dcp.DefaultSavePlanner):
    ...   def set_up_planner(self, state_dict, storage_meta=None, is_coordinator=False):
    ...     super().set_up_planner({f"run.{k}": v for k, v in state_dict.items()}, storage_meta, is_coordinator)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...   metadata = dcp.save({"x": torch.ones(2)}, checkpoint_id=folder, planner=Prefixed())
    >>> list(metadata.state_dict_metadata)
    ['run.x']
    """

    mappings: dict[str, Path]

    def __init__(
        self,
        flatten_state_dict: bool = True,
        flatten_sharded_tensors: bool = True,
        dedup_replicated_tensors: bool | None = None,
        dedup_save_to_lowest_rank: bool = False,
        enable_plan_caching: bool = False,
    ) -> None:
        self.flatten_state_dict, self.flatten_sharded_tensors = flatten_state_dict, flatten_sharded_tensors
        self.dedup_save_to_lowest_rank, self.mappings = dedup_save_to_lowest_rank, {}

    def set_up_planner(self, state_dict, storage_meta=None, is_coordinator=False) -> None:
        """What is saved, and whether this process is the first one."""
        if self.flatten_state_dict:
            state_dict, self.mappings = flatten_state_dict(state_dict)
        self.state_dict, self.is_coordinator = state_dict, is_coordinator

    def create_local_plan(self) -> SavePlan:
        """What this process has."""
        plan = create_default_local_save_plan(self.state_dict, self.is_coordinator)
        if self.flatten_state_dict:
            plan = dataclasses.replace(plan, planner_data=self.mappings)
        self.plan = plan
        return plan

    def create_global_plan(self, all_plans: list[SavePlan]) -> tuple[list[SavePlan], Metadata]:
        """What each process will write. ValueError if that is not the whole of a tensor."""
        plans, metadata = create_default_global_save_plan(_without_copies(all_plans, self.dedup_save_to_lowest_rank))
        if self.flatten_state_dict:
            metadata.planner_data = {k: v for plan in plans for k, v in (plan.planner_data or {}).items()}
        _check(metadata)
        self.global_plan, self.metadata = plans, metadata
        return plans, metadata

    def finish_plan(self, new_plan: SavePlan) -> SavePlan:
        """What this process will write."""
        self.plan = new_plan
        return new_plan

    def resolve_data(self, write_item: WriteItem) -> Tensor | io.BytesIO:
        """The tensor, or the bytes, of an item."""
        return self.transform_object(write_item, self.lookup_object(write_item.index))

    def lookup_object(self, index: MetadataIndex) -> Any:
        """What an index means in the state dict."""
        leaf = self.state_dict[index.fqn]
        if not isinstance(leaf, Tensor):
            return leaf
        if is_distributed(leaf):
            return from_array(next(np.array(p.array) for p in _parts_here(leaf) if p.offset == index.offset))
        return leaf.detach()

    def transform_object(self, write_item: WriteItem, object: Any) -> Tensor | io.BytesIO:
        """The form in which it is written: objects as the bytes of torch.save."""
        if write_item.type is WriteItemType.BYTE_IO:
            stream = io.BytesIO()
            serialization.save(object, stream)
            return stream
        return object


# ---- loading -------------------------------------------------------------------------------------


def create_default_local_load_plan(state_dict: dict[str, Any], metadata: Metadata, strict: bool = True) -> LoadPlan:
    """What a process has to read for a flat state dict. RuntimeError for a key that the checkpoint has not (if strict),
    ValueError for a tensor of another size.

    >>> import torch.distributed.checkpoint as dcp
    >>> from torch.distributed.checkpoint import default_planner
    >>> plan = default_planner.create_default_local_save_plan({"x": torch.ones(2)}, True)
    >>> _, metadata = default_planner.create_default_global_save_plan([plan])
    >>> default_planner.create_default_local_load_plan({"x": torch.zeros(2)}, metadata).items[0].lengths
    torch.Size([2])
    """
    items: list[ReadItem] = []
    for name, leaf in state_dict.items():
        saved = metadata.state_dict_metadata.get(name)
        if saved is None:
            if strict:
                raise RuntimeError(MISSING.format(name=name))
        elif isinstance(saved, TensorStorageMetadata) and isinstance(leaf, Tensor):
            items += _reads(name, leaf, saved)
        else:
            index, none = MetadataIndex(name), Size([0])
            items.append(ReadItem(LoadItemType.BYTE_IO, index, none, index, none, none))
    return LoadPlan(items)


def _reads(name: str, tensor: Tensor, saved: TensorStorageMetadata) -> list[ReadItem]:
    if tuple(saved.size) != tuple(tensor.shape):
        raise ValueError(OTHER_SIZE.format(saved=saved.size, found=tensor.shape, name=name))
    if is_distributed(tensor):
        places = {p.offset: Size(p.array.shape) for p in _parts_here(tensor)}
    else:
        places = {Size([0] * tensor.ndim): Size(tensor.shape)}
    items = []
    for offset, size in places.items():
        found = 0
        for k, chunk in enumerate(saved.chunks):
            overlap = _overlap(offset, size, chunk.offsets, chunk.sizes)
            if overlap is not None:
                mine, theirs, lengths = overlap
                source = MetadataIndex(name, chunk.offsets, k)
                items.append(ReadItem(LoadItemType.TENSOR, MetadataIndex(name, offset), mine, source, theirs, lengths))
                found += math.prod(lengths)
        if found != math.prod(size):
            raise RuntimeError(INCOMPLETE.format(name=name))
    return items


def create_default_global_load_plan(all_plans: list[LoadPlan]) -> list[LoadPlan]:
    """The plans: each process reads what it wants.

    >>> from torch.distributed.checkpoint import LoadPlan, default_planner
    >>> len(default_planner.create_default_global_load_plan([LoadPlan([])]))
    1
    """
    return all_plans


class DefaultLoadPlanner(LoadPlanner):
    """What load takes when it is given no planner. Subclasses change which names are read (set_up_planner), or what
    becomes of the values (load_bytes, resolve_tensor, commit_tensor, lookup_tensor, transform_tensor).

    allow_partial_load: leave what the checkpoint has not.

    >>> import tempfile
    >>> import torch.distributed.checkpoint as dcp
    >>> state = {"x": torch.zeros(2), "new": 7}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...   _ = dcp.save({"x": torch.ones(2)}, checkpoint_id=folder)
    ...   dcp.load(state, checkpoint_id=folder, planner=dcp.DefaultLoadPlanner(allow_partial_load=True))
    >>> state
    {'x': tensor([1., 1.]), 'new': 7}
    """

    original_state_dict: dict[str, Any]
    mappings: dict[str, Path]

    def __init__(
        self, flatten_state_dict: bool = True, flatten_sharded_tensors: bool = True, allow_partial_load: bool = False
    ) -> None:
        self.flatten_state_dict, self.flatten_sharded_tensors = flatten_state_dict, flatten_sharded_tensors
        self.allow_partial_load = allow_partial_load
        self.original_state_dict, self.mappings = {}, {}
        self._arriving: dict[str, dict[Size, Tensor]] = {}  # what was read of DTensors, until all of it is there

    def set_up_planner(self, state_dict, metadata=None, is_coordinator=False) -> None:
        """What is read into, what is in the checkpoint, and whether this process is the first one."""
        self.original_state_dict = state_dict
        if self.flatten_state_dict:
            state_dict, self.mappings = flatten_state_dict(state_dict)
        self.state_dict, self.metadata, self.is_coordinator = state_dict, metadata, is_coordinator

    def create_local_plan(self) -> LoadPlan:
        """What this process has to read."""
        assert self.metadata is not None
        return create_default_local_load_plan(self.state_dict, self.metadata, not self.allow_partial_load)

    def create_global_plan(self, global_plan: list[LoadPlan]) -> list[LoadPlan]:
        """What each process will read."""
        return create_default_global_load_plan(global_plan)

    def finish_plan(self, new_plan: LoadPlan) -> LoadPlan:
        """What this process will read."""
        return new_plan

    def load_bytes(self, read_item: ReadItem, value: io.BytesIO) -> None:
        """Put an object into the state dict."""
        name, found = read_item.dest_index.fqn, serialization.load(value, weights_only=False)
        if self.flatten_state_dict:
            set_element(self.original_state_dict, self.mappings[name], found)
        else:
            self.state_dict[name] = found

    def resolve_tensor(self, read_item: ReadItem) -> Tensor:
        """The part of a tensor of the state dict that an item is copied to."""
        return self.transform_tensor(read_item, self.lookup_tensor(read_item.dest_index))

    def commit_tensor(self, read_item: ReadItem, tensor: Tensor) -> None:
        """Nothing: the tensor is a view."""

    def lookup_tensor(self, index: MetadataIndex) -> Tensor:
        """The tensor of an index; of a DTensor, one for the part of it."""
        leaf = self.state_dict[index.fqn]
        if not is_distributed(leaf):
            return leaf.detach()
        arriving = self._arriving.get(index.fqn)
        if arriving is None:
            sizes = {p.offset: p.array.shape for p in _parts_here(leaf)}
            arriving = self._arriving[index.fqn] = {o: empty(n, dtype=leaf.dtype) for o, n in sizes.items()}
        return arriving[index.offset]

    def transform_tensor(self, read_item: ReadItem, tensor: Tensor) -> Tensor:
        """The part of the tensor that an item is copied to."""
        for dim, (start, length) in enumerate(zip(read_item.dest_offsets, read_item.lengths)):
            tensor = tensor.narrow(dim, start, length)
        return tensor

    def put_distributed(self) -> None:
        """Give DTensors what has been read, all processes in the same order."""
        names = [name for name in self.state_dict if name in self._arriving]
        with no_grad():
            for name in names:
                leaf, arrived = self.state_dict[name], self._arriving.pop(name)
                arrays = [to_numpy(arrived[p.offset]._read()) for p in _parts_here(leaf)]
                leaf.copy_(_put_parts(leaf, arrays))


class _EmptyStateDictLoadPlanner(DefaultLoadPlanner):
    """Reads everything that is in a checkpoint, or what begins with one of `keys`, into an empty dict."""

    def __init__(self, keys=None, *args, **kwargs) -> None:
        self.keys = keys
        super().__init__(*args, **kwargs)

    def _is_wanted(self, name: str, path: Path) -> bool:
        if self.keys is None or name in self.keys:
            return True
        begins = [".".join(map(str, path[:n])) for n in range(1, len(path) + 1)]
        return any(key in self.keys for key in begins)

    def set_up_planner(self, state_dict, metadata=None, is_coordinator=False) -> None:
        """Make a place for everything."""
        assert not state_dict and metadata is not None
        paths = metadata.planner_data or {}
        flat = {}
        for name, saved in metadata.state_dict_metadata.items():
            if self._is_wanted(name, paths.get(name, (name,))):
                is_tensor = isinstance(saved, TensorStorageMetadata)
                flat[name] = empty(saved.size, dtype=saved.properties.dtype) if is_tensor else None
        found = unflatten_state_dict(flat, paths) if metadata.planner_data else flat
        state_dict.update(found)
        super().set_up_planner(state_dict, metadata, is_coordinator)
