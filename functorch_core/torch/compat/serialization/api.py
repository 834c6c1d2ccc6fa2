"""`save` and `load`: files, records and pickles put together."""

import contextlib
import io
import os
import pickle
import types
from collections.abc import Callable, Iterator, Mapping
from typing import BinaryIO

import numpy as np

from .archive import ZIP_MAGIC, ArchiveReader, ArchiveWriter, native_byteorder
from .atomic import open_atomic
from .legacy import read_legacy, write_legacy
from .pickling import Describe, pickle_object
from .rebuilding import LoadedStorages, Rebuild, Rebuilder, known_names
from .specs import StorageSpec
from .tar import is_tar, read_tar
from .unpickling import Machine, SafeGlobals

# PyTorch moved a module; old files name it as it was.
RENAMED_MODULES = {"torch.tensor": "torch._tensor"}

WEIGHTS_ONLY_FAILED = (
    "Weights only load failed. {reason}\n"
    "If you trust the source of the file, `torch.load(..., weights_only=False)` loads it, but can "
    "then run any code that the file contains."
)
NOT_SEEKABLE = (
    "'{kind}' object has no attribute '{name}'. You can only torch.load from a file that is seekable. "
    "Please pre-load the data into a buffer like io.BytesIO and try to load from it instead."
)
MMAP_NEEDS_ZIP = (
    "mmap can only be used with files saved with torch.save(_use_new_zipfile_serialization=True); "
    "this file is in the format of PyTorch before 1.6."
)

# ------------------------------------------------------------------------------------------ save


def _is_path(file: object) -> bool:
    return isinstance(file, (str, os.PathLike))


def _archive_name(file: object) -> str:
    """The folder inside the archive: the file's name, as PyTorch has it, where that is plain."""
    if not _is_path(file):
        return "archive"
    stem, _ = os.path.splitext(os.path.basename(os.fsdecode(os.fspath(file))))
    return stem if stem.isascii() and stem.isprintable() and stem.strip(".") else "archive"


@contextlib.contextmanager
def _open_output(file: object) -> Iterator[BinaryIO]:
    if _is_path(file):
        if os.path.isdir(file):
            raise RuntimeError(f"torch.save: {os.fspath(file)!r} is a directory")
        with open_atomic(file) as opened:
            yield opened
    elif hasattr(file, "write"):
        yield file
    else:
        raise AttributeError(
            f"torch.save expected a path or a file-like object with a 'write' attribute, got {type(file).__name__}"
        )


def save(
    obj: object,
    file: str | os.PathLike | BinaryIO,
    *,
    describe: Describe,
    pickle_protocol: int = 2,
    legacy: bool = False,
    names_byteorder: bool = True,
) -> None:
    """Write `obj` as a checkpoint that PyTorch reads, also with `weights_only=True`.

    A path is replaced in one step when everything is written; until then, and after any failure,
    the old file stands. Permissions of an existing file are kept.

    Args:
        obj: anything picklable around tensors.
        file: a path, or an object with `write`.
        describe: called with every object that is not of a plain Python type; a TensorSpec,
            ParameterSpec, StorageSpec or GlobalName says how it is saved, None leaves it to pickle.
        pickle_protocol: PyTorch's `weights_only=True` reads protocol 2 only.
        legacy: write the format of PyTorch before 1.6.
        names_byteorder: whether the archive says in which order its bytes are.

    Raises RuntimeError for a tensor outside its storage, a storage shared by two dtypes, or a
    directory that does not exist; PicklingError, TypeError, OSError as pickle and the system do.

    >>> import io
    >>> from torch.serialization import formats
    >>> file = io.BytesIO()
    >>> formats.save({"epoch": 3}, file, describe=lambda x: None)
    >>> formats.load(io.BytesIO(file.getvalue()), rebuild=None)
    {'epoch': 3}
    """
    data, storages = pickle_object(obj, protocol=pickle_protocol, describe=describe, legacy=legacy)
    if legacy:
        with _open_output(file) as output:
            write_legacy(output, data, storages, protocol=pickle_protocol)
            if hasattr(output, "flush"):  # who reads by the file's name finds everything
                output.flush()
        return
    with _open_output(file) as output, ArchiveWriter(output, _archive_name(file)) as archive:
        archive.write("data.pkl", data)
        if names_byteorder:
            archive.write("byteorder", native_byteorder())
        for key, array in storages.arrays.items():
            archive.write(f"data/{key}", memoryview(array))


