"""Functions whose annotations name what is only there for type checkers, which from Python 3.14 on is no error."""

from __future__ import annotations

import sys

import pytest
from functorch_core.torch.fx.experimental.proxy_tensor import make_fx

import functorch_core as fc
from functorch_core import torch

pytestmark = pytest.mark.skipif(sys.version_info < (3, 14), reason="the definitions are errors")
PROGRAM = """
from functorch_core import torch

def scaled(x: NotThere, k: NorThis = 3) -> NorThat:
    return x * k

class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: NotThere, k: NorThis = 2) -> NorThat:
        return x * k

    @staticmethod
    def backward(ctx, g: NotThere) -> NorThat:
        return g * 2, None

class Net(torch.nn.Module):
    width: NotThere

    def forward(self, x: NotThere, k: NorThis = 3) -> NorThat:
        return x * k
"""


@pytest.fixture
def found() -> dict:
    found: dict = {"__name__": "program"}
    exec(compile(PROGRAM, "program", "exec", dont_inherit=True), found)
    return found


def test_the_functional_face_traces_them(found):
    f, x = found["scaled"], fc.ones(2)
    assert fc.jit(f)(x).tolist() == fc.vmap(f)(x).tolist() == [3.0, 3.0]
    assert fc.jit(f, static_argnames="k")(x, k=2).tolist() == [2.0, 2.0]
    assert fc.grad(lambda x: f(x).sum())(x).tolist() == [3.0, 3.0]
    with pytest.raises(TypeError, match="scaled"):
        fc.jit(f)(x, 1, 2, 3)


def test_the_torch_face_traces_them(found):
    f, x = found["scaled"], torch.ones(2)
    traced = torch.fx.symbolic_trace(f)
    assert "def forward(self, x : NotThere, k : NorThis = 3) -> NorThat:" in traced.code
    for made in (traced, make_fx(f)(x), torch.vmap(f), torch.compile(f), torch.jit.trace(f, x), found["Net"]()):
        assert made(x).tolist() == [3.0, 3.0]
    assert torch.fx.symbolic_trace(found["Net"]())(x).tolist() == [3.0, 3.0]


def test_functions_with_backward_have_them(found):
    x = torch.ones(2, requires_grad=True)
    found["Doubled"].apply(x).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]
