"""torch.types: names for annotations."""

from __future__ import annotations

import builtins as _builtins
import os as _os
from collections.abc import Sequence
from typing import Any, Union

from ._ops.storage import TypedStorage, UntypedStorage
from ._tensor_base import Tensor
from ._types import Size, device as _device, dtype as _dtype, layout as _layout

_TensorOrTensors = Union[Tensor, Sequence[Tensor]]
_TensorOrTensorsOrGradEdge = Union[Tensor, Sequence[Tensor], tuple, Sequence[tuple]]
_int, _float, _bool = _builtins.int, _builtins.float, _builtins.bool
_size = Union[Size, list[int], tuple[int, ...]]
_symsize = Union[Size, Sequence[int]]
_dispatchkey = str
Number = Union[int, float, bool]
_Number = (int, float, bool)
IntLikeType, FloatLikeType, BoolLikeType = int, float, bool
FileLike = Union[str, _os.PathLike, Any]
Device = Union[_device, str, int, None]
Storage = Union[UntypedStorage, TypedStorage]
_qscheme = Any
