"""Modules as pytrees: parameters and buffers are the leaves, all else is structure.

So a module can be an argument or a result of `fc.jit`, `fc.vmap`, `fc.scan`, and `fc.grad` gives a module of
gradients. What comes back is a module of its own; `update` writes its numbers into the one that went in.
"""

from __future__ import annotations

import weakref
from typing import NamedTuple

from ..core import tree
from ..torch.operators.faces import array_in, own, tensor_around
from ..torch.tape.modes import no_grad
from ..torch.tensors import types as _types
from ..torch.tensors.base import Tensor
from .parameter import Parameter, UninitializedBuffer, UninitializedParameter

PARTS = frozenset({"_parameters", "_buffers", "_modules"})
SIMPLE = frozenset({int, float, bool, complex, str, bytes, type(None), type, _types.dtype, _types.device})
NO_MODULE = "{what} takes a module of functorch_core.nn, got {kind}"
OTHER_NAMES = """{what}: the tensors are named {found}, those of the module {wanted}.
    Give a module of the same structure, or a dict of some of the module's parameters and buffers by their names."""
NOT_SHAPED = """{name} is a parameter or buffer without a shape so far.
    Call the module once with an example, then transform functions of it."""


class Part(NamedTuple):
    """A module in a skeleton: its class, its attributes, and the paths of the modules right below it."""

    cls: type
    attributes: dict
    below: dict


class Place(NamedTuple):
    """Where a tensor is: the module's path, the kind and the name there, the tensor's number; whether it is a
    parameter, and one that requires a gradient."""

    path: str
    kind: str
    name: str
    number: int
    is_parameter: bool
    trained: bool


class Skeleton:
    """A module without its tensors. Equal for modules of the same classes, names and attributes.

    A tensor that stands at several places has one number, and is one leaf. Attributes are compared by their
    value if they are numbers, strings and the like; functions and other objects are equal to themselves alone.
    """

    __slots__ = ("parts", "places", "names", "key")

    def __init__(self, parts: dict[str, Part], places: list[Place], names: list[str], attributes: tuple):
        self.parts, self.places, self.names = parts, places, names
        self.key = tuple(places), attributes

    def __eq__(self, other):
        return other.__class__ is Skeleton and self.key == other.key

    def __hash__(self):
        return hash(self.key[0])

    def __repr__(self):
        return self.parts[""].cls.__name__

    def build(self, tensors):
        """A module of these tensors, which come in the order of their numbers."""
        tensors, made = list(tensors), {}
        for path, part in self.parts.items():
            made[path] = object.__new__(part.cls)
            made[path].__dict__.update(part.attributes, _parameters={}, _buffers={})
        for path, part in self.parts.items():
            own = {name: None if below is None else made[below] for name, below in part.below.items()}
            made[path].__dict__["_modules"] = own
        shared: dict[int, object] = {}
        for place in self.places:
            if place.number not in shared:
                shared[place.number] = _as_before(place, tensors[place.number])
            made[place.path].__dict__[place.kind][place.name] = shared[place.number]
        return made[""]


def taken_apart(module) -> tuple[Skeleton, list]:
    """(a module without its tensors, the tensors by their numbers)."""
    modules = dict(module.named_modules())
    paths = {id(part): path for path, part in modules.items()}
    numbers: dict[int, int] = {}
    parts, places, names, tensors = {}, [], [], []
    for path, part in modules.items():
        own = part.__dict__
        below = {name: None if m is None else paths[id(m)] for name, m in own["_modules"].items()}
        parts[path] = Part(part.__class__, {k: v for k, v in own.items() if k not in PARTS}, below)
        for kind in ("_parameters", "_buffers"):
            for name, x in own[kind].items():
                full = f"{path}.{name}" if path else name
                if isinstance(x, (UninitializedParameter, UninitializedBuffer)):
                    raise ValueError(NOT_SHAPED.format(name=full))
                number = numbers.setdefault(id(x), len(numbers))
                if number == len(tensors):
                    tensors.append(x)
                    names.append(full)
                places.append(Place(path, kind, name, number, *_kind_of(x)))
    attributes = tuple([_attributes(path, part, numbers) for path, part in parts.items()])
    return Skeleton(parts, places, names, attributes), tensors


def _attributes(path: str, part: Part, numbers: dict[int, int]) -> tuple:
    return path, part.cls, tuple([(k, _comparable(v, numbers)) for k, v in part.attributes.items()])


class _Same:
    """Something that is equal to itself alone."""

    __slots__ = ("thing",)

    def __init__(self, thing):
        self.thing = thing

    def __eq__(self, other):
        return other.__class__ is _Same and self.thing is other.thing


def _comparable(x, numbers: dict[int, int]):
    """An attribute of a module as part of its structure; `numbers` are those of the module's tensors."""
    cls = x.__class__
    if cls in SIMPLE:
        return cls, x
    if cls is tuple or cls is list:
        return cls, tuple([_comparable(y, numbers) for y in x])
    if cls is weakref.ref or id(x) in numbers:  # what a recurrent layer notes of its own weights
        return cls
    if cls is set or isinstance(x, dict) and not x:
        return cls, frozenset(x)
    return _Same(x)


class Leaf:
    """In a tensor's place, of a module that is no module of tensors but a tree of something else: of bools, say."""

    __slots__ = ("value", "kind")

    def __init__(self, value, kind: tuple[bool, bool]):
        self.value, self.kind = value, kind

    def __repr__(self):
        return repr(self.value)


