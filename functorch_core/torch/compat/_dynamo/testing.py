"""torch._dynamo.testing: backends that count and keep the graphs they get."""

from __future__ import annotations

import unittest

from ... import _missing
from . import optimize_assert, reset

__all__ = ["CompileCounter", "EagerAndRecordGraphs", "expectedFailure", "optimize_assert", "reset"]
__getattr__ = _missing.getter(__name__)
expectedFailure = unittest.expectedFailure


class CompileCounter:
    """A backend that counts graphs (`frame_count`) and the calls in them (`op_count`)."""

    def __init__(self):
        self.clear()

    def __call__(self, gm, example_inputs):
        self.frame_count += 1
        self.op_count += sum("call" in node.op for node in gm.graph.nodes)
        return gm.forward

    def clear(self):
        """Count from 0."""
        self.frame_count = self.op_count = 0


class EagerAndRecordGraphs:
    """A backend that keeps its graph modules (`graphs`)."""

    def __init__(self):
        self.graphs: list = []

    def __call__(self, gm, example_inputs):
        self.graphs.append(gm)
        return gm.forward
