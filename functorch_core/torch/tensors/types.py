"""torch.dtype, device, layout, memory_format, Size, finfo, iinfo."""

from __future__ import annotations

import builtins
import functools
import importlib
import math
import operator
import threading

import ml_dtypes
import numpy as np

from ...core import dtypes as dt
from ...names import pickles_name_torch

# ---- pickling: by torch's names where the reader knows them, else by ours -----------------------------


def named(name: str):
    """The object of the torch namespace with this name, `cat` or `serialization.load`: what pickles
    call to find it, and lower rooms for what lies above them."""
    return functools.reduce(getattr, name.split("."), importlib.import_module("functorch_core.torch"))


def made(name: str, args: tuple):
    """An instance of a class of the torch namespace."""
    return named(name)(*args)


def reduce_named(name: str):
    """What __reduce__ returns for a named object of the torch namespace."""
    return name if pickles_name_torch() else (named, (name,))


def reduce_made(cls: type, args: tuple):
    """What __reduce__ returns for an instance of a class of the torch namespace."""
    return (cls, args) if pickles_name_torch() else (made, (cls.__name__, args))


class dtype:
    """The type of a tensor's elements: torch.float32, torch.int64, ...

    >>> torch.ones(1).dtype, torch.float64.itemsize, torch.int8.is_floating_point
    (torch.float32, 8, False)
    >>> isinstance(torch.int64, torch.dtype)
    True
    """

    __slots__ = ("name", "numpy", "is_floating_point", "is_complex", "is_signed", "itemsize", "category")
    __module__ = "torch"

    def __init__(self, name: str, numpy):
        self.name, self.numpy = name, numpy
        self.is_floating_point = numpy in dt.FLOATING
        self.is_complex = numpy in dt.COMPLEX
        self.is_signed = numpy not in dt.UNSIGNED and numpy != dt.bool_
        self.itemsize = numpy.itemsize if numpy is not None else 0
        self.category = dt.category(numpy)

    def __repr__(self):
        return f"torch.{self.name}"

    def __reduce__(self):
        return reduce_named(self.name)

    def to_real(self) -> dtype:
        """The dtype of the real part."""
        return of_numpy(dt.real_of(self.numpy))

    def to_complex(self) -> dtype:
        """The complex dtype with parts of this dtype."""
        found = dt.COMPLEX_OF.get(self.numpy)
        if found is None:
            raise RuntimeError(f"Unknown Complex ScalarType for {scalar_name(self.numpy)}")
        return of_numpy(found)


_TABLE = {
    "float32": dt.float32,
    "float64": dt.float64,
    "float16": dt.float16,
    "bfloat16": dt.bfloat16,
    "uint8": dt.uint8,
    "int8": dt.int8,
    "int16": dt.int16,
    "int32": dt.int32,
    "int64": dt.int64,
    "uint16": dt.uint16,
    "uint32": dt.uint32,
    "uint64": dt.uint64,
    "bool": dt.bool_,
    "complex32": dt.complex32,
    "complex64": dt.complex64,
    "complex128": dt.complex128,
    "float8_e4m3fn": dt.float8_e4m3fn,
    "float8_e5m2": dt.float8_e5m2,
    "float8_e4m3fnuz": dt.float8_e4m3fnuz,
    "float8_e5m2fnuz": dt.float8_e5m2fnuz,
    "float8_e8m0fnu": dt.float8_e8m0fnu,
}
ALIASES = {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "short": "int16",
    "int": "int32",
    "long": "int64",
    "chalf": "complex32",
    "cfloat": "complex64",
    "cdouble": "complex128",
}


class _Unstored(dtype):
    """A dtype of PyTorch that tensors cannot have here: naming it works, computing with it raises."""

    __slots__ = ("_signed",)

    def __init__(self, name: str, itemsize: int, signed: bool | None):
        self.name, self.itemsize, self._signed = name, itemsize, signed
        self.is_floating_point, self.is_complex = name.startswith("float"), False

    @property
    def numpy(self):
        """NotImplementedError."""
        raise NotImplementedError(f"tensors of dtype torch.{self.name} are not implemented")

    category = numpy

    @property
    def is_signed(self) -> bool:
        """Whether numbers below zero are represented; RuntimeError where that makes no sense."""
        if self._signed is None:
            raise RuntimeError(f"torch.{self.name}.is_signed is not supported for quantized dtypes")
        return self._signed

    def to_real(self) -> dtype:
        """The dtype of the real part: itself."""
        return self


