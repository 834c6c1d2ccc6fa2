"""Spectral normalisation by a hook; parametrizations.spectral_norm is its successor."""

from __future__ import annotations

from ...torch import dot, mv
from ...torch.namespaces import linalg
from ...torch.tape.modes import no_grad
from .. import functional as F
from ..modules.conv import _ConvTransposeNd
from ..parameter import Parameter, is_lazy

LAZY = (
    "The module passed to `SpectralNorm` can't have uninitialized parameters. Make sure to run "
    "the dummy forward before applying spectral normalization"
)


def as_matrix(weight, dim: int):
    """A weight as (size of dim, rest)."""
    if dim != 0:
        weight = weight.permute(dim, *(d for d in range(weight.ndim) if d != dim))
    return weight.reshape(weight.shape[0], -1)


def default_dim(module) -> int:
    """The dimension of the outputs."""
    return 1 if isinstance(module, _ConvTransposeNd) else 0


class SpectralNorm:
    """A pre-hook that divides a weight by its largest singular value, found by power iteration.

    The weight itself is NAME_orig, the singular vectors NAME_u and NAME_v.

    >>> from torch.nn.utils.spectral_norm import SpectralNorm
    >>> layer = nn.utils.spectral_norm(nn.Linear(2, 2))
    >>> [isinstance(hook, SpectralNorm) for hook in layer._forward_pre_hooks.values()]
    [True]
    """

    _version = 1

    def __init__(self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12):
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.name, self.dim, self.eps = name, dim, eps
        self.n_power_iterations = n_power_iterations

    def reshape_weight_to_matrix(self, weight):
        """The weight as a matrix whose rows are outputs."""
        return as_matrix(weight, self.dim)

    def compute_weight(self, module, do_power_iteration: bool):
        """The normalised weight; with power iteration u and v are improved, in place."""
        weight, u, v = (getattr(module, f"{self.name}_{part}") for part in ("orig", "u", "v"))
        matrix = self.reshape_weight_to_matrix(weight)
        if do_power_iteration:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(F.normalize(mv(matrix.t(), u), dim=0, eps=self.eps))
                    u.copy_(F.normalize(mv(matrix, v), dim=0, eps=self.eps))
                u, v = u.clone(), v.clone()  # the next call changes them in place
        return weight / dot(u, mv(matrix, v))

    def remove(self, module):
        """Make the weight a parameter again."""
        with no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        for part in ("", "_u", "_v", "_orig"):
            delattr(module, self.name + part)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module, inputs):
        weight = self.compute_weight(module, do_power_iteration=module.training)
        setattr(module, self.name, weight)

    def _solve_v_and_rescale(self, weight_mat, u, target_sigma):
        """The v for which u, W, v have the given sigma: what version 0 did not save."""
        inverse = linalg.pinv(weight_mat.t().mm(weight_mat))
        v = mv(inverse, mv(weight_mat.t(), u))
        return v.mul_(target_sigma / dot(u, mv(weight_mat, v)))

    @staticmethod
    def apply(module, name: str, n_power_iterations: int, dim: int, eps: float):
        """Register the hooks and draw first singular vectors."""
        if _find(module._forward_pre_hooks, SpectralNorm, name) is not None:
            raise RuntimeError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
        hook = SpectralNorm(name, n_power_iterations, dim, eps)
        weight = module._parameters[name]
        if weight is None:
            raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
        if is_lazy(weight):
            raise ValueError(LAZY)
        with no_grad():
            height, width = hook.reshape_weight_to_matrix(weight).shape
            u, v = (F.normalize(weight.new_empty(n).normal_(0, 1), dim=0, eps=eps) for n in (height, width))
        delattr(module, name)
        module.register_parameter(f"{name}_orig", weight)
        setattr(module, name, weight.data)  # a plain attribute, overwritten by each call
        module.register_buffer(f"{name}_u", u)
        module.register_buffer(f"{name}_v", v)
        module.register_forward_pre_hook(hook)
        module._register_state_dict_hook(SpectralNormStateDictHook(hook))
        module._register_load_state_dict_pre_hook(SpectralNormLoadStateDictPreHook(hook))
        return hook


