"""The ops of the torch namespace, by family. Importing the package declares them all."""

from . import control
from .fft import fourier, spectrogram, windows
from .index import gathering, indexing, masking
from .linalg import distances, lobpcg, matmul, quantized, removed
from .linalg import factor as linalg_factor
from .linalg import norms as linalg_norms
from .linalg import products as linalg_products
from .linalg import solve as linalg_solve
from .nn import activation as nn_activation
from .nn import attention as nn_attention
from .nn import conv as nn_conv
from .nn import ctc as nn_ctc
from .nn import loss as nn_loss
from .nn import norm as nn_norm
from .nn import numbered as nn_numbered
from .nn import other as nn_other
from .nn import pool as nn_pool
from .nn import ranking as nn_ranking
from .nn import resize as nn_resize
from .nn import rnn as nn_rnn
from .nn import unpool as nn_unpool
from .nn import vision as nn_vision
from .pointwise import arithmetic as pointwise
from .pointwise import comparison, complex_numbers, fake_quantize, foreach, integers, polynomials, special
from .pointwise import functions as math
from .random import sampling
from .reduce import counting, cumulative, finite_differences, order, reduction, segments
from .shape import copies, creation, data, joining, legacy_types, parts, storage, transposes, views

# Names of the torch namespace that are no ops.
# from_dlpack takes tensors of other libraries, whose __torch_function__ is not meant for it.
NAMESPACE = {
    **sampling.NAMESPACE,
    "from_dlpack": data.from_dlpack.fun,
    **legacy_types.legacy_types,
    **storage.legacy_storages,
    "Storage": storage.legacy_storages["FloatStorage"],
    "StorageBase": storage.StorageBase,
    "UntypedStorage": storage.UntypedStorage,
    "TypedStorage": storage.TypedStorage,
    "_storage_classes": {storage.UntypedStorage, storage.TypedStorage, *storage.legacy_storages.values()},
    "_tensor_classes": {*legacy_types.legacy_types.values(), *legacy_types.cuda_legacy_types.values()},
}