# ------------------------------------------------------------------------------------------ load


class _Loader:
    """The caller's choices, and how one pickle is read under them."""

    def __init__(
        self,
        *,
        rebuild: Rebuild,
        names: Mapping[str, object],
        map_location: object,
        weights_only: bool,
        pickle_module: types.ModuleType | None,
        find_class: Callable[[str, str], object] | None,
        wrap_storage: Callable[[StorageSpec], object] | None,
        encoding: str,
        byteorder: str,
        maps_shared: bool,
    ):
        self.byteorder = byteorder  # of files that do not say it
        self.maps_shared = maps_shared
        self._rebuild = rebuild
        self._names = names
        self._map_location = map_location
        self.weights_only = weights_only
        self._pickle_module = pickle_module or pickle
        self._find_class = find_class
        self._wrap_storage = wrap_storage
        self._encoding = encoding

    def storages(self, read: Callable[[str], np.ndarray], byteorder: str) -> LoadedStorages:
        """The storages of a file, which `read(key)` fetches."""
        return LoadedStorages(read, byteorder=byteorder, map_location=self._map_location, wrap=self._wrap_storage)

    def rebuilder(self, storages: LoadedStorages) -> Rebuilder:
        """What makes tensors over these storages."""
        return Rebuilder(storages, self._rebuild)

    def names(self, rebuilder: Rebuilder) -> Mapping[str, object]:
        """What torch's names mean in the file."""
        return known_names(rebuilder, self._names)

    def run(self, stream: BinaryIO, read: Callable[[str], np.ndarray], byteorder: str = "little") -> object:
        """The object in the stream's pickle, its storages fetched by `read(key)`."""
        storages = self.storages(read, byteorder)
        names = self.names(self.rebuilder(storages))
        if not self.weights_only:
            return self.unpickler(stream, names, storages.persistent_load).load()
        machine = Machine(
            stream, names=SafeGlobals(names), persistent_load=storages.persistent_load, encoding=self._encoding
        )
        return machine.load()

    def unpickler(self, stream: BinaryIO, names: Mapping[str, object], persistent_load: Callable) -> pickle.Unpickler:
        """Python's unpickler (or the caller's), with torch's names looked up here first."""
        find_elsewhere = self._find_class

        class Unpickler(self._pickle_module.Unpickler):
            def find_class(self, module: str, name: str) -> object:
                module = RENAMED_MODULES.get(module, module)
                if f"{module}.{name}" in names:
                    return names[f"{module}.{name}"]
                found = None if find_elsewhere is None else find_elsewhere(module, name)
                return super().find_class(module, name) if found is None else found

            def persistent_load(self, identity: object) -> object:
                if type(identity) is tuple and identity[:1] == ("module",):
                    return identity[1]
                return persistent_load(identity)

        return Unpickler(stream, encoding=self._encoding)


def _byteorder(archive: ArchiveReader, otherwise: str) -> str:
    """'little' or 'big'; `otherwise` of files without the record."""
    order = archive.read("byteorder") if "byteorder" in archive else otherwise.encode()
    if order not in (b"little", b"big"):
        raise ValueError(f"Unknown endianness type: {order.decode(errors='replace')}")
    return order.decode()


def _mapped_reader(archive: ArchiveReader, path: str, shared: bool) -> Callable[[str], np.ndarray]:
    """Storages as pieces of the file, mapped; writing to them reaches the file only if it is `shared`."""
    whole = np.memmap(path, dtype=np.uint8, mode="r+" if shared else "c")

    def read(key: str) -> np.ndarray:
        start = archive.data_offset(f"data/{key}")
        # A plain array: np.memmap's subclass would leak into everything computed from it.
        return np.asarray(whole[start : start + archive.size(f"data/{key}")])

    return read


def _load_zip(file: BinaryIO, loader: _Loader, mapped_path: str | None) -> object:
    archive = ArchiveReader(file)
    if "constants.pkl" in archive:
        raise RuntimeError("this is a TorchScript archive: torch.jit.load reads it, not torch.load")
    if mapped_path is None:
        read = lambda key: archive.read_array(f"data/{key}")  # noqa: E731
    else:
        read = _mapped_reader(archive, mapped_path, loader.maps_shared)
    order = _byteorder(archive, loader.byteorder)
    return loader.run(io.BytesIO(archive.read("data.pkl")), read, order)


