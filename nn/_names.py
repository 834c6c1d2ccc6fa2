"""The names of torch: classes and functions of this package read torch.nn... as their module."""
from __future__ import annotations

import sys

PACKAGE, PUBLIC = "functorch_core.nn", "torch.nn"


def publish():
    """Rename what the loaded modules of this package define; reprs and pickles need it."""
    for name, module in list(sys.modules.items()):
        if name == PACKAGE or name.startswith(f"{PACKAGE}."):
            for member in list(vars(module).values()):
                if getattr(member, "__module__", None) == name:
                    member.__module__ = PUBLIC + name[len(PACKAGE):]
