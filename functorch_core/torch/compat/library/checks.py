"""torch.library.opcheck: whether what was said of an operator is so."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import functorch_core.torch as torch

from ...tensors import pytree
from ...tensors.base import Tensor
from .custom_ops import Operator, find

ALIAS = (
    "{name}: The output of this custom operator (1) must not also be an input to this custom operator and (2) may not "
    "alias any inputs to this custom operator or other returns. The most common way to trigger this error is if we "
    "have y = custom_op(x) and y and x are the same Tensor. Please instead return a clone of the offending output "
    "tensor(s) (e.g. return x.clone())"
)
NO_FAKE = (
    "There was no fake impl registered for {name}. This is necessary for torch.compile/export/fx tracing to work. "
    "Please use `register_fake` to add an fake impl."
)
METADATA = (
    "When comparing the output of {name} on FakeTensor and concrete Tensors, found mismatched tensor metadata: "
    "{what} {real} and {fake} are not equal!"
)
UNKNOWN = "opcheck(op, ..., test_utils={given}), expected test_utils to be subset of {known} but it was not"


class OpCheckError(Exception):
    """A check of torch.library.opcheck has failed."""

    __module__ = "torch.testing._internal.optests.generate_tests"


class MetadataMismatchError(RuntimeError):
    """What an operator computes and what its fake implementation says of it are not of one shape, dtype or layout."""

    __module__ = "torch._subclasses.fake_utils"


def opcheck(
    op,
    args: tuple,
    kwargs: dict | None = None,
    *,
    test_utils: str | Sequence[str] = (
        "test_schema",
        "test_autograd_registration",
        "test_faketensor",
        "test_aot_dispatch_dynamic",
    ),
    raise_exception: bool = True,
    atol: float | None = None,
    rtol: float | None = None,
) -> dict[str, str]:
    """Check with some arguments that an operator is what was said of it; "SUCCESS" for each check.

    Args:
        op: what `torch.library.custom_op` has made, or an operator of torch.ops.
        args, kwargs: arguments to call it with; tensors that require grad have its derivative checked.
        test_utils: the checks: "test_schema" (it writes to what it says alone, and returns new tensors),
            "test_autograd_registration", "test_faketensor" (its fake implementation has the shapes and dtypes of what
            it computes), "test_aot_dispatch_dynamic" (under torch.compile results and gradients are the same).
        raise_exception: without, the errors are returned in the place of "SUCCESS".
        atol, rtol: what the last check compares with, as of `torch.testing.assert_close`.

    Raises OpCheckError for the first check that fails, ValueError for a check that there is not.

    >>> @torch.library.custom_op("mine::checked", mutates_args=())
    ... def checked(x: torch.Tensor) -> torch.Tensor:
    ...     return x.sin()
    >>> fake = checked.register_fake(lambda x: torch.empty_like(x))
    >>> torch.library.opcheck(checked, (torch.ones(2),), test_utils="test_faketensor")
    {'test_faketensor': 'SUCCESS'}
    """
    names = (test_utils,) if isinstance(test_utils, str) else tuple(test_utils)
    if not set(names) <= CHECKS.keys():
        raise ValueError(UNKNOWN.format(given=names, known=tuple(CHECKS)))
    operator = find(op) if not _is_aten(op) else op
    found = {}
    for name in names:
        try:
            CHECKS[name](operator, args, kwargs or {}, {"atol": atol, "rtol": rtol})
        except Exception as error:
            if raise_exception:
                raise OpCheckError(
                    f"opcheck(op, ...): {name} failed with {error} (scroll up for stack trace)"
                ) from error
            found[name] = error
        else:
            found[name] = "SUCCESS"
    return found


def _is_aten(op) -> bool:
    return getattr(getattr(op, "overloadpacket", op), "namespace", "") == "aten"


def _copied(tree):
    """The same arguments with tensors of their own, which are leaves."""
    return pytree.tree_map(
        lambda x: x.detach().clone().requires_grad_(x.requires_grad) if isinstance(x, Tensor) else x, tree
    )


def _tensors(tree) -> list[Tensor]:
    return [x for x in pytree.tree_leaves(tree) if isinstance(x, Tensor)]


def _writes(operator) -> bool:
    return isinstance(operator, Operator) and any(a.is_write for a in operator.schema.arguments)


# ---- checks --------------------------------------------------------------------------------------


def _check_schema(operator, args, kwargs, tolerance):
    """It writes to no other argument than it says, and its results share no memory with the arguments."""
    args, kwargs = _copied((args, kwargs))
    if not isinstance(operator, Operator):
        operator(*args, **kwargs)
        return
    given, named = operator.schema.bind(args, kwargs)
    before = _copied((given, named))
    with torch.no_grad():
        found = operator(*given, **named)
    arguments = {a.name: a for a in operator.schema.arguments}
    for name, old, new in zip(arguments, before[0], given):
        if not arguments[name].is_write and not _are_same(old, new):
            raise RuntimeError(f"Argument {name} is not defined as mutable but was mutated")
    for name, new in named.items():
        if not arguments[name].is_write and not _are_same(before[1][name], new):
            raise RuntimeError(f"Argument {name} is not defined as mutable but was mutated")
    _check_new(operator.name, found, (given, named))


def _are_same(old, new) -> bool:
    pairs = zip(_tensors(old), _tensors(new), strict=True)
    return all(
        torch.equal(x.nan_to_num(), y.nan_to_num()) if x.is_floating_point() else torch.equal(x, y) for x, y in pairs
    )


def _check_new(name: str, found, arguments):
    storages = [x.untyped_storage().data_ptr() for x in _tensors(arguments) if x.numel()]
    for x in _tensors(found):
        if x.numel():
            if x.untyped_storage().data_ptr() in storages:
                raise RuntimeError(ALIAS.format(name=name))
            storages.append(x.untyped_storage().data_ptr())


def _check_autograd_registration(operator, args, kwargs, tolerance):
    """A derivative stands where transforms find it: kernels for devices are computed without a tape here."""
    args, kwargs = _copied((args, kwargs))
    operator(*args, **kwargs)


def _check_fake(operator, args, kwargs, tolerance):
    """What it says of results without data is what results are."""
    args, kwargs = _copied((args, kwargs))
    name = operator.name if isinstance(operator, Operator) else str(operator)
    _check_fake_is_there(operator)
    meta = pytree.tree_map(lambda x: x.detach().to("meta") if isinstance(x, Tensor) else x, (args, kwargs))
    with torch.no_grad():
        fake, real = operator(*meta[0], **meta[1]), operator(*args, **kwargs)
    if isinstance(real, Tensor) and isinstance(fake, Tensor):
        _check_new(name, real, (args, kwargs))
    for x, y in zip(_tensors(real), _tensors(fake), strict=True):
        for what, of in (("Shapes", "shape"), ("Dtypes", "dtype"), ("Layouts", "layout")):
            if getattr(x, of) != getattr(y, of):
                said = METADATA.format(
                    name=name.replace("::", "."), what=what, real=getattr(x, of), fake=getattr(y, of)
                )
                raise MetadataMismatchError(said)
        if x.numel() and x.stride() != y.stride():
            said = METADATA.format(name=name.replace("::", "."), what="Strides", real=x.stride(), fake=y.stride())
            raise MetadataMismatchError(said)


def _check_compiled(operator, args, kwargs, tolerance):
    """Results and gradients are the same under torch.compile."""
    _check_fake_is_there(operator)
    if isinstance(operator, Operator):
        arguments = _copied((args, kwargs))
        with torch.no_grad():
            _check_new(operator.name, operator(*arguments[0], **arguments[1]), arguments)
    eager = _results(operator, *_copied((args, kwargs)))
    compiled = _results(torch.compile(lambda *a, **k: operator(*a, **k)), *_copied((args, kwargs)))
    for x, y in zip(eager, compiled, strict=True):
        torch.testing.assert_close(y, x, equal_nan=True, **tolerance)


def _check_fake_is_there(operator):
    if isinstance(operator, Operator) and operator.fake is None and "Meta" not in operator.kernels:
        raise RuntimeError(NO_FAKE.format(name=operator.name))


def _results(function: Callable, args, kwargs) -> list[Tensor]:
    """What it gives, what it writes, and the gradients of the arguments."""
    leaves = [x for x in _tensors((args, kwargs)) if x.requires_grad]
    views = pytree.tree_map(lambda x: x.view_as(x) if isinstance(x, Tensor) else x, (args, kwargs))
    found = _tensors(function(*views[0], **views[1]))
    differentiable = [x for x in found if x.requires_grad]
    if not differentiable:
        return [*found, *_tensors(views)]
    gradients = torch.autograd.grad([x.sum() for x in differentiable], leaves, allow_unused=True)
    return [*found, *_tensors(views), *_tensors(gradients)]


CHECKS: dict[str, Callable] = {
    "test_schema": _check_schema,
    "test_autograd_registration": _check_autograd_registration,
    "test_faketensor": _check_fake,
    "test_aot_dispatch_static": _check_compiled,
    "test_aot_dispatch_dynamic": _check_compiled,
}
