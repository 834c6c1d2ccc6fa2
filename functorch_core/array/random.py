"""fc.random: numbers drawn by explicit keys; the same key gives the same numbers, everywhere.

key = fc.random.key(0)
key, sub = fc.random.split(key)
x = fc.random.normal(sub, (3, 4))

The numbers are those of jax.random for the same key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import expose
from .keys import PRNGKey, key, key_data, key_dtype, key_impl, wrap_key_data
from .keys import keyed as _keyed

if TYPE_CHECKING:
    from ..ops.counts import *
    from ..ops.distributions import *
    from ..ops.gammas import *
    from ..ops.keys import *
    from ..ops.random import *

globals().update({name: _keyed(name, function) for name, function in expose.placed("fc.random").items()})
__all__ = sorted({*expose.placed("fc.random"), *"PRNGKey key key_data key_dtype key_impl wrap_key_data".split()})
