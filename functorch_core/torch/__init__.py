"""The PyTorch-compatible namespace: `import functorch_core.torch as torch`.

What few programs use is imported when it is asked for (`_LAZY`); what PyTorch documents and this
library does not have raises NotImplementedError when it is used (see `_missing`).
"""

import sys as _sys
from importlib import import_module

from .. import aliases as _aliases
from ..collector import Waiting as _Waiting
from . import _missing

_waiting = _Waiting()

if _aliases.inner not in _sys.meta_path:  # before the rooms are imported, and behind the shim's finder
    _sys.meta_path.insert(_aliases.place_behind(), _aliases.inner)
    _sys.meta_path.append(_missing.finder)

from .. import xla as _xla
from . import operators as _operators
from .compat import plain_pickles as _plain_pickles
from .compat import public_names as _public_names
from .compat import settings as _settings
from .compat.torch_version import TorchVersion as _TorchVersion
from .compat.version import __version__ as _version
from .dispatch.install import install as _install
from .dispatch.parameter import Parameter as _Parameter
from .operators import faces as _faces
from .operators import method_functions as _method_functions
from .operators.dtype_questions import can_cast, promote_types, result_type
from .operators.random.seeds import (
    Generator,
    default_generator,
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
)
from .operators.tensor_class import Tensor
from .tape.anomaly_mode import is_anomaly_check_nan_enabled, is_anomaly_enabled
from .tape.modes import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from .tensors.printing import set_printoptions
from .tensors.types import (
    Size,
    _mkldnn,
    channels_last,
    channels_last_3d,
    contiguous_format,
    device,
    dtype,
    finfo,
    get_default_device,
    get_default_dtype,
    iinfo,
    jagged,
    layout,
    memory_format,
    preserve_format,
    qscheme,
    set_default_device,
    set_default_dtype,
    sparse_bsc,
    sparse_bsr,
    sparse_coo,
    sparse_csc,
    sparse_csr,
    strided,
)
from .tensors.types import by_name as _by_name
from .tensors.types import qschemes as _qschemes
from .tensors.types import unstored as _unstored_dtypes

_xla.overlap_python()

e, inf, nan, newaxis, pi = 2.718281828459045, float("inf"), float("nan"), None, 3.141592653589793
__version__ = _TorchVersion(_version)
torch = _sys.modules[__name__]  # annotations of some packages say torch.torch.Tensor

globals().update(_by_name)
globals().update(_qschemes)
globals().update(_unstored_dtypes)
_install(globals())
globals().update({name: getattr(_settings, name) for name in _settings.__all__ if hasattr(_settings, name)})
globals().update(_operators.NAMESPACE)
globals().update(_method_functions.NAMESPACE)

from .compat import utils
from .levels.vmap import vmap
from .namespaces import autograd, fft, func, linalg, special
from .operators import return_types

_plain_pickles.register()
_public_names.name_ops()

# ---- names that are imported when they are asked for ---------------------------------------------

_LAZY = frozenset(
    """_C _VF __config__ __future__ _dynamo _functorch _guards _inductor _library _logging _refs _subclasses _tensor
    _tensor_str _utils _utils_internal _vendor _vmap_internals accelerator amp backends classes compiler cpu cuda
    distributed distributions functional futures fx hub
    jit library masked monitor mps mtia multiprocessing nested nn optim _ops ops overrides profiler quasirandom random
    serialization signal sparse storage testing torch_version types version xpu""".split()
)
_FROM = {
    "amp.autocast_mode": """autocast clear_autocast_cache get_autocast_cpu_dtype get_autocast_dtype
        get_autocast_gpu_dtype is_autocast_cache_enabled is_autocast_cpu_enabled
        is_autocast_enabled set_autocast_cache_enabled set_autocast_cpu_dtype
        set_autocast_cpu_enabled set_autocast_dtype set_autocast_enabled set_autocast_gpu_dtype""",
    "serialization": "load save",
    "operators.sparse.tensor": "sparse_coo_tensor",
    "operators.sparse.construct": """sparse_compressed_tensor sparse_csr_tensor sparse_csc_tensor sparse_bsr_tensor
        sparse_bsc_tensor _validate_sparse_compressed_tensor_args _validate_sparse_csr_tensor_args
        _validate_sparse_csc_tensor_args _validate_sparse_bsr_tensor_args _validate_sparse_bsc_tensor_args
        _validate_compressed_sparse_indices""",
    "compiler": "_disable_dynamo compile",
    "cuda": "OutOfMemoryError",
    "compat.devices.accelerators": "Event Stream",
    "compat.library.aten": "_log_softmax _softmax",
    "compat.library.tags": "Tag",
    "amp.grad_scaler": "GradScaler",
    "futures": "Future",
    "utils.dlpack": "to_dlpack",
    "backends.nnpack": "_nnpack_available",
    "jit": "ScriptFunction ScriptModule",
    "compat.jit._script_types": """AnyType AwaitType BoolType ComplexType DeviceObjType DictType FatalError FloatType
        FutureType IntType ListType NoneType NumberType OptionalType PyObjectType RRefType StreamObjType StringType
        SymBoolType SymIntType TensorType TupleType Type""",
    "compat.library.schemas": "Argument",
}
_HOME = {name: module for module, names in _FROM.items() for name in names.split()}
_missing_or_error = _missing.getter(__name__, tuple(_LAZY))


def __getattr__(name: str):
    home = _HOME.get(name)
    if home is None:
        return _missing_or_error(name)
    found = globals()[name] = getattr(import_module(f"{__name__}.{home}"), name)
    return found


def __dir__():
    return sorted({*globals(), *_LAZY, *_HOME, *_missing.table()["torch"]})


del _waiting
