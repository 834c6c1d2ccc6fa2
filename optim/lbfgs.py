"""torch.optim.LBFGS: a quasi-Newton method that evaluates the closure several times a step."""

from __future__ import annotations

from ..torch import cat, view_as_real
from ..torch.tape.modes import enable_grad
from ..torch.tensors.base import Tensor
from ._checks import check_lr
from ._line_search import cubic_interpolate as _cubic_interpolate  # noqa: F401 (packages search by it)
from ._line_search import strong_wolfe as _strong_wolfe
from ._quasi_newton import newton_direction
from .optimizer import Optimizer, without_tape

ENOUGH_CURVATURE = 1e-10


class LBFGS(Optimizer):
    """L-BFGS (Nocedal 1980), of one parameter group, with or without a line search.

    step(closure) takes up to `max_iter` iterations; the closure computes the loss and its gradient.
    Directions and gradients are flat tensors of all parameters together.

    >>> param = nn.Parameter(torch.tensor([3.]))
    >>> optimizer = optim.LBFGS([param], line_search_fn='strong_wolfe')
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = (param ** 2).sum()
    ...     loss.backward()
    ...     return loss
    >>> optimizer.step(closure)
    tensor(9., grad_fn=<SumBackward0>)
    >>> bool(param.abs() < 1e-3)
    True
    """

    def __init__(
        self,
        params,
        lr=1,
        max_iter=20,
        max_eval=None,
        tolerance_grad=1e-7,
        tolerance_change=1e-9,
        history_size=100,
        line_search_fn=None,
    ):
        check_lr(lr)
        max_eval = max_iter * 5 // 4 if max_eval is None else max_eval
        super().__init__(
            params,
            {
                "lr": lr,
                "max_iter": max_iter,
                "max_eval": max_eval,
                "tolerance_grad": tolerance_grad,
                "tolerance_change": tolerance_change,
                "history_size": history_size,
                "line_search_fn": line_search_fn,
            },
        )
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params = self.param_groups[0]["params"]

    @without_tape
    def step(self, closure):
        """Minimize for some iterations; returns the loss the step began with."""
        evaluate, group = _with_tape(closure), self.param_groups[0]
        state = self.state[self._params[0]]
        for name in ("func_evals", "n_iter"):
            state.setdefault(name, 0)
        first_loss = evaluate()
        state["func_evals"] += 1
        run = _Run(self, group, state, evaluate, float(first_loss), self._gather_flat_grad())
        if not run.is_optimal():
            run.iterate()
            run.save()
        return first_loss

    # ---- parameters as one flat tensor

    def _gather_flat_grad(self) -> Tensor:
        return cat([_flat(p.new_zeros(p.shape) if p.grad is None else p.grad) for p in self._params], 0)

    def _add_grad(self, step_size, direction: Tensor):
        """Move all parameters along a flat direction."""
        offset = 0
        for p in self._params:
            flat = _as_real(p)
            n = flat.numel()
            flat.add_(step_size * direction[offset : offset + n].view_as(flat))
            offset += n

    def _set_param(self, values: list[Tensor]):
        for p, value in zip(self._params, values):
            p.copy_(value)


def _with_tape(closure):
    def evaluate():
        with enable_grad():
            return closure()

    return evaluate


def _as_real(x: Tensor) -> Tensor:
    return view_as_real(x) if x.is_complex() else x


def _flat(x: Tensor) -> Tensor:
    return _as_real(x.to_dense() if x.is_sparse else x).reshape(-1)


