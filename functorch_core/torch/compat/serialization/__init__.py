"""torch.save and torch.load: PyTorch's checkpoint files, both directions."""

from __future__ import annotations

import contextlib
import enum
import importlib
import os
import pickle
import pickletools
import sys
import zipfile
from collections.abc import Callable
from mmap import MAP_PRIVATE, MAP_SHARED
from typing import IO

from ....core.warn import warn
from ....names import own_name, saving, torch_name
from ..._missing import getter
from ...dispatch.parameter import Buffer, Parameter
from ...tensors import types as _types
from ...tensors.base import Tensor
from . import formats as engine
from .api import ZIP_MAGIC
from .archive import ArchiveReader, Settings
from .packages import _package_registry, default_restore_location, location_tag, register_package
from .rebuilders import _rebuild_distributed, _rebuild_nested, _rebuild_sparse_tensor, _rebuild_wrapper_subclass
from .rebuilding import LoadedStorages, Rebuilder, known_names
from .skipping import skip_data
from .tensors import Rebuild, describe, reduce_storage, reduce_tensor
from .unpickling import SAFE_CONSTRUCTORS
from .zip_files import PyTorchFileReader as PyTorchFileReader
from .zip_files import PyTorchFileWriter as PyTorchFileWriter
from .zip_files import _open_file_like, _open_zipfile_reader, _open_zipfile_writer

__all__ = [
    "LoadEndianness",
    "add_safe_globals",
    "clear_safe_globals",
    "get_crc32_options",
    "get_default_load_endianness",
    "get_default_mmap_options",
    "get_safe_globals",
    "get_unsafe_globals_in_checkpoint",
    "load",
    "register_package",
    "safe_globals",
    "save",
    "set_crc32_options",
    "set_default_load_endianness",
    "set_default_mmap_options",
    "skip_data",
]

DEFAULT_PROTOCOL = 2
# For annotations.
FILE_LIKE = str | os.PathLike | IO[bytes]
MAP_LOCATION = Callable | _types.device | str | dict[str, str] | None


def _is_zipfile(f) -> bool:
    """Whether a file, at its current position, is an archive of torch.save (by its first bytes)."""
    position = f.tell()
    found = f.read(len(ZIP_MAGIC))
    f.seek(position)
    return found == ZIP_MAGIC


ONLY_PICKLE = (
    "torch.save: pickle_module={name} is not implemented: tensors are written by this "
    "library's own pickler. Leave pickle_module out"
)


def save(
    obj,
    f,
    pickle_module=pickle,
    pickle_protocol=DEFAULT_PROTOCOL,
    _use_new_zipfile_serialization=True,
    _disable_byteorder_record=False,
):
    """Write an object with the tensors in it to a path or a binary file.

    >>> import io
    >>> f = io.BytesIO()
    >>> torch.save({"x": torch.ones(2)}, f)
    >>> _ = f.seek(0)
    >>> torch.load(f)
    {'x': tensor([1., 1.])}
    """
    if pickle_module is not pickle:
        raise NotImplementedError(ONLY_PICKLE.format(name=pickle_module.__name__))
    with saving():
        engine.save(
            obj,
            f,
            describe=describe,
            pickle_protocol=pickle_protocol,
            legacy=not _use_new_zipfile_serialization,
            names_byteorder=not _disable_byteorder_record,
        )


def load(f, map_location=None, pickle_module=None, *, weights_only=None, mmap=None, **pickle_load_args):
    """The object that torch.save wrote, here or in PyTorch, to a path or a binary file.

    weights_only (the default) refuses everything but tensors, plain containers and what
    `torch.serialization.add_safe_globals` lists; other files can run any code. map_location is a
    device, its name, a dict of names or a function of (storage, location).

    >>> import io
    >>> file = io.BytesIO()
    >>> torch.save({"step": 3, "weight": torch.ones(2)}, file)
    >>> _ = file.seek(0)
    >>> torch.load(file)
    {'step': 3, 'weight': tensor([1., 1.])}
    """
    weights_only = _checked_weights_only(weights_only)
    if pickle_load_args and weights_only:
        warn("pickle_load_args only works if `weights_only=False`.")
    unknown = set(pickle_load_args) - {"encoding", "errors", "fix_imports"}
    if unknown and not weights_only:
        raise TypeError(f"load() got an unexpected keyword argument '{min(unknown)}'")
    maps = _mmap_by_default if mmap is None else mmap
    shares = bool(maps) and _mmap_flags == MAP_SHARED
    rebuild = Rebuild(live=shares)
    return engine.load(
        f,
        rebuild=rebuild,
        map_location=map_location,
        weights_only=weights_only,
        mmap=maps,
        maps_shared=shares,
        pickle_module=pickle_module,
        globals=_known_globals() if weights_only else _constants(),
        find_class=_find_class,
        wrap_storage=rebuild.storage,
        encoding=pickle_load_args.pop("encoding", "utf-8"),
        byteorder=_unmarked_byteorder(),
    )


