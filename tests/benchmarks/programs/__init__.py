"""Programs of the benchmark: `start()` gives a function that makes one step and returns its loss.

`TRAINS = False` says that the steps are no training. What PyTorch's compiler should take is passed through
`compiled`, which does nothing unless the worker measures `torch.compile`.
"""

from __future__ import annotations

import os


def compiled(function):
    """The module or function, compiled by PyTorch's compiler if that is what is measured."""
    if os.environ.get("BENCHMARK_COMPILE") != "1":
        return function
    import torch

    return torch.compile(function)
