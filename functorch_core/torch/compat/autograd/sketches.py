"""What operators are made of in PyTorch, as a profile lists it: trees of names and shapes; nothing is computed.

A rule is a function of a Sketch and the arguments of an operator, as `Part`s: it calls on the sketch what PyTorch's
operator calls, and returns its result. Rules stand in `operator_parts` and `node_parts`; for a step of an optimizer,
what writes it down operator by operator (`optim/_wrappers.py`) is called with Parts.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import math
from collections.abc import Callable, Iterator, Sequence

from ...tape.node_chains import parsed
from ...tensors import types as _types
from ...tensors.active import active
from ...tensors.base import Tensor
from ...tensors.types import of_numpy
from ..library.called import operator_of
from ..library.overloads import overloads_of

Rule = Callable[..., object]
RULES: dict[str, Rule] = {}  # by operators
NODE_RULES: dict[str, Rule] = {}  # by nodes of backward passes


def made_of(*names: str, rules: dict[str, Rule] = RULES) -> Callable[[Rule], Rule]:
    """Decorator of the rule of these operators, or of the one of its own name."""

    def declare(rule: Rule) -> Rule:
        for name in names or (rule.__name__,):
            rules[name] = rule
        return rule

    return declare


class Part:
    """The shape and dtype of an operand, and whether its elements lie in order. Its methods are operators."""

    __slots__ = ("sketch", "shape", "dtype", "ordered", "number")

    def __init__(self, sketch: Sketch, shape: Sequence[int], dtype, ordered: bool = True, number: bool = False):
        self.sketch, self.shape, self.dtype, self.ordered = sketch, list(shape), dtype, ordered
        self.number = number  # whether it is a Python number, for which a profile lists no shape

    def like(self, shape: Sequence[int] | None = None, dtype=None, ordered: bool = True) -> Part:
        """Another, of the same shape and dtype where these are not given."""
        return Part(self.sketch, self.shape if shape is None else shape, dtype or self.dtype, ordered)

    @property
    def ndim(self) -> int:
        """How many dimensions it has."""
        return len(self.shape)

    def numel(self) -> int:
        """How many elements it has."""
        return math.prod(self.shape)

    def item(self) -> float:
        """Some number, as a step of an optimizer needs one."""
        self.sketch.item(self)
        return 1.0

    def __getattr__(self, name: str) -> Callable:
        if name.startswith("__"):
            raise AttributeError(name)
        return functools.partial(self.sketch.call, name, self)

    def __iadd__(self, other):
        return self.sketch.add_(self, other)

    def __truediv__(self, other):
        return self.sketch.div(self, other)

    def __neg__(self):
        return self.sketch.neg(self)


class Called:
    """An operator that is called: its name, the shapes of its arguments, and what it calls."""

    __slots__ = ("name", "shapes", "parts")

    def __init__(self, name: str, shapes: list):
        self.name, self.shapes = name, shapes
        self.parts: list[Called] = []

    def weight(self) -> int:
        """Among how many of its parts its time is shared: those that compute, and call nothing that does."""
        inner = sum([part.weight() for part in self.parts])
        return inner or int(self.short not in MOVES_NOTHING)

    def keeper(self) -> Called | None:
        """The part that takes the memory of the result; None if it does so itself."""
        computing = [part for part in self.parts if part.weight()]
        made = [part for part in computing if not part.name.endswith("_")] or computing
        if not made and (self.weight() or self.short in CONVERTING):
            made = [part for part in self.parts if part.short.startswith(("empty", "new_empty")) or part.keeper()]
        return made[-1] if made else None

    @property
    def short(self) -> str:
        """Its name without that of its library."""
        return self.name.removeprefix("aten::")


# Views, new memory, and what is done along the way to what is computed.
MOVES_NOTHING = frozenset(
    """_has_compatible_shallow_copy_type _reshape_alias _to_copy _unsafe_view as_strided as_strided_ clone contiguous
    copy_ detach detach_ empty empty_like empty_strided expand expand_as fill_ lift_fresh narrow new_empty
    new_empty_strided permute reshape resize_ resolve_conj resolve_neg result_type scalar_tensor select slice squeeze
    t to transpose unsqueeze view zero_""".split()
)


CONVERTING = frozenset("_to_copy clone contiguous empty_like reshape to zeros_like".split())


class Sketch:
    """Writes down what is called on it: sketch.addmm(bias, x, sketch.t(w))."""

    def __init__(self):
        self.calls: list[Called] = []
        self.after: list[Called] = []  # what a backward pass does with a node's gradients
        self.result: object = None  # of the operator whose parts are asked for
        self.changed: bool | None = None  # whether it is another tensor than its first operand; None: not known

    def __getattr__(self, name: str) -> Callable:
        if name.startswith("__"):
            raise AttributeError(name)
        return functools.partial(self.call, name)

    def call(self, name: str, *args, **kwargs):
        """Write down a call, and what it is made of by its rule; its result."""
        rule, self.changed = rule_of(name), None
        with self.calling(f"aten::{name}", *args, *kwargs.values()):
            found = None if rule is None else rule(self, *args, **kwargs)
        return first(args) if found is None else found

    @contextlib.contextmanager
    def calling(self, name: str, *args) -> Iterator[None]:
        """Context: write down a call, which is made of what is called inside."""
        called = Called(name, shown(name.removeprefix("aten::"), args))
        self.calls.append(called)
        outer, self.calls = self.calls, called.parts
        try:
            yield
        finally:
            self.calls = outer

    def once_after(self, calls: Callable[[], object]):
        """Write down what is called once the node is left."""
        outer, self.calls = self.calls, self.after
        try:
            calls()
        finally:
            self.calls = outer

    def operator(self, name: str, args: Sequence, kwargs: dict, result):
        """Write down what an operator was made of that has been called."""
        rule = rule_of(name.removeprefix("aten::"))
        if rule is not None:
            self.result, self.changed = self.of(result), not args or result is not args[0]
            rule(self, *map(self.of, args), **{NUMPYS.get(key, key): self.of(x) for key, x in kwargs.items()})

    def node(self, name: str, node, grads: Sequence, before=None):
        """Write down what a node of a backward pass was made of: `before` is the leaf's gradient before."""
        rule = NODE_RULES.get(name)
        grad = next((g for g in grads if g is not None), None)
        if rule is not None and grad is not None:
            rule(self, self.of(grad), self.of(before) if node_leaf(node) is not None else Saved(self, node))

    def of(self, x):
        """A tensor as a Part, lists of them likewise; anything else stays."""
        if isinstance(x, Tensor):
            aval = x._read().aval
            return Part(self, aval.shape, of_numpy(aval.dtype), x.ndim < 2 or x.is_contiguous())
        return [self.of(y) for y in x] if type(x) in (tuple, list) else x

    def followed(self, function: Callable, *args):
        """Write down which operators a function calls on Parts."""
        outer = active.observer
        try:
            active.observer = _Follower(self)
            function(*args)
        finally:
            active.observer = outer


