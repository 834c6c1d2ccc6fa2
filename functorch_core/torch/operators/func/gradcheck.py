"""gradcheck and gradgradcheck: derivatives against finite differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ....core.warn import warn
from ....engine.modes import forced_tier
from ... import _missing
from ...levels.function import Function
from ...tape.backward import grad
from ...tape.modes import grad_mode
from ...tensors.base import Tensor, from_array
from ..random.sampling import rand, randn_like
from ..random.seeds import Generator
from ..shape.joining import stack
from . import numerical_jacobians as jacobians
from .former_jacobians import _get_numerical_jacobian, _iter_tensors, get_analytical_jacobian, get_numerical_jacobian  # noqa: F401  torch.autograd.gradcheck's
from .gradcheck_messages import (
    BATCHED,
    FAST,
    FAST_BUT_NOT_SLOW,
    MISMATCH,
    NO_INPUT,
    NOT_MULTIPLIED,
    NOT_ZERO,
    PRECISION,
    SPARSE_OUTPUT,
    STRIDE,
    UNDEFINED,
    UNDEFINED_IS_NEW,
    UNDEFINED_REFUSED,
    VARIES,
)
from .numerical_jacobians import as_tuple, differentiable, inexact

__getattr__ = _missing.getter(__name__)


class GradcheckError(RuntimeError):
    """A derivative that does not agree with finite differences.

    >>> from torch.autograd.gradcheck import GradcheckError
    >>> issubclass(GradcheckError, RuntimeError)
    True
    """


class Settings(NamedTuple):
    """What gradcheck is asked for.

    >>> from torch.autograd.gradcheck import Settings
    >>> Settings(1e-6, 1e-5, 1e-3, 0.0, False, False, False).eps
    1e-06
    """

    eps: float
    atol: float
    rtol: float
    nondet_tol: float
    check_grad_dtypes: bool
    masked: bool
    fast: bool


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

    The memory of the inputs is moved, so that func may reach them in another way, too. With `fast_mode` one random
    combination of the rows and columns of each Jacobian is compared.

    >>> x = torch.ones(3, dtype=torch.float64, requires_grad=True)
    >>> torch.autograd.gradcheck(torch.sin, (x,))
    True
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    if check_batched_grad and not check_backward_ad:
        raise AssertionError("Setting check_batched_grad=True requires check_backward_ad to be True")
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError("Setting check_batched_forward_grad=True requires check_forward_ad to be True")
    settings = Settings(eps, atol, rtol, nondet_tol, check_grad_dtypes, bool(masked), fast_mode)
    try:
        check = Check(func, as_tuple(inputs), settings)
        if check_backward_ad:
            check.backward()
        if check_forward_ad:
            check.forward()
        if check_batched_forward_grad:
            check.batched_forward()
        if check_backward_ad:
            check.further(check_batched_grad, check_undefined_grad)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


class Check:
    """One function with its inputs, and what it returned.

    >>> from torch.autograd.gradcheck import Check, Settings
    >>> x = torch.ones(2, dtype=torch.float64, requires_grad=True)
    >>> check = Check(torch.mul, (x, 3.), Settings(1e-6, 1e-5, 1e-3, 0.0, False, False, False))
    >>> check.wanted, check.outputs[0].tolist()
    ([0], [3.0, 3.0])
    """

    def __init__(self, func: Callable, inputs: tuple, settings: Settings):
        self.func, self.inputs, self.settings = func, inputs, settings
        self.wanted = [i for i, x in enumerate(inputs) if isinstance(x, Tensor) and x.requires_grad]
        self._check_inputs()
        self.results = as_tuple(func(*inputs))
        self.outputs = differentiable(self.results)
        if not all(map(jacobians.is_strided, self.outputs)):
            raise ValueError(SPARSE_OUTPUT)

    def _check_inputs(self):
        """Whether they can be moved; a warning for single precision."""
        for i in self.wanted:
            x = self.inputs[i]
            if x.dtype.itemsize < (16 if x.is_complex() else 8):
                warn(PRECISION.format(i=i))
            if jacobians.is_strided(x) and any(n > 1 and not s for n, s in zip(x.shape, x.stride())):
                raise RuntimeError(STRIDE.format(i=i))
        if not self.wanted:
            raise ValueError(NO_INPUT)

    @property
    def chosen(self) -> list[Tensor]:
        """The inputs that require grad."""
        return [self.inputs[i] for i in self.wanted]

    # ---- reverse mode

    def backward(self):
        """Compare reverse mode; complex results part by part."""
        if not self.outputs:
            return self._nothing_depends()
        places = [i for i, y in enumerate(self.outputs) if y.is_complex()]
        for part in ("imag", "real") if places else (None,):
            function = self.func if part is None else jacobians.part_of_results(self.func, places, part)
            outputs = differentiable(function(*self.inputs)) if part else self.outputs
            mode = Mode(function, self.inputs, self.wanted, differentiable, places, part, False)
            (self._compare_fast if self.settings.fast else self._compare)(mode, outputs)

    def _nothing_depends(self):
        """GradcheckError if results without history vary with the inputs."""
        found = jacobians.numerical(lambda *xs: inexact(self.func(*xs)), self.inputs, self.wanted, self.settings.eps)
        if any(not np.allclose(n, 0, atol=self.settings.atol) for parts in found for n in parts):
            raise GradcheckError("Numerical gradient for function expected to be zero")

    def _compare(self, mode: Mode, outputs: Sequence[Tensor]):
        numerical = mode.numerical(self.settings)
        for i, y in enumerate(outputs):
            analytical = self._steady(y)
            for j, a in enumerate(analytical):
                self._equal(a, numerical[j][i], mode, i, j)

    def _steady(self, y: Tensor) -> list[np.ndarray]:
        """The Jacobians of an output; GradcheckError if a second pass gives others."""
        with self._one_tier():
            (first, rows), (second, _) = (jacobians.reverse(y, self.chosen) for _ in range(2))
        self._check_kinds(rows)
        for a, b in zip(first, second):
            if a.size and np.max(np.abs(a - b)) > self.settings.nondet_tol:
                raise GradcheckError(VARIES.format(self.settings.nondet_tol))
        return first

    def _one_tier(self):
        """Op by op. A recording that is seen again may be compiled as a whole: of 258 gradients in float64, 78 have
        other last bits then, which is no fault of the function."""
        return forced_tier("reference" if all(x.is_cpu for x in self.chosen) else "per-op")

    def _check_kinds(self, rows: Sequence):
        """GradcheckError for gradients of another dtype (if asked for) or size than their inputs'."""
        for row in rows:
            for g, x in zip(row, self.chosen):
                if g is not None and self.settings.check_grad_dtypes and g.dtype is not x.dtype:
                    raise GradcheckError("Gradient has dtype mismatch")
                if g is not None and g.shape != x.shape:
                    raise GradcheckError("Analytical gradient has incorrect size")

    def _equal(self, a: np.ndarray, n: np.ndarray, mode: Mode, i: int, j: int):
        if not np.allclose(a, n, self.settings.rtol, self.settings.atol):
            raise GradcheckError(mode.mismatch(i, j, from_array(np.array(n)), from_array(np.array(a))))

    # ---- one random combination

    def _compare_fast(self, mode: Mode, outputs: Sequence[Tensor]):
        directions, weights = mode.random_vectors(outputs)
        for j, i in enumerate(mode.wanted):
            along = mode.numerical_along(j, directions[j], self.settings)
            for k, y in enumerate(outputs):
                n = _dot(along[k], weights[k]) if weights else along[k]
                a = self._pulled_along(y, weights[k], j, directions[j]) if weights else mode.pushed(i, directions[j])[k]
                atol = self.settings.atol * sum(map(np.sum, directions[j])) * (weights[k].sum() if weights else 1)
                if not np.allclose(a, n, self.settings.rtol, abs(atol)):
                    said = mode.mismatch(k, j, _shown(n), _shown(a))
                    raise GradcheckError(said + self._in_slow_mode(mode, outputs, k, j))

    def _pulled_along(self, y: Tensor, weights: np.ndarray, j: int, directions: tuple):
        """The gradient of a weighted output along random directions, which must not vary."""
        ct = from_array(weights.reshape(tuple(y.shape)).astype(y.dtype.numpy))
        with self._one_tier():
            passes = [jacobians.pulled(y, self.chosen, ct) for _ in range(2)]
            first, second = ([_gradient(g, x) for g, x in zip(found, self.chosen)] for found in passes)
        if any(a.size and np.max(np.abs(a - b)) > self.settings.nondet_tol for a, b in zip(first, second)):
            raise GradcheckError(VARIES.format(self.settings.nondet_tol))
        g = first[j]
        if not np.iscomplexobj(g):
            return _dot(g, directions[0])
        return _dot(g.real, directions[0]) + 1j * _dot(g.imag, directions[1])

    def _in_slow_mode(self, mode: Mode, outputs: Sequence[Tensor], i: int, j: int) -> str:
        n = mode.numerical(self.settings)[j][i]
        a = mode.forward()[j][i] if mode.is_forward else jacobians.reverse(outputs[i], self.chosen)[0][j]
        said = FAST.format(
            numerical=from_array(n), analytical=from_array(a), difference=float(np.max(np.abs(n - a), initial=0))
        )
        return said + (FAST_BUT_NOT_SLOW if np.allclose(a, n, self.settings.rtol, self.settings.atol) else "")

    # ---- forward mode

    def forward(self):
        """Compare forward mode; by complex inputs part by part."""
        places = [i for i in self.wanted if self.inputs[i].is_complex()]
        for part in ("imag", "real") if places else (None,):
            function, inputs = self.func, self.without_history
            if part is not None:
                function, inputs = jacobians.part_of_inputs(self.func, inputs, places, part)
            mode = Mode(function, inputs, self.wanted, inexact, places, part, True)
            if self.settings.fast:
                self._compare_fast(mode, inexact(function(*inputs)))
                continue
            numerical, analytical = mode.numerical(self.settings), mode.forward()
            for j, parts in enumerate(analytical):
                for i, a in enumerate(parts):
                    self._equal(a, numerical[j][i], mode, i, j)

    @property
    def without_history(self) -> tuple:
        """The inputs as forward mode has them: no gradient of them is asked for."""
        return tuple([x.detach() if isinstance(x, Tensor) and jacobians.is_strided(x) else x for x in self.inputs])

    def batched_forward(self):
        """GradcheckError if forward mode under vmap fails or gives other tangents."""
        for i in self.wanted:
            x = self.inputs[i]
            if not jacobians.is_strided(x):
                continue
            tangents = stack([randn_like(x.detach()) for _ in range(2)])
            expected = [self._pushed_tensors(i, t) for t in tangents]
            self._compare_batched(lambda t, i=i: tuple(self._pushed_tensors(i, t)), tangents, expected)

    def _pushed_tensors(self, i: int, tangent: Tensor) -> list[Tensor]:
        with jacobians.dual_level():
            inputs = self.without_history
            dual = jacobians.make_dual(inputs[i], tangent)
            found = inexact(self.func(*inputs[:i], dual, *inputs[i + 1 :]))
            found = [jacobians.unpack_dual(y) for y in found]
            return [y.primal * 0 if y.tangent is None else y.tangent for y in found]

    # ---- what else is asked

    def further(self, batched: bool, undefined: bool):
        """Batches of cotangents, cotangents of zeros, and cotangents that are not there."""
        if batched:
            for y in self.outputs:
                self._batched(y)
        self._multiplied()
        if undefined:
            self._undefined()

    def _batched(self, y: Tensor):
        cts = stack([randn_like(y.detach()) for _ in range(2)])
        expected = [[_or_zeros(g, x) for g, x in zip(jacobians.pulled(y, self.chosen, ct), self.chosen)] for ct in cts]

        def all_at_once(ct):
            found = jacobians.pulled(y, self.chosen, ct)
            return tuple([_or_zeros(g, x) for g, x in zip(found, self.chosen)])

        self._compare_batched(all_at_once, cts, expected)

    def _compare_batched(self, function: Callable, batch: Tensor, expected: Sequence):
        from ...levels.vmap import vmap

        try:
            found = vmap(function)(batch)
        except RuntimeError as error:
            raise GradcheckError(f"While computing batched gradients, got: {error}\n\n{BATCHED}") from error
        for k, part in enumerate(found):
            each = np.stack([jacobians.array_of(row[k]) for row in expected])
            if not np.allclose(jacobians.array_of(part), each, 1e-5, 1e-6):
                raise GradcheckError(f"For output {k}, batched gradients differ from those one by one.\n\n{BATCHED}")

    def _multiplied(self):
        """GradcheckError if a zero cotangent gives a gradient that is not zero."""
        if not self.outputs:
            return
        zeros = [y.detach() * 0 for y in self.outputs]
        found = grad(self.outputs, self.chosen, zeros, retain_graph=True, allow_unused=True)
        for g, x in zip(found, self.chosen):
            if g is not None and np.any(jacobians.array_of(g) != 0):
                raise GradcheckError(NOT_MULTIPLIED)
            if g is not None and g.shape != x.shape:
                raise GradcheckError("grad is incorrect size")

    def _undefined(self):
        """GradcheckError if the backward pass cannot do without (one of) the cotangents."""
        n = len(self.outputs)
        for left_out in (range(n), *([[i] for i in range(n)] if n > 1 else [])):
            outputs = differentiable(self.func(*self.inputs))
            outputs = [_Undefined.apply(y) if i in left_out else y for i, y in enumerate(outputs)]
            if not outputs:
                return
            zeros = [y.detach() * 0 for y in outputs]
            try:
                found = grad(outputs, self.chosen, zeros, allow_unused=True)
            except RuntimeError as error:
                warn(UNDEFINED_IS_NEW)
                raise GradcheckError(UNDEFINED_REFUSED + UNDEFINED) from error
            if any(g is not None and np.any(jacobians.array_of(g) != 0) for g in found):
                warn(UNDEFINED_IS_NEW)
                raise GradcheckError(NOT_ZERO + UNDEFINED)


