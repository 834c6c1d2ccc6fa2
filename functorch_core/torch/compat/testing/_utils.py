"""torch.testing._utils: random functions with a seed of their own."""

from __future__ import annotations

import contextlib

from ...operators.random.seeds import get_rng_state, manual_seed, set_rng_state


@contextlib.contextmanager
def freeze_rng_state():
    """Context after which random numbers go on as before it."""
    state = get_rng_state()
    try:
        yield
    finally:
        set_rng_state(state)


def wrapper_set_seed(op, *args, **kwargs):
    """op(*args, **kwargs) with seed 42."""
    with freeze_rng_state():
        manual_seed(42)
        return op(*args, **kwargs)