class SpectralNormStateDictHook:
    """Notes the version in the metadata of a state dict.

    >>> layer = nn.utils.spectral_norm(nn.Linear(2, 2))
    >>> layer.state_dict()._metadata[""]["spectral_norm"]
    {'weight.version': 1}
    """

    def __init__(self, fn: SpectralNorm):
        self.fn = fn

    def __call__(self, module, state_dict, prefix, local_metadata):
        versions, key = local_metadata.setdefault("spectral_norm", {}), f"{self.fn.name}.version"
        if key in versions:
            raise RuntimeError(f"Unexpected key in metadata['spectral_norm']: {key}")
        versions[key] = self.fn._version


class SpectralNormLoadStateDictPreHook:
    """Brings state dicts of version 0 up to date.

    >>> layer = nn.utils.spectral_norm(nn.Linear(2, 2))
    >>> layer.load_state_dict(nn.utils.spectral_norm(nn.Linear(2, 2)).state_dict())
    <All keys matched successfully>
    """

    def __init__(self, fn: SpectralNorm):
        self.fn = fn

    def __call__(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        version = local_metadata.get("spectral_norm", {}).get(f"{self.fn.name}.version")
        if version is not None and version >= 1:
            return
        key = prefix + self.fn.name
        complete = all(key + part in state_dict for part in ("_orig", "_u", "_v"))
        if version is None and complete and key not in state_dict:
            return
        missing = [key + part for part in ("_orig", "", "_u") if key + part not in state_dict]
        if missing:
            missing_keys += missing if strict else []
            return
        with no_grad():
            weight, normalised = state_dict[f"{key}_orig"], state_dict.pop(key)
            state_dict[f"{key}_v"] = self.fn._solve_v_and_rescale(
                self.fn.reshape_weight_to_matrix(weight), state_dict[f"{key}_u"], (weight / normalised).mean()
            )


def _find(hooks: dict, kind: type, name: str):
    """The key of the hook of a kind for a weight, or None."""
    for key, hook in hooks.items():
        hook = getattr(hook, "hook", hook)  # load_state_dict pre-hooks are wrapped
        if isinstance(hook, kind) and getattr(hook, "fn", hook).name == name:
            return key
    return None


def spectral_norm(
    module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
):
    """Divide a weight by its largest singular value at every call; returns the module.

    >>> layer = nn.utils.spectral_norm(nn.Linear(2, 2))
    >>> [name for name, _ in layer.named_parameters()]
    ['bias', 'weight_orig']
    """
    dim = default_dim(module) if dim is None else dim
    SpectralNorm.apply(module, name, n_power_iterations, dim, eps)
    return module


def remove_spectral_norm(module, name: str = "weight"):
    """Undo spectral_norm; the weight stays normalised.

    >>> layer = nn.utils.remove_spectral_norm(nn.utils.spectral_norm(nn.Linear(2, 2)))
    >>> [name for name, _ in layer.named_parameters()]
    ['bias', 'weight']
    """
    key = _find(module._forward_pre_hooks, SpectralNorm, name)
    if key is None:
        raise ValueError(f"spectral_norm of '{name}' not found in {module}")
    module._forward_pre_hooks.pop(key).remove(module)
    for hooks, kind in (
        (module._state_dict_hooks, SpectralNormStateDictHook),
        (module._load_state_dict_pre_hooks, SpectralNormLoadStateDictPreHook),
    ):
        hooks.pop(_find(hooks, kind, name), None)
    return module


__all__ = [
    "SpectralNorm",
    "SpectralNormLoadStateDictPreHook",
    "SpectralNormStateDictHook",
    "remove_spectral_norm",
    "spectral_norm",
]
