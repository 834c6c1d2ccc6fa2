"""torch.distributed.checkpoint: saving and loading by all processes together, each its part.

A checkpoint is loaded by any number of processes: each reads the chunks that overlap with what it has.
"""

from __future__ import annotations

import itertools
import pickle
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from enum import Enum
from typing import Any, NamedTuple

import numpy as np

from ..... import xla
from .....engine import to_numpy
from .....engine.value import from_sharded
from ....tape.modes import no_grad
from ....tensors.base import Tensor, from_array
from .. import collectives
from ..group import default, is_initialized, runtime
from ..tensor.api import _distributed, is_distributed, sharding_of_tensor
from .filesystem import FileSystemReader, FileSystemWriter, _size
from .metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    StorageMeta,
    TensorProperties,
    TensorStorageMetadata,
)

MISSING = "Missing key in checkpoint state_dict: {name}."
OTHER_SIZE = "Size mismatch between saved {saved} and current: {found} for {name}"
INCOMPLETE = "the checkpoint has not all elements of {name}: its files are of several saves"
NOWHERE = "checkpoint_id, or a storage_{kind}, is needed: dcp.{name}(state_dict, checkpoint_id='folder')"


class CheckpointException(RuntimeError):
    """What went wrong in which processes: `failures`, by rank.

    >>> from torch.distributed.checkpoint import CheckpointException
    >>> issubclass(CheckpointException, BaseException)
    True
    """

    def __init__(self, message: str, failures: dict[int, BaseException]):
        super().__init__(f"{message} ranks:{list(failures)} " + "; ".join(f"{r}: {e!r}" for r, e in failures.items()))
        self.failures = failures


class AsyncCheckpointerType(Enum):
    """Where async_save writes: in a thread in either case.

    >>> from torch.distributed.checkpoint.state_dict_saver import AsyncCheckpointerType
    >>> AsyncCheckpointerType.THREAD.value
    'thread'
    """

    THREAD = "thread"
    PROCESS = "process"


# ---- processes -----------------------------------------------------------------------------------


class _Together:
    """The processes of a group; one alone without a group, or with no_dist."""

    def __init__(self, group, no_dist: bool):
        self.group = None if no_dist or not is_initialized() else group or default()
        self.rank = 0 if self.group is None else self.group.rank()

    def all(self, what: str, function: Callable[[], Any]) -> list[Any]:
        """What function() gives in each process; CheckpointException in all if it fails in one."""
        try:
            mine = function(), None
        except Exception as error:
            mine = None, error
        every = self._every(mine) if self.group is not None and self.group.size() > 1 else [mine]
        failures = {rank: error for rank, (_, error) in enumerate(every) if error is not None}
        if failures:
            raise CheckpointException(f"{what} failed:", failures) from next(iter(failures.values()))
        return [found for found, _ in every]

    def _every(self, mine: Any) -> list[Any]:
        every: list[Any] = [None] * self.group.size()
        collectives.all_gather_object(every, mine, self.group)
        return every


_saves: dict[str, Any] = defaultdict(itertools.count)  # of async_save, by group: all call it alike
PIECE = 1 << 20  # bytes in a message of the key-value store, which takes 4 MB


class _Beside(_Together):
    """The processes of a group, who tell each other by the key-value store, beside collectives."""

    def __init__(self, group, no_dist: bool):
        super().__init__(group, no_dist)
        key = "" if self.group is None else self.group.key
        self.name, self.turns = f"async_save/{key}/{next(_saves[key])}", itertools.count()

    def _every(self, mine: Any) -> list[Any]:
        board, group = runtime(), self.group
        own, turn = group.ranks[group.rank()], f"{self.name}/{next(self.turns)}"
        data = pickle.dumps(mine)
        pieces = [data[k : k + PIECE] for k in range(0, len(data), PIECE)]
        written = [(f"{turn}/{own}/{k}", piece) for k, piece in enumerate(pieces)]
        for key, piece in [*written, (f"{turn}/{own}", str(len(pieces)).encode())]:
            board.set(key, piece)

        def of(rank: int) -> Any:
            n = int(board.get(f"{turn}/{rank}", group.timeout))
            return pickle.loads(b"".join([board.get(f"{turn}/{rank}/{k}") for k in range(n)]))

        every = [mine if rank == own else of(rank) for rank in group.ranks]
        board.barrier(turn, group.ranks, group.timeout)
        for key, _ in [*written, (f"{turn}/{own}", b"")]:
            board.delete(key)
        return every


