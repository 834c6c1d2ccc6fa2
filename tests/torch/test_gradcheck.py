"""gradcheck and gradgradcheck say of each function what PyTorch's say."""

import re
import warnings

import numpy as np
import pytest

from functorch_core import torch as ours

from ..tracker import without_tracker
from .agree import agree

reference = pytest.importorskip("torch")


class Setting:
    """Inputs, functions and wrong derivatives in one library."""

    def __init__(self, torch):
        self.torch, self.D = torch, torch.float64
        torch.manual_seed(0)
        self.x = self.leaf(2, 3)
        self.z = torch.tensor([1 + 2j, 3j], dtype=torch.complex128, requires_grad=True)
        self.net = torch.nn.Linear(3, 2).double()
        self.check, self.second = torch.autograd.gradcheck, torch.autograd.gradgradcheck
        self.calls = 0

    def leaf(self, *shape):
        return self.torch.rand(*shape, dtype=self.D, requires_grad=True)

    def halves(self):
        return self.torch.full((2, 3), 0.5, dtype=self.D, requires_grad=True)

    def sparse(self):
        values = self.torch.tensor([1.0, 2, 3], dtype=self.D)
        return self.torch.sparse_coo_tensor([[0, 1, 2], [1, 0, 2]], values, (3, 3)).coalesce().requires_grad_()

    def product(self, a):
        return self.torch.sparse.mm(a, self.torch.ones(3, 2, dtype=self.D))

    def function(self, forward, backward, jvp=None):
        """A Function of these."""
        members = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
        if jvp is not None:
            members["jvp"] = staticmethod(jvp)
        return type("Made", (self.torch.autograd.Function,), members).apply

    @property
    def wrong(self):
        return self.function(lambda ctx, x: x**2, lambda ctx, g: g)

    @property
    def varying(self):
        def backward(ctx, g):
            self.calls += 1
            return g * 2 + (self.calls % 2) * 1e-6

        return self.function(lambda ctx, x: x * 2, backward)

    @property
    def reading(self):
        return self.function(lambda ctx, x: x * 2, lambda ctx, g: g * 2 if g.sum().item() > -1e9 else g)

    @property
    def undefined(self):
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x * 2

        return self.function(forward, lambda ctx, g: self.torch.ones(2, 3, dtype=self.D) if g is None else g * 2)


