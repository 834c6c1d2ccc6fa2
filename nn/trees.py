"""Modules as pytrees: parameters and buffers are the leaves, all else is structure.

So a module can be an argument or a result of `fc.jit`, `fc.vmap`, `fc.scan`, and `fc.grad` gives a module of
gradients. What comes back is a module of its own; `update` writes its numbers into the one that went in.
"""

from __future__ import annotations

import weakref

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


class Skeleton:
    """A module without the numbers in its tensors. Equal for modules of the same classes, names and attributes.

    `places` says for each module in it which tensors its parameters and buffers are: one that two have
    is one leaf. Attributes are compared by their value if they are numbers, strings and the like; functions
    and other objects are equal to themselves alone.
    """

    __slots__ = ("module", "parts", "places", "key")

    def __init__(self, module):
        self.module = module
        self.parts = dict(module.named_modules())
        self.places: list[tuple[str, str, str, int]] = []  # module, kind, name, number of the tensor
        numbers: dict[int, int] = {}
        for path, part in self.parts.items():
            for kind in ("_parameters", "_buffers"):
                for name, x in part.__dict__[kind].items():
                    self.places.append((path, kind, name, numbers.setdefault(id(x), len(numbers))))
        self.key = tuple(self.places), tuple([(path, _attributes(part, numbers)) for path, part in self.parts.items()])

    def __eq__(self, other):
        return other.__class__ is Skeleton and self.key == other.key

    def __hash__(self):
        return hash(self.key[0])

    def __repr__(self):
        return type(self.module).__name__

    def tensors(self) -> dict:
        """The tensors by the first name that each has; None and what else stands in a tensor's place, too."""
        found: dict[int, tuple[str, object]] = {}
        for path, kind, name, number in self.places:
            x = self.parts[path].__dict__[kind][name]
            if isinstance(x, (UninitializedParameter, UninitializedBuffer)):
                raise ValueError(NOT_SHAPED.format(name=f"{path}.{name}".lstrip(".")))
            found.setdefault(number, (f"{path}.{name}".lstrip("."), x))
        return dict(found.values())

    def build(self, tensors):
        """A module of these tensors, in the order of `tensors`."""
        tensors = list(tensors)
        made = {id(part): _without_tensors(part) for part in self.parts.values()}
        for part in self.parts.values():
            own = made[id(part)].__dict__
            own["_modules"] = {name: None if m is None else made[id(m)] for name, m in part._modules.items()}
        shared: dict[int, object] = {}
        for path, kind, name, number in self.places:
            part = self.parts[path]
            if number not in shared:
                shared[number] = _as_before(part.__dict__[kind][name], tensors[number])
            made[id(part)].__dict__[kind][name] = shared[number]
        return made[id(self.module)]


def _attributes(module, numbers: dict[int, int]) -> tuple:
    return module.__class__, tuple([(k, _comparable(v, numbers)) for k, v in module.__dict__.items() if k not in PARTS])


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


def _without_tensors(module):
    new = object.__new__(module.__class__)
    new.__dict__.update(module.__dict__, _parameters={}, _buffers={}, _modules={})
    return new


def _as_before(old, new):
    """A tensor in the place of another: a parameter where that was one."""
    if isinstance(old, Parameter) and isinstance(new, Tensor) and not isinstance(new, Parameter):
        return Parameter(new, old.requires_grad and (new.is_floating_point() or new.is_complex()))
    return new


# ---- as a node of trees --------------------------------------------------------------------------


def _leaves(module) -> tuple[list, Skeleton]:
    skeleton = Skeleton(module)
    return [array_in(x) if isinstance(x, Tensor) else x for x in skeleton.tensors().values()], skeleton


def _leaves_with_keys(module) -> tuple[list, Skeleton]:
    leaves, skeleton = _leaves(module)
    return [(tree.GetAttrKey(name), x) for name, x in zip(skeleton.tensors(), leaves)], skeleton


def _rebuilt(skeleton: Skeleton, leaves):
    return skeleton.build(map(tensor_around, leaves))


def register(cls: type, **_):
    """Let instances of a class of modules be nodes of trees."""
    tree.register_node(cls, _leaves, _rebuilt, _leaves_with_keys)


def register_all(base: type):
    """The same for a class and all that are or will be derived from it."""
    base.__init_subclass__ = classmethod(register)
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
    skeleton = Skeleton(module)
    params, others = {}, {}
    for name, x in skeleton.tensors().items():
        trained = isinstance(x, Parameter) and x.requires_grad
        (params if trained else others)[name] = x.detach() if isinstance(x, Tensor) else x
    return params, Rest(skeleton, others)


def merge(params: dict, rest: Rest):
    """The module of these parameters and of what split left beside them; see split.

    It has tensors of its own: what it writes to its buffers is seen in it alone. Return it, or split it again.
    """
    wanted = [name for name in rest.skeleton.tensors() if name not in rest.tensors]
    if sorted(wanted) != sorted(params):
        raise ValueError(OTHER_NAMES.format(what="merge", found=sorted(params), wanted=wanted))
    tensors = {**rest.tensors, **params}
    return rest.skeleton.build(own(tensor_around(tensors[name])) for name in rest.skeleton.tensors())


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
    own = Skeleton(module).tensors()
    new = values if isinstance(values, dict) else Skeleton(values).tensors()
    if not new.keys() <= own.keys():
        raise ValueError(OTHER_NAMES.format(what="update", found=sorted(new), wanted=sorted(own)))
    with no_grad():
        for name, x in new.items():
            if isinstance(own[name], Tensor):
                own[name].copy_(tensor_around(x))
    return module
