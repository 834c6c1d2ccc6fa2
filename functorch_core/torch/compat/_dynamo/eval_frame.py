"""torch._dynamo.eval_frame: what torch.compile returns.

Calls run as they are, and XLA compiles what they record. Where a user's function is the backend, a graph is
recorded for it at the first call with inputs of some shapes; with fullgraph=True such a call is watched.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from ....core.warn import warn
from ....nn import Module
from ...tape.modes import is_grad_enabled
from ...tensors.base import Tensor
from ...tensors.pytree import tree_flatten
from ..fx.recording import CannotRecord, Recording, Watch
from . import exc

BRANCH = (
    "Data-dependent branching\n"
    "  Explanation: Python needs a value of a tensor (as {what}), e.g. in `if my_tensor.sum() > 0:`, and the graph "
    "cannot hold what Python does with it.\n"
    "  Hint: write it with torch.where or torch.cond, or leave out fullgraph=True."
)
LIST = (
    "Tensor.tolist() with non-integer tensor\n"
    "  Explanation: Python needs the values of a tensor.\n  Hint: leave out fullgraph=True."
)
BREAK = (
    "torch.compile: {name} {why}, so that it runs without the backend {backend}. PyTorch would give it the graphs "
    "before and behind that point; here it gets whole functions only (fullgraph=True makes this an error)."
)
# What fullgraph=True refuses, as PyTorch: an item in an expression is none of it.
REFUSED = {"Python boolean": BRANCH, "Python integer": BRANCH, "Python index": BRANCH, "Python list": LIST}


class GraphBreak(Exception):
    """The function cannot be one graph."""


def _refuse(what: str):
    if what in REFUSED:
        raise exc.Unsupported(REFUSED[what].format(what=what))


def _break(what: str):
    raise GraphBreak(f"makes a {what} of a tensor")


def _key(leaves: list, spec, root: Module) -> tuple:
    """What a graph is recorded for: shapes and dtypes, other arguments, modes of modules."""
    parts = [
        (tuple(x.shape), x.dtype, x.device, x.requires_grad) if isinstance(x, Tensor) else (type(x), repr(x))
        for x in leaves
    ]
    return (*parts, repr(spec), is_grad_enabled(), *[m.training for m in root.modules()])


class Compiled:
    """A function whose calls a backend makes; without a backend, one that may not branch on values."""

    def __init__(self, function: Callable, backend: Callable | None, fullgraph: bool):
        self.function, self.backend, self.fullgraph = function, backend, fullgraph
        owner = getattr(function, "__self__", None)
        self.root = owner if isinstance(owner, Module) else Module()
        self.known: dict[tuple, Callable] = {}

    def __call__(self, *args, **kwargs):
        leaves, spec = tree_flatten((args, kwargs))
        key = _key(leaves, spec, self.root)
        found = self.known.get(key)
        if found is None:
            found = self.known[key] = self._made(leaves, args, kwargs)
        return found(*args, **kwargs)

    def _made(self, leaves: list, args: tuple, kwargs: dict) -> Callable:
        tensors = [x for x in leaves if isinstance(x, Tensor)]
        if self.backend is None:
            self._watch(args, kwargs)
            return self.function
        to_python = _refuse_all if self.fullgraph else _break
        try:
            recording = Recording(self.function, self.root, args, kwargs, to_python, undo=True)
        except (GraphBreak, CannotRecord) as error:
            if self.fullgraph:
                raise exc.Unsupported(str(error)) from error
            names = {"name": _name(self.function), "backend": _name(self.backend)}
            warn(BREAK.format(why=error if isinstance(error, GraphBreak) else f"has {error}", **names))
            return self.function
        run = self._from_backend(recording, tensors)
        return lambda *args, **kwargs: recording.restored(run(*recording.tensors_of(args, kwargs)))

    def _watch(self, args: tuple, kwargs: dict):
        watch = Watch(self.root, _refuse)
        try:
            with watch:
                self.function(*args, **kwargs)
        finally:
            watch.undo()

    def _from_backend(self, recording: Recording, tensors: list[Tensor]) -> Callable:
        try:
            run = self.backend(recording.module(), tensors)
            if not callable(run):
                raise AssertionError("compiler_fn did not return callable")
        except Exception as error:
            text = f"backend={_name(self.backend)!r} raised:\n{type(error).__name__}: {error}"
            raise exc.BackendCompilerFailed(text) from error
        return run


def _refuse_all(what: str):
    raise exc.Unsupported(REFUSED.get(what, BRANCH).format(what=what))


def _name(function) -> str:
    return getattr(function, "__name__", type(function).__name__)


class OptimizedModule(Module):
    """A module around the one that was compiled, which is its `_orig_mod` and has its other attributes.

    >>> net = torch.nn.Linear(2, 1)
    >>> compiled = torch.compile(net)
    >>> list(compiled.state_dict()), compiled.in_features
    (['_orig_mod.weight', '_orig_mod.bias'], 2)
    """

    def __init__(self, mod: Module, options: dict, backend: Callable | None = None):
        super().__init__()
        own = vars(self)
        self._modules["_orig_mod"], own["_options"] = mod, options
        special = backend is not None or options["fullgraph"]
        own["_run"] = Compiled(mod.__call__, backend, options["fullgraph"]) if special else mod

    def forward(self, *args, **kwargs):
        """The module's call."""
        return self._run(*args, **kwargs)

    @property
    def training(self) -> bool:
        """The module's."""
        return self._modules["_orig_mod"].training

    @training.setter
    def training(self, mode: bool):
        if "_orig_mod" in vars(self).get("_modules", ()):
            self._modules["_orig_mod"].training = mode

    def __getattr__(self, name: str):
        mod = vars(self)["_modules"]["_orig_mod"]
        return mod if name == "_orig_mod" else getattr(mod, name)

    def __setattr__(self, name: str, value):
        if name == "_orig_mod":
            raise AttributeError("the module inside of a compiled one cannot be exchanged; compile the other one")
        if name in vars(self) or isinstance(getattr(type(self), name, None), property):
            object.__setattr__(self, name, value)
        elif "_orig_mod" in vars(self).get("_modules", ()):
            setattr(self._orig_mod, name, value)
        else:
            super().__setattr__(name, value)

    def __delattr__(self, name: str):
        delattr(self._orig_mod, name)

    def __dir__(self):
        return sorted({*super().__dir__(), *dir(self._orig_mod)})

    def __reduce__(self):
        backend = self._run.backend if isinstance(self._run, Compiled) else None
        return OptimizedModule, (self._orig_mod, self._options, backend)


def compiled(model: Callable, backend: Callable | None, options: dict) -> Callable:
    """What torch.compile makes of a module, or of a function for a user's backend or fullgraph=True."""
    if isinstance(model, Module):
        return OptimizedModule(model, options, backend)
    if backend is None and not options["fullgraph"]:
        return model
    made = Compiled(model, backend, options["fullgraph"])

    @functools.wraps(model)
    def wrapper(*args, **kwargs):
        return made(*args, **kwargs)

    wrapper._torchdynamo_orig_callable = model
    return wrapper