PROGRAMS = {
    "holds its input": lambda s: s.check(lambda *a: (s.x**2).sum(), (s.x,)),
    "holds and takes it": lambda s: s.check(lambda a: a * s.x, (s.x,)),
    "parameters": lambda s: s.check(lambda w, b: s.net(s.torch.ones(4, 3, dtype=s.D)), (s.net.weight, s.net.bias)),
    "a module": lambda s: s.check(lambda a, *p: s.net(a).tanh(), (s.leaf(4, 3), *s.net.parameters())),
    "one input twice": lambda s: s.check(lambda a, b: a * b, (s.x, s.x)),
    "itself": lambda s: s.check(lambda a: a, (s.x,)),
    "a view": lambda s: s.check(lambda a: a.t(), (s.x,)),
    "writes to a leaf": lambda s: s.check(lambda a: a.mul_(2), (s.x,)),
    "writes": lambda s: s.check(lambda a: (a * 1).mul_(2), (s.x,)),
    "transposed": lambda s: s.check(lambda a: a.sin(), (s.x.detach().t().requires_grad_(),)),
    "expanded": lambda s: s.check(lambda a: a.sin(), (s.torch.ones(1, 2, dtype=s.D).expand(3, 2).requires_grad_(),)),
    "a result": lambda s: s.check(lambda a: a.sin(), (s.x * 2,)),
    "wrong": lambda s: s.check(s.wrong, (s.x,)),
    "wrong, fast": lambda s: s.check(s.wrong, (s.x,), fast_mode=True),
    "wrong, not raised": lambda s: s.check(s.wrong, (s.x,), raise_exception=False),
    "wrong, complex": lambda s: s.check(s.function(lambda ctx, x: x**2, lambda ctx, g: g), (s.z,)),
    "wrong, complex, fast": lambda s: s.check(
        s.function(lambda ctx, x: x**2, lambda ctx, g: g), (s.z,), fast_mode=True
    ),
    "varying": lambda s: s.check(s.varying, (s.x,), fast_mode=True),
    "varying a little": lambda s: s.check(s.varying, (s.x,), fast_mode=True, nondet_tol=1e-4),
    "undefined gradients": lambda s: s.check(s.undefined, (s.x,)),
    "undefined gradients allowed": lambda s: s.check(s.undefined, (s.x,), check_undefined_grad=False),
    "another shape": lambda s: s.check(lambda a: a.reshape(-1)[: 2 + int(a[0, 0] > 0.5)], (s.halves(),)),
    "another shape, fast": lambda s: s.check(
        lambda a: a.reshape(-1)[: 2 + int(a[0, 0] > 0.5)], (s.halves(),), fast_mode=True
    ),
    "another dtype": lambda s: s.check(lambda a: a.float() if a[0, 1] > 0.5 else a, (s.halves(),)),
    "another dtype, not raised": lambda s: s.check(
        lambda a: a.float() if a[0, 1] > 0.5 else a, (s.halves(),), raise_exception=False
    ),
    "single": lambda s: s.check(s.torch.sin, (s.torch.ones(2, requires_grad=True),)),
    "single, loosely": lambda s: s.check(s.torch.sin, (s.torch.ones(2, requires_grad=True),), eps=1e-3, atol=1e-2),
    "nothing to check": lambda s: s.check(s.torch.sin, (s.x.detach(),), raise_exception=False),
    "no tensor": lambda s: s.check(lambda a: 3, (s.x,)),
    "several results": lambda s: s.check(lambda a: [a * 2, a.sum(), a.argmax()], (s.x,)),
    "only integers": lambda s: s.check(lambda a: a.argmax(), (s.x,)),
    "detached": lambda s: s.check(lambda a: a.detach(), (s.x,)),
    "half detached": lambda s: s.check(lambda a: a.detach() * a, (s.x,)),
    "complex": lambda s: s.check(lambda a: a * a.conj() + a**2, (s.z,)),
    "complex, fast": lambda s: s.check(lambda a: a * a.conj() + a**2, (s.z,), fast_mode=True),
    "complex to real": lambda s: s.check(lambda a: a.abs(), (s.z,)),
    "real to complex": lambda s: s.check(lambda a: s.torch.complex(a, a * 2), (s.x,)),
    "complex, forward": lambda s: s.check(lambda a: a**2, (s.z,), check_forward_ad=True),
    "batched": lambda s: s.check(s.torch.sin, (s.x,), check_batched_grad=True),
    "batched, refusing": lambda s: s.check(s.reading, (s.x,), check_batched_grad=True),
    "batched without reverse": lambda s: s.check(
        s.torch.sin, (s.x,), check_batched_grad=True, check_backward_ad=False, check_forward_ad=True
    ),
    "neither mode": lambda s: s.check(s.torch.sin, (s.x,), check_backward_ad=False),
    "forward": lambda s: s.check(s.torch.sin, (s.x,), check_forward_ad=True, check_batched_forward_grad=True),
    "forward batches only": lambda s: s.check(s.torch.sin, (s.x,), check_batched_forward_grad=True),
    "wrong forward": lambda s: s.check(
        s.function(lambda ctx, x: x**2, lambda ctx, g: g * 2, lambda ctx, t: t * 1),
        (s.x,),
        check_forward_ad=True,
        check_backward_ad=False,
    ),
    "fast": lambda s: s.check(s.torch.sin, (s.x,), fast_mode=True, check_forward_ad=True),
    "empty": lambda s: s.check(s.torch.sin, (s.torch.ones(0, 3, dtype=s.D, requires_grad=True),)),
    "numbers": lambda s: s.check(lambda a, n: a * n, (s.x, 3)),
    "masked": lambda s: s.check(s.product, (s.sparse(),), masked=True),
    "not masked": lambda s: s.check(s.product, (s.sparse(),)),
    "sparse result": lambda s: s.check(lambda a: a.to_sparse(), (s.x,), masked=True),
    "second": lambda s: s.second(s.torch.sin, (s.x,)),
    "second, holds": lambda s: s.second(lambda a: (s.x**3).sum(), (s.x,)),
    "second, module": lambda s: s.second(lambda a, *p: s.net(a).tanh(), (s.leaf(4, 3), *s.net.parameters())),
    "second, given": lambda s: s.second(s.torch.sin, (s.x,), s.leaf(2, 3)),
    "second, apart": lambda s: s.second(s.torch.sin, (s.x,), gen_non_contig_grad_outputs=True),
    "second, forward": lambda s: s.second(s.torch.sin, (s.x,), check_fwd_over_rev=True),
    "second, batched": lambda s: s.second(s.torch.sin, (s.x,), check_batched_grad=True, fast_mode=True),
    "second, nothing": lambda s: s.second(s.torch.sin, (s.x.detach(),)),
    "second, neither": lambda s: s.second(s.torch.sin, (s.x,), check_rev_over_rev=False),
    "second, linear": lambda s: s.second(lambda a: a * 2, (s.x,)),
    "afterwards": lambda s: [s.check(s.torch.sin, (s.x,)), s.x.grad, s.x.requires_grad, s.x._version],
}
# What PyTorch says in other words: its own errors inside of vmap.
OTHER_WORDS = {"batched, refusing"}


