"""Declaring a torch op: one function, from which every form of it comes.

    @torch_op(method=True, inplace=True, aliases=("absolute",))
    def abs(input: Tensor, *, out=None): ...

The function works on values, with primitives; its signature is PyTorch's. Annotations say what is
an operand: see `slots`. The body gets a packed number as a `Weak` input, literals, bools and None as
they are; `promote` and `cast` take both.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Sequence
from typing import Any

from ...array.array import Array
from ...core.trace import Builder
from ...engine import NoData
from ...engine.errors import out_of_memory
from ...engine.signatures import bounded
from ...engine.units import SCALAR_AVALS
from ...names import pickles_name_torch
from ...ops.op import strong
from ...ops.signature import fits, freeze, is_packed
from ...transforms.sizes import made_at
from ..tape.apply import GraphOp, apply, node_class_of
from ..tape.meta import refusal
from ..tape.node_names import Call, rename
from ..tensors import types as _types
from ..tensors.active import active, declared
from ..tensors.base import Tensor, new_tensor
from ..tensors.explain import MISTAKES, explain
from ..views.memory_order import is_pointwise
from .former import in_order_of_today
from .inplace import check_memory, check_outs, write
from .out_dtypes import ANY, decided
from .paths import NEW, PLAIN, SIMPLE, LookedUp, Path, Runs, classes_of, path_of, pattern, remember
from .refusals import traced
from .slots import OPERAND, NoOperand, slot_of
from .traits import Out, Traits, outs

_EMPTY = inspect.Parameter.empty
_new = object.__new__
ON_TAPE = (True,)

registry: dict[str, TorchOp] = {}


_apart: dict[str, TorchOp] = {}  # see named_apart


def op_named(name: str):
    """The declared op of that name; what pickles call to find it."""
    return _apart.get(name) or registry[name]


C_CLASS = "_VariableFunctionsClass."


def reduce_op(op):
    """What __reduce__ returns for an op: PyTorch's name where the reader knows it (see
    `_public_names`), else ours."""
    if not pickles_name_torch() or op.__module__ == "torch" and op.__qualname__ == op.name:
        return op_named, (op.__name__,)
    if op.__qualname__.startswith(C_CLASS):
        return getattr, (_types.named("_C._VariableFunctionsClass"), op.__qualname__.removeprefix(C_CLASS))
    return op.__qualname__


def named_apart(op, name: str):
    """The same op as a function of its own name: PyTorch's torch.arctan is not torch.atan, so that a class may
    override one, and a dict of functions hold both."""
    other = _apart[name] = _new(type(op))
    vars(other).update(vars(op), __name__=name, __qualname__=name)
    return other


def describe(op) -> str:
    """How an op prints: as a function of C++, or of Python, as PyTorch's does."""
    if op.__module__ == "torch":
        return f"<built-in method {op.__name__} of type object at {id(TorchOp):#x}>"
    if op.__module__.startswith("torch._C"):
        return f"<built-in function {op.__qualname__}>"
    return f"<function {op.__qualname__} at {id(op):#x}>"