# ---- flat state ----------------------------------------------------------------------------------


def _is_leaf(value: Any) -> bool:
    """Whether it is stored as it is: no mapping, and no list with tensors in it."""
    if isinstance(value, Mapping):
        return False
    if not isinstance(value, list):
        return True
    return not any(isinstance(x, Tensor) or (isinstance(x, (Mapping, list)) and not _is_leaf(x)) for x in value)


def _flat(state: Any, path: tuple = ()) -> Iterator[tuple[tuple, Any]]:
    """(keys, leaf) of nested dicts and lists."""
    if path and _is_leaf(state):
        yield path, state
        return
    for key, value in state.items() if isinstance(state, Mapping) else enumerate(state):
        yield from _flat(value, (*path, str(key) if isinstance(state, Mapping) else key))


def _name(path: tuple) -> str:
    return ".".join(map(str, path))


def _states(state_dict: Mapping) -> dict:
    """The state with what has a state_dict replaced by it."""
    return {k: v.state_dict() if _is_stateful(v) else v for k, v in state_dict.items()}


def _is_stateful(x: Any) -> bool:
    return not isinstance(x, (Tensor, Mapping)) and hasattr(x, "state_dict") and hasattr(x, "load_state_dict")


# ---- parts of tensors ----------------------------------------------------------------------------


class _Part(NamedTuple):
    """What a process has of a tensor: an array, where it lies in the whole, and whether this process writes it."""

    array: np.ndarray
    offset: tuple[int, ...]
    writes: bool


def _parts(tensor: Tensor, rank: int) -> list[_Part]:
    if not is_distributed(tensor):
        array = to_numpy(tensor.detach()._read())
        return [_Part(array, (0,) * array.ndim, rank == 0)]
    sharding, shape = sharding_of_tensor(tensor), tuple(tensor.shape)
    places = [tuple([s.start or 0 for s in index]) for index in sharding.indices(shape)]
    arrays = xla.parts_here(tensor.detach()._read().data)
    return [  # empty ones, of more processes than rows, are not written
        _Part(array, places[i], places.index(places[i]) == i and bool(array.size or not tensor.numel()))
        for i, array in zip(sharding.mesh.here, arrays)
    ]


def _tensor_metadata(tensor: Tensor) -> TensorStorageMetadata:
    properties = TensorProperties(tensor.dtype, requires_grad=tensor.requires_grad)
    return TensorStorageMetadata(properties, _size(tensor.shape), [])


# ---- saving --------------------------------------------------------------------------------------


def save(
    state_dict: Mapping[str, Any],
    *,
    checkpoint_id=None,
    storage_writer: FileSystemWriter | None = None,
    planner=None,
    process_group=None,
    no_dist: bool = False,
    use_collectives: bool = True,
) -> Metadata:
    """Write nested dicts of tensors and other objects to a folder; all processes call it.

    Of a DTensor each process writes its part, all else is the first process's. The folder is the new checkpoint when
    all have written; a save that fails or is cut off leaves the one before.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> _ = torch.distributed.checkpoint.save({"x": torch.ones(2)}, checkpoint_id=folder)
    >>> state = {"x": torch.zeros(2)}
    >>> torch.distributed.checkpoint.load(state, checkpoint_id=folder)
    >>> state["x"]
    tensor([1., 1.])

    >>> import tempfile
    >>> import torch.distributed.checkpoint as dcp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...   _ = dcp.save({"weight": torch.ones(2)}, checkpoint_id=folder)
    ...   state = {"weight": torch.zeros(2)}
    ...   dcp.load(state, checkpoint_id=folder)
    >>> state
    {'weight': tensor([1., 1.])}
    """
    writer = _storage(FileSystemWriter, storage_writer, checkpoint_id, "writer", "save")
    together = _Together(process_group, no_dist)
    return _save(_items(state_dict, together.rank), writer, together)


def _storage(kind: type, given, checkpoint_id, what: str, name: str):
    if checkpoint_id is not None:
        return kind(checkpoint_id)
    if given is None:
        raise RuntimeError(NOWHERE.format(kind=what, name=name))
    return given


