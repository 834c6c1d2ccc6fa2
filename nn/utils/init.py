"""Modules that are not initialized."""

from __future__ import annotations

from ...annotations import lenient_signature
from ...torch.operators.random.seeds import fork_rng
from ..modules.module import Module


def skip_init(module_cls, *args, **kwargs):
    """Make a module without computing its initial parameters; the random number generator stays as it is.

    RuntimeError for a class without a `device` argument.

    >>> nn.utils.skip_init(nn.Linear, 2, 3)
    Linear(in_features=2, out_features=3, bias=True)
    """
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in lenient_signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    device = kwargs.pop("device", "cpu")
    with fork_rng():
        return module_cls(*args, **kwargs, device="meta").to_empty(device=device)


__all__ = ["skip_init"]
