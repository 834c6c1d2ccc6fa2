"""torch.fx.experimental.proxy_tensor: graphs of the operators of torch.ops.aten that a function calls.

The function runs, with tensors, in a mode below autograd (`__torch_dispatch__`), which writes down each operator: of
backward passes and of torch.func.grad, too. Loops and branches of Python, sizes and numbers are those of the run.
"""

from __future__ import annotations

import contextlib
import gc
import inspect
import operator
from collections.abc import Callable, Mapping

import functorch_core.torch as torch

from .....annotations import lenient_annotations
from .....nn import Module, Parameter
from .... import _missing
from ....tensors.base import Tensor
from ....tensors.pytree import tree_flatten, tree_is_leaf, tree_map, tree_unflatten
from ...library import dispatching
from ...utils._python_dispatch import TorchDispatchMode
from .._code import PyTree
from ..graph import Graph
from ..graph_module import GraphModule
from ..node import Node
from .functionalized import functionalized

VALUE = (
    "It appears that you're trying to get value out of a tracing tensor with {op} - erroring out! It's likely that "
    "this is caused by data-dependent control flow or similar."
)
UNKNOWN = (
    "make_fx: a tensor was made while f ran, but not by an operator that is dispatched to __torch_dispatch__: by the "
    "backward pass of what was computed before, by vmap or by NumPy"
)
UNKNOWN_MODE = "tracing_mode must be real/fake/symbolic, got {mode}"

__getattr__ = _missing.getter(__name__)


class ProxyTorchDispatchMode(TorchDispatchMode):
    """The mode that writes operators down in a graph while they run: what make_fx calls a function under.

    >>> from torch.fx.experimental.proxy_tensor import ProxyTorchDispatchMode
    >>> list(ProxyTorchDispatchMode(decompositions={}).graph.nodes)  # nothing ran under it
    []
    """

    def __init__(self, decompositions: Mapping):
        super().__init__()
        self.decompositions, self.graph, self.root = decompositions, Graph(), Module()
        self.functional: str | None = None  # what torch.func.functionalize has been told to remove
        self.nodes: dict[int, Node] = {}  # by the id of a tensor, and of its value, which aliases of it share
        self.kept: list = []  # ids are those of one object as long as this lives
        self.constants: dict[str, int] = {}  # how many there are of a kind
        self.before = {id(x): x for x in gc.get_objects() if issubclass(type(x), Tensor)}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func in self.decompositions:
            with self:
                made = self.decompositions[func](*args, **kwargs)
            if made is not NotImplemented:
                return made
        if func is torch.ops.aten._local_scalar_dense.default and self.known(args[0]):
            raise RuntimeError(VALUE.format(op=func))
        if func is torch.ops.aten.lift_fresh.default:  # a tensor of Python's numbers: each call gets one of its own
            made, func = func(*args), torch.ops.aten.lift_fresh_copy.default
            return self.track(made, self.call(func, (self._constant(made.clone()),), {}))
        given = tree_map(self.argument, (list(args), kwargs))
        made = func(*args, **kwargs)
        return self.track(made, self.call(func, tuple(given[0]), given[1]))

    def call(self, func, args: tuple, kwargs: dict) -> Node:
        """The node of a call."""
        return self.graph.call_function(func, args, kwargs, name=getattr(func, "_opname", None))

    # ---- which node a value is

    def known(self, x: Tensor) -> Node | None:
        """The node of a tensor; that of one with the same value if it was made while f runs."""
        return self.nodes.get(id(x)) or (None if id(x) in self.before else self.nodes.get(id(_value(x))))

    def track(self, value, node: Node):
        """Remember that a value is a node's, and the parts of a tuple its items."""
        if isinstance(value, Tensor):
            own = _value(value)
            self.nodes[id(value)] = node
            self.nodes.setdefault(id(own), node)
            self.kept += value, own
            node.meta["val"] = _without_data(value)
        elif isinstance(value, (tuple, list)):
            for i, part in enumerate(value):
                self.track(part, self.graph.call_function(operator.getitem, (node, i)))
        return value

    def argument(self, x):
        """A value as nodes hold it."""
        if not isinstance(x, Tensor):
            return x
        node = self.known(x)
        if node is None and id(x) not in self.before:
            raise NotImplementedError(UNKNOWN)
        return node or self._constant(x)

    def _constant(self, x: Tensor) -> Node:
        """A tensor that comes from elsewhere: an attribute of the module, one for each tensor."""
        held = [name for name, y in (*self.root._parameters.items(), *self.root._buffers.items()) if y is x]
        if held:
            return self.graph.get_attr(held[0])
        kind = "_param_constant" if isinstance(x, Parameter) else "_tensor_constant"
        name = f"{kind}{self.constants.setdefault(kind, 0)}"
        self.constants[kind] += 1
        (self.root.register_parameter if isinstance(x, Parameter) else self.root.register_buffer)(name, x)
        return self.graph.get_attr(name)


