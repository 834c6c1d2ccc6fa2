"""torch.distributed.algorithms.ddp_comm_hooks.powerSGD_hook: gradients sent as products of thin matrices.

Vogels, Karimireddy, Jaggi: PowerSGD (2019). Of a matrix M, P = M Q is summed over the processes and its columns made
orthonormal; Q = M' P is averaged; the gradient is P Q'. What that leaves out is added to the next gradient.
"""

from __future__ import annotations

import math

import numpy as np

from .....namespaces import linalg
from .....operators.shape.joining import cat
from .....tape.modes import no_grad
from .....tensors.base import Tensor, from_array
from ....futures import Future
from ... import collectives
from ...buckets import GradBucket
from ...group import get_world_size
from .default_hooks import allreduce_hook

TOO_EARLY = (
    "Expect `start_powerSGD_iter` > 1 if `use_error_feedback` or `warm_start` is enabled, "
    "because PowerSGD can only be applied after the first two iterations in DDP."
)


class PowerSGDState:
    """How gradients are compressed, and what is kept from one step to the next.

    matrix_approximation_rank: how many columns P and Q have. start_powerSGD_iter: steps before it send whole gradients.
    A matrix is compressed where (rows + columns) * rank * min_compression_rate < rows * columns.

    >>> from torch.distributed.algorithms.ddp_comm_hooks.powerSGD_hook import PowerSGDState
    >>> PowerSGDState(process_group=None, matrix_approximation_rank=2).matrix_approximation_rank
    2
    """

    def __init__(
        self,
        process_group,
        matrix_approximation_rank=1,
        start_powerSGD_iter=1_000,
        min_compression_rate=2,
        use_error_feedback=True,
        warm_start=True,
        orthogonalization_epsilon=0,
        random_seed=0,
        compression_stats_logging_frequency=10_000,
        batch_tensors_with_same_shape: bool = False,
    ):
        if (use_error_feedback or warm_start) and start_powerSGD_iter <= 1:
            raise ValueError(TOO_EARLY)
        self.process_group, self.matrix_approximation_rank = process_group, matrix_approximation_rank
        self.start_powerSGD_iter, self.min_compression_rate = start_powerSGD_iter, min_compression_rate
        self.use_error_feedback, self.warm_start = use_error_feedback, warm_start
        self.orthogonalization_epsilon = orthogonalization_epsilon
        self.compression_stats_logging_frequency = compression_stats_logging_frequency
        self.batch_tensors_with_same_shape = batch_tensors_with_same_shape
        self.rng = np.random.RandomState(random_seed)
        self.error_dict: dict = {}
        self.q_memory_dict: dict = {}
        self.iter = self.total_numel_before_compression = self.total_numel_after_compression = 0

    def maybe_increase_iter(self, bucket: GradBucket):
        """Count a step."""
        self.iter += bucket.is_last()

    def compression_stats(self) -> tuple[float, int, int]:
        """(rate, numbers before, numbers after) of what was compressed."""
        before, after = self.total_numel_before_compression, self.total_numel_after_compression
        return before / after if after else 0.0, before, after

    def _is_worth_it(self, rows: int, columns: int) -> bool:
        return (rows + columns) * self.matrix_approximation_rank * self.min_compression_rate < rows * columns

    def _q(self, key, shape: tuple[int, int], dtype) -> Tensor:
        found = self.q_memory_dict.get(key) if self.warm_start else None
        if found is not None and tuple(found.shape) == shape:
            return found
        drawn = from_array(np.random.RandomState(self.rng.randint(1_000_000_000)).standard_normal(shape))
        return _orthonormal(drawn, self.orthogonalization_epsilon).to(dtype)

    def _count(self, before: int, after: int):
        self.total_numel_before_compression += before
        self.total_numel_after_compression += after


def _orthonormal(matrix: Tensor, epsilon: float) -> Tensor:
    if epsilon:
        matrix = matrix + epsilon
    wide = matrix.float() if matrix.element_size() < 4 else matrix
    return linalg.qr(wide)[0].to(matrix.dtype)


