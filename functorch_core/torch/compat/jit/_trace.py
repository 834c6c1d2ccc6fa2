"""torch.jit.trace: the graph of one run, with the branches that it took; `save` and `load` of such graphs.

The graph is one of torch.fx, its code Python. Files are this library's own (torch.save's format): TorchScript's
are neither written nor read.
"""

from __future__ import annotations

import inspect
import zipfile
from collections.abc import Callable

import functorch_core.torch as torch

from ....annotations import lenient_signature
from ....core.warn import warn
from ....nn import Module
from ..._missing import MESSAGE
from ...tensors.base import Tensor
from ...tensors.pytree import tree_flatten, tree_leaves, tree_unflatten
from ..fx import recording as fx_recording
from ..fx.graph import Graph
from ..fx.graph_module import _forward_from
from . import _files, _state

CONSTANT = (
    "Converting a tensor to a {what} might cause the trace to be incorrect. We can't record the data flow of Python "
    "values, so this value will be treated as a constant in the future. This means that the trace might not "
    "generalize to other inputs!"
)
FROM_NUMPY = (
    "torch.from_numpy results are registered as constants in the trace. You can safely ignore this warning if you "
    "use this function to create tensors out of constant variables that would be the same every time you call this "
    "function. In any other case, this might cause the trace to be incorrect."
)
LENGTH = (
    "Using len to get tensor shape might cause the trace to be incorrect. Recommended usage would be tensor.shape[0]. "
    "Passing a tensor of different shape might lead to errors or silently give incorrect results."
)
INPUTS = (
    "Type '{}' cannot be traced. Only Tensors and (possibly nested) Lists, Dicts, and Tuples of Tensors can be traced"
)
OUTPUTS = "Only tensors, lists, tuples of tensors, or dictionary of tensors can be output from traced functions"
NOTHING = (
    "The traced function didn't return any values! Side-effects are not captured in traces, so it would be a no-op."
)
DIFFERS = (
    "Output nr {n}. of the traced function does not match the corresponding output of the Python function. "
    "Detailed error:\n{error}"
)


def _to_python(what: str):
    texts = {fx_recording.FROM_NUMPY: FROM_NUMPY, fx_recording.LENGTH: LENGTH}
    warn(texts.get(what) or CONSTANT.format(what=what), _state.TracerWarning)