class _Undefined(Function):
    """The identity, whose gradient is not there."""

    @staticmethod
    def forward(ctx, x):
        """A view of the tensor."""
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        """None."""
        return None


class Mode(NamedTuple):
    """A function whose Jacobians are compared: of all its inputs, or of a part of complex ones.

    >>> from torch.autograd.gradcheck import Mode
    >>> Mode(torch.sin, (torch.ones(2),), [0], tuple, [], None, False).is_forward
    False
    """

    function: Callable
    inputs: Sequence
    wanted: Sequence[int]
    pick: Callable  # which of the results count
    places: Sequence[int]  # which results (in forward mode inputs) are a part of complex numbers
    part: str | None
    is_forward: bool

    def results(self, *inputs) -> tuple:
        """Those that count."""
        return self.pick(self.function(*inputs))

    def inputs_to_move(self, settings: Settings) -> tuple:
        """The inputs; sparse ones with all elements, unless those that are there are asked about."""
        if settings.masked:
            return tuple(self.inputs)
        return tuple(
            [
                jacobians.all_elements(x) if i in self.wanted and not jacobians.is_strided(x) else x
                for i, x in enumerate(self.inputs)
            ]
        )

    def numerical(self, settings: Settings) -> list[list[np.ndarray]]:
        """The Jacobians by central differences."""
        return jacobians.numerical(self.results, self.inputs_to_move(settings), self.wanted, settings.eps)

    def forward(self) -> list[list[np.ndarray]]:
        """The Jacobians by forward mode."""
        return jacobians.forward(self.results, self.inputs, self.wanted)

    def pushed(self, i: int, directions: tuple) -> list[np.ndarray]:
        """The tangents of the results along a direction of input i."""
        step = directions[0].reshape(tuple(self.inputs[i].shape))
        return jacobians.pushed(self.results, self.inputs, self.wanted, {i: step})

    def random_vectors(self, outputs: Sequence[Tensor]):
        """Random directions of each input, two of a complex one; and weights of each output, none in forward mode."""
        generator = Generator()

        def vector(n: int) -> np.ndarray:
            drawn = rand(n, generator=generator).numpy().astype(np.float64)
            return drawn / np.linalg.norm(drawn)

        xs = [self.inputs[i] for i in self.wanted]
        directions = [tuple([vector(x.numel()) for _ in range(1 + x.is_complex())]) for x in xs]
        return directions, None if self.is_forward else [vector(y.numel()) for y in outputs]

    def numerical_along(self, j: int, directions: tuple, settings: Settings) -> list[np.ndarray]:
        """The derivatives of the results along a direction, those of a complex input as one number."""
        inputs = self.inputs_to_move(settings)
        x = inputs[self.wanted[j]]
        shape, rows = tuple(jacobians.memory_of(x).shape), jacobians.rows_of(x)
        steps = [d[rows].reshape(shape) for d in directions]
        found = jacobians.difference(lambda: self.results(*inputs), x, steps[0], settings.eps)
        if len(steps) == 1:
            return found
        turned = jacobians.difference(lambda: self.results(*inputs), x, 1j * steps[1], settings.eps)
        return [a + 1j * b for a, b in zip(found, turned)]

    def mismatch(self, i: int, j: int, numerical, analytical) -> str:
        """The message for output i and input j."""
        place = self.wanted[j] if self.is_forward else i
        part, element = "imaginary" if self.part == "imag" else "real", "inputs" if self.is_forward else "outputs"
        prefix = f"While considering the {part} part of complex {element} only, " if place in self.places else ""
        mode = "computed with forward mode " if self.is_forward else ""
        return prefix + MISMATCH.format(mode=mode, i=i, j=j, numerical=numerical, analytical=analytical)


