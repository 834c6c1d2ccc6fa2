"""torch.onnx.symbolic_helper: what functions that write operators in ONNX are declared with; nothing calls them."""

from __future__ import annotations

from collections.abc import Callable

from ..._missing import getter

__getattr__ = getter(__name__)


def parse_args(*arg_descriptors: str) -> Callable[[Callable], Callable]:
    """Declare of what kinds the arguments of such a function are: "v" a value, "i" an int, "f" a float, "is" ints.

    >>> @torch.onnx.symbolic_helper.parse_args("v", "f")
    ... def scaled(g, x, factor):
    ...     return g.op("Mul", x, factor)
    >>> scaled._arg_descriptors
    ('v', 'f')
    """

    def declare(function: Callable) -> Callable:
        function._arg_descriptors = arg_descriptors
        return function

    return declare