class TorchOp(LookedUp):
    """A declared op; calling it is torch.NAME(...)."""

    def __init__(self, fun: Callable, name: str, forms: dict, traits: Traits):
        self.fun, self.name, self.forms, self.traits, self.apart = fun, name, forms, traits, traits.out.apart
        signature = inspect.signature(fun)
        self.parameters = [q for q in signature.parameters.values() if q.name != "out"]
        self.takes_out = "out" in signature.parameters or not forms["function"]
        self.slots = [slot_of(q, fun) for q in self.parameters]
        self.names = [q.name for q in self.parameters]
        self.defaults = [q.default for q in self.parameters]
        self.index = {q.name: i for i, q in enumerate(self.parameters)}
        self.n_positional = sum(q.kind is not q.KEYWORD_ONLY for q in self.parameters)
        self.variadic = forms.get("varargs")  # x.permute(0, 1) for x.permute((0, 1))
        self.ops: dict[tuple, GraphOp] = bounded({}, GraphOp.units)
        # By the classes of what was given (see `paths`), or None.
        self.paths: dict[tuple, Path | None] = {}
        # The same of calls without names: Path.run, by the class of one argument or the classes of several.
        self.runs = Runs()
        # For operators: two avals (one if they are the same, 0.05 us less), or an aval, a number's class and the number
        # itself if a literal.
        self.known: dict[Any, GraphOp] = bounded({}, GraphOp.units)
        self.__name__ = self.__qualname__ = name
        self.__doc__, self.__module__ = fun.__doc__, "torch"
        self.__signature__, self.__wrapped__ = signature, fun

    def __repr__(self):
        return describe(self)

    def __reduce__(self):
        return reduce_op(self)

    def __get__(self, instance, owner=None):
        # A method of tensors, but of no other class: `conv = torch.conv2d` in a class of the user
        # is what it is in PyTorch, where functions written in C are not bound.
        return functools.partial(self, instance) if isinstance(instance, Tensor) else self

    def called(self, args: tuple, kwargs: dict):
        """The same where its like was not seen, or something is active."""
        if active.overrides is not None and active.overrides.applies(self, args, kwargs):
            return active.overrides.handle(self, args, kwargs)
        return self.call(args, kwargs)

    def call(self, args: tuple, kwargs: dict):
        """The op of these arguments, whom nothing overrides. `out` is taken out of kwargs."""
        path = out = None
        if self.takes_out and "out" in kwargs and kwargs["out"] is None:  # as functions pass it on
            del kwargs["out"]
        try:
            if active.autocast is None:
                path = self.paths.get(pattern(args, kwargs), NEW)
                path = path_of(self, args, kwargs) if path is NEW else path
                given = (*args, *kwargs.values())
                made = None if path is None else path.run(*given) if active.plain else path.inside(*given)
                if made is not None:
                    return made
            if "out" in kwargs:
                out = self._out_of(args, kwargs)
                if out is not None and self.traits.out.decides:
                    kwargs["dtype"] = decided(self.traits.out, out, kwargs.get("dtype"))
            bound = self.bind(args, kwargs)
            if active.autocast is not None:
                bound = active.autocast.cast(self, bound)
            op, operands = self._found(bound, len(args))
            if path is not None:
                path.remember(op, given, len(operands))
            result = self.finish(apply(op, operands), op)
        except (AttributeError, TypeError):
            return ask_stranger(self, args, kwargs)
        except MemoryError as error:
            raise out_of_memory(error) from error
        except MISTAKES as error:
            explain(error)
            raise
        return result if out is None else write_out(self.name, out, result, self.traits.out)

    def _out_of(self, args: tuple, kwargs: dict):
        """What is given as `out`, taken out of kwargs; TypeError if it is no tensor."""
        if not self.takes_out:
            raise TypeError(f"{self.name}() got an unexpected keyword argument 'out'")
        out = kwargs.pop("out")
        check_out_type(self.name, self.traits.out, out)
        if out is not None:
            check_memory(self, out, args, kwargs)
        return out

    def is_pointwise(self, args, kwargs) -> bool:
        """Whether each element of the result of these arguments depends on the same one of the operands."""
        return is_pointwise(self._trace(self.bind(args, kwargs)))

    # ---- from arguments to an op at a signature

    def bind(self, args, kwargs) -> list:
        """The arguments in the order of the signature, defaults filled in."""
        if len(args) > self.n_positional:
            if self.traits.former:
                args, kwargs = in_order_of_today(self, args, kwargs)
            args = self._gather_varargs(args) if len(args) > self.n_positional else args
        bound = list(args)
        bound += self.defaults[len(args) :]
        for name, value in kwargs.items():
            i = self.index.get(name)
            if i is None:
                i = self._renamed(name)
            if i < len(args):
                if self.traits.former:
                    return self.bind(*in_order_of_today(self, args, kwargs))
                raise TypeError(f"{self.name}() got multiple values for argument '{name}'")
            bound[i] = value
        for i, value in enumerate(bound):
            if value is _EMPTY:
                raise TypeError(f'{self.name}() missing 1 required positional arguments: "{self.names[i]}"')
        if self.variadic is not None:
            self._collect_varargs(bound)
        return bound

    def _gather_varargs(self, args):
        if self.variadic is None:
            raise TypeError(f"{self.name}() takes {self.n_positional} positional arguments but {len(args)} were given")
        i = self.index[self.variadic]
        return (*args[:i], tuple(args[i:]))

    def _collect_varargs(self, bound: list):
        i = self.index[self.variadic]
        if isinstance(bound[i], int) and not isinstance(bound[i], bool):
            bound[i] = (bound[i],)

    RENAMED = {
        "axis": "dim",
        "x": "input",
        "keepdims": "keepdim",
        "self": "input",
        "x1": "input",
        "x2": "other",
        "a": "input",
        "size": "shape",
        "shape": "size",
        "axes": "dims",
        "indices_or_sections": "split_size_or_sections",
    }

    def _renamed(self, name: str) -> int:
        """NumPy's names for PyTorch's parameters: axis for dim."""
        i = self.index.get(self.RENAMED.get(name, ""))
        if i is None:
            raise TypeError(f"{self.name}() got an unexpected keyword argument '{name}'")
        return i

    def compute(self, bound: list):
        """Apply to bound arguments."""
        path = None
        if active.plain:
            run = self.runs.get(classes_of(bound))
            made = None if run is None else run(*bound)
            if made is not None:
                return made
            path = self.paths.get(pattern(bound, {}), NEW)
            path = path_of(self, bound, {}) if path is NEW else path
        op, operands = self._found(bound)
        if path is not None:
            path.remember(op, bound, len(operands))
        return self.finish(apply(op, operands), op)

    def _found(self, bound: list, n_given: int = 0) -> tuple[GraphOp, list]:
        """The op at the signature of bound arguments, `n_given` of which were given by position (for errors), and
        the operands among them."""
        operands: list = []
        key: list = [_types.defaults.dtype]
        try:
            for slot, value in zip(self.slots, bound):
                cls = value.__class__
                if slot is None:
                    # True == 1, but is no dimension.
                    key.append((bool, value) if cls is bool else value if cls in SIMPLE else static_key(value))
                elif cls in PLAIN and not slot.reads_tensors:
                    operands.append(value)
                    key.append(value._value.aval if value._level is None else value._level.aval)
                else:
                    key.append(slot.key(self, value, operands))
        except NoOperand as error:
            raise error.explained(self, len(key) - 1, n_given) from None
        key = tuple(key)
        try:
            op = self.ops.get(key)
        except TypeError:
            raise TypeError(f"{self.name}(): an argument is not hashable and cannot be static: {key}") from None
        if op is None:
            op = self._trace(bound, key, n_given)
            remember(self.ops, key, op)
            if len(bound) > 1 and len(operands) < 3 and not op.multiple:
                self._remember(bound, op, len(operands))
        return op, operands

    def _remember(self, bound: list, op: GraphOp, n_operands: int):
        """Let operators find the op by the avals of two tensors, or an aval and a Python number, if
        nothing else was given. Integers may become the default dtype, which can change: floats only."""
        x, y = bound[:2]
        if not _is_plain_float(x) or bound[2:] != self.defaults[2:]:
            return
        cls = y.__class__
        if n_operands == 2 and _is_plain_float(y):
            a, b = x._value.aval, y._value.aval
            remember(self.known, a if a is b else (a, b), op)
        elif cls in SCALAR_AVALS and fits(y) and self.slots[1] is not None and self.slots[1].name == "Operand":
            if is_packed(y) and n_operands == 2:
                remember(self.known, (x._value.aval, cls), op)
            elif y and n_operands == 1:
                remember(self.known, (x._value.aval, cls, y), op)

    def finish(self, result, op: GraphOp):
        """The result in the shape the op promises: a tensor, a tuple, a named tuple."""
        if not op.multiple:
            return result
        cls = self.forms.get("returns")
        return tuple(result) if cls is None or cls is tuple else (result if cls is list else cls(*result))

    def _trace(self, bound: list, key: tuple | None = None, n_given: int = 0) -> GraphOp:
        for i, (name, slot, value) in enumerate(zip(self.names, self.slots, bound)):
            if value is None and slot is OPERAND and name in ("input", "other"):
                raise NoOperand(slot, type(None)).explained(self, i, n_given)
        n = self.n_positional

        def body(builder: Builder):
            args = [_static(v) if slot is None else slot.placeholder(builder, v) for slot, v in zip(self.slots, bound)]
            return self.fun(*args[:n], **dict(zip(self.names[n:], args[n:])))

        graph, multiple = made_at(key and (self, self.traits.way(*bound), *key), lambda: traced(self.name, body))
        call = Call(self, bound)
        op = GraphOp(graph, self.name, multiple, node_class_of(call.node))
        op.call = call
        return op