class Saved:
    """The operands of the call of a node, by name, and by which of them a gradient is wanted."""

    def __init__(self, a: Sketch, node):
        self._call, self._edges, graph = node.op.call, node.edges, node.op.graph
        self._operands = [Part(a, aval.shape, of_numpy(aval.dtype)) for aval in graph.in_avals]
        self.result = Part(a, graph.out_avals[0].shape, of_numpy(graph.out_avals[0].dtype))

    def wants(self, name: str) -> bool:
        """Whether there is an edge for an operand."""
        place = self._call.places.get(name)
        return place is not None and place < len(self._edges) and self._edges[place] is not None

    def has(self, name: str) -> bool:
        """Whether a tensor was given for an argument."""
        return name in self._call.places

    def static(self, name: str):
        """An argument that is no tensor."""
        return self._call.static.get(name)

    def __getattr__(self, name: str) -> Part:
        if name.startswith("_") or name not in self._call.places:
            raise AttributeError(name)
        return self._operands[self._call.places[name]]


def node_leaf(node):
    """The leaf into which a node accumulates; None of other nodes."""
    return getattr(node, "variable", None)


def chain_of(node) -> list[str]:
    """The further nodes that PyTorch has for the call of a node, and that lead to a gradient."""
    call = getattr(getattr(node, "op", None), "call", None)
    if call is None or call.chain is None:
        return []
    found: list[str] = []
    for tree in parsed(call.chain)[1]:
        _leading(tree, lambda name: name in call.places and node.edges[call.places[name]] is not None, found)
    return found


