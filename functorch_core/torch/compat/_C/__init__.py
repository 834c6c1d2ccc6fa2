"""torch._C: the few names of PyTorch's C++ module that Python programs use."""

from __future__ import annotations

import contextlib as _contextlib
import enum as _enum
import importlib as _importlib
import weakref as _weakref

from ....core.warn import warn as _warn_with
from ..._missing import MESSAGE as _MESSAGE
from ..._missing import getter as _getter
from ...dispatch.overrides import (
    DisableTorchFunction,
    DisableTorchFunctionSubclass,
    _disabled_torch_dispatch_impl,
    _disabled_torch_function_impl,
    _EnableTorchFunction,
)
from ...dispatch.overrides import state as override_state
from ...operators.linalg.checks import LinAlgError as _LinAlgError
from ...operators.random.seeds import Generator, default_generator
from ...operators.shape.copies import addresses as _addresses
from ...operators.shape.copies import is_lazy_clone as _is_lazy_clone
from ...operators.shape.joining import common_shape
from ...operators.shape.storage import StorageBase
from ...tape.modes import (
    _set_grad_enabled,
    _set_multithreading_enabled,
    is_grad_enabled,
    is_inference_mode_enabled,
    state,
)
from ...tape.passes import _current_autograd_node, _current_graph_task_execution_order, _will_engine_execute_node
from ...tape.passes import current_id as _current_graph_task_id
from ...tensors.base import Tensor as TensorBase
from ...tensors.pytree import tree_leaves as _tree_leaves
from ...tensors.types import Size, device, dtype, finfo, get_default_device, iinfo, layout, memory_format, named
from .. import settings as _settings
from ..devices.accelerator import current_accelerator
from ..jit._script_types import (
    AnyType,
    AwaitType,
    BoolType,
    ComplexType,
    DeviceObjType,
    DictType,
    FatalError,
    FloatType,
    FutureType,
    IntType,
    ListType,
    NoneType,
    NumberType,
    OptionalType,
    PyObjectType,
    RRefType,
    StreamObjType,
    StringType,
    SymBoolType,
    SymIntType,
    TensorType,
    TupleType,
    Type,
)
from ..jit._state import is_tracing
from ..library.tags import Tag as Tag

_TensorBase = TensorBase
_TensorMeta = type(TensorBase)


class _Functions(type):
    def __getattr__(cls, name: str):
        return getattr(TensorBase, name) if name.startswith("__") else named(name)


class _VariableFunctionsClass(metaclass=_Functions):
    """The functions of torch: what pickles of PyTorch call torch.relu an attribute of."""

    __module__ = "torch._C"


_VariableFunctions = _VariableFunctionsClass
_missing_or_error = _getter(
    __name__, ("_autograd", "_distributed_c10d", "_fft", "_functions", "_functorch", "_linalg", "_nn", "_special")
)


_ELSEWHERE = {"Argument": "library.schemas", "PyTorchFileReader": "serialization", "PyTorchFileWriter": "serialization"}


def __getattr__(name: str):
    if name in _ELSEWHERE:
        return getattr(_importlib.import_module(f"..{_ELSEWHERE[name]}", __package__), name)
    return _missing_or_error(name)


def _is_cow_tensor(tensor) -> bool:
    """Whether a tensor will be copied when it is written to."""
    return _is_lazy_clone(tensor)


def _storage_address(tensor) -> int:
    """A number of a tensor's storage."""
    return _addresses(tensor)[0]


def _data_address(tensor) -> int:
    """A number of what a storage is filled with; lazy clones have it in common until they are written to."""
    return _addresses(tensor)[1]


def _is_alias_of(a, b) -> bool:
    """Whether two tensors have one storage; of lists and dictionaries False, as in PyTorch."""
    return isinstance(a, TensorBase) and isinstance(b, TensorBase) and _overlaps(a, b)


def _overlaps(a, b) -> bool:
    """Whether two tensors have one storage; of lists and dictionaries, any of their tensors."""
    mine, others = ({_storage_address(x) for x in _tree_leaves(y) if isinstance(x, TensorBase)} for y in (a, b))
    return not mine.isdisjoint(others)


def _warn():
    """Give a UserWarning, to try how they come."""
    _warn_with("Test message for TORCH_WARN")


def _warn_deprecation():
    """Give a DeprecationWarning, to try how they come."""
    _warn_with("Test message for TORCH_WARN_DEPRECATION", DeprecationWarning)