def _is_plain_float(x) -> bool:
    return x.__class__ in PLAIN and x._level is None and x.is_floating_point()


def ask_stranger(op, args, kwargs):
    """After an op has failed: an argument that is no tensor but has __torch_function__ decides.

    Nothing announces such a class (subclasses of Tensor are seen when they are defined), and this
    way it costs nothing until one is used. Arrays of the functional face are taken for tensors. Without
    either, the error being handled is raised.
    """
    from . import overrides as _overrides

    if _has_arrays(args) or _has_arrays(kwargs.values()):
        return op(*map(as_tensor, args), **{name: as_tensor(x) for name, x in kwargs.items()})
    if active.overrides is not None or not _overrides.overriding_args(args, kwargs):
        _overrides.refuse(op, args, kwargs)
        explain(sys.exc_info()[1])
        raise
    _overrides.activate()
    return op(*args, **kwargs)


def _has_arrays(args) -> bool:
    """Whether arrays of the functional face are among arguments; in lists, too."""
    return any([x.__class__ is Array or x.__class__ in (list, tuple) and _has_arrays(x) for x in args])


def as_tensor(x):
    """An argument with tensors, of the same data, for arrays of the functional face."""
    if x.__class__ is list or x.__class__ is tuple:
        return type(x)(map(as_tensor, x))
    return new_tensor(strong(x._value)) if x.__class__ is Array else x


