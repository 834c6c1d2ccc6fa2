"""The operations users call: pure functions of values, written with primitives, declared once.

Here are the files that declare some.
"""

from . import (
    counts,
    creation,
    distributions,
    elementwise,
    fourier,
    gammas,
    keys,
    linalg,
    linear_algebra,
    logic,
    manipulation,
    nn,
    random,
    searching,
    special,
    statistics,
)