def _leading(tree, wanted: Callable[[str], bool], found: list[str]) -> bool:
    """Whether a part of a chain leads to an operand whose gradient is wanted; its nodes are added to `found`."""
    if tree is None or isinstance(tree, str):
        return tree is not None and wanted(tree)
    inner: list[str] = []
    leads = any([_leading(child, wanted, inner) for child in tree[1]])
    found += [tree[0], *inner] if leads else []
    return leads


def is_sketched(name: str, args: Sequence, kwargs: dict) -> bool:
    """Whether it is known what an operator is made of in PyTorch, called with these arguments."""
    rule = rule_of(name.removeprefix("aten::"))
    return rule is not None and fits(rule, args, kwargs)


def sketched(parts: Callable[[Sketch], object]) -> Sketch:
    """What a function writes down; nothing if it does not know these arguments, as a profile is no reason to fail."""
    sketch = Sketch()
    try:
        parts(sketch)
    except (AttributeError, IndexError, RuntimeError, TypeError, ValueError):
        sketch.calls, sketch.after = [], []
    return sketch


class _Follower:
    """What is told of the torch functions that are called with Parts: they are written down."""

    def __init__(self, sketch: Sketch):
        self.sketch = sketch

    def takes(self, function: Callable) -> bool:
        """Whether a function is an operator."""
        return operator_of(function, {}) is not None

    def call(self, function: Callable, args: Sequence, kwargs: dict):
        """A call of an operator."""
        if function.__name__ == "tensor":
            return new_tensor(self.sketch, args[0])
        return self.sketch.call(operator_of(function, {}).removeprefix("aten::"), *args, **kwargs)


def new_tensor(a: Sketch, data, dtype=None) -> Part:
    """torch.tensor of a number or a list."""
    a.empty()
    made = Part(a, [len(data)] if isinstance(data, (list, tuple)) else [], dtype or _types.named("float32"))
    for name in ("to", "lift_fresh", "detach_"):
        a.call(name, made)
    return made


def first(args: Sequence) -> Part | None:
    """The first Part among arguments."""
    for x in args:
        if isinstance(x, (tuple, list)):
            x = first(x)
        if isinstance(x, Part):
            return x
    return None


def rule_of(name: str) -> Rule | None:
    """The rule of an operator; one in place has that of its kind."""
    return RULES.get(name) or (RULES.get(name[:-1]) if name.endswith("_") else None)


NUMPYS = {"axis": "dim", "keepdims": "keepdim"}  # names of arguments


def fits(rule: Rule, args: Sequence, kwargs: dict) -> bool:
    """Whether a rule knows these arguments."""
    try:
        _signature(rule).bind(None, *args, **{NUMPYS.get(key, key): x for key, x in kwargs.items()})
    except TypeError:
        return False
    return True


_signature = functools.cache(inspect.signature)


def shown(name: str, args: Sequence) -> list:
    """The shapes of arguments as a profile lists them: an empty one for each that is no tensor, or left out."""
    return padded(name, [_shape(x) for x in args])


def padded(name: str, shapes: list) -> list:
    """The shapes of the arguments that are given, and of those that are left out."""
    return shapes + [[]] * (_arity(name, len(shapes)) - len(shapes))


def _shape(x) -> list:
    return x.shape if isinstance(x, Part) and not x.number else []


@functools.lru_cache(None)
def _arity(name: str, given: int) -> int:
    """How many arguments an operator has, of the first overload that takes so many."""
    counts = [len(o.arguments) for o in overloads_of(name) if o.overload != "out"]
    return given if given in counts else next((n for n in counts if n >= given), given)
