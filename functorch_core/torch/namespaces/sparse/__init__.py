"""torch.sparse: tensors of sparse layouts, and functions of them.

Imported when the first sparse tensor is made: from then on ops look whether an operand is one.
"""

from ..._missing import getter as _getter
from ...operators.sparse.legacy import legacy_types as _legacy_types
from ...operators.sparse.public import (
    addmm,
    check_sparse_tensor_invariants,
    log_softmax,
    mm,
    sampled_addmm,
    softmax,
    spdiags,
    sum,
)

globals().update(_legacy_types)
__getattr__ = _getter(__name__)