def _sum(tensors: list[Tensor], state: PowerSGDState) -> list[Tensor]:
    """The sums over the processes, in one message."""
    if not tensors:
        return []
    flat = cat([t.reshape(-1) for t in tensors])
    collectives.all_reduce(flat, group=state.process_group)
    return [part.view(t.shape) for part, t in zip(flat.split([t.numel() for t in tensors]), tensors)]


def _compressed_mean(matrices: list[Tensor], keys: list, state: PowerSGDState) -> list[Tensor]:
    """About the mean over the processes of each matrix."""
    rank = state.matrix_approximation_rank
    qs = [state._q(k, (m.shape[1], min(rank, *m.shape)), m.dtype) for k, m in zip(keys, matrices)]
    ps = _sum([m @ q for m, q in zip(matrices, qs)], state)
    ps = [_orthonormal(p, state.orthogonalization_epsilon) for p in ps]
    n = get_world_size(state.process_group)
    qs = [q / n for q in _sum([m.t() @ p for m, p in zip(matrices, ps)], state)]
    for key, m, p, q in zip(keys, matrices, ps, qs):
        state._count(m.numel(), p.numel() + q.numel())
        if state.warm_start:
            state.q_memory_dict[key] = q
    return [p @ q.t() for p, q in zip(ps, qs)]


def _hooked(state: PowerSGDState, bucket: GradBucket, mean) -> Future:
    if state.iter < state.start_powerSGD_iter:
        state.maybe_increase_iter(bucket)
        return allreduce_hook(state.process_group, bucket)
    flat = bucket.buffer()
    with no_grad():
        if state.use_error_feedback and bucket.index() in state.error_dict:
            flat.add_(state.error_dict[bucket.index()])
        before = flat.clone() if state.use_error_feedback else None
        mean(flat)
        if before is not None:
            state.error_dict[bucket.index()] = before - flat
    state.maybe_increase_iter(bucket)
    future: Future = Future()
    future.set_result(flat)
    return future


def powerSGD_hook(state: PowerSGDState, bucket: GradBucket) -> Future:
    """The mean of the gradients, those of matrices compressed; the others, and vectors, whole.

    >>> from torch.distributed.algorithms.ddp_comm_hooks.powerSGD_hook import PowerSGDState, powerSGD_hook
    >>> model = nn.parallel.DistributedDataParallel(nn.Linear(2, 1))
    >>> model.register_comm_hook(PowerSGDState(None), powerSGD_hook)
    >>> model(torch.ones(1, 2)).sum().backward()
    """

    def mean(flat: Tensor):
        views = bucket.gradients()
        matrices = [g.view(g.shape[0], -1) if g.dim() > 1 else None for g in views]
        worth = [m is not None and state._is_worth_it(*m.shape) for m in matrices]
        whole = [i for i, w in enumerate(worth) if not w]
        n = get_world_size(state.process_group)
        for i, total in zip(whole, _sum([views[i] for i in whole], state)):
            views[i].copy_(total / n)
        thin = [i for i, w in enumerate(worth) if w]
        keys = [(bucket.index(), i) for i in thin]
        for i, m in zip(thin, _compressed_mean([matrices[i] for i in thin], keys, state)):
            views[i].copy_(m.view(views[i].shape))

    return _hooked(state, bucket, mean)


def batched_powerSGD_hook(state: PowerSGDState, bucket: GradBucket) -> Future:
    """The mean of the gradients, all of them compressed as one square matrix.

    >>> from torch.distributed.algorithms.ddp_comm_hooks.powerSGD_hook import PowerSGDState, batched_powerSGD_hook
    >>> model = nn.parallel.DistributedDataParallel(nn.Linear(2, 1))
    >>> model.register_comm_hook(PowerSGDState(None, start_powerSGD_iter=2), batched_powerSGD_hook)
    >>> model(torch.ones(1, 2)).sum().backward()
    """

    def mean(flat: Tensor):
        side = math.ceil(math.sqrt(flat.numel()))
        square = flat.new_zeros(side * side)
        square[: flat.numel()] = flat
        (found,) = _compressed_mean([square.view(side, side)], [bucket.index()], state)
        flat.copy_(found.reshape(-1)[: flat.numel()])

    return _hooked(state, bucket, mean)
