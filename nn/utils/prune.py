"""Pruning: parameters of which some elements are held at 0 by a mask."""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable

from ...torch import kthvalue, norm, ones_like, rand, rand_like, topk, zeros_like
from .._names import publish
from .convert_parameters import parameters_to_vector

TWO_HOOKS = "Avoid adding multiple pruning hooks to the same tensor {name} of module {module}. Use a PruningContainer."
NOT_PRUNED = "Parameter '{name}' of module {module} has to be pruned before pruning can be removed"
ONLY_UNSTRUCTURED = (
    'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method {method} of type {kind}'
)

# ---- methods -------------------------------------------------------------------------------------


class BasePruningMethod(ABC):
    """A pre-hook that multiplies NAME_orig by NAME_mask; subclasses compute the mask.

    PRUNING_TYPE says what a further method may still prune: "unstructured" single elements,
    "structured" slices along `dim`, "global" everything.

    >>> from torch.nn.utils import prune
    >>> class EveryOther(prune.BasePruningMethod):
    ...   PRUNING_TYPE = "unstructured"
    ...   def compute_mask(self, t, default_mask):
    ...     mask = default_mask.clone()
    ...     mask.view(-1)[::2] = 0
    ...     return mask
    >>> layer = nn.Linear(4, 1)
    >>> _ = EveryOther.apply(layer, "weight")
    >>> layer.weight_mask
    tensor([[0., 1., 0., 1.]])
    """

    _tensor_name: str

    def __call__(self, module, inputs):
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t, default_mask):
        """The mask, 0 where t is to be pruned; what default_mask prunes stays pruned."""

    def apply_mask(self, module):
        """The pruned tensor."""
        if self._tensor_name is None:
            raise AssertionError(f"Module {module} has to be pruned")
        mask = getattr(module, f"{self._tensor_name}_mask")
        original = getattr(module, f"{self._tensor_name}_orig")
        return mask.to(dtype=original.dtype) * original

    @classmethod
    def apply(cls, module, name, *args, importance_scores=None, **kwargs):
        """Prune a parameter and register the hook; a parameter that is pruned already gets a
        container of both methods."""
        method = cls._with_former(module, name, cls(*args, **kwargs))
        original = getattr(module, name)
        scores = _scores(importance_scores, original, f"parameter {name} of {module}")
        if not isinstance(method, PruningContainer):
            module.register_parameter(f"{name}_orig", original)
            del module._parameters[name]
            mask = ones_like(original)
        else:
            mask = getattr(module, f"{name}_mask").detach().clone()
        try:
            module.register_buffer(f"{name}_mask", method.compute_mask(scores, default_mask=mask))
            setattr(module, name, method.apply_mask(module))
            module.register_forward_pre_hook(method)
        except Exception:
            if not isinstance(method, PruningContainer):
                module.register_parameter(name, module._parameters.pop(f"{name}_orig"))
            raise
        return method

    @staticmethod
    def _with_former(module, name: str, method):
        """The method, in a container behind the one that prunes the parameter already."""
        method._tensor_name = name
        keys = _hooks_of(module, name)
        if len(keys) > 1:
            raise AssertionError(TWO_HOOKS.format(name=name, module=module))
        if not keys:
            return method
        former = module._forward_pre_hooks.pop(keys[0])
        if not isinstance(former, PruningContainer):
            former = PruningContainer(former)
        former.add_pruning_method(method)
        return former

    def prune(self, t, default_mask=None, importance_scores=None):
        """A tensor pruned by this method."""
        scores = _scores(importance_scores, t, "tensor t")
        default_mask = ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(scores, default_mask=default_mask)

    def remove(self, module):
        """Make the pruned tensor a plain parameter; pruned elements stay 0."""
        name = self._tensor_name
        if name is None:
            raise AssertionError(f"Module {module} has to be pruned before pruning can be removed")
        weight = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original = module._parameters.pop(f"{name}_orig")
        original.data = weight.data
        del module._buffers[f"{name}_mask"]
        setattr(module, name, original)


def _scores(scores, t, what: str):
    if scores is None:
        return t
    if scores.shape != t.shape:
        raise AssertionError(f"importance_scores should have the same shape as {what}, got {scores.shape} vs {t.shape}")
    return scores


def _hooks_of(module, name: str) -> list:
    return [
        key
        for key, hook in module._forward_pre_hooks.items()
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name
    ]


