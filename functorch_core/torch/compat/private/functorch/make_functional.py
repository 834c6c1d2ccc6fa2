"""torch._functorch.make_functional: a module as a function of its parameters, deprecated for torch.func."""

from __future__ import annotations

import copy

from .....nn import Module
from ....operators.func.modules import functional_call
from ....operators.shape.joining import stack


class FunctionalModuleWithBuffers(Module):
    """Called with the parameters, the buffers and the module's inputs."""

    def __init__(self, stateless_model, param_names: tuple, buffer_names: tuple, second_names: dict):
        super().__init__()
        self.stateless_model = stateless_model
        self.param_names, self.buffer_names = param_names, buffer_names
        self.second_names = second_names  # of a tensor in several places: the name of its first one

    @classmethod
    def _create_from(cls, model, disable_autograd_tracking: bool = False):
        """(The function, parameters, buffers) of a copy of the model."""
        model = copy.deepcopy(model)
        parameters, buffers = dict(model.named_parameters()), dict(model.named_buffers())
        if disable_autograd_tracking:
            for parameter in parameters.values():
                parameter.requires_grad_(False)
        function = cls(copy.deepcopy(model).to("meta"), tuple(parameters), tuple(buffers), _second_names(model))
        return function, tuple(parameters.values()), tuple(buffers.values())

    def forward(self, params, buffers, *args, **kwargs):
        """What the module computes with these parameters and buffers."""
        tensors = dict(zip((*self.param_names, *self.buffer_names), (*params, *buffers)))
        tensors.update({name: tensors[first] for name, first in self.second_names.items()})
        return functional_call(self.stateless_model, tensors, args, kwargs)


def _second_names(model) -> dict[str, str]:
    """The further names of parameters and buffers that are in several places -> their first ones."""
    found: dict[str, str] = {}
    for named in (model.named_parameters, model.named_buffers):
        first = {id(x): name for name, x in named()}
        found.update({n: first[id(x)] for n, x in named(remove_duplicate=False) if first[id(x)] != n})
    return found


class FunctionalModule(FunctionalModuleWithBuffers):
    """Called with the parameters and the module's inputs."""

    def forward(self, params, *args, **kwargs):
        """What the module computes with these parameters."""
        return super().forward(params, (), *args, **kwargs)


def make_functional(model, disable_autograd_tracking: bool = False):
    """(function, parameters) of a module without buffers."""
    if any(True for _ in model.buffers()):
        raise RuntimeError(
            "make_functional(model): `model` has buffers. Please use make_functional_with_buffers(model) instead."
        )
    return FunctionalModule._create_from(model, disable_autograd_tracking)[:2]


def make_functional_with_buffers(model, disable_autograd_tracking: bool = False):
    """(function, parameters, buffers) of a module."""
    return FunctionalModuleWithBuffers._create_from(model, disable_autograd_tracking)


def combine_state_for_ensemble(models):
    """(function, stacked parameters, stacked buffers) of modules of one class, for vmap."""
    if len(models) == 0:
        raise RuntimeError("combine_state_for_ensemble: Expected at least one model, got 0.")
    if len({m.training for m in models}) > 1:
        raise RuntimeError("combine_state_for_ensemble: Expected all models to have the same training/eval mode.")
    if any(type(m) is not type(models[0]) for m in models):
        raise RuntimeError("combine_state_for_ensemble: Expected all models to be of the same class.")
    functions, parameters, buffers = zip(*(make_functional_with_buffers(m) for m in models))
    stacked = [tuple(stack([x.detach() for x in column]) for column in zip(*state)) for state in (parameters, buffers)]
    return functions[0], *stacked


# ---- ensembles of modules with random parameters -------------------------------------------------


def _state(module) -> tuple[tuple, tuple]:
    return tuple(module.parameters()), tuple(module.buffers())


def _ensemble(model_class, shape, device, args, kwargs) -> tuple[Module, list]:
    """(A module, its parameters and its buffers, as tuples, those of several modules stacked to `shape`)."""
    if len(shape) > 1:
        raise ValueError("NYI: ensemble_shape with more than 1 element")
    module = model_class(*args, **kwargs).to(device)
    if not shape:
        return module, [tuple(x.detach().requires_grad_(x.requires_grad) for x in part) for part in _state(module)]
    if shape[0] <= 0:
        raise ValueError(f"num_models {shape[0]} should be > 0")
    states = [_state(m) for m in (module, *(model_class(*args, **kwargs).to(device) for _ in range(shape[0] - 1)))]
    stacked = [tuple(stack([x.detach() for x in column]) for column in zip(*part)) for part in zip(*states)]
    return module, stacked


def functional_init(model_class, ensemble_shape=(), device="cpu"):
    """A function of the class's arguments: (parameters, function of them and a tuple of inputs, names of the
    parameters). With `ensemble_shape` (n,) the parameters are those of n modules, stacked."""

    def wrapped(*args, **kwargs):
        model, (parameters, buffers) = _ensemble(model_class, ensemble_shape, device, args, kwargs)
        if buffers:
            raise RuntimeError(
                "Cannot use functional_init on a model with buffers. Please use functional_init_with_buffers instead."
            )
        names = tuple(name for name, _ in model.named_parameters())
        model = model.to("meta")

        def function(weights, data):
            return functional_call(model, dict(zip(names, weights)), data)

        return parameters, function, names

    return wrapped


def functional_init_with_buffers(model_class, ensemble_shape=(), device="cpu"):
    """The same of modules with buffers: (parameters, buffers, function, names of both)."""

    def wrapped(*args, **kwargs):
        model, (parameters, buffers) = _ensemble(model_class, ensemble_shape, device, args, kwargs)
        names = tuple(name for name, _ in model.named_parameters())
        buffer_names = tuple(name for name, _ in model.named_buffers())
        model = model.to("meta")

        def function(weights, state, data):
            tensors = dict(zip((*names, *buffer_names), (*weights, *state)))
            return functional_call(model, tensors, data)

        return parameters, buffers, function, names, buffer_names

    return wrapped
