"""Whether parameters and values lie where they must.

An error is raised at once where the numbers are there, or cost nothing but their own computation.
In the middle of a training step, where the value is on the tape and not computed yet, a flag is
recorded that is looked at when something is read next: a step is one program, validation or not.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .... import torch
from ....core.quiet import quiet
from ....engine import Value, aside
from ....engine.at_once import host_array
from ....engine.bounds import check_nonzero
from ...dispatch.bounds import at_bottom
from ...tape.meta import is_readable
from ...tensors.base import Tensor, new_tensor
from ...views.cells import look


def require(constraint, value, what: str, failure: Callable[[Tensor], Exception]):
    """Raise failure(value), now or when something is read, unless all of a value satisfies a
    constraint. `what` names the distribution."""
    array = _array_of(value) if getattr(constraint, "takes_arrays", False) else None
    if array is not None and quiet.call(constraint.check, array).all():
        return
    with torch.no_grad():
        known = _known(value)
        if known is not None:
            with aside():
                _check(constraint, known(), value, what, failure)
        elif value._level is not None or value.requires_grad:
            _check_later(constraint.elements(value).check(value), value, what, failure)
        elif is_readable(value):
            _check(constraint, value, value, what, failure)


def _array_of(value: Tensor) -> np.ndarray | None:
    """The elements, of what is computed or has nothing to do with a gradient; None of others."""
    view, found = value._view, value._value
    current = view is None or view.seen == view.cell.version
    if value._level is not None or found.__class__ is not Value:  # traced
        return None
    if value._ge is not None and not (current and found.recording is None):
        return None
    return host_array(found if current else value._read())


def _known(value: Tensor) -> Callable[[], Tensor] | None:
    """The value, made again of data that are computed; None if they are not."""
    view = value._view
    found = value._value if view is None else view.cell.value
    if value._level is not None or found.recording is not None:
        return None
    return lambda: new_tensor(found) if view is None else look(new_tensor(found), view.chain)


def _check(constraint, computed: Tensor, value: Tensor, what: str, failure):
    valid = constraint.check(computed)
    if valid._level is not None:  # the constraint's bound is one of a batch
        _check_later(valid, value, what, failure)
    elif not valid.all():
        raise failure(value)


def _check_later(valid: Tensor, value: Tensor, what: str, failure):
    shown = at_bottom(value)
    check_nonzero(at_bottom(valid), lambda _: failure(new_tensor(shown)), what, watched=shown)
