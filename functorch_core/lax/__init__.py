"""jax.lax's names and signatures, without the objects of its primitives."""

from ..array.compose import missing_name as _missing_name
from ..array.sharding import with_sharding_constraint
from . import linalg
from .control import *
from .convolution import *
from .elementwise import *
from .indexing import *
from .reductions import *
from .shapes import *

_SHARDING = "Programs run on one device; leave it out."
_PRIMITIVE = "Primitives are in functorch_core.primitives; graphs (fc.make_graph) show their names."


def __getattr__(name: str):
    if name.endswith("_p"):
        raise AttributeError(f"functorch_core.lax has no {name!r}. {_PRIMITIVE}")
    return _missing(name)


_missing = _missing_name(
    "lax",
    {
        "pcast with_sharding_constraint ragged_all_to_all psend precv": _SHARDING,
        "AccuracyMode Tolerance DotAlgorithm DotAlgorithmPreset PrecisionLike": "Products and functions are computed "
        "in the operands' dtype.",
        "ragged_dot_general RaggedDotDimensionNumbers": "Use lax.ragged_dot.",
        "scaled_dot": "Multiply by the scales, then lax.dot_general.",
        "rng_uniform": "Use fc.random.uniform, which takes a key.",
        "stage": "Graphs are staged by fc.jit.",
        "infeed outfeed": "Use fc.pure_callback.",
        "tie_in": "Leave it out: operations run in the order of the program.",
    },
)
