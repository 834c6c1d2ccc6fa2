"""A GPU that is another client of the CPU: `cuda` is there, its programs are the CPU's.

What follows from where tensors are can be tested with it where there is no GPU; not what a GPU computes. To be imported
first, in a process of its own, whose first client is that of the platform SIMULATED_FIRST: if it is the GPU's, there is
one GPU, else there are two.
"""

from __future__ import annotations

import os

from functorch_core import xla
from functorch_core.core import lowering
from functorch_core.engine import compiling
from functorch_core.xla import binding
from functorch_core.xla.device import _STARTERS, Device


def _lower(graph, platform, *args, **kwargs):
    return lowering.lower(graph, "cpu", *args, **kwargs)


compiling.lower = _lower
Device.compile_overrides = lambda self: {}
FIRST = os.environ.get("SIMULATED_FIRST", "cpu")
_STARTERS["cuda"] = lambda: binding.make_cpu_client(asynchronous=True, num_devices=2 if FIRST == "cpu" else 1)
xla.devices(FIRST)
