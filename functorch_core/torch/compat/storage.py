"""torch.storage: the memory behind tensors."""

import io as _io

from ..operators.shape.storage import TypedStorage, UntypedStorage, _LegacyStorage
from ..operators.shape.storage import legacy_storages as _legacy_storages

__all__ = ["TypedStorage", "UntypedStorage"]

globals().update(_legacy_storages)


def _load_from_bytes(b):
    """A storage of a checkpoint in memory: what plain pickles of tensors hold."""
    from ..compat.serialization import load

    return load(_io.BytesIO(b), weights_only=False)