def _value(x: Tensor):
    """What two tensors have in common whose elements are the same ones."""
    return x if x._level is not None else x._read()


def _without_data(x: Tensor):
    with dispatching.computing():
        return torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device="meta") if _is_plain(x) else None


def _is_plain(x: Tensor) -> bool:
    return x._level is None and x.layout is torch.strided


def make_fx(
    f: Callable,
    decomposition_table: Mapping | None = None,
    tracing_mode: str = "real",
    _allow_non_fake_inputs: bool = False,
    *,
    pre_dispatch: bool = False,
    record_module_stack: bool = False,
    _allow_fake_constant: bool = False,
    _error_on_data_dependent_ops: bool = True,
    record_stack_traces: bool = False,
    proxy_module_inputs: bool = False,
    _disable_torch_fn_metadata_mode: bool = False,
) -> Callable[..., GraphModule]:
    """A function that runs f and returns the graph, a torch.fx.GraphModule, of the operators that f called.

    `decomposition_table` has functions that take the place of operators. In the mode 'fake' f gets copies of its
    inputs; sizes are those of the example in both. f may take derivatives; it may not use vmap.

    >>> from torch.fx.experimental.proxy_tensor import make_fx
    >>> print(make_fx(torch.func.grad(lambda x: x.sin().sum()))(torch.ones(3)).graph.find_nodes(
    ...     op="call_function", target=torch.ops.aten.cos.default))
    [cos]
    """
    if tracing_mode not in ("real", "fake", "symbolic"):
        raise AssertionError(UNKNOWN_MODE.format(mode=tracing_mode))
    for asked, name in ((tracing_mode == "symbolic", "tracing_mode='symbolic'"), (pre_dispatch, "pre_dispatch=True")):
        if asked:
            raise NotImplementedError(_missing.MESSAGE.format(name=f"make_fx({name})"))

    def wrapped(*args) -> GraphModule:
        given = tree_map(_copied, args) if tracing_mode == "fake" else args
        mode = ProxyTorchDispatchMode(decomposition_table or {})
        names = _names(f, len(args))
        tree = _placeholders(mode, names, given)
        with mode:
            result = f(*given)
        leaves, spec = tree_flatten(result)
        nodes = list(map(mode.argument, leaves))
        kind = lenient_annotations(inspect.unwrap(f)).get("return")
        if tree is None:
            mode.graph.output(tree_unflatten(nodes, spec), kind)
        else:
            mode.graph.pytree = PyTree(names, tree, spec)
            mode.graph.output(nodes, kind)
        graph = mode.graph if mode.functional is None else functionalized(mode.graph, mode.functional != "mutations")
        return GraphModule(mode.root, graph, getattr(f, "__name__", type(f).__name__))

    return wrapped


def _copied(x):
    if not isinstance(x, Tensor):
        return x
    return x.detach().clone().requires_grad_(x.requires_grad)


def _names(f: Callable, n: int) -> list[str]:
    """The names of the first n parameters; arg0, arg1, ... if they are not told, or given as *args."""
    inner = inspect.unwrap(f)
    code = getattr(inner, "__code__", None)
    if code is None or code.co_flags & inspect.CO_VARARGS:
        return [f"arg{i}" for i in range(n)]
    names = code.co_varnames[inspect.ismethod(inner) : code.co_argcount]
    return [*names[:n], *[f"arg{i}" for i in range(len(names), n)]]


def _placeholders(mode: ProxyTorchDispatchMode, names: list[str], args: tuple):
    """The inputs of the graph; returns the structure of the arguments if one of them is a tree."""
    for name, arg in zip(names, args):
        for i, leaf in enumerate(tree_flatten(arg)[0], 1):
            mode.track(leaf, mode.graph.placeholder(f"{name}_{i}"))
    return None if all(map(tree_is_leaf, args)) else tree_flatten(list(args))[1]


def get_proxy_mode() -> ProxyTorchDispatchMode | None:
    """The innermost mode that traces; None if none does.

    >>> from torch.fx.experimental import proxy_tensor
    >>> proxy_tensor.get_proxy_mode() is None
    True
    """
    modes = [m for m in dispatching.state.modes if isinstance(m, ProxyTorchDispatchMode)]
    return modes[-1] if modes else None


get_innermost_proxy_mode = get_proxy_mode


@contextlib.contextmanager
def disable_proxy_modes_tracing():
    """Context: nothing is written down.

    >>> from torch.fx.experimental import proxy_tensor
    >>> with proxy_tensor.disable_proxy_modes_tracing():
    ...     proxy_tensor.get_proxy_mode() is None
    True
    """
    state, modes = dispatching.state, dispatching.state.modes
    state.modes = tuple([m for m in modes if not isinstance(m, ProxyTorchDispatchMode)])
    try:
        yield
    finally:
        state.modes = modes


__all__ = [
    "ProxyTorchDispatchMode",
    "disable_proxy_modes_tracing",
    "get_innermost_proxy_mode",
    "get_proxy_mode",
    "make_fx",
]
