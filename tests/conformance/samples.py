"""The samples of an OpInfo entry in both libraries, and what is done with them: forward, gradient,
second gradient, func.jvp, func.vmap."""

from __future__ import annotations

import itertools

import numpy as np
import torch as real

from functorch_core import torch as ours

from .bridge import function_of, tensors_in, to_numpy, to_ours

SYMMETRIC = frozenset({"linalg.cholesky"})


class Draws(Exception):
    """The op draws random numbers: its values cannot be compared."""


class Pair:
    """One sample: the reference's arguments and ours."""

    def __init__(self, op, sample):
        self.op, self.ours = op, function_of(op)
        assert self.ours is not None, f"torch.{op.name} does not exist"
        made: dict = {}
        self.args, self.kwargs = (sample.input, *sample.args), sample.kwargs
        self.our_args = [to_ours(x, made) for x in self.args]
        self.our_kwargs = to_ours(self.kwargs, made)
        # One tensor may stand in several places; a sequence of them counts one by one.
        leaves = tensors_in([self.args, self.kwargs])
        self.leaves = list({id(x): x for x in leaves}.values())
        for leaf in self.leaves:
            leaf.grad = None  # samples may share leaves
        self.our_leaves = [made[id(x)] for x in self.leaves]
        self.floating = [i for i, x in enumerate(self.leaves) if x.is_floating_point() or x.is_complex()]
        self.trained = [i for i, x in enumerate(self.leaves) if x.requires_grad]

    def run(self):
        """(the reference's result, ours)."""
        before = real.get_rng_state()
        wanted = self.op.op(*self.args, **self.kwargs)
        if self.kwargs.get("dropout_p") or not real.equal(before, real.get_rng_state()):
            raise Draws
        return wanted, self.ours(*self.our_args, **self.our_kwargs)

    def functions(self, of: list[int]):
        """(reference, ours) as functions of some leaves, whose results are lists of tensors."""

        def function(fun, args, kwargs, leaves):
            def call(*values):
                given = {id(leaves[i]): v for i, v in zip(of, values)}
                args_ = _replaced(args, given)
                if self.op.name in SYMMETRIC:  # PyTorch reads one half of the derivative too
                    args_ = ((args_[0] + args_[0].mH) / 2, *args_[1:])
                return tuple(tensors_in(fun(*args_, **_replaced(kwargs, given))))

            return call

        return (
            function(self.op.op, self.args, self.kwargs, self.leaves),
            function(self.ours, self.our_args, self.our_kwargs, self.our_leaves),
        )


def _replaced(x, given: dict):
    if isinstance(x, (real.Tensor, ours.Tensor)):
        return given.get(id(x), x)
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return type(x)(*(_replaced(y, given) for y in x))
    if isinstance(x, (list, tuple)):
        return type(x)(_replaced(y, given) for y in x)
    if isinstance(x, dict):
        return {k: _replaced(v, given) for k, v in x.items()}
    return x


def dtype_of(op) -> real.dtype:
    """The dtype an entry is tried in: float32, or else complex64, or else the first it has."""
    for dtype in (real.float32, real.complex64):
        if dtype in op.dtypes:
            return dtype
    return sorted(op.dtypes, key=str)[0]


def pairs(op, count: int, grad: bool = True):
    """The first samples of an entry, of tensors that require grad if there is one."""
    dtype = dtype_of(op)
    grad = grad and op.supports_autograd and dtype in (real.float32, real.complex64)
    real.manual_seed(0)
    for sample in itertools.islice(op.sample_inputs("cpu", dtype, requires_grad=grad), count):
        yield Pair(op, sample)


def compare(found, wanted, what: str, scale: float = 1.0):
    """AssertionError unless two results agree in structure, shape, dtype and value."""
    found, wanted = tensors_in(found), tensors_in(wanted)
    assert len(found) == len(wanted), f"{what}: {len(found)} tensors, expected {len(wanted)}"
    for f, w in zip(found, wanted):
        assert str(f.dtype) == str(w.dtype), f"{what}: {f.dtype}, expected {w.dtype}"
        a, b = to_numpy(f), to_numpy(w)
        assert a.shape == b.shape, f"{what}: shape {a.shape}, expected {b.shape}"
        np.testing.assert_allclose(a, b, rtol=2e-4 * scale, atol=2e-4 * scale, err_msg=what)


def _random_like(tensor, rng):
    return real.from_numpy(rng.standard_normal(tuple(tensor.shape)).astype(np.float32)).to(tensor.dtype)


# ---- what is compared ----------------------------------------------------------------------------


def forward_and_gradient(pair: Pair):
    """The results, and the gradients of the leaves with random cotangents."""
    wanted, found = pair.run()
    compare(found, wanted, "forward")
    roots = [(f, w) for f, w in zip(tensors_in(found), tensors_in(wanted)) if w.requires_grad]
    rng = np.random.default_rng(0)
    for f, w in roots:
        ct = _random_like(w, rng)
        w.backward(ct, retain_graph=True)
        f.backward(to_ours(ct), retain_graph=True)
    if roots:
        for leaf, our_leaf in zip(pair.leaves, pair.our_leaves):
            if leaf.requires_grad and leaf.grad is not None:
                compare(our_leaf.grad, leaf.grad, "gradient", 10.0)


def _square(x):
    return (x * x.conj()).real.sum() if x.is_complex() else x.square().sum()


def double_gradient(pair: Pair):
    """Gradients of the sum of the squares of the gradients."""
    both = []
    for module, fun, leaves in zip((real, ours), pair.functions(pair.trained), (pair.leaves, pair.our_leaves)):
        inputs = [leaves[i] for i in pair.trained]
        total = None
        for out in fun(*inputs):
            if out.requires_grad:
                total = _square(out) if total is None else total + _square(out)
        if total is None:
            return
        grads = module.autograd.grad(total, inputs, create_graph=True, allow_unused=True)
        squares = [_square(g) for g in grads if g is not None and g.requires_grad]
        if not squares:
            return
        second = module.autograd.grad(sum(squares), inputs, allow_unused=True)
        both.append([module.zeros_like(x) if g is None else g for x, g in zip(inputs, second)])
    compare(both[1], both[0], "second gradient", 100.0)


def jvp(pair: Pair):
    """func.jvp by the leaves that have gradients, with random tangents."""
    rng = np.random.default_rng(0)
    leaves = [pair.leaves[i].detach() for i in pair.trained]
    tangents = [_random_like(x, rng) for x in leaves]
    reference, candidate = pair.functions(pair.trained)
    wanted = real.func.jvp(reference, tuple(leaves), tuple(tangents))
    found = ours.func.jvp(candidate, tuple(map(to_ours, leaves)), tuple(map(to_ours, tangents)))
    compare(found, wanted, "jvp", 10.0)


def vmap(pair: Pair, size: int = 3):
    """func.vmap over a batch of all floating leaves, against the reference's loop."""
    leaves = [pair.leaves[i].detach() for i in pair.floating]
    batches = [real.stack([x * (1 + 0.1 * k) for k in range(size)]) for x in leaves]
    reference, candidate = pair.functions(pair.floating)
    each = [reference(*[b[k].clone() for b in batches]) for k in range(size)]
    wanted = [real.stack(outs) for outs in zip(*each)]
    found = ours.func.vmap(candidate)(*map(to_ours, batches))
    compare(found, wanted, "vmap", 10.0)
