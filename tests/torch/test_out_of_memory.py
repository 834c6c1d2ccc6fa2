"""Requests for more memory than there is: an error that names the size, and all goes on."""

from __future__ import annotations

import pytest

import functorch_core as fc
from functorch_core import engine, torch

HUGE = 10**15  # floats: four petabytes, more than can be addressed
SIZE = r"4000000000000000"


@pytest.fixture(autouse=True)
def engine_is_usable():
    """After every test, values from before are intact and new ones can be computed."""
    before = torch.ones(3) + 1
    engine.flush()
    yield
    assert (before * 2).tolist() == [4.0, 4.0, 4.0]
    layer = torch.nn.Linear(3, 1)
    layer(before).sum().backward()
    assert layer.weight.grad.tolist() == [[2.0, 2.0, 2.0]]


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.empty(HUGE),
        lambda: torch.zeros(10**8, 10**7),
        lambda: torch.ones(HUGE),
        lambda: torch.full((HUGE,), 3.0),
        lambda: torch.rand(HUGE),
        lambda: torch.ones(1).new_zeros(HUGE),
        lambda: torch.ones(2).resize_(HUGE),
        lambda: torch.nn.Linear(10**8, 10**7),
        lambda: torch.nn.Embedding(10**8, 10**7),
    ],
    ids=range(9),
)
def test_a_factory_names_the_size(make):
    with pytest.raises(RuntimeError, match=f"allocate {SIZE} bytes"):
        make()


def test_it_is_a_memory_error_too():
    with pytest.raises(MemoryError):
        torch.empty(HUGE)


@pytest.mark.parametrize("tier", ["auto", "reference", "per-op", "fused", "immediate"])
def test_inside_a_recording(tier):
    """The product of 10 million rows and columns fails where it is read, if not before."""
    with engine.forced_tier(tier):
        row = torch.ones(10**7)
        with pytest.raises(RuntimeError, match="400000000000000 bytes|exhausted|EXHAUSTED"):
            (row[:, None] * row).tolist()


@pytest.mark.parametrize("tier", ["auto", "per-op", "fused"])
def test_a_program_says_what_ran_out_where_there_is_no_gpu(tier):
    def program(library):
        with pytest.raises(RuntimeError) as caught:
            (library.ones(2**22, 1) + library.ones(1, 2**22))[0, 0].item()
        assert not isinstance(caught.value, library.OutOfMemoryError)
        return str(caught.value)

    said = "DefaultCPUAllocator: can't allocate memory: you tried to allocate 70368744177664 bytes."
    assert said in program(pytest.importorskip("torch"))
    with engine.forced_tier(tier):
        found = program(torch)
    assert said in found and "CUDA" not in found


def test_a_compiled_function_says_it_too():
    huge = fc.jit(lambda x: x[:, None] + x[None])
    for _ in range(3):  # a known call is another way
        with pytest.raises(MemoryError, match="DefaultCPUAllocator"):
            huge(fc.ones(2**22)).block_until_ready()


def test_what_was_recorded_before_is_intact():
    kept = torch.arange(4.0) + 1
    kept.tolist()
    product = torch.ones(10**8, 1) * torch.ones(1, 10**7)
    with pytest.raises(RuntimeError):
        product.tolist()
    with pytest.raises(RuntimeError):  # reading it again says so again
        product.tolist()
    assert kept.tolist() == [1.0, 2.0, 3.0, 4.0]


def test_in_the_backward_pass():
    x = torch.ones(10**6, requires_grad=True)
    y = x.repeat(10**9)
    with pytest.raises(RuntimeError, match=f"allocate {SIZE} bytes"):
        y.backward(torch.ones_like(y))
    del y
    x[:3].sum().backward()
    assert x.grad[:4].tolist() == [1.0, 1.0, 1.0, 0.0]
