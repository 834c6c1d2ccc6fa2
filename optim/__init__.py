"""torch.optim: optimizers, learning rate schedulers, weight averaging.

The algorithms themselves are pure functions: functorch_core.optim.functional. In optax's shape, of the same rules,
they are in functorch_core.optax.
"""

import importlib

from . import functional, lr_scheduler
from ._adafactor import Adafactor
from ._muon import Muon
from .adadelta import Adadelta
from .adagrad import Adagrad
from .adam import Adam
from .adamax import Adamax
from .adamw import AdamW
from .asgd import ASGD
from .lbfgs import LBFGS
from .nadam import NAdam
from .optimizer import Optimizer
from .radam import RAdam
from .rmsprop import RMSprop
from .rprop import Rprop
from .sgd import SGD
from .sparse_adam import SparseAdam

__all__ = [
    "ASGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "LBFGS",
    "Muon",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SGD",
    "SparseAdam",
    "functional",
    "lr_scheduler",
    "swa_utils",
]


OF_OPTAX = frozenset("apply_updates chain masked multi_transform MultiSteps clip_by_global_norm schedules".split())


def __getattr__(name: str):
    if name == "swa_utils":  # it needs torch.nn
        return importlib.import_module(f"{__name__}.swa_utils")
    advice = ". Gradient transformations with optax's names are in functorch_core.optax" if name in OF_OPTAX else ""
    raise AttributeError(f"module 'torch.optim' has no attribute {name!r}{advice}")
