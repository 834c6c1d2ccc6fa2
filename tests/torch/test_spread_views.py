"""Views that show a small memory many times: what is read of them is all that is made."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from functorch_core import torch
from functorch_core.torch.views import cells, spread

reference = pytest.importorskip("torch")
BOTH = (reference, torch)

# Each view has 400 MB and more, of a memory of 400 KB at most.
PROGRAMS = """
w = torch.arange(300000.).unfold(0, 1000, 1); found = w[1500, 3].item()
a, b = torch.meshgrid(torch.arange(10000), torch.arange(10000), indexing="ij"); found = (a[0, 0] + b[-1, -1]).item()
found = torch.arange(20000.).as_strided((10000, 10000), (1, 1)).diagonal().sum().item()
found = torch.ones(10**5).unfold(0, 1000, 1).mean(-1).sum().item()
w = torch.ones(10**5).unfold(0, 1000, 1); found = w.mean(-1).sum().item()
w = torch.arange(1e4).expand(10000, 10000); found = (w[5:7].sum() + w.detach().t()[3, 1:].sum()).item()
w = torch.arange(1e4).expand(10000, 10000); found = [w.split(4000)[2].sum().item(), *w.chunk(2)[1][7, :3].tolist()]
x = torch.zeros(10000); w = x.expand(10000, 10000); x[3] = 2.0; found = w[9, 2:5].tolist() + w[1:3, 3].tolist()
""".strip().splitlines()
MEASURED = """
import functorch_core, resource
from functorch_core import torch
torch.ones(3).expand(2, 3).sum().item()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
{program}
print(found)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.mark.parametrize("program", PROGRAMS)
def test_only_what_is_read_of_a_spread_view_is_made(program):
    exec(program, names := {"torch": reference})
    run = subprocess.run([sys.executable, "-c", MEASURED.format(program=program)], capture_output=True, text=True)
    assert not run.returncode, run.stderr
    found, mebibytes = run.stdout.splitlines()
    np.testing.assert_allclose(eval(found), names["found"], rtol=1e-5)
    assert int(mebibytes) < 100


@pytest.fixture
def all_are_spread(monkeypatch):
    """Views of a few elements, too, are derived where they are used."""
    monkeypatch.setattr(cells, "MUCH", 0)
    monkeypatch.setattr(spread, "TIMES", 1)


USES = """
w.sum(0)
w + w
w.t()[1:]
w[1], w[1, 2], w[..., 1]
w.reshape(-1)
w.contiguous().add_(1)
w.clone().mul_(2)
w.detach()[0]
w.unbind(1)
w.unfold(1, 2, 1)
w.requires_grad_().sum(), w.requires_grad
x.add_(1), w, x
x.mul_(2.0).sum(), w[1], w.numpy().sum()
x.data.add_(1), w
w[1:, 2].add_(5) if w.stride(0) else 0, w, x
w.data_ptr() == x.data_ptr(), w.storage_offset(), w.stride(), w.is_contiguous()
w.numpy(), x.add_(1), w
torch.func.vmap(lambda row: row * 2)(w)
x.requires_grad_().sum(), w.shape
(x * 2).requires_grad_().expand(2, 4, 6).sum()
__import__("copy").deepcopy(w), w
__import__("pickle").loads(__import__("pickle").dumps(w.tolist()))
torch.equal(w, w.clone()), w.tolist(), str(w)
""".strip().splitlines()
VIEWS = ["x.expand(4, 6)", "x.unfold(0, 4, 1)", "x.as_strided((4, 3), (1, 1))", "x.expand(3, 6).t()"]


def described(found):
    if isinstance(found, (tuple, list)):
        return [described(y) for y in found]
    return (found.tolist(), found.stride(), found.requires_grad) if hasattr(found, "stride") else str(found)


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("use", USES)
def test_spread_views_are_used_as_pytorch_uses_them(view, use, all_are_spread):
    outcomes = []
    for library in BOTH:
        names = {"torch": library, "x": library.arange(6.0)}
        for _ in range(3):
            try:
                names["w"] = eval(view, names)
                found = described(eval(use, names))
            except Exception as error:
                found = type(error).__name__
            outcomes.append(found)
    assert outcomes[:3] == outcomes[3:]


@pytest.mark.parametrize(
    "view",
    [
        "x.unfold(0, 3, 1)",
        "x.unfold(1, 40, 3)",
        "x.t().unfold(0, 20, 7)",
        "x[::2, 1:].unfold(1, 5, 2).unfold(0, 2, 1)",
        "x.expand(3, 8, 64).unfold(0, 2, 1)",
        "x.as_strided((5, 4), (1, 3), 2)",
        "x.as_strided((400, 300), (1, 0), 7)",
        "x.diagonal(-2)",
        "x.t().diagonal(3)",
        "x.unfold(1, 9, 5).diagonal(1, 0, 2)",
        "x.unfold(0, 0, 1)",
        "x[:, :3].diagonal(5)",
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "complex64", "int64", "bool"])
def test_what_numpy_sees_in_memory_is_what_pytorch_shows(view, dtype):
    found = []
    for library in BOTH:
        x = (library.arange(512) % 7).reshape(8, 64).to(getattr(library, dtype))
        w = eval(view, {"x": x})
        found.append((w.tolist(), w.stride(), w.sum(-1).tolist()))
        if dtype in ("float32", "complex64"):
            x.requires_grad_()
            eval(view, {"x": x}).abs().pow(2).sum().backward()
            found[-1] += (x.grad.tolist(),)
    assert found[0] == found[1]