class PruningContainer(BasePruningMethod):
    """Methods that prune one tensor one after the other.

    >>> from torch.nn.utils import prune
    >>> layer = prune.l1_unstructured(nn.Linear(4, 1), "weight", amount=1)
    >>> layer = prune.l1_unstructured(layer, "weight", amount=1)
    >>> int(layer.weight_mask.sum())
    2
    """

    def __init__(self, *args):
        self._pruning_methods: tuple = ()
        if len(args) == 1:
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method):
        """Add a method of the same tensor."""
        if method is not None:
            if not isinstance(method, BasePruningMethod):
                raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
            if self._tensor_name != method._tensor_name:
                raise ValueError(
                    "Can only add pruning methods acting on the parameter named "
                    f"'{self._tensor_name}' to PruningContainer {self}. Found "
                    f"'{method._tensor_name}'"
                )
        self._pruning_methods += (method,)

    def __len__(self):
        return len(self._pruning_methods)

    def __iter__(self):
        return iter(self._pruning_methods)

    def __getitem__(self, idx):
        return self._pruning_methods[idx]

    def compute_mask(self, t, default_mask):
        """The mask of the last method, applied to what the former ones have left."""
        method = self._pruning_methods[-1]
        where = self._left(method, t, default_mask)
        mask = default_mask.to(dtype=t.dtype).clone()
        mask[where] = method.compute_mask(t[where], default_mask=default_mask[where]).to(dtype=mask.dtype)
        return mask

    @staticmethod
    def _left(method, t, mask):
        """An index of what a method may still prune."""
        if method.PRUNING_TYPE == "unstructured":
            return mask == 1
        if method.PRUNING_TYPE == "global":
            return (slice(None),) * t.dim()
        if method.PRUNING_TYPE != "structured":
            raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
        if not hasattr(method, "dim"):
            raise AttributeError(
                'Pruning methods of PRUNING_TYPE "structured" need to have the attribute `dim` defined.'
            )
        dim = method.dim + t.dim() if method.dim < 0 else method.dim
        if dim < 0:
            raise IndexError(f"Index is out of bounds for tensor with dimensions {t.dim()}")
        kept = mask.sum(dim=[d for d in range(t.dim()) if d != dim]) != 0
        return _along(kept, dim, t.dim())


def _along(index, dim: int, ndim: int) -> tuple:
    """An index of one dimension, everything of the others."""
    return tuple(index if d == dim % ndim else slice(None) for d in range(ndim))


class Identity(BasePruningMethod):
    """Prunes nothing.

    >>> from torch.nn.utils import prune
    >>> prune.Identity().prune(torch.tensor([3., 4.]))
    tensor([3., 4.])
    """

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t, default_mask):
        """The mask as it is."""
        return default_mask

    @classmethod
    def apply(cls, module, name):
        """Give a parameter a mask of ones."""
        return super().apply(module, name)


class _Amount(BasePruningMethod):
    """Prunes an amount: a number of units, or a fraction of them."""

    def _count(self, size: int) -> int:
        """How many of `size` units to prune; ValueError for more than there are."""
        _validate_pruning_amount(self.amount, size)
        return _compute_nparams_toprune(self.amount, size)


# ---- amounts, under the names by which packages ask for these -----------------------------------


def _compute_nparams_toprune(amount, tensor_size: int) -> int:
    """A number of units, or a fraction of them, as a number."""
    return amount if isinstance(amount, numbers.Integral) else round(amount * tensor_size)


def _validate_pruning_amount(amount, tensor_size: int):
    if isinstance(amount, numbers.Integral) and amount > tensor_size:
        raise ValueError(f"amount={amount} should be smaller than the number of parameters to prune={tensor_size}")


def _validate_pruning_amount_init(amount):
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    integral = isinstance(amount, numbers.Integral)
    if amount < 0 or (not integral and amount > 1):
        raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")


class _Unstructured(_Amount):
    """Prunes single elements: those `_order` puts first."""

    PRUNING_TYPE = "unstructured"

    def __init__(self, amount):
        _validate_pruning_amount_init(amount)
        self.amount = amount

    def compute_mask(self, t, default_mask):
        """The mask with `amount` further zeros."""
        count = self._count(t.nelement())
        mask = default_mask.clone()
        if count:
            mask.view(-1)[self._first(t, count)] = 0
        return mask