def said(torch, program):
    setting = Setting(torch)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return program(setting)
    except Exception as error:  # noqa: BLE001 (it is compared)
        return type(error).__name__, without_tracker(str(error))


def same_but_for_the_last_bits(found: str, wanted: str) -> bool:
    """Whether two texts are equal but for the last bits of their numbers: which products BLAS adds first, it chooses by
    the processor."""
    number = r"-?\d+\.\d+(?:e[+-]?\d+)?"
    numbers = [[float(x) for x in re.findall(number, text)] for text in (found, wanted)]
    return re.split(number, found) == re.split(number, wanted) and np.allclose(*numbers, rtol=1e-12, atol=0)


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradcheck(name):
    wanted, found = (said(library, PROGRAMS[name]) for library in (reference, ours))
    if isinstance(wanted, tuple):
        lines = [m.split("\n\n")[0].split(". Please look")[0] for _, m in (found, wanted)]
        assert found[0] == wanted[0]
        assert name in OTHER_WORDS or same_but_for_the_last_bits(*lines), lines
    else:
        assert found == wanted


def test_fast_mode_tells_the_numbers():
    wanted, found = (said(library, PROGRAMS["wrong, fast"])[1] for library in (reference, ours))
    assert same_but_for_the_last_bits(*[text.split("difference (slow mode)")[0] for text in (found, wanted)])


@pytest.mark.parametrize("name", ["undefined gradients", "undefined gradients allowed", "parameters"])
def test_who_needs_undefined_gradients_is_warned(name):
    def warned(torch):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                PROGRAMS[name](Setting(torch))
            except RuntimeError:
                pass
        return [(str(w.message), w.category) for w in caught]

    assert warned(ours) == warned(reference)


def test_forward_mode_asks_for_no_gradient():
    def program(torch):
        seen = []

        class Copies(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, y):
                if torch.autograd.forward_ad._current_level >= 0:
                    seen.append((x.requires_grad, y.requires_grad))
                return x.clone(), y.clone()

            @staticmethod
            def jvp(ctx, x, y):
                return x, y

        inputs = [torch.rand(2, dtype=torch.float64, requires_grad=r) for r in (True, False)]
        settings = {"check_forward_ad": True, "check_backward_ad": False, "check_batched_forward_grad": True}
        torch.autograd.gradcheck(Copies.apply, inputs, check_undefined_grad=False, **settings)
        return sorted(set(map(str, seen)))

    agree(program)


@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc"])
@pytest.mark.parametrize("masked", [True, False])
@pytest.mark.parametrize("fast", [True, False])
def test_inputs_of_sparse_layouts(layout, masked, fast):
    def program(torch):
        block = (2, 1) if layout in ("sparse_bsr", "sparse_bsc") else None
        dense = torch.tensor([[0.5, 0.0, 1.5], [0.0, 0.0, 2.5]], dtype=torch.float64)
        x = dense.to_sparse(layout=getattr(torch, layout), blocksize=block).requires_grad_()
        settings = {"masked": masked, "fast_mode": fast, "check_batched_grad": False, "raise_exception": False}
        return [
            torch.autograd.gradcheck(f, (x,), **settings)
            for f in (lambda s: s.to_dense() ** 2, lambda s: (s * 2).to_dense() ** 3)
        ]

    agree(program)


@pytest.mark.parametrize("fast", [True, False])
def test_inputs_that_are_no_leaves(fast):
    def program(torch):
        x = torch.arange(1.0, 5.0, dtype=torch.float64).requires_grad_()
        settings = {"masked": True, "fast_mode": fast}
        inputs = x.to_sparse(), x * 2
        return [torch.autograd.gradcheck(lambda s: s.exp() if s is inputs[1] else s.to_dense(), (s,), **settings)
                for s in inputs]  # fmt: skip

    agree(program)


def test_hooks_of_views_of_the_inputs():
    def program(torch):
        def shifted(x):
            y = torch.real(x)
            y.register_hook(lambda g: g + 0.01)
            return y

        x = torch.ones(2, 2, dtype=torch.complex128, requires_grad=True)
        torch.autograd.gradcheck(shifted, (x,))

    agree(program, messages=True)