class Method:
    """A recorded function: its graph, and how arguments become inputs of the graph."""

    def __init__(self, name: str, signature, graph: Graph, inputs: Callable, outputs: Callable, structures):
        self.name, self.signature, self.graph = name, signature, graph
        self.inputs, self.outputs, self.structures = inputs, outputs, structures
        code = graph.python_code("self")
        self.code, self.function = code.src, _forward_from(code)

    def bound(self, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
        """The arguments, by position where they can be."""
        return _bound(self.name, self.signature, args, kwargs)

    def __call__(self, root: Module, args: tuple, kwargs: dict):
        args, kwargs = self.bound(args, kwargs)
        try:
            tensors = self.inputs(args, kwargs)
        except TypeError as error:
            raise RuntimeError(f"{self.name}(): {error}") from None
        return self.outputs(self.function(root, *tensors))


def _bound(name: str, signature, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
    if signature is None:
        return args, kwargs
    try:
        found = signature.bind(*args, **kwargs)
    except TypeError as error:
        n, given = len(signature.parameters), len(args) + len(kwargs)
        text = f"{name}() expected at most {n} argument(s) but received {given} argument(s)."
        raise RuntimeError(text if given > n else f"{name}() {error}") from None
    return found.args, found.kwargs


class TracedFunction:
    """What torch.jit.trace makes of a function: called, it runs the recorded graph."""

    def __init__(self, method: Method, root: Module):
        vars(self)[_state.MARK] = "function"
        self._method, self._root = method, root

    def __call__(self, *args, **kwargs):
        return self._method(self._root, args, kwargs)

    @property
    def graph(self) -> Graph:
        """The graph, as torch.fx has them."""
        return self._method.graph

    inlined_graph = graph

    @property
    def name(self) -> str:
        """The function's name."""
        return self._method.name

    @property
    def code(self) -> str:
        """The graph as Python."""
        return self._method.code

    def save(self, f, **kwargs):
        """Write it so that this library's torch.jit.load reads it."""
        torch.jit.save(self, f, **kwargs)

    def __repr__(self):
        return f"<torch.jit.ScriptFunction {self.name}>"


class TopLevelTracedModule(Module):
    """What torch.jit.trace makes of a module: it has the module's parameters and submodules, and runs the graph."""

    def __init__(self, original: Module, methods: dict[str, Method]):
        super().__init__()
        own = vars(self)
        own[_state.MARK], own["_traced"], own["original_name"] = True, methods, type(original).__name__
        for kind in ("_parameters", "_buffers", "_modules", "_non_persistent_buffers_set"):
            own[kind] = type(vars(original)[kind])(vars(original)[kind])
        own["training"] = original.training
        for name in methods:
            if name != "forward":
                own[name] = _Caller(self, name)

    def forward(self, *args, **kwargs):
        """Run the recorded graph."""
        return self._traced["forward"](self, args, kwargs)

    graph = property(lambda self: self._traced["forward"].graph, doc="The graph, as torch.fx has them.")
    inlined_graph = graph
    code = property(lambda self: self._traced["forward"].code, doc="The graph as Python.")

    def save(self, f, **kwargs):
        """Write it so that this library's torch.jit.load reads it."""
        torch.jit.save(self, f, **kwargs)

    def _get_name(self) -> str:
        return self.original_name

    def extra_repr(self) -> str:
        """The class of the module that was traced."""
        return f"original_name={self.original_name}"


class _Caller:
    """A traced method that is not forward."""

    def __init__(self, module: TopLevelTracedModule, name: str):
        self.module, self.name = module, name

    def __call__(self, *args, **kwargs):
        return self.module._traced[self.name](self.module, args, kwargs)


# ---- tracing -------------------------------------------------------------------------------------


def _described(x) -> str:
    """The type of an input, in the words of PyTorch's error."""
    if isinstance(x, Tensor):
        return "Tensor"
    if isinstance(x, (tuple, list)):
        return f"{type(x).__name__.capitalize()}[{', '.join(map(_described, x))}]"
    return type(x).__name__


def record(name: str, function: Callable, root: Module, args: tuple, kwargs: dict, check: float | None) -> Method:
    """The method of one run; `check` is the tolerance of another run of its graph."""
    if not all(isinstance(x, Tensor) for x in tree_leaves((args, kwargs))):
        raise RuntimeError(INPUTS.format(_described(args)))
    signature = _signature(function)
    args, kwargs = _apart(_bound(name, signature, args, kwargs))
    with _state.tracing():
        try:
            made = fx_recording.Recording(function, root, args, kwargs, _to_python, sizes=True)
        except fx_recording.CannotRecord as error:
            raise NotImplementedError(
                MESSAGE.format(name="torch.jit.trace of such a function") + f": {error}"
            ) from error
    leaves = tree_leaves(made.result)
    if made.result is None:
        raise RuntimeError(NOTHING)
    if not all(isinstance(x, Tensor) for x in leaves):
        raise RuntimeError(OUTPUTS)
    for constant, tensor in made.recorder.constants._buffers.items():
        root.register_buffer(constant, tensor, persistent=False)
    method = Method(name, signature, made.recorder.graph, made.tensors_of, made.restored, ((args, kwargs), made.result))
    if check is not None:
        _check(method, root, made, (args, kwargs), check)
    return method


def _apart(inputs):
    """A tensor that is given twice is two inputs, the second a view of it."""
    leaves, spec = tree_flatten(inputs)
    seen: set[int] = set()
    for i, x in enumerate(leaves):
        if isinstance(x, Tensor) and id(x) in seen:
            leaves[i] = x.view_as(x)
        seen.add(id(x))
    return tree_unflatten(leaves, spec)


def _signature(function: Callable):
    of = type(function).forward.__get__(function) if isinstance(function, Module) else function
    try:
        return lenient_signature(of)
    except (TypeError, ValueError):
        return None


def _check(method: Method, root: Module, made, inputs, tolerance: float):
    """Warn if the graph gives something else than the function did."""
    copies = made.recorder.copies
    tensors = [copies[id(x)][2] if id(x) in copies else x for x in tree_flatten(inputs)[0]]
    watch = fx_recording.Watch(root, lambda what: None)
    try:
        with watch, torch.no_grad():
            torch.set_rng_state(made.recorder.random_state)
            found = tree_leaves(method.outputs(method.function(root, *tensors)))
    finally:
        watch.undo()
    for i, (ours, theirs) in enumerate(zip(found, tree_leaves(made.result)), 1):
        try:
            torch.testing.assert_close(ours, theirs, rtol=tolerance, atol=tolerance, equal_nan=True)
        except AssertionError as error:
            warn(DIFFERS.format(n=i, error=error), _state.TracerWarning)


def traced(func: Callable, args: tuple, kwargs: dict, check: float | None):
    """torch.jit.trace of a function, a module or a module's method."""
    if isinstance(func, Module):
        return traced_module(func, {"forward": (args, kwargs)}, check)
    owner = getattr(func, "__self__", None)
    if isinstance(owner, Module) and func.__name__ == "forward":
        return traced_module(owner, {"forward": (args, kwargs)}, check)
    root = owner if isinstance(owner, Module) else Module()
    return TracedFunction(record(getattr(func, "__name__", "forward"), func, root, args, kwargs, check), root)


def traced_module(mod: Module, inputs: dict[str, tuple[tuple, dict]], check: float | None) -> TopLevelTracedModule:
    """torch.jit.trace_module: some methods of a module."""
    made = TopLevelTracedModule(mod, {})
    for name, (args, kwargs) in inputs.items():
        function = mod if name == "forward" else getattr(mod, name)
        holder = Module()
        vars(holder).update(
            {kind: vars(mod)[kind] for kind in ("_parameters", "_modules")}, _buffers=dict(mod._buffers)
        )
        vars(holder)["training"] = mod.training
        made._traced[name] = record(name, function, holder, args, kwargs, check)
        for constant in holder._buffers.keys() - mod._buffers.keys():
            made.register_buffer(constant, holder._buffers[constant], persistent=False)
        if name != "forward":
            vars(made)[name] = _Caller(made, name)
    return made


# ---- files ---------------------------------------------------------------------------------------


def save(m, f, _extra_files=None):
    """torch.jit.save of what was traced."""
    if not isinstance(m, (TopLevelTracedModule, TracedFunction)):
        raise NotImplementedError(_state.NO_SAVE)
    methods = m._traced if isinstance(m, Module) else {"forward": m._method}
    if list(methods) != ["forward"]:
        raise NotImplementedError(MESSAGE.format(name="torch.jit.save of methods other than forward"))
    root = m if isinstance(m, Module) else m._root
    contents = _files.contents(methods["forward"], root, getattr(m, "original_name", None))
    torch.save({**contents, "extra": dict(_extra_files or {})}, f)


def load(f, map_location=None, _extra_files=None):
    """torch.jit.load of what this library's torch.jit.save has written."""
    if _is_torchscript(f):
        raise NotImplementedError(_state.NO_LOAD)
    contents = torch.load(f, map_location=map_location, weights_only=True)
    if not isinstance(contents, dict) or contents.get("format") != _files.FORMAT:
        raise RuntimeError("torch.jit.load: this file was not written by torch.jit.save")
    for name in _extra_files or ():
        _extra_files[name] = contents["extra"].get(name, "")
    graph, root, inputs, outputs = _files.read(contents)
    names = contents["arguments"]
    signature = None if names is None else inspect.Signature([inspect.Parameter(n, 1) for n in names])
    method = Method(contents["name"], signature, graph, inputs, outputs, (contents["inputs"], contents["outputs"]))
    if contents["module"] is None:
        return TracedFunction(method, root)
    made = TopLevelTracedModule(root, {"forward": method})
    vars(made)["original_name"] = contents["module"]
    return made


def _is_torchscript(f) -> bool:
    if hasattr(f, "read"):
        place = f.tell()
    try:
        with zipfile.ZipFile(f) as archive:
            return any([name.endswith("/constants.pkl") for name in archive.namelist()])
    except zipfile.BadZipFile:
        return False
    finally:
        if hasattr(f, "read"):
            f.seek(place)
