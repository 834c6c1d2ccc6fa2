"""The functions of fc: every operation that is declared for it, as a function of Arrays.

An operation says with @op in ops/ where it is and how it may be called; nothing else is to be written.
What comes first below is for static tools: at run time the functions of Arrays have these names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .expose import placed

if TYPE_CHECKING:
    from ..ops.creation import *
    from ..ops.elementwise import *
    from ..ops.linear_algebra import *
    from ..ops.logic import *
    from ..ops.manipulation import *
    from ..ops.nn import *
    from ..ops.nn import hard_silu as hard_swish
    from ..ops.nn import silu as swish
    from ..ops.searching import *
    from ..ops.special import *
    from ..ops.statistics import *

globals().update(placed("fc"), __all__=list(placed("fc")))