FORCED_OFF = (
    "Environment variable TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD detected, since the`weights_only` argument was not "
    "explicitly passed to `torch.load`, forcing weights_only=False."
)


def _checked_weights_only(weights_only: bool | None) -> bool:
    forced = {
        name: os.environ.get(name) in ("1", "y", "yes", "true")
        for name in ("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD")
    }
    always, never = forced.values()
    if always and never:
        raise RuntimeError(f"Only one of {' or '.join(forced)} should be set, but both were set.")
    if always:
        return True
    if weights_only is None and never:
        warn(FORCED_OFF)
    return not never if weights_only is None else bool(weights_only)


# ---- what names in a file mean -------------------------------------------------------------------


def _get_layout(name: str) -> _types.layout:
    """The layout that a pickle names, 'torch.strided'."""
    return _types.named(name.removeprefix("torch."))


def _constants() -> dict[str, object]:
    """The plain objects of torch that checkpoints refer to."""
    found: dict[str, object] = {f"torch.{name}": d for name, d in _types.by_name.items()}
    found["torch.Tensor"] = Tensor
    found["torch.Size"] = _types.Size
    found["torch.device"] = _types.device
    found["torch.nn.parameter.Parameter"] = Parameter
    found["torch.serialization._get_layout"] = _get_layout
    found["torch._utils._rebuild_wrapper_subclass"] = _rebuild_wrapper_subclass
    found["torch._utils._rebuild_sparse_tensor"] = _rebuild_sparse_tensor
    found["torch._utils._rebuild_distributed"] = _rebuild_distributed
    found["torch._utils._rebuild_nested"] = _rebuild_nested
    found["torch.nested.tensor._rebuilt"] = _rebuild_nested  # the name in older files
    return found


def _known_globals() -> dict[str, object]:
    """Every name that a file may use with weights_only."""
    found = _constants()
    for entry in _safe_globals:
        thing, name = entry if isinstance(entry, tuple) else (entry, None)
        for each in [name] if name else _names_of(thing):
            found[each] = thing
    return found


def _names_of(thing) -> list[str]:
    module, name = thing.__module__, thing.__qualname__
    return [f"{m}.{name}" for m in (module, torch_name(module)) if m]


def _find_class(module: str, name: str):
    """What a name in a trusted file means; None leaves it to pickle."""
    own = own_name(module)
    if own is None:
        return None
    # PyTorch's classes may lie in another file here: look in the packages around it, too.
    while own:
        found = _in_module(own, name)
        if found is not None:
            return found
        own = own.rpartition(".")[0]
    raise AttributeError(f"torch.load: the file needs {module}.{name}, which is not implemented")


def _in_module(module: str, name: str):
    try:
        found = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ModuleNotFoundError, AttributeError):
        return None
    return found


_safe_globals: list = []


def add_safe_globals(safe_globals: list):
    """Allow files to name these classes and functions (or (object, name) pairs) with
    weights_only.

    >>> class Mine: pass
    >>> torch.serialization.add_safe_globals([Mine])
    >>> Mine in torch.serialization.get_safe_globals()
    True
    >>> torch.serialization.clear_safe_globals()
    """
    _safe_globals.extend(safe_globals)


def get_safe_globals() -> list:
    """What add_safe_globals has added.

    >>> torch.serialization.get_safe_globals()
    []
    """
    return list(_safe_globals)


def clear_safe_globals():
    """Forget what add_safe_globals has added.

    >>> torch.serialization.clear_safe_globals()
    >>> torch.serialization.get_safe_globals()
    []
    """
    _safe_globals.clear()


class safe_globals:
    """Context: add_safe_globals for the time of a `with` block.

    >>> class Mine: pass
    >>> with torch.serialization.safe_globals([Mine]):
    ...   Mine in torch.serialization.get_safe_globals()
    True
    """

    def __init__(self, safe_globals: list):
        self.safe_globals = list(safe_globals)

    def __enter__(self):
        self.saved = list(_safe_globals)
        add_safe_globals(self.safe_globals)

    def __exit__(self, *exc):
        _safe_globals[:] = self.saved


