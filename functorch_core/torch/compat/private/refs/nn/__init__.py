"""torch._refs.nn: its functions are in `functional`."""

import importlib


def __getattr__(name: str):
    if name == "functional":
        return importlib.import_module(f"{__name__}.functional")
    raise AttributeError(f"module 'torch._refs.nn' has no attribute '{name}'")
