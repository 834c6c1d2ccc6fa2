"""vmap of a large batch, some examples at a time."""

from __future__ import annotations

from ..tensors.pytree import tree_unflatten
from ..tensors.types import named


def run_in_chunks(call, size: int, dims, flat, spec, kwargs):
    """Compute `call.chunk_size` examples at a time and join the results."""
    parts, found = [], None
    state = named("get_rng_state")() if call.randomness == "same" else None
    for start in range(0, size, call.chunk_size):
        if state is not None and start:
            named("set_rng_state")(state)
        n = min(call.chunk_size, size - start)
        piece = [x if d is None else x.narrow(d, start, n) for x, d in zip(flat, dims)]
        found = call.compute(n, dims, piece, spec, kwargs)
        parts.append(found[0])
    _, out_spec, out_dims = found
    return tree_unflatten([_joined(list(xs), d) for xs, d in zip(zip(*parts), out_dims)], out_spec)


def _joined(pieces: list, dim):
    """The outputs of all chunks as one tensor; what is not batched is the same in each."""
    if dim is None or pieces[0] is None:
        return pieces[0]
    return named("cat")(pieces, dim)
