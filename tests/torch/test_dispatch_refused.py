"""__torch_dispatch__ is not called here: whoever defines one is told so, at the first operator."""

import importlib

import pytest

from functorch_core import torch

from .agree import agree

dispatching = importlib.import_module("functorch_core.torch.utils._python_dispatch")


def subclass(**members):
    """A subclass of Tensor with __torch_dispatch__."""

    def dispatch(cls, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))

    return type("Wrapped", (torch.Tensor,), {"__torch_dispatch__": classmethod(dispatch), **members})


@pytest.mark.parametrize("members", [{}, {"__torch_function__": torch._C._disabled_torch_function_impl}])
@pytest.mark.parametrize(
    "op", [lambda x: x + 1, lambda x: torch.exp(x), lambda x: x.add_(1), lambda x: torch.cat([x, x]), lambda x: x.sum()]
)
def test_a_subclass_that_dispatches(op, members):
    x = torch.ones(2).as_subclass(subclass(**members))
    assert x.shape == (2,) and x.dtype is torch.float32
    with pytest.raises(NotImplementedError, match="Wrapped.__torch_dispatch__"):
        op(x)


def test_a_class_that_does_not_dispatch():
    kind = type("Plain", (torch.Tensor,), {"__torch_dispatch__": torch._C._disabled_torch_dispatch_impl})
    assert type(torch.ones(2).as_subclass(kind) + 1) is kind


def test_modes_and_wrappers():
    class Log(dispatching.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    with pytest.raises(NotImplementedError, match="Log.__torch_dispatch__"), Log():
        pass
    with pytest.raises(NotImplementedError, match="_make_wrapper_subclass"):
        torch.Tensor._make_wrapper_subclass(subclass(), (2,))


def test_make_subclass_and_as_subclass():
    def program(torch):
        kind = type("Kind", (torch.Tensor,), {})
        x, plain = torch.ones(2, requires_grad=True), torch.ones(2)
        made, wanting = torch.Tensor._make_subclass(kind, x), torch.Tensor._make_subclass(kind, x, True)
        seen = x.as_subclass(kind)
        (seen * 3).sum().backward()
        torch.Tensor._make_subclass(kind, plain).add_(1)
        plain.as_subclass(kind).add_(1)
        kinds = [type(y).__name__ for y in (made, made + 1, made[0], made.detach(), seen)]
        flags = [made.requires_grad, wanting.requires_grad, wanting.is_leaf, seen.requires_grad, seen.is_leaf]
        return kinds, flags, x.grad, plain

    agree(program)
    agree(lambda torch: torch.ones(2).as_subclass(int), messages=True)
