"""Orders of pipelines that compute gradients of inputs (I) first, and those of weights (W) where a process would wait.

Qi et al.: Zero Bubble Pipeline Parallelism (2023), sections 2 and 6; DualPipe: DeepSeek-V3 (2024), cut in half so that
each process has two stages, its first one and the one opposite to it.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable

Step = tuple[int, str, int]  # the stage, what is computed (F, I, W, or B for I and W at once), the part of the batch


def interleaved(forward: Iterable[Step], backward: Iterable[Step], ahead: int, lag: int) -> list[Step]:
    """1F1B of several stages: the weights' gradients come `lag` parts after those of the inputs (ZB1P)."""
    forward, backward = list(forward), list(backward)
    order, waiting = forward[:ahead], deque()
    rest = forward[ahead:]
    for i, (stage, _, part) in enumerate(backward):
        if i < len(rest):
            order.append(rest[i])
        order.append((stage, "I", part))
        waiting.append((stage, "W", part))
        if i >= lag:
            order.append(waiting.popleft())
    return order + list(waiting)


class _Parts:
    """Counts which part of the batch is next, for each stage and kind, of n."""

    def __init__(self, n: int):
        self.n, self.order = n, []
        self.next: Counter = Counter()

    def has(self, stage: int, kind: str) -> bool:
        """Whether parts are left."""
        return self.next[stage, kind] < self.n

    def add(self, stage: int, *kinds: str):
        """The next part of a stage, through these kinds one after the other, where one is left."""
        for kind in kinds:
            if self.has(stage, kind):
                self.order.append((stage, kind, self.next[stage, kind]))
                self.next[stage, kind] += 1


def v_shaped(rank: int, size: int, n: int) -> list[Step]:
    """ZB-V: a process has the stages `rank` and 2 size - 1 - rank, so that the last stage is beside the first."""
    first, last, parts = rank, 2 * size - 1 - rank, _Parts(n)
    for _ in range(2 * (size - rank) - 1):
        parts.add(first, "F")
    for _ in range(rank):
        parts.add(last, "F")
        parts.add(first, "F")
    for _ in range(size - rank):
        parts.add(last, "F", "I", "W")
    while parts.has(last, "F") or parts.has(first, "F"):
        parts.add(first, "F", "I", "W")
        parts.add(last, "F", "I", "W")
    for _ in range(rank):
        parts.add(first, "I")
        parts.add(last, "I")
    for _ in range(size - rank):
        parts.add(first, "I", "W")
    for stage in (last, first):
        while parts.has(stage, "I"):
            parts.add(stage, "I")
        while parts.has(stage, "W"):
            parts.add(stage, "W")
    return parts.order


class _Dual(_Parts):
    """_Parts of which B counts as I, and whose W may be put off."""

    def __init__(self, n: int):
        super().__init__(n)
        self.waiting: deque[Step] = deque()

    def backward(self, stage: int, apart: bool = False):
        """The next part backward; apart: the weights later."""
        part = self.next[stage, "I"]
        self.next[stage, "I"] += 1
        self.order.append((stage, "I" if apart else "B", part))
        if apart:
            self.waiting.append((stage, "W", part))

    def weights(self):
        """The weights of what has waited longest."""
        self.order.append(self.waiting.popleft())


def dual_v(rank: int, size: int, n: int) -> list[Step]:
    """DualPipe-V, of n >= 2 size parts; what it overlaps comes one after the other."""
    first, last, parts, behind = rank, 2 * size - 1 - rank, _Dual(n), size - 1 - rank
    for _ in range(2 * behind):
        parts.add(first, "F")
    for _ in range(rank + 1):
        parts.add(first, "F")
        parts.add(last, "F")
    for _ in range(behind):
        parts.backward(last, apart=True)
        parts.weights()
        parts.add(last, "F")
    for _ in range(n - 2 * size + rank + 1):
        parts.add(first, "F")
        parts.backward(last)
        parts.add(last, "F")
        parts.backward(first)
    for _ in range(behind):
        parts.backward(last)
        parts.add(last, "F")
        parts.backward(first)
    half, odd = (rank + 1) // 2, rank % 2
    for i in range(rank + 1):  # from the middle on the weights are put off
        parts.backward(last, apart=i > half or (i == half and odd == 1))
        parts.backward(first, apart=i >= half)
    for _ in range(behind):
        parts.weights()
        parts.backward(first, apart=True)
    while parts.waiting:
        parts.weights()
    return parts.order
