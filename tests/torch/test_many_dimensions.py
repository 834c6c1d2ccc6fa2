"""Tensors of more dimensions than NumPy's arrays have."""

from __future__ import annotations

import pytest

from functorch_core import torch

reference = pytest.importorskip("torch")

PROGRAMS = """
t.flatten() ! r.flatten() ! t.item() if t.numel() == 1 else r.item() ! i.flatten() ! r.tolist()[0][0][0][0] is None
(t + t).flatten() ! (m.ones(2) * t).flatten() ! t.sum() ! t.mean() ! m.var(t) ! t.clone().flatten() ! t[1].flatten()
t.unsqueeze(0).dim() ! t.transpose(0, 64).dim() ! t.unbind(0)[0].dim() ! t.expand([2] * 3 + [1] * 63).sum()
t.cumsum(0).flatten() ! m.cat([t, t], 0).flatten() ! t.sort(0)[0].flatten() ! t.softmax(0).flatten()
t.median(0)[0].flatten() ! t.to(m.int64).flatten() ! m.equal(t, t.clone()) ! t.normal_().flatten()
m.bernoulli(r).dim() ! m.randn([1] * 66).dim()
m.autograd.grad((a := t.clone().requires_grad_()).pow(2).sum(), a)[0].flatten() ! t.mul_(2).flatten() ! t.fill_(3).sum()
m.sum(t, 0) ! t.max(0) ! t.norm(2, 0) ! t.argmax(0) ! t.all(0) ! t.std(0) ! m.logsumexp(t, 0) ! m.nansum(t, 64)
t.amax(0) ! t.numpy()
"""


def outcome(m, program: str):
    """What a program makes under a library; of an error the class."""
    m.manual_seed(0)
    t, r, i = m.randn([2] + [1] * 64), m.rand([1] * 65), m.randint(0, 9, [3] + [1] * 64)
    try:
        made = eval(program, {"m": m, "t": t, "r": r, "i": i})
    except (RuntimeError, ValueError) as error:
        return f"{type(error).__name__}, up to 64 dims: {'up to 64 dims' in str(error)}"
    return made.tolist() if isinstance(made, m.Tensor) else made


@pytest.mark.parametrize("program", [p.strip() for p in PROGRAMS.replace("\n", "!").split("!") if p.strip()])
def test_as_in_pytorch(program):
    found, wanted = outcome(torch, program), outcome(reference, program)
    assert found == (wanted if isinstance(wanted, str) else pytest.approx(wanted, rel=1e-6))
