"""Optimizers that are shells over an algorithm: a step is one recorded op a parameter group."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ..array.array import wrap
from ..core import dtypes as dt
from ..engine import Value, absent, from_numpy, guarded, has_data, pending, record_guarded, undo_later
from ..engine.spmd import by_mesh
from ..engine.spmd import run as run_on_mesh
from ..torch.operators.shape.creation import like_strides
from ..torch.tape.apply import apply
from ..torch.tape.meta import is_meta
from ..torch.tape.modes import state as mode
from ..torch.tensors import types as _types
from ..torch.tensors.active import active
from ..torch.tensors.base import Tensor, new_tensor
from ..torch.views.cells import assign
from ..torch.views.memory_order import with_strides
from ._algorithm import Algorithm
from ._checks import check_fused_params
from .optimizer import Optimizer, all_params, loss_of, without_tape

# State that is a number for each parameter.
SCALARS = ("eta", "mu", "mu_product")


class AlgorithmOptimizer(Optimizer):
    """An optimizer whose step is an algorithm; options of the groups are its hyperparameters."""

    algorithm: Algorithm
    counts_steps = True  # whether states have a "step"
    complex_message = ""  # the error for complex parameters, if they are not supported
    sparse_message = "{name} does not support sparse gradients"
    on_wrappers: Callable | None = None  # a step of a parameter whose class has __torch_dispatch__, as a staticmethod
    by_gradient: tuple[str, ...] = ()  # states that lie in memory as the first gradient does, not as the parameter
    later_options: dict = {}  # options that checkpoints of older versions lack, and their defaults

    @without_tape
    def step(self, closure=None):
        """Update the parameters once; returns what the closure returns."""
        loss = loss_of(closure)
        for group in self.param_groups:
            self._step_group(group)
        return loss

    def __setstate__(self, state: dict):
        super().__setstate__(state)
        for group in self.param_groups:
            for name, default in self.later_options.items():
                group.setdefault(name, default)
        for p in all_params(self.param_groups):
            own = self.state.get(p) or {}
            for name in ("step", *SCALARS):
                if name in own and not isinstance(own[name], Tensor):
                    own[name] = scalar_tensor(own[name])

    def _init_state(self, p: Tensor, group: dict):
        """The state of a parameter before its first step."""
        if hasattr(p, "_check_operand"):  # a lazy parameter has no shape
            p._check_operand("*_like")
        state, algorithm = self.state[p], self.algorithm
        if self.counts_steps:
            state["step"] = scalar_tensor(0.0)
        options = {k: as_float(group[k]) for k in algorithm.init_options if k in group}
        if is_meta(p):
            names, graph = algorithm.initial_state(p._aval, options)
            values = dict(zip(names, map(absent, graph.out_avals)))
        else:
            values = algorithm.initial_values(p._aval, options)
            if active.distributed is not None:
                values = {k: active.distributed.beside(p, v) for k, v in values.items()}
        for name, value in values.items():
            state[name] = self._laid_out(new_tensor(value), name, p)
            if name in SCALARS and counts_in_float64():
                state[name] = state[name].double()

    def _laid_out(self, made: Tensor, name: str, p: Tensor) -> Tensor:
        """A new state of a parameter, its dimensions in PyTorch's order in memory."""
        example = p._grad if name in self.by_gradient else p
        return with_strides(made, like_strides(example, None)) if made.shape == p.shape else made

    def _step_group(self, group: dict):
        """Record the update of a group, and assign its results."""
        params = []
        for p in group["params"]:
            if p._grad is None:
                continue
            if self.complex_message and p.is_complex():
                raise RuntimeError(self.complex_message)
            if p._grad.is_sparse:
                self._step_sparse(p, p._grad, group)
            elif p._device is not None and self.on_wrappers is not None:
                self.on_wrappers(p, p._grad, self.state[p], group)
            else:
                params.append(p)
        if active.distributed is not None and len(parts := by_mesh([p._read() for p in params])) > 1:
            for part in parts:
                self._step_params([params[i] for i in part], group)
        elif params:
            self._step_params(params, group)

    def _operators(self, sketch):
        if self.on_wrappers is None or any([g.get("foreach") or g.get("fused") for g in self.param_groups]):
            return
        for group in self.param_groups:
            for p in group["params"]:
                if p._grad is not None and not p._grad.is_sparse:
                    state = {name: sketch.of(x) for name, x in self.state.get(p, {}).items()}
                    sketch.followed(self.on_wrappers, sketch.of(p), sketch.of(p._grad), state, group)

    def _step_params(self, params: list[Tensor], group: dict):
        if group.get("fused"):
            check_fused_params(params)
        grads = [p._grad for p in params]
        states = [self._state_of(p, group) for p in params]
        slots = [{k: x for k, x in s.items() if k != "step" and isinstance(x, Tensor)} for s in states]
        counts, steps = [0] * len(params), [1.0]
        if self.counts_steps:
            counts, steps = advance([s["step"] for s in states])
        hyper = {k: hyperparameter(group[k]) for k in self.algorithm.defaults if k in group}
        if mode.enabled or any(p._level is not None for p in params):
            self._step_on_tape(params, grads, states, slots, counts, steps, hyper)
            return
        values = [{k: x._read() for k, x in slot.items()} for slot in slots]
        update, operands = self.algorithm.resolve(
            [p._read() for p in params], [g._read() for g in grads], values, counts, steps, hyper, alike=True
        )
        if active.distributed is not None and active.distributed.is_one(params[0]):
            outs = run_on_mesh(update.op.unit, operands, update.olds)
        else:
            outs = record_guarded(update.op.unit, operands, update.olds)
        new, kept = self.algorithm.unpack(update, outs)
        for p, value in zip(params, new):
            write(p, value)
        for p, state, slot in zip(params, states, kept):
            for name, value in slot.items():
                if isinstance(state.get(name), Tensor):
                    write(state[name], value)
                else:
                    state[name] = self._laid_out(new_tensor(value), name, p)

    def _step_on_tape(self, params, grads, states, slots, counts, steps, hyper):
        """The same as an op on the tape: the step itself is differentiable."""
        views = [_Operand(x) for x in params], [_Operand(x) for x in grads]
        held = [{k: _Operand(x) for k, x in slot.items()} for slot in slots]
        update, operands = self.algorithm.resolve(*views, held, counts, steps, hyper, alike=True)
        outs = apply(
            update.op,
            [x.tensor if x.__class__ is _Operand else new_tensor(x) if x.__class__ is Value else x for x in operands],
        )
        new, kept = self.algorithm.unpack(update, outs)
        for p, tensor in zip(params, new):
            assign(p, tensor)
        for p, state, slot in zip(params, states, kept):
            for name, tensor in slot.items():
                if name in SCALARS:  # PyTorch takes the number out of them: no derivative by it
                    state[name] = tensor.detach()
                elif isinstance(state.get(name), Tensor):
                    assign(state[name], tensor)
                else:
                    state[name] = self._laid_out(tensor, name, p)

    def _state_of(self, p: Tensor, group: dict) -> dict:
        state = self.state[p]
        if not state:
            self._init_state(p, group)
            if pending:
                undo_later(dict.clear, state)
        return state

    def _step_sparse(self, p: Tensor, grad: Tensor, group: dict):
        """Update a parameter whose gradient is sparse, if the algorithm is defined for one."""
        raise RuntimeError(self.sparse_message.format(name=type(self).__name__))

    def _step_rows(self, p: Tensor, grad: Tensor, state: dict, step: float, group: dict):
        """Update the rows of a parameter and of its state that are in a sparse gradient."""
        grad = grad.coalesce()
        if not grad._nnz():
            return
        where = _Rows(grad)
        slots = {k: x for k, x in state.items() if k != "step" and isinstance(x, Tensor)}
        hyper = {k: hyperparameter(group[k]) for k in self.algorithm.defaults if k in group}
        new, kept = self.algorithm(
            [where.of(p)], [grad._values()._read()], [{k: where.of(x) for k, x in slots.items()}], [0], [step], hyper
        )
        where.write(p, new[0])
        for name, value in kept[0].items():
            where.write(state[name], value)