def _infer_size(a: Size, b: Size) -> Size:
    """The size that tensors of two sizes are broadcast to."""
    for size in (a, b):
        if not isinstance(size, Size):
            raise RuntimeError(f"expected a torch.Size as argument {1 if size is a else 2}")
    return Size(common_shape((a, b)))


_KEYS = """Undefined Dense FPGA Vulkan Metal Quantized CustomRNGKeyId MkldnnCPU Sparse SparseCsr NestedTensor
    BackendSelect Python Fake FuncTorchDynamicLayerBackMode Functionalize Named Conjugate Negative ZeroTensor
    ADInplaceOrView AutogradOther AutogradFunctionality AutogradNestedTensor Tracer AutocastCPU AutocastCUDA AutocastXPU
    Batched VmapMode FuncTorchGradWrapper FuncTorchVmapMode FuncTorchBatched FuncTorchDynamicLayerFrontMode
    PythonTLSSnapshot PreDispatch PythonDispatcher EndOfFunctionalityKeys CPU CUDA XLA Lazy IPU XPU HPU VE MPS MTIA
    Meta PrivateUse1 PrivateUse2 PrivateUse3 QuantizedCPU QuantizedCUDA SparseCPU SparseCUDA SparseCsrCPU
    SparseCsrCUDA NestedTensorCPU NestedTensorCUDA AutogradCPU AutogradCUDA AutogradXLA AutogradLazy AutogradMeta
    AutogradXPU AutogradMPS AutogradHPU AutogradPrivateUse1 Autograd CompositeImplicitAutograd
    FuncTorchBatchedDecomposition CompositeImplicitAutogradNestedTensor CompositeExplicitAutograd
    CompositeExplicitAutogradNonFunctional"""

DispatchKey = _enum.IntEnum("DispatchKey", _KEYS.split(), module="torch._C", start=0)  # names: nothing is dispatched


class DispatchKeySet:
    """A set of dispatch keys.

    >>> keys = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU) | torch._C.DispatchKeySet(torch._C.DispatchKey.Meta)
    >>> keys.has(torch._C.DispatchKey.CPU), keys.has(torch._C.DispatchKey.CUDA)
    (True, False)
    """

    __module__ = "torch._C"

    def __init__(self, *keys: DispatchKey):
        self._keys = frozenset(keys)

    def __or__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(*self._keys | other._keys)

    def __and__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(*self._keys & other._keys)

    def __sub__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(*self._keys - other._keys)

    def has(self, key: DispatchKey) -> bool:
        """Whether a key is in it."""
        return key in self._keys


@_contextlib.contextmanager
def _ExcludeDispatchKeyGuard(keys: DispatchKeySet):
    """Switch autocast off inside; NotImplementedError for other keys, by which nothing is dispatched here."""
    kinds = {f"Autocast{kind.upper()}": kind for kind in ("cpu", "cuda", "xpu")}
    names = {key.name for key in keys._keys}
    if names - kinds.keys():
        raise NotImplementedError(
            _MESSAGE.format(name=f"torch._C._ExcludeDispatchKeyGuard of {', '.join(sorted(names - kinds.keys()))}")
        )
    with _contextlib.ExitStack() as stack:
        for name in names & {"AutocastCPU", "AutocastCUDA"}:
            stack.enter_context(_importlib.import_module("functorch_core.torch").autocast(kinds[name], enabled=False))
        yield


_BACKENDS = """CudaDepthwise2d CudaDepthwise3d Cudnn CudnnTranspose Empty Miopen MiopenDepthwise MiopenTranspose Mkldnn
    MkldnnEmpty NnpackSpatial Overrideable Slow2d Slow3d SlowDilated2d SlowDilated3d SlowTranspose2d SlowTranspose3d
    Winograd3x3Depthwise Xnnpack2d Mps MpsTranspose"""
_ConvBackend = _enum.IntEnum(
    "_ConvBackend", _BACKENDS.split(), module="torch._C", start=0
)  # names of PyTorch's kernels


def _log_api_usage_once(event: str):
    """No effect: nothing is counted."""


def _get_tracing_state():
    """True while torch.jit.trace records a function, None otherwise."""
    return is_tracing() or None


def _is_tracing() -> bool:
    """Whether torch.jit.trace records a function."""
    return is_tracing()


def _is_torch_function_enabled() -> bool:
    """Whether subclasses override torch functions now."""
    return override_state.everything and override_state.subclasses


