"""torch.autocast: ops choose the precision they compute in."""

from __future__ import annotations

import functools
import threading

from ...core.warn import warn
from ...engine import has_data
from ...locks import RLock
from ..tensors import types as _types
from ..tensors.active import active
from ..tensors.base import Tensor

FLOAT32, FLOAT16, BFLOAT16 = (_types.by_name[n] for n in ("float32", "float16", "bfloat16"))
CASTABLE = frozenset({FLOAT32, FLOAT16, BFLOAT16})
WIDTH = {FLOAT16: 0, BFLOAT16: 0, FLOAT32: 1}
KINDS = ("cpu", "cuda", "xpu", "mps", "mtia", "xla", "hpu", "maia", "ipu")
CPU_DTYPES = (BFLOAT16, FLOAT16)
UNSUPPORTED_CPU = (
    "In CPU autocast, but the target dtype is not supported. Disabling autocast.\n"
    "CPU Autocast only supports dtype of torch.bfloat16, torch.float16 currently."
)
NO_CUDA = "User provided device_type of 'cuda', but CUDA is not available. Disabling"
BANNED = (
    "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast.\n"
    "Many models use a sigmoid layer right before the binary cross entropy layer.\n"
    "In this case, combine the two layers using "
    "torch.nn.functional.binary_cross_entropy_with_logits\nor torch.nn.BCEWithLogitsLoss.  "
    "binary_cross_entropy_with_logits and BCEWithLogits are\nsafe to autocast."
)


class _State(threading.local):
    def __init__(self):
        self.enabled: dict[str, bool] = {}
        self.dtypes = {"cpu": BFLOAT16}
        self.cache = True


state = _State()


def dtype_of(kind: str) -> _types.dtype:
    """The low precision of a kind of device.

    >>> from torch.amp.autocast_mode import dtype_of
    >>> dtype_of("cpu")
    torch.bfloat16
    """
    return state.dtypes.get(kind, FLOAT16)


# ---- what the ops call ---------------------------------------------------------------------------


class _Caster:
    """`active.autocast` while autocast is on in some thread."""

    def cast(self, op, bound: list) -> list:
        """The bound arguments of an op in the precision that it declares."""
        kind = _kind_of(bound)
        if kind is None:
            return bound
        precision = op.traits.precision(kind)
        if precision == "low":
            return _cast(bound, dtype_of(kind))
        if precision == "banned":
            raise RuntimeError(BANNED)
        if precision == "full":
            return _cast(bound, FLOAT32)
        if precision == "widest":
            found = [x.dtype for x in _tensors(bound) if x.dtype in CASTABLE]
            if len(set(found)) > 1:
                return _cast(bound, max(found, key=WIDTH.__getitem__))
        return bound

    # Of functions of which parts are in low precision, others in that of what they are of.

    def kind(self, bound: list) -> str | None:
        """The kind of device of the arguments, if autocast is on for it."""
        return _kind_of(bound)

    def low(self, kind: str, bound: list) -> list:
        """The arguments in low precision."""
        return _cast(bound, dtype_of(kind))

    def promoted(self, kind: str, bound: list) -> list:
        """The arguments in the precision of what is made of each and of low precision."""
        low = dtype_of(kind)
        return [x if x.dtype is low or x.dtype not in CASTABLE else x.to(FLOAT32) for x in bound]


caster = _Caster()


def _tensors(bound: list):
    for x in bound:
        if isinstance(x, Tensor):
            yield x
        elif isinstance(x, (list, tuple)):
            yield from (y for y in x if isinstance(y, Tensor))


def _kind_of(bound: list) -> str | None:
    """The kind of device that an op computes on, if autocast is on for it."""
    enabled = [kind for kind, on in state.enabled.items() if on]
    if not enabled:
        return None
    for x in _tensors(bound):
        # What is recorded but not computed yet does not know its device.
        if len(enabled) == 1 and not has_data(x._value) and not x.is_meta:
            return enabled[0]
        return x.device.type if x.device.type in enabled else None
    return None


def _cast(bound: list, dtype: _types.dtype) -> list:
    def cast(x):
        if isinstance(x, Tensor):
            return x.to(dtype) if x.dtype is not dtype and x.dtype in CASTABLE else x
        if x.__class__ in (list, tuple) and any(isinstance(y, Tensor) for y in x):
            return [cast(y) for y in x]
        return x

    return [cast(x) for x in bound]


# ---- the context ---------------------------------------------------------------------------------