def _dot(a: np.ndarray, b: np.ndarray):
    return (a.reshape(-1) * b.reshape(-1)).sum()


def _gradient(g, x: Tensor) -> np.ndarray:
    return np.zeros(tuple(x.shape), x.dtype.numpy) if g is None else jacobians.array_of(g)


def _shown(x):
    return x.item() if x.ndim == 0 else from_array(np.array(x))


def _or_zeros(g, x: Tensor):
    return x.detach() * 0 if g is None else g


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
    """gradcheck of the gradient of a function, by its inputs and by the cotangents.

    >>> x = torch.tensor([1., 2.], dtype=torch.float64, requires_grad=True)
    >>> torch.autograd.gradgradcheck(torch.sin, x)
    True
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError("Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True")
    for name, asked in (("undefined", check_undefined_grad), ("batched", check_batched_grad)):
        if asked and not check_rev_over_rev:
            raise AssertionError(f"Setting check_{name}_grad=True requires check_rev_over_rev to be True")
    inputs = as_tuple(inputs)
    cts = _cotangents(func, inputs, gen_non_contig_grad_outputs) if grad_outputs is None else as_tuple(grad_outputs)
    return gradcheck(
        _gradient_of(func, inputs, len(cts)),
        (*inputs, *cts),
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode,
        masked=masked,
    )


def _cotangents(func: Callable, inputs: tuple, apart: bool) -> tuple:
    """Random cotangents of the outputs; `apart`: that do not lie together in memory."""
    made = []
    for y in differentiable(func(*inputs)):
        with grad_mode(False):
            ct = randn_like(y.detach())
            if apart and y.ndim:
                ct = stack([ct, ct], -1)[..., 0]
        made.append(ct.requires_grad_())
    return tuple(made)


def _gradient_of(func: Callable, inputs: tuple, n: int) -> Callable:
    """The gradients by the inputs, a function of the inputs and n cotangents."""
    wanted = [isinstance(x, Tensor) and x.requires_grad for x in inputs]

    def gradient(*args):
        xs = [x.requires_grad_() if w and not x.requires_grad else x for x, w in zip(args[: len(inputs)], wanted)]
        outputs = differentiable(func(*xs))
        chosen = [x for x, w in zip(xs, wanted) if w]
        found = grad(outputs, chosen, args[len(args) - n :], create_graph=True, allow_unused=True)
        return tuple([g for g in found if g is not None])

    return gradient