_Unstored.__name__ = _Unstored.__qualname__ = "dtype"
UNSTORED = {
    "float4_e2m1fn_x2": (1, True),
    "qint8": (1, None),
    "qint32": (4, None),
    "quint8": (1, None),
    "quint4x2": (1, None),
    "quint2x4": (1, None),
    "bits8": (1, None),
    "bits16": (2, None),
    "bits1x8": (1, None),
    "bits2x4": (1, None),
    "bits4x2": (1, None),
    **{f"uint{n}": (1, False) for n in range(1, 8)},
    **{f"int{n}": (1, True) for n in range(1, 8)},
}
unstored = {name: _Unstored(name, *what) for name, what in UNSTORED.items()}

by_name: dict[str, dtype] = {name: dtype(name, numpy) for name, numpy in _TABLE.items()}


class _ByNumpy(dict):
    """The dtypes by NumPy's; an array of the functional face may have one that tensors lack."""

    def __missing__(self, numpy):
        raise TypeError(f"tensors have no dtype {numpy.name}; convert the array first: fc.astype(x, fc.int8)")


_by_numpy = _ByNumpy({d.numpy: d for d in by_name.values()})
by_name.update({alias: by_name[name] for alias, name in ALIASES.items()})

float32, float64, int64 = by_name["float32"], by_name["float64"], by_name["int64"]
bool_ = by_name["bool"]


def of_numpy(numpy) -> dtype:
    """The torch dtype of a NumPy dtype; TypeError if there is none."""
    found = _by_numpy.get(np.dtype(numpy))
    if found is None:
        kind = getattr(numpy, "type", numpy)
        kind = f"numpy.{kind.__name__}" if isinstance(kind, type) else kind
        raise TypeError(
            f"can't convert np.ndarray of type {kind}. The only supported types are: "
            "float64, float32, float16, complex64, complex128, int64, int32, int16, "
            "int8, uint64, uint32, uint16, uint8, and bool."
        )
    return found


_SCALAR_NAMES = {
    "float32": "Float",
    "float64": "Double",
    "float16": "Half",
    "bfloat16": "BFloat16",
    "int64": "Long",
    "int32": "Int",
    "int16": "Short",
    "int8": "Char",
    "uint8": "Byte",
    "bool": "Bool",
    "complex32": "ComplexHalf",
    "complex64": "ComplexFloat",
    "complex128": "ComplexDouble",
    "uint16": "UInt16",
    "uint32": "UInt32",
    "uint64": "UInt64",
    "float8_e4m3fn": "Float8_e4m3fn",
    "float8_e5m2": "Float8_e5m2",
    "float8_e4m3fnuz": "Float8_e4m3fnuz",
    "float8_e5m2fnuz": "Float8_e5m2fnuz",
    "float8_e8m0fnu": "Float8_e8m0fnu",
}


def scalar_name(numpy) -> str:
    """PyTorch's C++ name of a dtype: Float, Long, ..."""
    return _SCALAR_NAMES[of_numpy(numpy).name]


class _Defaults:
    dtype = float32
    places = False  # from the first default device on: factories ask for that of their thread


class _Placing(threading.local):
    """The default device of a thread, and those of the `with torch.device` that it is inside of."""

    device = None
    outer: tuple = ()


defaults, placing = _Defaults(), _Placing()


def place_by_default(device):
    """Let the factories of this thread place what they make on a device; None is the CPU."""
    placing.device = device
    if device is not None:
        defaults.places = True


def set_default_dtype(d: dtype, /):
    """The dtype of floating literals and factories from now on (float16, bfloat16, 32 or 64).

    >>> torch.set_default_dtype(torch.float64)
    >>> torch.tensor([1.]).dtype
    torch.float64
    >>> torch.set_default_dtype(torch.float32)
    """
    if not isinstance(d, dtype):
        raise TypeError("invalid dtype object: only floating-point types are supported as the default type")
    if not d.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    defaults.dtype = d
    for found in follow_default:
        found.clear()


follow_default: list[dict] = []  # what is remembered of calls that the default dtype has a part in


def get_default_dtype() -> dtype:
    """The current default floating dtype.

    >>> torch.get_default_dtype()
    torch.float32
    """
    return defaults.dtype