class _Items(NamedTuple):
    """What one process has to write, and what it knows of everything."""

    written: list[tuple[MetadataIndex, Any]]
    described: dict[str, Any]
    paths: dict[str, tuple]
    chunks: list[tuple[str, ChunkStorageMetadata]]


def _items(state_dict: Mapping, rank: int) -> _Items:
    found = _Items([], {}, {}, [])
    for path, leaf in _flat(_states(state_dict)):
        name = _name(path)
        found.paths[name] = path
        if not isinstance(leaf, Tensor):
            found.described[name] = BytesStorageMetadata()
            if rank == 0:
                found.written.append((MetadataIndex(name), leaf))
            continue
        found.described[name] = _tensor_metadata(leaf)
        for part in _parts(leaf, rank):
            if part.writes:
                offset = _size(part.offset)
                found.chunks.append((name, ChunkStorageMetadata(offset, _size(part.array.shape))))
                found.written.append((MetadataIndex(name, offset), from_array(np.array(part.array))))
    return found


def _save(items: _Items, writer: FileSystemWriter, together: _Together) -> Metadata:
    save_id = together.all("prepare", lambda: writer.save_id)[0]
    together.all("prepare", writer.prepare)
    every = together.all(
        "write", lambda: (items._replace(written=[]), writer.write(together.rank, save_id, items.written))
    )
    merged = Metadata({}, {}, {}, StorageMeta(str(writer.path), save_id), "1.0.0")
    for found, stored in every:
        for name, described in found.described.items():
            merged.state_dict_metadata.setdefault(name, described)
        merged.planner_data.update(found.paths)
        merged.storage_data.update(stored)
        for name, chunk in found.chunks:
            merged.state_dict_metadata[name].chunks.append(chunk)
    together.all("finish", lambda: writer.finish(merged) if together.rank == 0 else None)
    return merged


def async_save(
    state_dict: Mapping[str, Any],
    *,
    checkpoint_id=None,
    storage_writer: FileSystemWriter | None = None,
    planner=None,
    process_group=None,
    async_checkpointer_type: AsyncCheckpointerType = AsyncCheckpointerType.THREAD,
    async_stager=None,
    no_dist: bool = False,
    use_collectives: bool = True,
) -> Future:
    """save, of which a thread writes the files: a future. What is saved is as it is now.

    The threads of several processes tell each other by the key-value store of the process group, so that they do not
    meet the program's collectives; wait for the future before destroy_process_group.

    >>> import tempfile
    >>> import torch.distributed.checkpoint as dcp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...   _ = dcp.async_save({"weight": torch.ones(2)}, checkpoint_id=folder).result()
    ...   state = {"weight": torch.zeros(2)}
    ...   dcp.load(state, checkpoint_id=folder)
    >>> state
    {'weight': tensor([1., 1.])}
    """
    writer = _storage(FileSystemWriter, storage_writer, checkpoint_id, "writer", "async_save")
    together = _Beside(process_group, no_dist)
    items = _items(state_dict, together.rank)
    pool = ThreadPoolExecutor(1)
    future = pool.submit(_save, items, writer, together)
    pool.shutdown(wait=False)
    return future


def save_state_dict(state_dict, storage_writer, process_group=None, coordinator_rank=0, no_dist=False, planner=None):
    """save, as it was called before.

    >>> import tempfile
    >>> from torch.distributed import checkpoint
    >>> with tempfile.TemporaryDirectory() as folder:
    ...   metadata = checkpoint.save_state_dict({"x": torch.ones(2)}, checkpoint.FileSystemWriter(folder))
    """
    return save(state_dict, storage_writer=storage_writer, process_group=process_group, no_dist=no_dist)


# ---- loading -------------------------------------------------------------------------------------