def _is_torch_function_all_disabled() -> bool:
    """Whether neither subclasses nor modes override torch functions now."""
    return not override_state.everything


def _is_torch_function_mode_enabled() -> bool:
    """Whether a mode of __torch_function__ is on."""
    return override_state.everything and bool(override_state.modes)


class _TorchFunctionState(_enum.Enum):
    """What overrides torch functions now."""

    ENABLED, SUBCLASSES_DISABLED, ALL_DISABLED = range(3)


def _get_torch_function_state() -> _TorchFunctionState:
    """What overrides torch functions now."""
    if not override_state.everything:
        return _TorchFunctionState.ALL_DISABLED
    kinds = _TorchFunctionState
    return kinds.ENABLED if override_state.subclasses else kinds.SUBCLASSES_DISABLED


def _set_torch_function_state(state: _TorchFunctionState):
    """Set what overrides torch functions."""
    override_state.everything = state is not _TorchFunctionState.ALL_DISABLED
    override_state.subclasses = state is _TorchFunctionState.ENABLED


class _WeakTensorRef:
    """A reference that does not keep a tensor."""

    def __init__(self, tensor):
        self._tensor = _weakref.ref(tensor)

    def expired(self) -> bool:
        """Whether the tensor is gone."""
        return self._tensor() is None


_get_deterministic_fill_uninitialized_memory = _settings.get_fill_uninitialized_memory
_set_deterministic_fill_uninitialized_memory = _settings.set_fill_uninitialized_memory


def _set_fwd_grad_enabled(enabled: bool):
    """Set whether forward mode computes tangents."""
    state.forward = bool(enabled)


def _len_torch_function_stack() -> int:
    """How many modes are on."""
    return len(override_state.modes)


def _pop_torch_function_stack():
    """Switch the innermost mode off; the mode."""
    *rest, last = override_state.modes
    override_state.modes = tuple(rest)
    return last


def _are_functorch_transforms_active() -> bool:
    """Whether a function is being transformed by torch.func."""
    return state.transforms > 0


def _cuda_isCurrentStreamCapturing() -> bool:
    """False."""
    return False


# ---- questions and switches of what is not here --------------------------------------------------


def _get_accelerator(check_available: bool = False):
    """The device of the accelerator; the CPU if there is none."""
    found = current_accelerator()
    return device("cpu") if found is None else found


def _get_default_device() -> str:
    """The name of the default device's type."""
    return str(get_default_device())


def _get_privateuse1_backend_name() -> str:
    """The name of a backend that nobody has registered."""
    return "privateuseone"


def _set_math_sdp_allow_fp16_bf16_reduction(allowed: bool):
    """Accepted: attention is computed in float32."""


def _jit_can_fuse_on_cpu() -> bool:
    """False: the engine fuses, not torch.jit."""
    return False


def _get_cpu_capability() -> str:
    """DEFAULT: there are no kernels for single kinds of processors; XLA compiles for the one it runs on."""
    return "DEFAULT"


has_lapack = has_openmp = has_spectral = True
has_mkl = False
_cuda_isInBadFork = _jit_can_fuse_on_gpu = _jit_can_fuse_on_cpu


def _jit_set_profiling_executor(enabled: bool) -> bool:
    """Accepted, without effect; the former setting."""
    return True


def _jit_set_num_profiled_runs(runs: int) -> int:
    """Accepted, without effect; the former setting."""
    return 1


_jit_set_profiling_mode = _get_graph_executor_optimize = _jit_set_profiling_executor


def _jit_override_can_fuse_on_cpu(enabled: bool):
    """Accepted, without effect: the engine fuses, not torch.jit."""


_jit_override_can_fuse_on_gpu = _jit_set_texpr_fuser_enabled = _jit_override_can_fuse_on_cpu
_jit_set_nvfuser_enabled = _jit_override_can_fuse_on_cpu


def _functorch_module():
    return _importlib.import_module(f"{__name__}._functorch")


def _debug_only_are_vmap_fallback_warnings_enabled() -> bool:
    """What _debug_only_display_vmap_fallback_warnings has set."""
    return _functorch_module()._Fallback.warns


def _debug_only_display_vmap_fallback_warnings(enabled: bool):
    """Kept: vmap has no fallback to warn of."""
    _functorch_module()._set_vmap_fallback_warning_enabled(enabled)
