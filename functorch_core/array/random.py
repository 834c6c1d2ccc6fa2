"""fc.random: numbers drawn by explicit keys; the same key gives the same numbers, everywhere.

key = fc.random.key(0)
key, sub = fc.random.split(key)
x = fc.random.normal(sub, (3, 4))
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import expose

if TYPE_CHECKING:
    from ..ops.counts import *
    from ..ops.distributions import *
    from ..ops.random import *
    from ..ops.random import key as PRNGKey

globals().update(expose.placed("fc.random"), __all__=list(expose.placed("fc.random")))