class RandomUnstructured(_Unstructured):
    """Prunes elements at random.

    >>> from torch.nn.utils import prune
    >>> int(prune.RandomUnstructured(amount=2).prune(torch.ones(5)).sum())
    3
    """

    def _first(self, t, count: int):
        return topk(rand_like(t).view(-1), k=count).indices

    @classmethod
    def apply(cls, module, name, amount):
        """Prune a parameter."""
        return super().apply(module, name, amount=amount)


class L1Unstructured(_Unstructured):
    """Prunes the elements of least magnitude.

    >>> from torch.nn.utils import prune
    >>> prune.L1Unstructured(amount=1).prune(torch.tensor([3., -1., 4.]))
    tensor([3., -0., 4.])
    """

    def _first(self, t, count: int):
        return topk(t.abs().view(-1), k=count, largest=False).indices

    @classmethod
    def apply(cls, module, name, amount, importance_scores=None):
        """Prune a parameter."""
        return super().apply(module, name, amount=amount, importance_scores=importance_scores)


class _Structured(_Amount):
    """Prunes slices along a dimension: those not in `_kept`."""

    PRUNING_TYPE = "structured"

    def compute_mask(self, t, default_mask):
        """The mask with `amount` further slices of zeros."""
        if t.dim() <= 1:
            raise ValueError(
                "Structured pruning can only be applied to multidimensional tensors. "
                f"Found tensor of shape {t.shape} with {t.dim()} dims"
            )
        if self.dim >= t.dim():
            raise IndexError(f"Invalid index {self.dim} for tensor of size {t.shape}")
        count = self._count(t.shape[self.dim])
        kept = self._kept(t, t.shape[self.dim], count)
        if not count:
            return default_mask
        mask = zeros_like(t)
        mask[_along(kept, self.dim, t.dim())] = 1
        return mask * default_mask.to(dtype=mask.dtype)


class RandomStructured(_Structured):
    """Prunes slices at random.

    >>> from torch.nn.utils import prune
    >>> int(prune.RandomStructured(amount=1, dim=0).prune(torch.ones(3, 2)).sum())
    4
    """

    def __init__(self, amount, dim: int = -1):
        _validate_pruning_amount_init(amount)
        self.amount, self.dim = amount, dim

    def _kept(self, t, size: int, count: int):
        if not count:
            return None
        drawn = rand(size)
        return drawn > kthvalue(drawn, k=count).values

    @classmethod
    def apply(cls, module, name, amount, dim=-1):
        """Prune a parameter."""
        return super().apply(module, name, amount=amount, dim=dim)


class LnStructured(_Structured):
    """Prunes the slices of least n-norm.

    >>> from torch.nn.utils import prune
    >>> prune.LnStructured(amount=1, n=2, dim=0).prune(torch.tensor([[3., 4.], [1., 1.]]))
    tensor([[3., 4.],
            [0., 0.]])
    """

    def __init__(self, amount, n, dim: int = -1):
        _validate_pruning_amount_init(amount)
        self.amount, self.n, self.dim = amount, n, dim

    def _kept(self, t, size: int, count: int):
        dims = [d for d in range(t.dim()) if d != self.dim % t.dim()]
        return topk(norm(t, p=self.n, dim=dims), k=size - count, largest=True).indices

    @classmethod
    def apply(cls, module, name, amount, n, dim, importance_scores=None):
        """Prune a parameter."""
        return super().apply(module, name, amount=amount, n=n, dim=dim, importance_scores=importance_scores)


class CustomFromMask(BasePruningMethod):
    """Prunes by a given mask.

    >>> from torch.nn.utils import prune
    >>> prune.CustomFromMask(torch.tensor([1., 0.])).prune(torch.tensor([3., 4.]))
    tensor([3., 0.])
    """

    PRUNING_TYPE = "global"

    def __init__(self, mask):
        self.mask = mask

    def compute_mask(self, t, default_mask):
        """Both masks."""
        if default_mask.shape != self.mask.shape:
            raise AssertionError(
                f"default_mask shape {default_mask.shape} must match self.mask shape {self.mask.shape}"
            )
        return default_mask * self.mask.to(dtype=default_mask.dtype)

    @classmethod
    def apply(cls, module, name, mask):
        """Prune a parameter."""
        return super().apply(module, name, mask=mask)


