"""torch.storage: the memory behind tensors."""

import io as _io

from ..operators.shape.storage import STORAGE_NAMES as _STORAGE_NAMES
from ..operators.shape.storage import TypedStorage, UntypedStorage, _LegacyStorage
from ..operators.shape.storage import legacy_storages as _legacy_storages
from ..operators.shape.storage_arguments import removal as _removal
from ..operators.shape.storage_arguments import tell_removal as _tell_removal
from ..tensors.types import by_name as _by_name

__all__ = ["TypedStorage", "UntypedStorage"]

globals().update(_legacy_storages)


def _dtype_to_storage_type_map() -> dict:
    """dtype -> the name of the old class of its storages."""
    return {_by_name[dtype]: name for dtype, name in _STORAGE_NAMES.items()}


def _load_from_bytes(b):
    """A storage of a checkpoint in memory: what plain pickles of tensors hold."""
    from ..compat.serialization import load

    return load(_io.BytesIO(b), weights_only=False)


def _warn_typed_storage_removal(stacklevel: int = 2):
    """Tell that typed storages will be removed, once."""
    _tell_removal()


def _reset_warn_typed_storage_removal():
    """Tell it once more."""
    _removal.said = False


def _get_always_warn_typed_storage_removal() -> bool:
    """Whether each use of typed storages tells that they will be removed."""
    return _removal.always


def _set_always_warn_typed_storage_removal(always_warn: bool):
    """Set whether each use of typed storages tells that they will be removed."""
    _removal.always = always_warn
