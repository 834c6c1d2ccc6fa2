"""The optimizers of torch.optim as gradient transformations, with PyTorch's parameters, defaults and formulas.

    from functorch_core import optax
    optimizer = optax.pytorch.nadam(lr=optax.cosine_decay_schedule(2e-3, 1000), weight_decay=0.01)

What they apply to parameters is what the classes' `step()` does: both are made of one rule. `lr` may be a schedule.
"""

from __future__ import annotations

from collections.abc import Callable

from ..optim import functional
from .base import GradientTransformation
from .rules import of_pytorch


def _of(algorithm) -> Callable[..., GradientTransformation]:
    def transformation(lr=algorithm.defaults["lr"], **hyper) -> GradientTransformation:
        algorithm.bind(hyper)  # TypeError for an option that it does not have
        return of_pytorch(algorithm, lr, hyper)

    transformation.__name__ = transformation.__qualname__ = algorithm.name
    options = ", ".join(f"{name}={default!r}" for name, default in algorithm.defaults.items())
    transformation.__doc__ = f"torch.optim's {algorithm.name}, by the rule of its class: {options}."
    return transformation


adadelta, adafactor, adagrad, adam, adamax, adamw, asgd, muon, nadam, radam, rmsprop, rprop, sgd, sparse_adam = map(
    _of,
    (
        functional.adadelta,
        functional.adafactor,
        functional.adagrad,
        functional.adam,
        functional.adamax,
        functional.adamw,
        functional.asgd,
        functional.muon,
        functional.nadam,
        functional.radam,
        functional.rmsprop,
        functional.rprop,
        functional.sgd,
        functional.sparse_adam,
    ),
)