# ---- functions -----------------------------------------------------------------------------------


def identity(module, name: str):
    """Give a parameter a mask of ones; returns the module.

    >>> from torch.nn.utils import prune
    >>> prune.identity(nn.Linear(2, 1), "weight").weight_mask
    tensor([[1., 1.]])
    """
    Identity.apply(module, name)
    return module


def random_unstructured(module, name: str, amount):
    """Prune elements of a parameter at random; returns the module.

    >>> from torch.nn.utils import prune
    >>> int(prune.random_unstructured(nn.Linear(4, 1), "weight", amount=1).weight_mask.sum())
    3
    """
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module, name: str, amount, importance_scores=None):
    """Prune the elements of a parameter of least magnitude (or score); returns the module.

    >>> from torch.nn.utils import prune
    >>> int(prune.l1_unstructured(nn.Linear(4, 1), "weight", amount=0.5).weight_mask.sum())
    2
    """
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module, name: str, amount, dim: int):
    """Prune slices of a parameter at random; returns the module.

    >>> from torch.nn.utils import prune
    >>> prune.random_structured(nn.Linear(2, 4), "weight", amount=1, dim=0).weight_mask.sum(0)
    tensor([3., 3.])
    """
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(module, name: str, amount, n, dim: int, importance_scores=None):
    """Prune the slices of a parameter of least n-norm; returns the module.

    >>> from torch.nn.utils import prune
    >>> prune.ln_structured(nn.Linear(2, 4), "weight", amount=1, n=2, dim=0).weight_mask.sum(0)
    tensor([3., 3.])
    """
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module, name: str, mask):
    """Prune a parameter by a given mask; returns the module.

    >>> from torch.nn.utils import prune
    >>> layer = prune.custom_from_mask(nn.Linear(2, 1), "weight", torch.tensor([[1., 0.]]))
    >>> layer.weight[0, 1].item() == 0
    True
    """
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(parameters, pruning_method, importance_scores=None, **kwargs) -> None:
    """Prune several parameters, given as (module, name), as if they were one vector.

    >>> from torch.nn.utils import prune
    >>> net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
    >>> pairs = [(net[0], "weight"), (net[1], "weight")]
    >>> prune.global_unstructured(pairs, prune.L1Unstructured, amount=6)
    >>> int(net[0].weight_mask.sum() + net[1].weight_mask.sum())
    18
    """
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    scores = {} if importance_scores is None else importance_scores
    if not isinstance(scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    parameters = list(parameters)
    tensors = [getattr(module, name) for module, name in parameters]
    all_scores = parameters_to_vector([scores.get(place, tensor) for place, tensor in zip(parameters, tensors)])
    masks = parameters_to_vector(
        [getattr(module, f"{name}_mask", ones_like(tensor)) for (module, name), tensor in zip(parameters, tensors)]
    )
    method = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(ONLY_UNSTRUCTURED.format(method=pruning_method, kind=method.PRUNING_TYPE))
    method._tensor_name = "temp"
    mask, start = PruningContainer(method).compute_mask(all_scores, masks), 0
    for (module, name), tensor in zip(parameters, tensors):
        stop = start + tensor.numel()
        custom_from_mask(module, name, mask=mask[start:stop].view(tensor.shape))
        start = stop


def remove(module, name: str):
    """Make a pruned parameter a plain one; pruned elements stay 0. Returns the module.

    >>> from torch.nn.utils import prune
    >>> layer = prune.remove(prune.l1_unstructured(nn.Linear(4, 1), "weight", amount=1), "weight")
    >>> prune.is_pruned(layer), int((layer.weight == 0).sum())
    (False, 1)
    """
    keys = _hooks_of(module, name)
    if not keys:
        raise ValueError(NOT_PRUNED.format(name=name, module=module))
    module._forward_pre_hooks[keys[0]].remove(module)
    del module._forward_pre_hooks[keys[0]]
    return module


def is_pruned(module) -> bool:
    """Whether a module, or one below it, is pruned.

    >>> from torch.nn.utils import prune
    >>> prune.is_pruned(nn.Linear(2, 1)), prune.is_pruned(prune.identity(nn.Linear(2, 1), "weight"))
    (False, True)
    """
    return any(
        isinstance(hook, BasePruningMethod) for part in module.modules() for hook in part._forward_pre_hooks.values()
    )


publish()