def static_key(x):
    """A static argument as part of a key."""
    if isinstance(x, (list, tuple)):
        return tuple([static_key(y) for y in x])
    if isinstance(x, Tensor):
        if x.ndim:
            raise TypeError(f"a number is expected, not a Tensor of {x.ndim} dimensions")
        return static_key(x.item())
    return (x.__class__, x) if isinstance(x, float) else x


def _static(x):
    """A static argument in the trace: of a tensor its number, as in the key."""
    return x.item() if isinstance(x, Tensor) else freeze(x)


def check_out_type(name: str, taken: Out, out):
    """TypeError for an `out` that is neither tensors nor None."""
    if out is None or isinstance(out, Tensor):
        return
    if (
        taken.single
        or taken.decides
        or not isinstance(out, (tuple, list))
        or (not all(isinstance(x, Tensor) for x in out))
    ):
        module = f"{type(out).__module__}." if type(out).__module__ == "numpy" else ""
        raise TypeError(f"{name.lstrip('_')}(): argument 'out' must be Tensor, not {module}{type(out).__name__}")


def write_out(name: str, out, result, taken: Out | None = None):
    """The result; the tensors of `out=` that are given it, resized to its shape."""
    if out is None:
        return result
    taken = outs.get(name, ANY) if taken is None else taken
    name = name.lstrip("_")
    check_outs(name, out, result)
    if isinstance(result, Tensor):
        return write(name, out, result, taken)
    for i, (o, r) in enumerate(zip(out, result, strict=True)):
        write(name, o, r, taken, i)
    return getattr(result, "_with_out", type(result))(*out) if hasattr(result, "_fields") else tuple(out)


def torch_op(
    fun: Callable | None = None,
    *,
    name: str | None = None,
    method: bool | None = None,
    inplace: bool = False,
    function: bool | None = None,
    aliases: Sequence[str] = (),
    dunder: Sequence[str] = (),
    returns=None,
    varargs: str | None = None,
    kind: type[TorchOp] = TorchOp,
    **traits,
):
    """Declare an op; see the module. One whose name has an underscore in front is a part of others: no function and
    no method, if not told otherwise. `returns` is a named tuple class, tuple or list; `varargs` the parameter
    x.view(2, 3) spreads; `kind` a class that looks at arguments first; `traits` are those of `Traits`."""

    def declare(f: Callable) -> TorchOp:
        op_name = name or f.__name__
        public = not op_name.startswith("_")
        op = kind(
            f,
            op_name,
            {
                "method": public if method is None else method,
                "inplace": inplace,
                "function": public if function is None else function,
                "aliases": tuple(aliases),
                "dunder": tuple(dunder),
                "returns": returns,
                "varargs": varargs,
            },
            Traits(**traits),
        )
        return _registered(op)

    return declare if fun is None else declare(fun)


def _registered(op):
    if op.name in registry:
        raise ValueError(f"op {op.name!r} is declared twice")
    registry[op.name] = op
    outs[op.name] = op.traits.out
    declared[op.name] = op.traits
    return op


STRIDED = (None, _types.strided)


def of_layout(factory: Composite, args: tuple, kwargs: dict):
    """What a factory makes of another layout than strided."""
    layout = kwargs["layout"]
    if not isinstance(layout, _types.layout):
        raise TypeError(f"{factory.name}(): argument 'layout' must be torch.layout, not {type(layout).__name__}")
    if layout not in _types.sparse_layouts:
        raise NotImplementedError(f"{factory.name}(): {layout} is not implemented by functorch-core")
    if not factory.traits.sparse:
        raise NotImplementedError(
            f"Could not run 'aten::{factory.name}' with arguments from the 'SparseCPU' backend: it is for strided ones"
        )
    like = factory.call(args, {**kwargs, "layout": None, "device": "meta"})
    requires_grad = kwargs.get("requires_grad", False)
    if layout is not _types.sparse_coo:
        make = _types.named("operators.sparse.construct.of_shape")
        name = "empty" if "empty" in factory.name else "zeros"
        return make(name, tuple(like.shape), layout, like.dtype, kwargs.get("device"), requires_grad)
    make = _types.named("sparse_coo_tensor")
    return make(tuple(like.shape), dtype=like.dtype, device=kwargs.get("device"), requires_grad=requires_grad)