class _Rows:
    """The rows of dense tensors where a sparse one has values."""

    def __init__(self, sparse: Tensor):
        n = sparse.sparse_dim()
        self.shape = (math.prod(sparse.shape[:n]), *sparse.shape[n:])
        self.numbers = new_tensor(from_numpy(sparse._numbers()))

    def of(self, dense: Tensor) -> Value:
        """The rows of a tensor."""
        return dense.detach().reshape(self.shape).index_select(0, self.numbers)._read()

    def write(self, dense: Tensor, rows: Value):
        """Put rows back."""
        flat = dense.detach().reshape(self.shape)
        value = flat.index_copy(0, self.numbers, new_tensor(rows)).reshape(dense.shape)._read()
        write(dense, guarded(value, dense._read()) if pending else value)


class _Operand:
    """A tensor where `resolve` wants something with the aval the op is to see."""

    __slots__ = ("tensor", "aval")

    def __init__(self, tensor: Tensor):
        self.tensor, self.aval = tensor, tensor._aval


# ---- numbers that count --------------------------------------------------------------------------


def scalar_tensor(x: float) -> Tensor:
    """A 0-d tensor for a number of the state: float64 if that is the default dtype."""
    return new_tensor(from_numpy(np.asarray(float(x), dt.float64 if counts_in_float64() else dt.float32)))


