"""Reverse mode through tangents: autograd.grad where forward mode is on.

The gradient of a dual tensor is dual: its primal is the pullback of the primals; its tangent is
the pullback of the outputs' tangents by the cotangents, and of the outputs by the cotangents'
tangents. (The tape has recorded how the tangents were computed.)
"""

from __future__ import annotations

from ..tape.backward import pull_edges
from .levels import Dual, at_depth, wrap


def pull(outputs, roots, edges, cts, retain: bool, create_graph: bool) -> list:
    """Gradients at `edges`; dual where the outputs or cotangents are dual, None where unused."""
    depth = max(
        [x._level.depth for x in (*outputs, *cts) if isinstance(getattr(x, "_level", None), Dual)], default=None
    )
    if depth is None:
        return pull_edges(roots, edges, cts, retain, create_graph)
    lower = [_primal(y, depth) for y in outputs]
    primal_cts = [_primal(c, depth) for c in cts]
    tangent_roots, tangent_cts = _tangent_roots(outputs, cts, lower, primal_cts, depth)
    found = pull(lower, roots, edges, primal_cts, True if tangent_roots else retain, create_graph)
    if not tangent_roots:
        return found
    tangents = pull(tangent_roots, [y._edge() for y in tangent_roots], edges, tangent_cts, retain, create_graph)
    return [_dual(depth, g, t) for g, t in zip(found, tangents)]


def _primal(x, depth: int):
    level = at_depth(x, depth)
    return x if level is None else level.primal


def _tangent_roots(outputs, cts, lower, primal_cts, depth: int):
    roots, weights = [], []
    for y, ct, below, ct_below in zip(outputs, cts, lower, primal_cts):
        level, ct_level = at_depth(y, depth), at_depth(ct, depth)
        if level is not None and level.tangent._edge() is not None:
            roots.append(level.tangent)
            weights.append(ct_below)
        if ct_level is not None:
            roots.append(below)
            weights.append(ct_level.tangent)
    return roots, weights


def _dual(depth: int, primal, tangent):
    if primal is None or tangent is None:
        return primal
    return wrap(Dual(depth, primal, tangent))