def get_unsafe_globals_in_checkpoint(f) -> list[str]:
    """The names in a file that weights_only does not allow.

    >>> import io
    >>> file = io.BytesIO()
    >>> torch.save(torch.ones(2), file)
    >>> _ = file.seek(0)
    >>> torch.serialization.get_unsafe_globals_in_checkpoint(file)
    []
    """
    with open(f, "rb") if isinstance(f, (str, os.PathLike)) else contextlib.nullcontext(f) as file:
        if not zipfile.is_zipfile(file):
            raise ValueError("Expected input to be a checkpoint returned by torch.save")
        file.seek(0)
        data = ArchiveReader(file).read("data.pkl")
    allowed = _allowed_names()
    return [name for name in _names_in(data) if name not in allowed]


def _allowed_names() -> set[str]:
    storages = LoadedStorages(lambda key: None, byteorder="little", map_location=None)
    return {*known_names(Rebuilder(storages, Rebuild()), _known_globals()), *SAFE_CONSTRUCTORS}


def _names_in(data: bytes) -> list[str]:
    """The globals of a pickle, in order of appearance."""
    found: dict[str, None] = {}
    texts: list[str] = []
    for opcode, argument, _ in pickletools.genops(data):
        if opcode.name == "GLOBAL":
            found[".".join(argument.split(" ", 1))] = None
        elif opcode.name == "STACK_GLOBAL":
            found[".".join(texts[-2:])] = None
        elif isinstance(argument, str):
            texts.append(argument)
    return list(found)


# ---- options -------------------------------------------------------------------------------------


class LoadEndianness(enum.Enum):
    """The byte order of files that do not say it.

    >>> list(torch.serialization.LoadEndianness.__members__)
    ['NATIVE', 'LITTLE', 'BIG']
    """

    NATIVE = 1
    LITTLE = 2
    BIG = 3


_mmap_by_default = False
_mmap_flags = MAP_PRIVATE
_endianness: LoadEndianness | None = None


def get_default_load_endianness() -> LoadEndianness | None:
    """The byte order of files that do not say it; None: little-endian, as PyTorch writes them.

    >>> torch.serialization.get_default_load_endianness()
    """
    return _endianness


def set_default_load_endianness(endianness):
    """Read files that do not say their byte order in this one.

    >>> torch.serialization.set_default_load_endianness(None)
    """
    global _endianness
    if not isinstance(endianness, LoadEndianness) and endianness is not None:
        raise TypeError("Invalid argument type in function set_default_load_endianness")
    _endianness = endianness


def _unmarked_byteorder() -> str:
    if _endianness is LoadEndianness.NATIVE:
        return sys.byteorder
    return "big" if _endianness is LoadEndianness.BIG else "little"


def get_crc32_options() -> bool:
    """Whether torch.save writes checksums.

    >>> torch.serialization.get_crc32_options()
    True
    """
    return Settings.crc32


def set_crc32_options(compute_crc32: bool):
    """Whether torch.save writes checksums. Files without are read; damage to them stays unseen.

    >>> torch.serialization.set_crc32_options(True)
    """
    Settings.crc32 = bool(compute_crc32)


def get_default_mmap_options() -> int:
    """MAP_PRIVATE: what is written to a mapped tensor does not reach the file; or MAP_SHARED, it does.

    >>> torch.serialization.get_default_mmap_options() > 0
    True
    """
    return _mmap_flags


class set_default_mmap_options:
    """Map files privately (MAP_PRIVATE) or shared (MAP_SHARED): from now on, or in a `with` block.

    >>> import mmap
    >>> _ = torch.serialization.set_default_mmap_options(mmap.MAP_PRIVATE)
    """

    def __init__(self, flags: int):
        global _mmap_flags
        if flags not in (MAP_PRIVATE, MAP_SHARED):
            raise ValueError(
                "Invalid argument in function set_default_mmap_options, expected "
                f"mmap.MAP_PRIVATE or mmap.MAP_SHARED, but got {flags}"
            )
        self.prev, _mmap_flags = _mmap_flags, flags

    def __enter__(self):
        pass

    def __exit__(self, *exc):
        global _mmap_flags
        _mmap_flags = self.prev


SourceChangeWarning = type("SourceChangeWarning", (Warning,), {"__module__": "torch.serialization"})
__getattr__ = getter(__name__)