class _Run:
    """The iterations of one step; what outlives the step is taken from and given to `state`."""

    _SAVED = ("d", "t", "old_dirs", "old_stps", "ro", "H_diag", "prev_flat_grad", "prev_loss")

    def __init__(self, optimizer: LBFGS, group: dict, state: dict, evaluate, loss: float, grad: Tensor):
        self.optimizer, self.options, self.state = optimizer, group, state
        self.evaluate, self.loss, self.grad = evaluate, loss, grad
        self.weights, self.lr = None, group["lr"]
        if isinstance(self.lr, Tensor) and self.lr.ndim:
            self.lr = self.lr.squeeze()
        for name in self._SAVED:
            setattr(self, name, state.get(name))

    def save(self):
        """Keep what the next step goes on from."""
        if self.weights is not None:  # "al", which PyTorch's state has, is only for show
            n, size = len(self.ro), self.options["history_size"]
            self.state["al"] = [*self.weights[:n].unbind(), *[None] * (size - n)]
        self.state.update({name: getattr(self, name) for name in self._SAVED})

    def is_optimal(self) -> bool:
        """Whether the gradient is as good as zero."""
        return bool(self.grad.abs().max() <= self.options["tolerance_grad"])

    def iterate(self):
        """Take iterations until one of the limits or tolerances is met."""
        options, evals, n = self.options, 1, 0
        while n < options["max_iter"]:
            n += 1
            self.state["n_iter"] += 1
            self._update_direction()
            slope = self.grad.dot(self.d)
            if slope > -options["tolerance_change"]:
                break
            used = self._move(slope, last=n == options["max_iter"], evals=evals)
            evals += used
            self.state["func_evals"] += used
            if n == options["max_iter"] or evals >= options["max_eval"] or self._has_converged():
                break

    def _has_converged(self) -> bool:
        tolerance = self.options["tolerance_change"]
        return (
            self.is_optimal()
            or bool((self.d * self.t).abs().max() <= tolerance)
            or abs(self.loss - self.prev_loss) < tolerance
        )

    # ---- where to

    def _update_direction(self):
        """The direction and first step size of this iteration."""
        if self.state["n_iter"] == 1:
            self.d = self.grad.neg()
            self.old_dirs, self.old_stps, self.ro, self.H_diag = [], [], [], 1
        else:
            self._remember()
            self.d = self._newton_direction()
        self.prev_flat_grad, self.prev_loss = self.grad.clone(), self.loss
        if self.state["n_iter"] == 1:
            self.t = min(1.0, 1.0 / self.grad.abs().sum()) * self.lr
        else:
            self.t = self.lr

    def _remember(self):
        """Add the last change of gradient and parameters to the history."""
        change, move = self.grad - self.prev_flat_grad, self.d * self.t
        curvature = change.dot(move)
        if curvature > ENOUGH_CURVATURE:
            history = self.old_dirs, self.old_stps, self.ro
            if len(self.old_dirs) == self.options["history_size"]:
                for column in history:
                    column.pop(0)
            for column, new in zip(history, (change, move, 1.0 / curvature)):
                column.append(new)
            self.H_diag = curvature / change.dot(change)

    def _newton_direction(self) -> Tensor:
        """Minus the inverse Hessian of the history times the gradient."""
        direction, self.weights = newton_direction(self.grad, self.old_dirs, self.old_stps, self.ro, self.H_diag)
        return direction

    # ---- how far

    def _move(self, slope: Tensor, last: bool, evals: int) -> int:
        """Move the parameters; how many evaluations of the closure that took."""
        how = self.options["line_search_fn"]
        if how is not None:
            if how != "strong_wolfe":
                raise RuntimeError("only 'strong_wolfe' is supported")
            start = [p.clone() for p in self.optimizer._params]
            self.loss, self.grad, self.t, used = _strong_wolfe(
                self._evaluate_at,
                start,
                self.t,
                self.d,
                self.loss,
                self.grad,
                slope,
                max_ls=self.options["max_eval"] - evals,
            )
            self.optimizer._add_grad(self.t, self.d)
            return used
        self.optimizer._add_grad(self.t, self.d)
        if last:  # the loss here is not needed, and may be expensive
            return 0
        self.loss = float(self.evaluate())
        self.grad = self.optimizer._gather_flat_grad()
        return 1

    def _evaluate_at(self, start: list[Tensor], t, direction: Tensor) -> tuple[float, Tensor]:
        self.optimizer._add_grad(t, direction)
        loss, grad = float(self.evaluate()), self.optimizer._gather_flat_grad()
        self.optimizer._set_param(start)
        return loss, grad
