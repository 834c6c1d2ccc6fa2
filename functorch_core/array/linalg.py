"""fc.linalg: linear algebra of stacks of matrices, the Array API's extension and more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..ops.linalg import EighResult, EigResult, QRResult, SlogdetResult, SVDResult
from . import expose

if TYPE_CHECKING:
    from ..ops.linalg import *
    from ..ops.linear_algebra import cross, diagonal, matmul, outer, tensordot, trace, vecdot
    from ..ops.manipulation import matrix_transpose

RESULTS = ["EigResult", "EighResult", "QRResult", "SVDResult", "SlogdetResult"]

globals().update(expose.placed("fc.linalg"), __all__=[*RESULTS, *expose.placed("fc.linalg")])
