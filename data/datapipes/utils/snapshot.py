"""torch.utils.data.datapipes.utils.snapshot: going on with an iteration after a pipeline was pickled."""

from __future__ import annotations

from ...graph_settings import apply_random_seed
from .._hook_iterator import _SnapshotState

RESTORED = (
    "Snapshot restoration cannot be applied. You can only restore simple snapshot to the graph if your graph has not "
    "been restored."
)


def _simple_graph_snapshot_restoration(datapipe, n_iterations: int, rng=None):
    """Iterate to where a pipeline had given n_iterations samples; the next `iter()` goes on from there.

    `rng` is in the state in which it seeded the pipeline. RuntimeError where there are fewer samples, or if this was
    done before and nothing was read since.
    """
    if datapipe._snapshot_state is _SnapshotState.Restored:
        raise RuntimeError(RESTORED)
    datapipe._restart()
    apply_random_seed(datapipe, rng)
    iterator = iter(datapipe)
    for _ in range(n_iterations):
        try:
            next(iterator)
        except StopIteration as end:
            raise RuntimeError(
                f"Fast-forward {datapipe} by {n_iterations} iterations exceeds the number of samples available."
            ) from end
    datapipe._fast_forward_iterator, datapipe._snapshot_state = iterator, _SnapshotState.Restored
