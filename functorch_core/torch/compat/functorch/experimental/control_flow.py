"""functorch.experimental.control_flow: loops and branches in graphs."""

from ...._missing import missing as _missing
from ....operators.control import cond

__all__ = ["cond", "map"]
map = _missing("functorch.experimental.control_flow.map", "use torch.func.vmap, or a loop")
