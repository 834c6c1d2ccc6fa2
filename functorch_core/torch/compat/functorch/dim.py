"""functorch.dim: dimensions that are objects. Not implemented."""

from ..._missing import missing as _missing

NAMES = "Dim DimList DimensionBindError DimensionMismatchError Tensor cat dimlists dims softmax split stack"
globals().update({name: _missing(f"functorch.dim.{name}") for name in NAMES.split()})