def _kind_of(x) -> tuple[bool, bool]:
    """Whether something is a parameter, and one that requires a gradient."""
    if x.__class__ is Leaf:
        return x.kind
    return isinstance(x, Parameter), isinstance(x, Parameter) and x.requires_grad


def _as_before(place: Place, new):
    """A tensor as it was at its place: a parameter where it was one."""
    if not isinstance(new, Tensor):
        return new if new is None and not place.is_parameter else Leaf(new, place[-2:])
    if place.is_parameter and not isinstance(new, Parameter):
        return Parameter(new, place.trained and (new.is_floating_point() or new.is_complex()))
    return new


# ---- as a node of trees --------------------------------------------------------------------------


def _content(x):
    return array_in(x) if isinstance(x, Tensor) else x.value if x.__class__ is Leaf else x


def _leaves(module) -> tuple[list, Skeleton]:
    skeleton, tensors = taken_apart(module)
    return [_content(x) for x in tensors], skeleton


def _leaves_with_keys(module) -> tuple[list, Skeleton]:
    leaves, skeleton = _leaves(module)
    return [(tree.GetAttrKey(name), x) for name, x in zip(skeleton.names, leaves)], skeleton


def _rebuilt(skeleton: Skeleton, leaves):
    return skeleton.build(map(tensor_around, leaves))


def register(cls: type):
    """Let instances of a class of modules be nodes of trees."""
    tree.register_node(cls, _leaves, _rebuilt, _leaves_with_keys)


def register_all(base: type):
    """The same for a class and all that are or will be derived from it."""

    def registering(cls, **kwargs):
        super(base, cls).__init_subclass__(**kwargs)  # of the other bases: Generic's
        register(cls)

    base.__init_subclass__ = classmethod(registering)
    classes = [base]
    for cls in classes:
        register(cls)
        classes += [other for other in cls.__subclasses__() if other not in classes]


# ---- in two parts --------------------------------------------------------------------------------


class Rest:
    """What split leaves of a module beside its parameters: buffers and frozen parameters are its leaves."""

    def __init__(self, skeleton: Skeleton, tensors: dict):
        self.skeleton, self.tensors = skeleton, tensors

    def __repr__(self):
        return f"Rest({self.skeleton}: {', '.join(self.tensors) or 'no tensors'})"


tree.register_node(
    Rest,
    lambda rest: (tuple(rest.tensors.values()), (rest.skeleton, tuple(rest.tensors))),
    lambda aux, tensors: Rest(aux[0], dict(zip(aux[1], tensors))),
)


def split(module) -> tuple[dict, Rest]:
    """(parameters by name, the rest) of a module; merge puts them together again.

    The parameters that require gradients, as plain tensors in the same memory: what fc.grad takes and
    optimizers update. The rest, buffers and frozen parameters, is a pytree, too.

    >>> import functorch_core as fc
    >>> from functorch_core import faces, nn, torch
    >>> params, rest = faces.split(nn.Linear(2, 1))
    >>> loss = lambda params, x: faces.merge(params, rest)(x).sum()
    >>> fc.grad(loss)(params, torch.ones(3, 2))["weight"]
    tensor([[3., 3.]])
    """
    if not hasattr(module, "named_modules"):
        raise TypeError(NO_MODULE.format(what="split", kind=type(module).__name__))
    skeleton, tensors = taken_apart(module)
    trained = {place.number for place in skeleton.places if place.trained}
    params, others = {}, {}
    for number, (name, x) in enumerate(zip(skeleton.names, tensors)):
        (params if number in trained else others)[name] = x.detach() if isinstance(x, Tensor) else x
    return params, Rest(skeleton, others)


def merge(params: dict, rest: Rest):
    """The module of these parameters and of what split left beside them; see split.

    It has tensors of its own: what it writes to its buffers is seen in it alone. Return it, or split it again.
    """
    wanted = [name for name in rest.skeleton.names if name not in rest.tensors]
    if sorted(wanted) != sorted(params):
        raise ValueError(OTHER_NAMES.format(what="merge", found=sorted(params), wanted=wanted))
    tensors = {**rest.tensors, **params}
    return rest.skeleton.build(own(tensor_around(tensors[name])) for name in rest.skeleton.names)


def _by_name(module) -> dict:
    skeleton, tensors = taken_apart(module)
    return dict(zip(skeleton.names, tensors))


def update(module, values):
    """Write the parameters and buffers of another module, or tensors of a dict by their names, into a module.

    >>> import functorch_core as fc
    >>> from functorch_core import faces, nn
    >>> net = nn.Linear(2, 1)
    >>> _ = faces.update(net, fc.tree.map(fc.zeros_like, net))
    >>> net.bias
    Parameter containing:
    tensor([0.], requires_grad=True)
    """
    own, new = _by_name(module), values if isinstance(values, dict) else _by_name(values)
    if not new.keys() <= own.keys():
        raise ValueError(OTHER_NAMES.format(what="update", found=sorted(new), wanted=sorted(own)))
    pairs = [(own[name], x) for name, x in new.items() if isinstance(own[name], Tensor)]
    with no_grad():
        for mine, x in pairs:
            mine.copy_(tensor_around(x))
    return module
