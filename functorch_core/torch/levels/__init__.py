"""Tensors inside torch.func transforms and forward mode: wrappers, and the transforms themselves.

What is imported here is what lower rooms ask of this one, as `active.levels`.
"""

from .captured import birth, check_captured, note_captured
from .levels import apply, check_randomness, drawn, is_dual, ones_like, refresh, stack
from .reverse import pull
from .writes import assign, layout, make_view, strides_of_all