def check_kind(kind) -> str:
    """A kind of device; ValueError or RuntimeError if it is none.

    >>> from torch.amp.autocast_mode import check_kind
    >>> check_kind("cpu")
    'cpu'
    """
    if not isinstance(kind, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(kind)}`")
    return kind if kind in KINDS else _types.device(kind).type


def is_autocast_available(device_type: str) -> bool:
    """Whether autocast knows a kind of device.

    >>> torch.amp.is_autocast_available("cpu")
    True
    """
    return check_kind(device_type) in KINDS


class autocast:
    """Context and decorator: ops compute in lower precision where that is safe.

    On the CPU the low precision is bfloat16 by default, on the GPU float16.

    >>> with torch.autocast("cpu"):
    ...     (torch.ones(2, 2) @ torch.ones(2, 2)).dtype
    torch.bfloat16
    """

    __module__ = "torch.amp.autocast_mode"

    def __init__(self, device_type: str, dtype=None, enabled: bool = True, cache_enabled=None):
        self.device = check_kind(device_type)
        if not is_autocast_available(self.device):
            raise RuntimeError(f"User specified an unsupported autocast device_type '{self.device}'")
        self.fast_dtype = dtype_of(self.device) if dtype is None else dtype
        self._enabled = bool(enabled) and self._is_possible()
        self._cache_enabled = state.cache if cache_enabled is None else cache_enabled

    def _is_possible(self) -> bool:
        if self.device == "cuda":
            if not _types.named("cuda.is_available")():
                warn(NO_CUDA)
                return False
        if self.device == "cpu" and self.fast_dtype not in CPU_DTYPES:
            warn(UNSUPPORTED_CPU)
            return False
        return True

    def __enter__(self):
        self.saved = state.enabled.get(self.device, False), dtype_of(self.device), state.cache
        try:
            set_autocast_enabled(self.device, self._enabled)
        except BaseException:  # Ctrl-C
            set_autocast_enabled(self.device, self.saved[0])
            raise
        state.dtypes[self.device], state.cache = self.fast_dtype, self._cache_enabled
        return self

    def __exit__(self, *exc):
        enabled, state.dtypes[self.device], state.cache = self.saved
        set_autocast_enabled(self.device, enabled)

    def __call__(self, func):
        @functools.wraps(func)
        def decorated(*args, **kwargs):
            with type(self).__new__(type(self))._like(self):
                return func(*args, **kwargs)

        return decorated

    def _like(self, other) -> autocast:
        self.__dict__.update(other.__dict__)
        return self


# ---- torch.is_autocast_enabled and its kin -------------------------------------------------------


def set_autocast_enabled(device_type, enabled: bool | None = None):
    """Switch autocast for a kind of device, by default 'cuda'.

    >>> torch.set_autocast_enabled("cpu", True)
    >>> torch.is_autocast_enabled("cpu")
    True
    >>> torch.set_autocast_enabled("cpu", False)
    """
    kind, on = ("cuda", bool(device_type)) if enabled is None else (check_kind(device_type), bool(enabled))
    with _lock:
        before, state.enabled[kind] = state.enabled.get(kind, False), on
        _active[0] += on - before
        # Without a caster, operators of two tensors take a short path.
        active.autocast = caster if _active[0] else None


_active = [0]  # (thread, kind of device) pairs that autocast is on for
_lock = RLock()


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether autocast is on for a kind of device.

    >>> torch.is_autocast_enabled("cpu")
    False
    >>> with torch.autocast("cpu"):
    ...     torch.is_autocast_enabled("cpu")
    True
    """
    return state.enabled.get(check_kind(device_type), False)


def get_autocast_dtype(device_type: str) -> _types.dtype:
    """The low precision of a kind of device.

    >>> torch.get_autocast_dtype("cpu")
    torch.bfloat16
    """
    return dtype_of(check_kind(device_type))


def set_autocast_dtype(device_type: str, dtype: _types.dtype):
    """Change the low precision of a kind of device.

    >>> torch.set_autocast_dtype("cpu", torch.bfloat16)
    >>> torch.get_autocast_dtype("cpu")
    torch.bfloat16
    """
    state.dtypes[check_kind(device_type)] = dtype


def is_autocast_cache_enabled() -> bool:
    """What cache_enabled says; casts are not cached here, they fuse with what uses them.

    >>> torch.is_autocast_cache_enabled()
    True
    """
    return state.cache


def set_autocast_cache_enabled(enabled: bool):
    """Accepted; casts are not cached here.

    >>> torch.set_autocast_cache_enabled(True)
    """
    state.cache = bool(enabled)


def clear_autocast_cache():
    """No effect: casts are not cached here.

    >>> torch.clear_autocast_cache()
    """


def get_autocast_gpu_dtype() -> _types.dtype:
    """The low precision of the GPU.

    >>> torch.get_autocast_gpu_dtype()
    torch.float16
    """
    return dtype_of("cuda")


def get_autocast_cpu_dtype() -> _types.dtype:
    """The low precision of the CPU.

    >>> torch.get_autocast_cpu_dtype()
    torch.bfloat16
    """
    return dtype_of("cpu")


def set_autocast_gpu_dtype(dtype: _types.dtype):
    """Change the low precision of the GPU.

    >>> torch.set_autocast_gpu_dtype(torch.float16)
    """
    state.dtypes["cuda"] = dtype


def set_autocast_cpu_dtype(dtype: _types.dtype):
    """Change the low precision of the CPU.

    >>> torch.set_autocast_cpu_dtype(torch.bfloat16)
    """
    state.dtypes["cpu"] = dtype


def is_autocast_cpu_enabled() -> bool:
    """Whether autocast is on for the CPU.

    >>> with torch.autocast("cpu"):
    ...     torch.is_autocast_cpu_enabled()
    True
    """
    return is_autocast_enabled("cpu")


def set_autocast_cpu_enabled(enabled: bool):
    """Switch autocast for the CPU.

    >>> torch.set_autocast_cpu_enabled(True)
    >>> torch.is_autocast_cpu_enabled()
    True
    >>> torch.set_autocast_cpu_enabled(False)
    """
    set_autocast_enabled("cpu", enabled)


TORCH_NAMES = (
    "autocast set_autocast_enabled is_autocast_enabled get_autocast_dtype "
    "set_autocast_dtype is_autocast_cache_enabled set_autocast_cache_enabled "
    "clear_autocast_cache get_autocast_gpu_dtype get_autocast_cpu_dtype "
    "set_autocast_gpu_dtype set_autocast_cpu_dtype is_autocast_cpu_enabled "
    "set_autocast_cpu_enabled"
).split()


# ---- autograd.Function in mixed precision --------------------------------------------------------


def custom_fwd(fwd=None, *, device_type: str = "cuda", cast_inputs=None):
    """Decorator of autograd.Function.forward: with cast_inputs, floating inputs are cast to it and
    autocast is off inside; backward decorated with custom_bwd runs under the same autocast.

    >>> class Double(torch.autograd.Function):
    ...   @staticmethod
    ...   @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
    ...   def forward(ctx, x):
    ...     return 2 * x
    ...   @staticmethod
    ...   @torch.amp.custom_bwd(device_type="cpu")
    ...   def backward(ctx, g):
    ...     return 2 * g
    >>> with torch.autocast("cpu"):
    ...   Double.apply(torch.ones(2, dtype=torch.bfloat16)).dtype
    torch.float32
    """
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def decorated(*args, **kwargs):
        ctx = args[0]
        ctx._dtype = get_autocast_dtype(device_type)
        ctx._fwd_used_autocast = is_autocast_enabled(device_type)
        if cast_inputs is None or not ctx._fwd_used_autocast:
            return fwd(*args, **kwargs)
        ctx._fwd_used_autocast = False
        with autocast(device_type, enabled=False):
            return fwd(*_cast_inputs(args, cast_inputs), **_cast_inputs(kwargs, cast_inputs))

    return decorated


def _cast_inputs(x, dtype):
    if isinstance(x, Tensor):
        return x.to(dtype) if x.dtype in CASTABLE else x
    if isinstance(x, dict):
        return {k: _cast_inputs(v, dtype) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        return type(x)(_cast_inputs(v, dtype) for v in x)
    return x


def custom_bwd(bwd=None, *, device_type: str = "cuda"):
    """Decorator of autograd.Function.backward: see custom_fwd.

    >>> class Double(torch.autograd.Function):
    ...   @staticmethod
    ...   @torch.amp.custom_fwd(device_type="cpu")
    ...   def forward(ctx, x):
    ...     return 2 * x
    ...   @staticmethod
    ...   @torch.amp.custom_bwd(device_type="cpu")
    ...   def backward(ctx, g):
    ...     return 2 * g
    >>> x = torch.ones(2, requires_grad=True)
    >>> Double.apply(x).sum().backward()
    >>> x.grad
    tensor([2., 2.])
    """
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def decorated(*args, **kwargs):
        ctx = args[0]
        with autocast(device_type, dtype=ctx._dtype, enabled=ctx._fwd_used_autocast):
            return bwd(*args, **kwargs)

    return decorated
