"""gradcheck: derivatives against finite differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ....core.warn import warn
from ... import _missing
from ...levels.forward_ad import dual_level, make_dual, unpack_dual
from ...tape.backward import grad
from ...tape.modes import enable_grad, grad_mode
from ...tensors.base import from_array
from ..random.sampling import randn_like
from ..shape.joining import stack

__getattr__ = _missing.getter(__name__)


class GradcheckError(RuntimeError):
    """A derivative that does not agree with finite differences."""


MISMATCH = (
    "Jacobian mismatch for output {i} with respect to input {j},\nnumerical:{numerical}\nanalytical:{analytical}\n"
)
BACKWARD_VARIES = (
    "Backward is not reentrant, i.e., running backward with same input and "
    "grad_output multiple times gives different values, although analytical "
    "gradient matches numerical gradient.The tolerance for nondeterminism was {}."
)


def gradcheck(
    func: Callable,
    inputs,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Whether the derivatives of func(*inputs) by the inputs that require grad agree with central
    differences; raises GradcheckError otherwise (or returns False). Use float64.

    >>> x = torch.ones(3, dtype=torch.float64, requires_grad=True)
    >>> torch.autograd.gradcheck(torch.sin, (x,))
    True
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    if check_batched_grad and not check_backward_ad:
        raise AssertionError("Setting check_batched_grad=True requires check_backward_ad to be True")
    check = Check(func, inputs if isinstance(inputs, (tuple, list)) else (inputs,), eps, atol, rtol)
    try:
        check.inputs_are_fit()
        numerical = check.numerical()
        if check_backward_ad:
            check.compare(numerical, check.backward(), "backward")
            check.is_reentrant(nondet_tol)
            if check_batched_grad:
                check.compare(numerical, check.backward(batched=True), "batched backward")
            if check_undefined_grad:
                check.undefined()
        if check_forward_ad:
            check.compare(numerical, check.forward(), "forward")
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


class Check:
    """One function with its inputs, and its Jacobians as NumPy arrays: [output][input] of shape
    (output elements, input elements), complex numbers as pairs of reals."""

    def __init__(self, func: Callable, inputs: Sequence, eps: float, atol: float, rtol: float):
        self.func, self.inputs = func, tuple(inputs)
        self.eps, self.atol, self.rtol = eps, atol, rtol
        self.wanted = [i for i, x in enumerate(self.inputs) if getattr(x, "requires_grad", False)]

    def inputs_are_fit(self):
        """ValueError if no input requires grad; a warning for single precision."""
        if not self.wanted:
            raise ValueError(
                "gradcheck expects at least one input tensor to require gradient, but "
                "none of them have requires_grad=True."
            )
        for i in self.wanted:
            if self.inputs[i].dtype.itemsize < (16 if self.inputs[i].is_complex() else 8):
                warn(
                    f"Input #{i} requires gradient and is not a double precision "
                    "floating point or complex. This check will likely fail if all the "
                    "inputs are not of double precision floating point or complex."
                )

    def outputs(self, *inputs) -> list:
        """The differentiable outputs at some inputs."""
        found = self.func(*inputs)
        found = found if isinstance(found, (tuple, list)) else [found]
        return [y for y in found if hasattr(y, "_edge") and (y.is_floating_point() or y.is_complex())]

    # ---- finite differences

    def numerical(self) -> list[list[np.ndarray]]:
        """The Jacobians by central differences."""
        outputs = self._values(self.inputs)
        blocks = [[np.zeros((y.size, _real(x.detach().numpy()).size)) for x in self._chosen()] for y in outputs]
        for j, i in enumerate(self.wanted):
            flat = _real(self.inputs[i].detach().numpy()).reshape(-1)
            for k in range(flat.size):
                plus = self._values(self._moved(i, k, self.eps))
                minus = self._values(self._moved(i, k, -self.eps))
                for o, (p, m) in enumerate(zip(plus, minus)):
                    blocks[o][j][:, k] = (p - m) / (2 * self.eps)
        return blocks

    def _chosen(self) -> list:
        return [self.inputs[i] for i in self.wanted]

    def _moved(self, i: int, k: int, step: float) -> tuple:
        x = self.inputs[i]
        array = np.array(x.detach().numpy())
        _real(array).reshape(-1)[k] += step
        moved = from_array(array).requires_grad_(x.requires_grad)
        return (*self.inputs[:i], moved, *self.inputs[i + 1 :])

    def _values(self, inputs) -> list[np.ndarray]:
        with grad_mode(False):
            fresh = [x.detach().clone().requires_grad_(x.requires_grad) if hasattr(x, "_edge") else x for x in inputs]
            return [_real(y.detach().numpy()).reshape(-1) for y in self.outputs(*fresh)]

    # ---- by autograd

    def backward(self, batched: bool = False) -> list[list[np.ndarray]]:
        """The Jacobians by reverse mode."""
        with enable_grad():
            return [self._rows(y, batched) for y in self.outputs(*self.inputs)]

    def _rows(self, y, batched: bool) -> list[np.ndarray]:
        chosen = self._chosen()
        if not y.requires_grad:
            return [np.zeros((_real(y.detach().numpy()).size, _real(x.detach().numpy()).size)) for x in chosen]
        cts = _basis(y)
        if batched:
            found = grad(y, chosen, stack(cts), retain_graph=True, allow_unused=True, is_grads_batched=True)
            rows = [[None if g is None else g[k] for g in found] for k in range(len(cts))]
        else:
            rows = [grad(y, chosen, ct, retain_graph=True, allow_unused=True) for ct in cts]
        return [
            np.stack([_flat(row[j], x) for row in rows]) if rows else np.zeros((0, _real(x.detach().numpy()).size))
            for j, x in enumerate(chosen)
        ]

    def forward(self) -> list[list[np.ndarray]]:
        """The Jacobians by forward mode."""
        columns = [[self._push(i, t) for t in _basis(self.inputs[i])] for i in self.wanted]
        n = len(self.outputs(*self.inputs))
        return [[np.stack([c[o] for c in column], 1) for column in columns] for o in range(n)]

    def _push(self, i: int, tangent) -> list[np.ndarray]:
        with dual_level():
            dual = make_dual(self.inputs[i].detach(), tangent)
            outs = [unpack_dual(y) for y in self.outputs(*self.inputs[:i], dual, *self.inputs[i + 1 :])]
            return [_flat(y.tangent, y.primal) for y in outs]

    # ---- comparing

    def compare(self, numerical, analytical, mode: str):
        """GradcheckError where two sets of Jacobians differ."""
        for i, (ns, bs) in enumerate(zip(numerical, analytical)):
            for j, (n, a) in enumerate(zip(ns, bs)):
                if not np.allclose(a, n, self.rtol, self.atol, equal_nan=True):
                    raise GradcheckError(
                        MISMATCH.format(i=i, j=j, numerical=from_array(n.T), analytical=from_array(a.T))
                    )

    def is_reentrant(self, tolerance: float):
        """GradcheckError if two backward passes differ."""
        first, second = self.backward(), self.backward()
        for a, b in zip(first, second):
            for x, y in zip(a, b):
                if x.size and np.max(np.abs(x - y)) > tolerance:
                    raise GradcheckError(BACKWARD_VARIES.format(tolerance))

    def undefined(self):
        """GradcheckError if a zero cotangent gives a gradient that is not zero."""
        with enable_grad():
            outputs = [y for y in self.outputs(*self.inputs) if y.requires_grad]
            if not outputs:
                return
            found = grad(outputs, self._chosen(), [y.detach() * 0 for y in outputs], allow_unused=True)
        for g in found:
            if g is not None and bool((g != 0).any()):
                raise GradcheckError("backward not multiplied by grad_output")


def _real(array: np.ndarray) -> np.ndarray:
    """A view of complex numbers as pairs of reals."""
    if array.dtype.kind != "c":
        return array
    array = np.ascontiguousarray(array)
    return array.view(np.dtype(f"f{array.dtype.itemsize // 2}"))


def _basis(y) -> list:
    """The unit vectors in the shape of y; 1 and i for each complex element."""
    n = _real(y.detach().numpy()).size
    out = []
    for k in range(n):
        array = np.zeros(tuple(y.shape), y.dtype.numpy)
        _real(array).reshape(-1)[k] = 1
        out.append(from_array(array))
    return out


def _flat(grad, like) -> np.ndarray:
    if grad is None:
        return np.zeros(_real(like.detach().numpy()).size)
    return _real(grad.detach().numpy()).reshape(-1)


def gradgradcheck(
    func: Callable,
    inputs,
    grad_outputs=None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """gradcheck of the gradient of a function, by its inputs and by the cotangents."""
    inputs = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    outputs = Check(func, inputs, eps, atol, rtol).outputs(*inputs)
    if grad_outputs is None:
        with grad_mode(False):
            cts = [randn_like(y.detach()) for y in outputs]
        cts = tuple([c.requires_grad_() for c in cts])
    else:
        cts = tuple(grad_outputs) if isinstance(grad_outputs, (tuple, list)) else (grad_outputs,)
    n = len(cts)

    def first(*args):
        xs, weights = args[:-n], args[-n:]
        xs = tuple(
            [
                x.requires_grad_()
                if hasattr(x, "_edge") and not x.requires_grad and x.is_leaf and y.requires_grad
                else x
                for x, y in zip(xs, inputs)
            ]
        )
        chosen = [x for x, y in zip(xs, inputs) if getattr(y, "requires_grad", False)]
        with enable_grad():
            pairs = [(y, w) for y, w in zip(Check(func, xs, eps, atol, rtol).outputs(*xs), weights) if y.requires_grad]
            found = grad([y for y, _ in pairs], chosen, [w for _, w in pairs], create_graph=True, allow_unused=True)
        return tuple([g for g in found if g is not None])

    return gradcheck(
        first,
        (*inputs, *cts),
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode,
    )
