"""jax.typing: what annotations of functions of arrays say."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from .array.array import Array

ArrayLike: TypeAlias = Array | np.ndarray | np.generic | bool | int | float | complex
DTypeLike: TypeAlias = str | type[Any] | np.dtype

__all__ = ["ArrayLike", "DTypeLike"]
