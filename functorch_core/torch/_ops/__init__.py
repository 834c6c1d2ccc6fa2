"""The ops of the torch namespace, by family. Importing the package declares them all."""

from . import pointwise
from . import comparison, complex_numbers, counting, cumulative, foreach, integers, math, order, reduction, special
from . import data, storage, creation, views, copies, indexing, sampling, joining, gathering
from . import control
from . import distances, finite_differences, matmul, segments
from . import fourier, spectrogram, windows
from . import fake_quantize, linalg_factor, linalg_norms, linalg_products, linalg_solve, lobpcg
from . import (
    nn_activation,
    nn_attention,
    nn_conv,
    nn_ctc,
    nn_loss,
    nn_norm,
    nn_numbered,
    nn_other,
    nn_pool,
    nn_ranking,
    nn_resize,
    nn_rnn,
    nn_unpool,
    nn_vision,
)

# Names of the torch namespace that are no ops.
# from_dlpack takes tensors of other libraries, whose __torch_function__ is not meant for it.
NAMESPACE = {
    **sampling.NAMESPACE,
    "from_dlpack": data.from_dlpack.fun,
    **data.legacy_types,
    **storage.legacy_storages,
    "UntypedStorage": storage.UntypedStorage,
    "TypedStorage": storage.TypedStorage,
}


def __getattr__(name: str):
    """torch._ops.OpOverload and its kin, which packages import from here."""
    if name not in ("HigherOrderOperator", "OpOverload", "OpOverloadPacket", "_OpNamespace"):
        raise AttributeError(f"module 'torch._ops' has no attribute '{name}'")
    from .. import ops

    return getattr(ops, name)
