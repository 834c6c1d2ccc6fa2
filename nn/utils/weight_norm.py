"""Weight normalisation by a hook; parametrizations.weight_norm is its successor."""

from __future__ import annotations

from ...core.warn import warn
from ..parameter import Parameter, is_lazy

DEPRECATED = "`torch.nn.utils.weight_norm` is deprecated in favor of `torch.nn.utils.parametrizations.weight_norm`."
LAZY = (
    "The module passed to `WeightNorm` can't have uninitialized parameters. Make sure to run "
    "the dummy forward before applying weight normalization"
)


def norm_except_dim(v, pow: float = 2, dim: int = 0):
    """The norms of the slices along a dimension, kept as dimensions of size 1; -1: one norm."""
    if dim == -1:
        return v.norm(pow)
    return v.norm(pow, dim=[d for d in range(v.ndim) if d != dim], keepdim=True)


def normalised(v, g, dim: int = 0):
    """g * v / norm of v"""
    return v * (g / norm_except_dim(v, 2, dim))


class WeightNorm:
    """A pre-hook that computes a weight from its direction NAME_v and its length NAME_g.

    >>> from torch.nn.utils.weight_norm import WeightNorm
    >>> layer = nn.utils.weight_norm(nn.Linear(2, 2))
    >>> [isinstance(hook, WeightNorm) for hook in layer._forward_pre_hooks.values()]
    [True]
    """

    def __init__(self, name: str, dim: int | None):
        self.name, self.dim = name, -1 if dim is None else dim

    def compute_weight(self, module):
        """The weight."""
        g, v = (getattr(module, f"{self.name}_{part}") for part in "gv")
        return normalised(v, g, self.dim)

    @staticmethod
    def apply(module, name: str, dim: int | None):
        """Register the hook and split the weight."""
        warn(DEPRECATED, FutureWarning)
        if _hook_of(module, name) is not None:
            raise RuntimeError(f"Cannot register two weight_norm hooks on the same parameter {name}")
        hook, weight = WeightNorm(name, dim), getattr(module, name)
        if is_lazy(weight):
            raise ValueError(LAZY)
        del module._parameters[name]
        length = norm_except_dim(weight, 2, hook.dim)
        module.register_parameter(f"{name}_g", Parameter(length.detach()))
        module.register_parameter(f"{name}_v", Parameter(weight.detach()))
        setattr(module, name, hook.compute_weight(module))
        module.register_forward_pre_hook(hook)
        return hook

    def remove(self, module):
        """Make the weight a parameter again."""
        weight = self.compute_weight(module)
        delattr(module, self.name)
        for part in "gv":
            del module._parameters[f"{self.name}_{part}"]
        setattr(module, self.name, Parameter(weight.detach()))

    def __call__(self, module, inputs):
        setattr(module, self.name, self.compute_weight(module))


def _hook_of(module, name: str):
    """The key of the hook that normalises a weight, or None."""
    return next(
        (key for key, hook in module._forward_pre_hooks.items() if isinstance(hook, WeightNorm) and hook.name == name),
        None,
    )


def weight_norm(module, name: str = "weight", dim: int = 0):
    """Deprecated: parametrizations.weight_norm.

    >>> layer = nn.utils.weight_norm(nn.Linear(2, 2))
    >>> sorted(name for name, _ in layer.named_parameters())
    ['bias', 'weight_g', 'weight_v']
    """
    WeightNorm.apply(module, name, dim)
    return module


def remove_weight_norm(module, name: str = "weight"):
    """Undo weight_norm; the weight stays as it is.

    >>> layer = nn.utils.remove_weight_norm(nn.utils.weight_norm(nn.Linear(2, 2)))
    >>> sorted(name for name, _ in layer.named_parameters())
    ['bias', 'weight']
    """
    key = _hook_of(module, name)
    if key is None:
        raise ValueError(f"weight_norm of '{name}' not found in {module}")
    module._forward_pre_hooks.pop(key).remove(module)
    return module


__all__ = ["WeightNorm", "remove_weight_norm", "weight_norm"]
