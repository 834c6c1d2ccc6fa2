"""torch.library: custom operators.

They are Python functions here, and are called as torch.ops.NAMESPACE.NAME; derivatives come from
register_autograd. What registers kernels for devices that are not there is accepted.
"""

from __future__ import annotations

import contextlib as _contextlib
from collections.abc import Callable, Sequence

from .... import torch as _torch
from ... import _missing
from ..._missing import MESSAGE as _MESSAGE
from ...tensors import pytree as _pytree
from . import custom_ops as _library
from . import ops
from .checks import opcheck
from .schemas import infer
from .tags import Tag, as_list

__all__ = [
    "Library",
    "custom_op",
    "define",
    "get_ctx",
    "impl",
    "impl_abstract",
    "infer_schema",
    "opcheck",
    "register_autocast",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_vmap",
]
__getattr__ = _missing.getter(__name__)
RESERVED = ("prim",)


class Library:
    """A namespace of operators: `define` and `impl` add to it.

    >>> lib = torch.library.Library("mine", "DEF")
    >>> lib.define("twice(Tensor x) -> Tensor")
    'twice'
    >>> lib.impl("twice", lambda x: x * 2, "CompositeImplicitAutograd")
    >>> torch.ops.mine.twice(torch.ones(1))
    tensor([2.])
    """

    def __init__(self, ns: str, kind: str, dispatch_key: str = ""):
        if kind not in ("IMPL", "DEF", "FRAGMENT"):
            raise ValueError("Unsupported kind: ", kind)
        if ns in RESERVED and kind in ("DEF", "FRAGMENT"):
            raise ValueError(ns, " is a reserved namespace. Please try creating a library with another name.")
        if ns == "aten":
            raise NotImplementedError(_MESSAGE.format(name="torch.library.Library('aten')"))
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key
        self._defined: list[str] = []

    def __repr__(self):
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})>"

    def define(self, schema: str, alias_analysis: str = "", *, tags=()) -> str:
        """A new operator, by its schema; its name."""
        name = _library.define(self.ns, schema, tags).name.partition("::")[2]
        self._defined.append(name)
        return name

    def impl(self, op_name, fn: Callable, dispatch_key: str = "", *, with_keyset=False, allow_override=False):
        """The function that computes an operator, for a dispatch key."""
        if not callable(fn):
            raise TypeError(f"Input function is required to be a callable but found type {type(fn)}")
        name = op_name if isinstance(op_name, str) else op_name.name()
        name = name.partition("::")[2] or name
        _library.kernels_of(f"{self.ns}::{name}")[dispatch_key or self.dispatch_key] = fn

    def _destroy(self):
        """Forget the operators that were defined through this object."""
        for name in self._defined:
            _library.operators.pop((self.ns, name), None)
        self._defined.clear()


def _operator(qualname):
    return _library.find(qualname)


@_contextlib.contextmanager
def _scoped_library(*args, **kwargs):
    """A Library whose operators are forgotten in the end."""
    library = Library(*args, **kwargs)
    try:
        yield library
    finally:
        library._destroy()


# ---- by schema -----------------------------------------------------------------------------------


def define(qualname: str, schema: str, *, lib=None, tags=()):
    """A new operator 'ns::name' with the schema '(Tensor x) -> Tensor'.

    >>> torch.library.define("doc_define::half", "(Tensor x) -> Tensor")
    >>> @torch.library.impl("doc_define::half", "cpu")
    ... def half(x):
    ...   return x / 2
    >>> torch.ops.doc_define.half(torch.ones(2))
    tensor([0.5000, 0.5000])
    """
    namespace, _, name = qualname.partition("::")
    if not name:
        raise ValueError(f"Expected qualname to be of the form 'namespace::name', got {qualname!r}")
    _library.define(namespace, name + schema, tags)


