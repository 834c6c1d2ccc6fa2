"""jax.lax's names and signatures, without the objects of its primitives."""

from ..array.compose import missing_name as _missing_name
from ..array.sharding import with_sharding_constraint
from . import linalg
from .control import *
from .convolution import *
from .elementwise import *
from .indexing import *
from .products import *
from .reductions import *
from .shapes import *

_PRIMITIVE = "Primitives are in functorch_core.primitives; graphs (fc.make_graph) show their names."


def __getattr__(name: str):
    if name.endswith("_p"):
        raise AttributeError(f"functorch_core.lax has no {name!r}. {_PRIMITIVE}")
    return _missing(name)


_missing = _missing_name(
    "lax",
    {
        "pcast": "It is about types of explicit sharding over several devices; axes are automatic: leave it out.",
        "psend": "It sends between several devices: lax.ppermute, inside of fc.shard_map, sends and receives.",
        "precv": "It receives from another of several devices: lax.ppermute, inside of fc.shard_map.",
        "ragged_all_to_all": "It exchanges rows between several devices: lax.all_to_all of padded blocks.",
        "infeed outfeed": "Use fc.pure_callback.",
        "tie_in": "Leave it out: operations run in the order of the program.",
    },
)