def numpy_dtype(d, fallback=None):
    """The NumPy dtype of a torch dtype; Python's float, int, bool, complex are accepted."""
    if d is None:
        return fallback
    if isinstance(d, dtype):
        return d.numpy
    python = {
        builtins.float: dt.float64,
        builtins.int: dt.int64,
        builtins.bool: dt.bool_,
        builtins.complex: dt.complex128,
    }
    if d in python:
        return python[d]
    raise TypeError(f"dtype must be a torch.dtype, got {d!r}")


def complex_default():
    """The NumPy dtype of complex numbers: its parts have the default dtype, or are float32."""
    return dt.COMPLEX_OF.get(defaults.dtype.numpy, dt.complex64)


class device:
    """Where a tensor is: torch.device('cpu'), torch.device('cuda', 0).

    >>> torch.device("cpu").type
    'cpu'
    """

    __slots__ = ("type", "index")
    __module__ = "torch"
    KINDS = ("cpu", "cuda", "mps", "xpu", "mtia", "meta", "xla", "ipu", "hpu", "vulkan", "lazy")
    NAMED = (
        "cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, fpga, maia, xla, lazy, "
        "vulkan, mps, meta, hpu, mtia, privateuseone"
    )  # as PyTorch says

    def __init__(self, type="cpu", index=None):
        if isinstance(type, device):
            type, index = type.type, type.index if index is None else index
        elif isinstance(type, int):
            if type < 0:
                raise RuntimeError("Device index must not be negative")
            type, index = "cuda", type
        elif not type:
            raise RuntimeError("Device string must not be empty")
        elif ":" in type:
            type, _, number = type.partition(":")
            if not type or not number.isdecimal() or not number.isascii() or number != str(int(number)):
                raise RuntimeError(f"Invalid device string: '{type}:{number}'")
            index = int(number)
        if type not in self.KINDS:
            if not (type.replace("_", "").isalpha() and type.isascii()):
                raise RuntimeError(f"Invalid device string: '{type}'")
            raise RuntimeError(f"Expected one of {self.NAMED} device type at start of device string: {type}")
        self.type, self.index = type, index

    def __repr__(self):
        return (
            f"device(type='{self.type}')" if self.index is None else f"device(type='{self.type}', index={self.index})"
        )

    def __str__(self):
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other):
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self):
        return hash((self.type, self.index))

    def __reduce__(self):
        return reduce_made(device, (self.type,) if self.index is None else (self.type, self.index))

    def __enter__(self):
        placing.outer += (placing.device,)
        place_by_default(self)
        return self

    def __exit__(self, *exc):
        *outer, placing.device = placing.outer
        placing.outer = tuple(outer)


CPU = device("cpu")
HOST = (None, CPU)  # default devices that are the CPU


def set_default_device(d):
    """The device of factories from now on, in this thread; None is the CPU.

    >>> torch.set_default_device("meta")
    >>> torch.ones(2).device
    device(type='meta')
    >>> torch.set_default_device(None)
    """
    place_by_default(None if d is None else device(d))


def get_default_device() -> device:
    """The device of this thread's factories.

    >>> torch.get_default_device()
    device(type='cpu')
    """
    return placing.device or CPU


class _Named:
    """A named singleton of the torch namespace: torch.strided, torch.channels_last, ..."""

    __slots__ = ("name",)

    def __init__(self, name: str):
        self.name = name

    def __repr__(self):
        return f"torch.{self.name}"

    def __reduce__(self):
        return reduce_named(self.name)


class layout(_Named):
    """How elements lie in memory: torch.strided.

    >>> torch.ones(1).layout, isinstance(torch.strided, torch.layout)
    (torch.strided, True)
    """

    __slots__ = ()
    __module__ = "torch"

    def __reduce__(self):
        return named("serialization._get_layout"), (str(self),)

    def __str__(self):
        return f"torch.{self.name}"


class qscheme(_Named):
    """How quantized elements stand for numbers: torch.per_tensor_affine. No tensors are quantized here.

    >>> isinstance(torch.per_tensor_affine, torch.qscheme)
    True
    """

    __slots__ = ()
    __module__ = "torch"


class memory_format(_Named):
    """torch.contiguous_format, channels_last, channels_last_3d, preserve_format.

    >>> torch.ones(1, 2, 3, 3).contiguous(memory_format=torch.channels_last).stride()
    (18, 1, 6, 2)
    """

    __slots__ = ()
    __module__ = "torch"