def impl(qualname, types, func=None, *, lib=None):
    """The function that computes an operator on some devices; also a decorator.

    >>> torch.library.define("doc_impl::third", "(Tensor x) -> Tensor")
    >>> @torch.library.impl("doc_impl::third", "cpu")
    ... def third(x):
    ...   return x / 3
    >>> torch.ops.doc_impl.third(torch.tensor([6.]))
    tensor([2.])
    """
    keys = (types,) if isinstance(types, str) else tuple(types)
    if isinstance(qualname, Library):  # impl(library, name, key) is a decorator
        library, name, key = qualname, types, func or ""
        return lambda f: library.impl(name, f, key) or f

    def register(function):
        _library.kernels_of(qualname).update(dict.fromkeys(keys, function))
        return function

    return register if func is None else register(func) and None


def infer_schema(prototype_function: Callable, /, *, mutates_args, op_name: str | None = None):
    """The schema of a function, from its annotations: '(Tensor x) -> Tensor'.

    >>> def f(x: torch.Tensor, n: int) -> torch.Tensor:
    ...   return x * n
    >>> torch.library.infer_schema(f, mutates_args=())
    '(Tensor x, SymInt n) -> Tensor'
    """
    return infer(prototype_function, mutates_args, op_name)


# ---- by function ---------------------------------------------------------------------------------


class CustomOpDef:
    """What custom_op returns: the function as an operator."""

    __module__ = "torch._library.custom_ops"

    def __init__(self, qualname: str, fn: Callable, operator):
        self._qualname, self._init_fn, self._operator = qualname, fn, operator
        self._namespace, _, self._name = qualname.partition("::")
        self.__doc__ = fn.__doc__

    def __repr__(self):
        return f"<CustomOpDef({self._qualname})>"

    def __call__(self, *args, **kwargs):
        return self._operator(*args, **kwargs)

    @property
    def _opoverload(self):
        return getattr(getattr(ops, self._namespace), self._name).default

    def register_kernel(self, device_types, fn=None, /):
        """The function for some devices; also a decorator."""
        return register_kernel(self, device_types, fn)

    def register_fake(self, fn, /):
        """What it gives for meta tensors."""
        return register_fake(self, fn)

    def register_autograd(self, backward, /, *, setup_context=None):
        """Its backward."""
        register_autograd(self, backward, setup_context=setup_context)

    def register_vmap(self, func=None):
        """The function on batched tensors; also a decorator."""
        return register_vmap(self, func)

    def register_autocast(self, device_type, cast_inputs):
        """The dtype of its inputs under autocast."""
        return register_autocast(self, device_type, cast_inputs)


def custom_op(
    name: str, fn: Callable | None = None, /, *, mutates_args, device_types=None, schema: str | None = None, tags=None
):
    """The function as an operator that transforms do not look into; also a decorator.

    >>> @torch.library.custom_op("mine::sine", mutates_args=())
    ... def sine(x: torch.Tensor) -> torch.Tensor:
    ...     return torch.from_numpy(np.sin(x.numpy()))
    """

    def declare(function):
        namespace, _, short = name.partition("::")
        text = schema or infer_schema(function, mutates_args=mutates_args)
        operator = _library.define(namespace, short + text, [Tag.pt2_compliant_tag, *as_list(tags)])
        operator.kernels["default"] = function
        return CustomOpDef(name, function, operator)

    return declare if fn is None else declare(fn)


def register_kernel(op, device_types, func=None, /, *, lib=None):
    """The function that computes an operator on some devices; also a decorator.

    >>> @torch.library.custom_op("doc_kernel::one_more", mutates_args=(), device_types="cuda")
    ... def one_more(x: torch.Tensor) -> torch.Tensor:
    ...   return x + 1
    >>> @torch.library.register_kernel("doc_kernel::one_more", "cpu")
    ... def one_more_cpu(x):
    ...   return x + 1
    >>> one_more(torch.zeros(2))
    tensor([1., 1.])
    """
    devices: Sequence = (device_types,) if isinstance(device_types, str) else device_types or ("cpu",)

    def register(function):
        _operator(op).kernels.update(dict.fromkeys(devices, function))
        return function

    return register if func is None else register(func)