def _load_opened(file: BinaryIO, loader: _Loader, mapped_path: str | None) -> object:
    position = file.tell()
    magic = file.read(len(ZIP_MAGIC))
    file.seek(position)
    if magic == ZIP_MAGIC:
        return _load_zip(file, loader, mapped_path)
    if mapped_path is not None:
        raise RuntimeError(MMAP_NEEDS_ZIP)
    if is_tar(file):
        return read_tar(file, loader)
    return read_legacy(file, loader.run)


@contextlib.contextmanager
def _open_input(file: object) -> Iterator[BinaryIO]:
    if _is_path(file):
        with open(file, "rb") as opened:
            yield opened
    else:
        for name in ("seek", "tell", "read", "readline"):
            if not hasattr(file, name):
                raise AttributeError(NOT_SEEKABLE.format(kind=type(file).__name__, name=name))
        yield file


def _check_options(file: object, weights_only: bool, pickle_module: object, mmap: bool) -> None:
    if weights_only and pickle_module is not None:
        raise RuntimeError(
            "Can not safely load weights when explicit pickle_module is specified: "
            "give weights_only=False or leave pickle_module out"
        )
    if mmap and not _is_path(file):
        raise ValueError("f must be a file path in order to use the mmap argument")


def load(
    file: str | os.PathLike | BinaryIO,
    *,
    rebuild: Rebuild,
    map_location: object = None,
    weights_only: bool = True,
    mmap: bool = False,
    pickle_module: types.ModuleType | None = None,
    globals: Mapping[str, object] | None = None,
    find_class: Callable[[str, str], object] | None = None,
    wrap_storage: Callable[[StorageSpec], object] | None = None,
    encoding: str = "utf-8",
    byteorder: str = "little",
    maps_shared: bool = False,
) -> object:
    """Read a checkpoint of PyTorch (zip or legacy), or of `save`.

    Args:
        file: a path, or a seekable binary file.
        rebuild: makes the tensor of a TensorSpec, the parameter of a ParameterSpec (its `data` was made before).
        map_location: a device, a dict of locations, or a function (StorageSpec, location) -> StorageSpec or device.
        weights_only: refuse everything but tensors, plain containers and what `globals` lists.
        mmap: map the storages instead of reading them (needs a path; skips their checksums).
        pickle_module: whose Unpickler to use with weights_only=False, instead of pickle's.
        globals: 'module.name' to object, for names that the file may refer to.
        find_class: (module, name) -> object for other names, with weights_only=False; None: the unpickler's.
        wrap_storage: makes what the caller sees of a StorageSpec that is saved by itself.
        encoding: for strings pickled by Python 2.
        byteorder: of archives that do not say it, 'little' or 'big'.
        maps_shared: with mmap, what is written to a storage's array goes into the file.

    Raises RuntimeError for a damaged archive, and for tensors that do not fit their storages; UnpicklingError for a
    damaged pickle and for names that are not allowed; EOFError for an empty file; ValueError for mmap without a path.

    >>> import io
    >>> from torch.serialization import formats
    >>> file = io.BytesIO()
    >>> torch.save(torch.arange(3), file)
    >>> formats.load(io.BytesIO(file.getvalue()), rebuild=lambda spec: (spec.dtype, tuple(spec.size)))
    ('torch.int64', (3,))
    """
    _check_options(file, weights_only, pickle_module, mmap)
    loader = _Loader(
        rebuild=rebuild,
        names=globals or {},
        map_location=map_location,
        weights_only=weights_only,
        pickle_module=pickle_module,
        find_class=find_class,
        wrap_storage=wrap_storage,
        encoding=encoding,
        byteorder=byteorder,
        maps_shared=maps_shared,
    )
    with _open_input(file) as opened, _explained(weights_only):
        return _load_opened(opened, loader, os.fspath(file) if mmap else None)


@contextlib.contextmanager
def _explained(weights_only: bool):
    """Context: what `weights_only` refuses is said with what to do."""
    try:
        yield
    except pickle.UnpicklingError as error:
        if not weights_only:
            raise
        raise pickle.UnpicklingError(WEIGHTS_ONLY_FAILED.format(reason=error)) from error
