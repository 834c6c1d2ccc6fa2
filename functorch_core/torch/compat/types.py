"""torch.types: names for annotations."""

from __future__ import annotations

import builtins as _builtins
import os as _os
from collections.abc import Sequence
from typing import Any

from ..operators.shape.storage import TypedStorage, UntypedStorage
from ..tensors.base import Tensor
from ..tensors.types import Size
from ..tensors.types import device as _device
from ..tensors.types import dtype as _dtype
from ..tensors.types import layout as _layout

_TensorOrTensors = Tensor | Sequence[Tensor]
_TensorOrTensorsOrGradEdge = Tensor | Sequence[Tensor] | tuple | Sequence[tuple]
_int, _float, _bool = _builtins.int, _builtins.float, _builtins.bool
_size = Size | list[int] | tuple[int, ...]
_symsize = Size | Sequence[int]
_dispatchkey = str
Number = int | float | bool
_Number = (int, float, bool)
IntLikeType, FloatLikeType, BoolLikeType = int, float, bool
FileLike = str | _os.PathLike | Any
Device = _device | str | int | None
Storage = UntypedStorage | TypedStorage
_qscheme = Any