def register_fake(op, func=None, /, *, lib=None, _stacklevel=1, allow_override=False):
    """What an operator gives for meta tensors; also a decorator.

    >>> @torch.library.custom_op("doc_fake::twice", mutates_args=())
    ... def twice(x: torch.Tensor) -> torch.Tensor:
    ...   return torch.cat([x, x])
    >>> @torch.library.register_fake("doc_fake::twice")
    ... def shape_of_twice(x):
    ...   return x.new_empty(2 * x.shape[0])
    >>> twice(torch.ones(2, device="meta")).shape
    torch.Size([4])
    """

    def register(function):
        _operator(op).fake = function
        return function

    return register if func is None else register(func)


impl_abstract = register_fake


def register_autograd(op, backward: Callable, /, *, setup_context=None, lib=None):
    """The backward of an operator: backward(ctx, *grads) gives a gradient for each argument;
    setup_context(ctx, inputs, output) saves what it needs.

    >>> @torch.library.custom_op("doc_autograd::cube", mutates_args=())
    ... def cube(x: torch.Tensor) -> torch.Tensor:
    ...   return x ** 3
    >>> def setup(ctx, inputs, output):
    ...   ctx.save_for_backward(inputs[0])
    >>> def backward(ctx, g):
    ...   return g * 3 * ctx.saved_tensors[0] ** 2
    >>> torch.library.register_autograd("doc_autograd::cube", backward, setup_context=setup)
    >>> x = torch.tensor([2.], requires_grad=True)
    >>> torch.autograd.grad(cube(x).sum(), x)
    (tensor([12.]),)
    """
    operator = _operator(op)
    if any(a.is_write for a in operator.schema.arguments):
        raise RuntimeError(
            f"Cannot register autograd formula for non-functional operator {op} "
            f"with schema {operator.schema}. Please create a functional operator "
            "and register an autograd formula for that."
        )
    operator.backward, operator.setup_context = backward, setup_context


def register_vmap(op, func=None, /, *, lib=None):
    """An operator on batched tensors: func(info, in_dims, *args) gives (outputs, out_dims).

    >>> @torch.library.custom_op("doc_vmap::cube", mutates_args=())
    ... def cube(x: torch.Tensor) -> torch.Tensor:
    ...   return x ** 3
    >>> def batched(info, in_dims, x):
    ...   return cube(x), in_dims[0]
    >>> _ = torch.library.register_vmap("doc_vmap::cube", batched)
    >>> torch.vmap(cube)(torch.tensor([1., 2.]))
    tensor([1., 8.])
    """

    def register(function):
        _operator(op).vmap = function
        return function

    return register if func is None else register(func)


def register_autocast(op, device_type: str, cast_inputs, /, *, lib=None):
    """Convert an operator's floating-point inputs to a dtype under autocast, and compute it without autocast.

    Args:
        op: an operator of torch.library, or its name "namespace::name".
        device_type: "cpu"; autocast of other devices has no effect on it.
        cast_inputs: the dtype; tensors of float64 stay as they are.

    >>> @torch.library.custom_op("doc_autocast::same", mutates_args=())
    ... def same(x: torch.Tensor) -> torch.Tensor:
    ...     return x.clone()
    >>> registered = torch.library.register_autocast("doc_autocast::same", "cpu", torch.bfloat16)
    >>> with torch.autocast("cpu"):
    ...     same(torch.ones(2)).dtype
    torch.bfloat16
    """
    if device_type not in ("cpu", "cuda"):
        raise ValueError(f"Unknown device type: {device_type}")
    operator = _operator(op)

    def cast(x):
        is_cast = isinstance(x, _torch.Tensor) and x.is_floating_point() and x.dtype != _torch.float64
        return x.to(cast_inputs) if is_cast else x

    def kernel(*args, **kwargs):
        with _torch.autocast(device_type, enabled=False):
            return operator(*_pytree.tree_map(cast, args), **_pytree.tree_map(cast, kwargs))

    operator.kernels[f"Autocast{device_type.upper()}"] = kernel
    return operator


def get_ctx():
    """RuntimeError: there is no one-off context of sizes that depend on data.

    >>> torch.library.get_ctx()
    Traceback (most recent call last):
    RuntimeError: get_ctx() can only be called inside of a fake implementation ...
    """
    raise RuntimeError(
        "get_ctx() can only be called inside of a fake implementation that "
        "allocates a size that depends on data; nothing traces these"
    )