strided, sparse_coo, sparse_csr, sparse_csc, sparse_bsr, sparse_bsc, jagged, _mkldnn = map(
    layout, ("strided", "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc", "jagged", "_mkldnn")
)
sparse_layouts = (sparse_coo, sparse_csr, sparse_csc, sparse_bsr, sparse_bsc)
QSCHEMES = (
    "per_tensor_affine per_channel_affine per_tensor_symmetric per_channel_symmetric per_channel_affine_float_qparams"
)
qschemes = {name: qscheme(name) for name in QSCHEMES.split()}
contiguous_format, preserve_format, channels_last, channels_last_3d = map(
    memory_format, ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d")
)


class Size(tuple):
    """The shape of a tensor: a tuple of ints.

    >>> torch.Size([2, 3]).numel()
    6
    """

    __slots__ = ()
    __module__ = "torch"

    def __new__(cls, sizes=()):
        sizes = tuple(sizes)
        if set(map(type, sizes)) <= {int}:
            return tuple.__new__(cls, sizes)
        for i, n in enumerate(sizes):
            if not isinstance(n, int) and not hasattr(n, "__index__"):
                raise TypeError(f"torch.Size() takes an iterable of 'int' (item {i} is '{type(n).__name__}')")
        return tuple.__new__(cls, [n if n.__class__ is int else operator.index(n) for n in sizes])

    def __repr__(self):
        return f"torch.Size([{', '.join(map(str, self))}])"

    __str__ = __repr__

    def numel(self) -> int:
        """The number of elements."""
        return math.prod(self)

    def __getitem__(self, index):
        found = tuple.__getitem__(self, index)
        return tuple.__new__(Size, found) if index.__class__ is slice else found

    def __add__(self, other):
        found = tuple.__add__(self, tuple(other))
        return tuple.__new__(Size, found) if other.__class__ is Size else Size(found)

    def __mul__(self, n):
        return Size(tuple.__mul__(self, n))

    __rmul__ = __mul__

    def __reduce__(self):
        return reduce_made(Size, (tuple(self),))


_DEFAULT = object()  # PyTorch tells finfo() from finfo(None)


def _dtype_given(function: str, given) -> dtype:
    """The dtype that finfo or iinfo is asked for, which may be a class of Python's."""
    if isinstance(given, dtype):
        return given
    kind = builtins.type(given)
    if kind is builtins.type and given in (builtins.float, builtins.int, builtins.bool, builtins.complex):
        return of_numpy(numpy_dtype(given))
    raise TypeError(f"{function}(): argument 'type' (position 1) must be torch.dtype, not {kind.__name__}")


class finfo:
    """The numerical properties of a floating dtype (of the parts, for a complex one).

    >>> torch.finfo(torch.float32).eps
    1.1920928955078125e-07
    """

    __module__ = "torch"

    def __init__(self, type=_DEFAULT):
        d = defaults.dtype if type is _DEFAULT else _dtype_given("finfo", type)
        if not (d.is_floating_point or d.is_complex):
            raise TypeError(
                "torch.finfo() requires a floating point input type. Use torch.iinfo to handle 'torch.finfo'"
            )
        info = ml_dtypes.finfo(dt.real_of(d.numpy))
        self.dtype, self.bits = d.to_real().name, info.bits
        self.eps = 0.125 if d.numpy == dt.float8_e5m2fnuz else float(info.eps)  # PyTorch's: 1.25 is the next after 1
        self.max, self.min = float(info.max), float(info.min)
        self.tiny = self.smallest_normal = float(info.smallest_normal)
        self.resolution = 10.0 ** -int(-math.log10(self.eps))

    def __eq__(self, other):
        return self.dtype == other.dtype if isinstance(other, finfo) else NotImplemented

    __hash__ = None  # as PyTorch's

    def __repr__(self):
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, "
            f"eps={self.eps:g}, smallest_normal={self.smallest_normal:g}, "
            f"tiny={self.tiny:g}, dtype={self.dtype})"
        )


class iinfo:
    """The limits of an integer dtype.

    >>> torch.iinfo(torch.int8).max
    127
    """

    __module__ = "torch"

    def __init__(self, type):
        d = _dtype_given("iinfo", type)
        if d.numpy == dt.bool_:
            raise TypeError("torch.bool is not supported by torch.iinfo")
        if d.numpy not in dt.INTEGER:
            raise TypeError("torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.iinfo'")
        info = np.iinfo(d.numpy)
        self.dtype, self.bits, self.min, self.max = d.name, info.bits, int(info.min), int(info.max)

    def __eq__(self, other):
        return self.dtype == other.dtype if isinstance(other, iinfo) else NotImplemented

    __hash__ = None

    def __repr__(self):
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"