def counts_in_float64() -> bool:
    """Whether numbers of the state are float64: if that is the default dtype."""
    return _types.defaults.dtype.numpy == dt.float64


def advance(steps: list[Tensor]) -> tuple[list[int], list[float]]:
    """Count a step in each of these tensors: (which of the numbers is whose, the numbers).

    Usually all are one number. It is counted on the host, and the tensors share the new value: as
    inputs and outputs of the program they would cost 1 us each.
    """
    index: dict[int, int] = {}  # id of a value -> position of its number
    seen, numbers, new, counts = [], [], [], []
    for step in steps:
        value = step._read()
        i = index.get(id(value))
        if i is None:
            number = _number(step, value) + 1
            if number not in numbers:
                numbers.append(number)
                new.append(from_numpy(np.asarray(number, value.aval.dtype).reshape(value.aval.shape)))
            seen.append(value)  # so that its id stays its own
            i = index[id(value)] = numbers.index(number)
        counts.append(i)
    if pending:
        undo_later(_set, *[(step, step._read()) for step in steps])
    for step, i in zip(steps, counts):
        write(step, new[i])
    return counts, numbers


def _number(step: Tensor, value: Value) -> float:
    """A number of the state. Where it is on the host, this is no reading, which would wait for checks."""
    on_host = has_data(value) and isinstance(value.data, np.ndarray)
    return float(value.data.item() if on_host else step.item())


def _set(before: tuple[Tensor, Value]):
    write(*before)


def hyperparameter(x):
    """An option of a group as the algorithm takes it: tensors as operands."""
    if isinstance(x, Tensor):
        return _Operand(x) if mode.enabled else wrap(x._read())
    if isinstance(x, (tuple, list)):
        return tuple([hyperparameter(y) for y in x])
    return x


def as_float(x):
    """An option that a state starts from."""
    return x.item() if isinstance(x, Tensor) else x


def write(tensor: Tensor, value: Value):
    """tensor.copy_(...) of a value of its shape and dtype, with the tape off."""
    alias = tensor._view
    if tensor._level is not None or (alias is not None and alias.chain) or (value.aval is not tensor._value.aval):
        assign(tensor, new_tensor(value))
    elif alias is None:
        tensor._value = value
        tensor._own_version += 1
    else:  # it shares its memory as a whole; parameters always do
        cell = alias.cell
        if cell.shared:
            cell.update(tensor._value, value)
        else:
            cell.value = value
        tensor._value = value
        cell.version += 1
        alias.seen = cell.version