class Composite:
    """A function on tensors made of several ops; registered beside the ops so that it gets forms."""

    def __init__(self, fun: Callable, forms: dict, traits: Traits):
        self.fun, self.name, self.forms, self.traits = fun, forms["name"], forms, traits
        self.apart = traits.out.apart
        functools.update_wrapper(self, fun)
        self.__name__ = self.__qualname__ = self.name
        self.__module__ = "torch"
        self.parameters = list(inspect.signature(fun).parameters.values())

    def is_pointwise(self, args, kwargs) -> bool:
        """What is not known of one."""
        return False

    def __repr__(self):
        return describe(self)

    def __reduce__(self):
        return reduce_op(self)

    def __call__(self, /, *args, **kwargs):
        if active.overrides is not None and active.overrides.applies(self, args, kwargs):
            return active.overrides.handle(self, args, kwargs)
        return self.call(args, kwargs)

    def call(self, args: tuple, kwargs: dict):
        """The function of these arguments, whom nothing overrides."""
        if "layout" in kwargs and kwargs["layout"] not in STRIDED:
            return of_layout(self, args, kwargs)
        if "out" in kwargs:
            check_out_type(self.name, self.traits.out, kwargs["out"])
            if kwargs["out"] is not None:
                rest = {name: x for name, x in kwargs.items() if name != "out"}
                check_memory(self, kwargs["out"], args, rest)
        try:
            if active.autocast is not None and self.traits.autocast and kwargs.get("out") is None:
                given = active.autocast.cast(self, [*args, *kwargs.values()])
                args, kwargs = given[: len(args)], dict(zip(kwargs, given[len(args) :]))
            made = self.fun(*args, **kwargs)
        except NoData:
            raise refusal(self.name, self.traits.without_data) from None
        except (AttributeError, TypeError):
            return ask_stranger(self, args, kwargs)
        except MemoryError as error:
            raise out_of_memory(error) from error
        except MISTAKES as error:
            explain(error)
            raise
        if self.traits.node is not None and made is not None:
            rename(made, self.traits.node, args)
        return made


class Looking(LookedUp, Composite):
    """A function of which most calls need little of what it does: these are known by the classes of their arguments."""

    called = TorchOp.called

    def __init__(self, *args):
        super().__init__(*args)
        self.runs = Runs()
        self.own: Callable | None = None
        self.otherwise: Callable  # the method, where there is an own one

    def takes(self, op: TorchOp):
        """Let calls go to an op of the same arguments that has seen their like: what this function looks at follows
        from avals and classes."""
        self.runs = op.runs

    def as_method(self, own: Callable) -> Callable:
        """Decorator: what Tensor has for a method, which asks itself whether anything is active, and gives calls that
        are not so simple to `otherwise` (0.1 us less than to find out by classes)."""
        self.own = own
        return own

    def simply(self, *classes: type | None, name: str = "") -> Callable:
        """Decorator: what to try first, while nothing is active, with a tensor and arguments of these classes, or one
        of this name; it returns None where all has to be looked at."""

        def declare(run: Callable) -> Callable:
            for cls in PLAIN:
                if name:
                    self.runs.named[cls, name, *classes] = run
                else:
                    self.runs[(cls, *classes) if classes else cls] = run
            return run

        return declare


def composite(
    fun: Callable | None = None,
    *,
    name: str | None = None,
    method: bool = True,
    inplace: bool = False,
    function: bool = True,
    aliases: Sequence[str] = (),
    dunder: Sequence[str] = (),
    kind: type[Composite] = Composite,
    **traits,
):
    """Declare a function on tensors that is made of several ops (views, random numbers, shapes that
    depend on data). It takes `out=` itself if PyTorch's does."""

    def declare(f: Callable) -> Composite:
        op_name = name or f.__name__
        f.__name__ = f.__qualname__ = op_name  # what Python's own errors say
        found = kind(
            f,
            {
                "name": op_name,
                "method": method,
                "inplace": inplace,
                "function": function,
                "aliases": tuple(aliases),
                "dunder": tuple(dunder),
            },
            Traits(**traits),
        )
        return _registered(found)

    return declare if fun is None else declare(fun)
