"""torch._functorch.make_functional: a module as a function of its parameters, deprecated for torch.func."""

from __future__ import annotations

import copy

from .....nn import Module
from ....operators.func.modules import functional_call
from ....operators.shape.joining import stack


class FunctionalModuleWithBuffers(Module):
    """Called with the parameters, the buffers and the module's inputs."""

    def __init__(self, stateless_model, param_names: tuple, buffer_names: tuple):
        super().__init__()
        self.stateless_model = stateless_model
        self.param_names, self.buffer_names = param_names, buffer_names

    @classmethod
    def _create_from(cls, model, disable_autograd_tracking: bool = False):
        """(The function, parameters, buffers) of a copy of the model."""
        model = copy.deepcopy(model)
        parameters, buffers = dict(model.named_parameters()), dict(model.named_buffers())
        if disable_autograd_tracking:
            for parameter in parameters.values():
                parameter.requires_grad_(False)
        function = cls(copy.deepcopy(model).to("meta"), tuple(parameters), tuple(buffers))
        return function, tuple(parameters.values()), tuple(buffers.values())

    def forward(self, params, buffers, *args, **kwargs):
        """What the module computes with these parameters and buffers."""
        tensors = dict(zip((*self.param_names, *self.buffer_names), (*params, *buffers)))
        return functional_call(self.stateless_model, tensors, args, kwargs)


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