def load(
    state_dict: dict[str, Any],
    *,
    checkpoint_id=None,
    storage_reader: FileSystemReader | None = None,
    planner=None,
    process_group=None,
    no_dist: bool = False,
) -> None:
    """Read a checkpoint into the tensors of nested dicts, whichever way they lie; other leaves are replaced.

    CheckpointException for a key that the checkpoint has not, and a tensor of another size.

    >>> import tempfile
    >>> import torch.distributed.checkpoint as dcp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...   _ = dcp.save({"weight": torch.ones(2)}, checkpoint_id=folder)
    ...   state = {"weight": torch.zeros(2)}
    ...   dcp.load(state, checkpoint_id=folder)
    >>> state
    {'weight': tensor([1., 1.])}
    """
    reader = _storage(FileSystemReader, storage_reader, checkpoint_id, "reader", "load")
    together = _Together(process_group, no_dist)
    states = _states(state_dict)
    together.all("read", lambda: _load(states, reader))
    for key, value in state_dict.items():
        if _is_stateful(value):
            value.load_state_dict(states[key])
        else:
            state_dict[key] = states[key]


def _load(states: dict, reader: FileSystemReader):
    found = reader.read_metadata()
    chunks: dict[str, list] = {}
    for index, info in found.storage_data.items():
        chunks.setdefault(index.fqn, []).append((index, info))
    with reader.opened() as files, no_grad():
        for path, leaf in list(_flat(states)):
            name = _name(path)
            if name not in found.state_dict_metadata:
                raise RuntimeError(MISSING.format(name=name))
            if isinstance(leaf, Tensor):
                _load_tensor(leaf, name, found.state_dict_metadata[name], chunks[name], files)
            else:
                _put_at(states, path, files.read(chunks[name][0][1], weights_only=False))


def _put_at(states: Any, path: tuple, value: Any):
    for key in path[:-1]:
        states = states[_own_key(states, key)]
    states[_own_key(states, path[-1])] = value


def _own_key(container: Any, key: Any) -> Any:
    """A key as the container has it: paths are strings."""
    if isinstance(container, Mapping) and key not in container:
        return next(k for k in container if str(k) == key)
    return key


def _load_tensor(tensor: Tensor, name: str, saved: TensorStorageMetadata, chunks: list, files):
    if tuple(saved.size) != tuple(tensor.shape):
        raise ValueError(OTHER_SIZE.format(saved=saved.size, found=tensor.shape, name=name))
    shapes = {tuple(c.offsets): tuple(c.sizes) for c in saved.chunks}
    read: dict[tuple, np.ndarray] = {}

    def chunk(offset: tuple) -> np.ndarray:
        if offset not in read:
            info = next(i for index, i in chunks if tuple(index.offset) == offset)
            read[offset] = to_numpy(files.read(info, weights_only=True)._read())
        return read[offset]

    arrays = []
    for part in _parts(tensor, 0):
        out = np.empty(part.array.shape, part.array.dtype)
        filled = 0
        for offset, shape in shapes.items():
            overlap = _overlap(part.offset, part.array.shape, offset, shape)
            if overlap is not None:
                mine, theirs = overlap
                out[mine] = chunk(offset)[theirs]
                filled += out[mine].size
        if filled < out.size:
            raise RuntimeError(INCOMPLETE.format(name=name))
        arrays.append(out)
    if is_distributed(tensor):
        sharding = sharding_of_tensor(tensor)
        tensor.copy_(_distributed(from_sharded(xla.put_parts(tuple(tensor.shape), sharding, arrays))))
    else:
        tensor.copy_(from_array(arrays[0]))


def _overlap(start, shape, other_start, other_shape) -> tuple[tuple, tuple] | None:
    """Where two parts of a tensor meet, in the one and in the other; None where they do not."""
    mine, theirs = [], []
    for a, n, b, m in zip(start, shape, other_start, other_shape):
        low, high = max(a, b), min(a + n, b + m)
        if low >= high:
            return None
        mine.append(slice(low - a, high - a))
        theirs.append(slice(low - b, high - b))
    return tuple(mine), tuple(theirs)


def load_state_dict(state_dict, storage_reader, process_group=None, coordinator_rank=0, no_dist=False, planner=None):
    """load, as it was called before.

    >>> import tempfile
    >>> from torch.distributed import checkpoint
    >>> state = {"x": torch.zeros(2)}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...   metadata = checkpoint.save({"x": torch.ones(2)}, storage_writer=checkpoint.FileSystemWriter(folder))
    ...   checkpoint.load_state_dict(state, checkpoint.FileSystemReader(folder))
    >>> state["x"]
    tensor([1., 1.])
    """
    load(state_dict, storage_reader=storage_reader, process_group=process_group, no_dist=no_dist)
