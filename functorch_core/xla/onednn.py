"""Convolutions by oneDNN, called inside compiled programs and by the reference tier.

XLA's CPU backend has no fast path for most convolutions. The library is that of the pip package
`onednn-cpu-gomp` (PyTorch's convolutions are oneDNN's, too); where it is missing, or with
FUNCTORCH_ONEDNN=0, XLA's own lowering is used and nothing else changes.

A convolution is written into the program as a custom call, whose target's name is its description
(`Convolution.target`): a program read from the disk says by its text what has to be made before it runs.
"""

from __future__ import annotations

import ctypes
import functools
import math
import mmap
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from ctypes import c_void_p as _P
from typing import Any, NamedTuple

import numpy as np

from ..locks import RLock
from . import binding
from .native_call import Job, Unsupported, is_possible, keep_helpers_apart, settle_service
from .threads import cores, threads_wanted

PACKAGE, LIBRARY = "onednn-cpu-gomp", "libdnnl.so.3"
SCRATCH_BYTES = (4 << 30, 1 << 30, 1 << 28)  # address space for temporary memory, what can be had of it
MOST_REGISTERED = 4096  # convolutions that programs may call: XLA keeps each, 130 KB, until the process ends
# How often a thread looks for work before it sleeps: 40 us of an AMD processor, 200 of an Intel one, whose pauses are
# longer. Then it has to be woken, and is woken on the core of the thread that wakes it if the others have work. ms with
# 500, 2,000, 5,000 (Intel, two cores): an LSTM layer 2.8, 1.0, 1.0; depthwise 3 x 3 0.51, 0.34, 0.33; 5 x 5 0.69, 0.45,
# 0.38; beside four busy processes 3 x 3 0.54, 0.68, 0.97 (PyTorch, whose threads spin for ms, 28). With two teams (see
# native_call) there are more threads than cores, which GNU OpenMP lets look 100 times, or 1,000 if they are to be
# "active": an LSTM's step took 28 ms for 14.7. It reads both when it is loaded.
SPINS = 2_000

Ints = tuple[int, ...]
KINDS = ("forward", "data", "weights")

# ---- what is computed ------------------------------------------------------------------------------


class Convolution(NamedTuple):
    """A convolution in oneDNN's terms, with its gradients: all three have these arrays.

    src (batch, channel, *spatial), weights ([group,] out, in, *spatial) and dst, as sizes and as strides in
    elements. 'forward' makes dst of (src, weights), 'data' src of (dst, weights), 'weights' weights of (src,
    dst). dilation 1 is none; the padding is (before, after) in each dimension.
    """

    kind: str
    dtype: str
    src: Ints
    weights: Ints
    dst: Ints
    src_strides: Ints
    weights_strides: Ints
    dst_strides: Ints
    strides: Ints
    before: Ints
    after: Ints
    dilation: Ints

    def target(self) -> str:
        """The name of the custom call: onednn.forward.float32.16_64_32_32.64_64_3_3. ..."""
        return ".".join(["onednn", self.kind, self.dtype, *("_".join(map(str, field)) for field in self[2:])])

    @classmethod
    def of_target(cls, target: str) -> Convolution:
        """The convolution that has this target."""
        _, kind, dtype, *fields = target.split(".")
        return cls(kind, dtype, *(tuple(map(int, field.split("_"))) for field in fields))

    @property
    def arrays(self) -> tuple[str, str, str]:
        """The names of the two operands and the result."""
        return {
            "forward": ("src", "weights", "dst"),
            "data": ("dst", "weights", "src"),
            "weights": ("src", "dst", "weights"),
        }[self.kind]


_TARGETS = re.compile(r"@(onednn\.[\w.]+)")


def make_used(module_text: str) -> None:
    """Make what a module calls of oneDNN, before it is compiled or read from the disk."""
    if "@onednn." in module_text:
        with _lock:  # XLA takes one handler a target
            for target in sorted(set(_TARGETS.findall(module_text)) - _registered):
                binding.register_handler(target, kinds[target.split(".")[1]](target).handler)
                _registered.add(target)


def made_elsewhere(module_text: str) -> None:
    """A program is to be compiled that runs on other threads than Python's main one."""
    if "@onednn." in module_text:
        settle_service()


_registered: set[str] = set()


def may_register(target: str) -> bool:
    """Whether a program may call this: XLA forgets no target, so that there is a limit to their number."""
    return len(_registered) < MOST_REGISTERED or target in _registered


def is_available() -> bool:
    """Whether convolutions can be had of oneDNN in this process. Loads it."""
    return os.environ.get("FUNCTORCH_ONEDNN") != "0" and is_possible() and _library() is not None


def is_installed() -> bool:
    """Whether it looks as if `is_available` were true. Does not load it."""
    return os.environ.get("FUNCTORCH_ONEDNN") != "0" and is_possible() and _path() is not None


# Microseconds: to load the library takes a process 25 ms and 11 MiB. Where a call of it saves time, as much was lost
# after so many that were not made.
LOADING = 20_000.0
# The part of a call's time that it takes in programs, which are spared half of its copies into another order (a step of
# a GRU 9.2 ms, 14.4 op by op).
IN_PROGRAMS = 0.7
_lost = 0.0


def is_worth_loading(saved: float = 50.0) -> bool:
    """Whether a call that saves so many microseconds is to be the library's: it is loaded, or enough has been lost."""
    global _lost
    if _library.cache_info().currsize == 0:
        _lost += saved
        if _lost < LOADING:
            return False
    return is_available()


def supports(convolution: Convolution) -> bool:
    """Whether oneDNN has a fast implementation of this convolution."""
    if not is_available():
        return False
    try:
        job_of(convolution)
    except (Unsupported, MemoryError):
        return False
    return True


def run(convolution: Convolution, first: np.ndarray, second: np.ndarray, out: np.ndarray) -> None:
    """Compute `out`. All three are dense, and lie as the convolution says."""
    job, dtype, sizes = _checked(convolution)
    arrays = first, second, out
    for i, array in enumerate(arrays):
        if array.size != sizes[i] or array.dtype != dtype or not array.flags.c_contiguous:
            raise ValueError(
                f"{convolution.arrays[i]} should be {sizes[i]} dense elements of {dtype}, "
                f"got {array.dtype}{array.shape}"
            )
    if not out.flags.writeable:
        raise ValueError("the result is written to a read-only array")
    job.on(*arrays)


@functools.lru_cache(maxsize=512)
def _checked(convolution: Convolution) -> tuple[Job, np.dtype, list[int]]:
    """The calls that compute a convolution, and what its arrays are."""
    sizes = [math.prod(getattr(convolution, name)) for name in convolution.arrays]
    return job_of(convolution), np.dtype(convolution.dtype), sizes


# ---- the library -------------------------------------------------------------------------------------

_SUCCESS, _CPU, _IN_ORDER, _USER_SCRATCH = 0, 1, 1, 1
_FORWARD_TRAINING, _DIRECT, _TAG_ANY = 64, 1, 1
_QUERY_NAME, _QUERY_SCRATCH, _ARG_SCRATCH = 8, 136, 80
_DTYPES = {"float16": 1, "bfloat16": 2, "float32": 3, "uint8": 6}
# Numbers of arguments, and of the questions for their descriptors; gradients have their own.
_ARGS = {"src": 1, "dst": 17, "weights": 33}
_QUERIES = {"src": 129, "weights": 131, "dst": 133}
_GRADIENT_ARGS, _GRADIENT_QUERY = 128, 1


class _Library:
    """oneDNN's functions, its engine and stream, and the memory that all primitives share.

    They run one after the other on one thread (see native_call), so that one scratch memory does.
    """

    def __init__(self, path: str) -> None:
        threads = os.environ.get("NPROC") or os.environ.get("PJRT_NPROC") or ""  # XLA's limit
        wanted = int(threads or threads_wanted() or 1)
        policy = "active" if wanted <= cores() else ""  # who asks for more than there are has them wait for each other
        with _environment(GOMP_SPINCOUNT=str(SPINS), OMP_WAIT_POLICY=policy, OMP_NUM_THREADS=threads):
            self.c = ctypes.CDLL(path)
            with suppress(OSError, AttributeError):
                keep_helpers_apart(ctypes.CDLL("libgomp.so.1").GOMP_parallel)
        self.c.dnnl_primitive_desc_query_md.restype = _P
        self.c.dnnl_memory_desc_get_size.restype = ctypes.c_size_t
        self.scratch = _address_space()
        self.scratch_at = ctypes.addressof(ctypes.c_char.from_buffer(self.scratch))
        self.engine, self.stream, self.attributes = _P(), _P(), _P()
        self("set_primitive_cache_capacity", 0)  # `job_of` is one
        self("engine_create", ctypes.byref(self.engine), _CPU, ctypes.c_size_t(0))
        self("stream_create", ctypes.byref(self.stream), self.engine, _IN_ORDER)
        self("primitive_attr_create", ctypes.byref(self.attributes))
        self("primitive_attr_set_scratchpad_mode", self.attributes, _USER_SCRATCH)

    def __call__(self, name: str, *arguments: Any) -> None:
        """Call dnnl_NAME; Unsupported if it says no."""
        status = getattr(self.c, f"dnnl_{name}")(*arguments)
        if status != _SUCCESS:
            raise Unsupported(f"oneDNN: {name} gives status {status}")

    def address(self, name: str) -> int:
        """The address of dnnl_NAME."""
        return ctypes.cast(getattr(self.c, f"dnnl_{name}"), _P).value or 0


def _address_space() -> mmap.mmap:
    """Memory whose pages come when they are touched."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000  # MAP_NORESERVE, which Python 3.11 has no name for
    for size in SCRATCH_BYTES:
        try:
            return mmap.mmap(-1, size, flags=flags)
        except OSError:
            pass  # `ulimit -v`
    raise Unsupported("no address space for scratch memory")


@contextmanager
def _environment(**variables: str) -> Iterator[None]:
    """Environment variables set for as long as a library is loaded; the user's own stay."""
    new = {k: v for k, v in variables.items() if v and k not in os.environ}
    os.environ.update(new)
    try:
        yield
    finally:
        for name in new:
            os.environ.pop(name, None)


_lock = RLock()


def made_by(collect: Callable[[_Library], Job]) -> Job:
    """A job of oneDNN's primitives; Unsupported without it."""
    library = _library()
    if library is None:
        raise Unsupported("oneDNN")
    with _lock:
        return collect(library)


@functools.lru_cache(maxsize=1)
def _library() -> _Library | None:
    with _lock:
        path = _path()
        if path is None:
            return None
        try:
            return _Library(path)
        except (OSError, AttributeError, ValueError, Unsupported):
            return None


@functools.lru_cache(maxsize=1)
def _path() -> str | None:
    """Where pip put the library."""
    from importlib import metadata

    try:
        files = metadata.files(PACKAGE) or []
    except metadata.PackageNotFoundError:
        return None
    return next((os.path.realpath(file.locate()) for file in files if file.name == LIBRARY), None)


# ---- primitives ----------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=512)  # 130 KB each
def job_of(convolution: Convolution) -> Job:
    """The calls that compute a convolution. Raises Unsupported if oneDNN has no fast way."""
    if convolution.dtype not in _DTYPES:
        raise Unsupported(f"{convolution.dtype} convolution by oneDNN")
    return made_by(lambda library: _Convolving(library, convolution).job())


# The second word of a target -> what makes its job. Other modules add theirs.
kinds: dict[str, Callable[[str], Job]] = dict.fromkeys(KINDS, lambda target: job_of(Convolution.of_target(target)))


class _Made:
    """Objects of oneDNN's, destroyed with this one."""

    def __init__(self, library: _Library) -> None:
        self.library = library
        self.handles: list[tuple[str, _P]] = []
        self.arrays: list[Any] = []

    def new(self, kind: str) -> _P:
        """Where the address of a new object of a kind is written."""
        self.handles.append((kind, _P()))
        return self.handles[-1][1]

    def __del__(self) -> None:
        if is_possible is not None and is_possible():  # None: Python is ending
            for kind, handle in reversed(self.handles):
                if handle:
                    getattr(self.library.c, f"dnnl_{kind}_destroy")(handle)


class Calls:
    """Collects calls of primitives, which are one job."""

    def __init__(self, library: _Library) -> None:
        self.library = library
        self.calls: list[tuple[int | None, ...]] = []
        self.made = _Made(library)
        self.used = 0  # bytes of scratch memory

    def desc(self, create: str, dims: Ints, how: Any, dtype: str = "float32") -> _P:
        """A descriptor of an array."""
        made = self.made.new("memory_desc")
        self.library(create, ctypes.byref(made), len(dims), ints(dims), _DTYPES[dtype], how)
        return made

    def memory(self, md: _P, address: int | None = None) -> _P:
        """A memory of this descriptor, at an address that is known or comes later."""
        made = self.made.new("memory")
        self.library("memory_create", ctypes.byref(made), md, self.library.engine, _P(address))
        return made

    def take(self, md: _P) -> _P:
        """A memory of this descriptor in the scratch memory."""
        made = self.memory(md, self.library.scratch_at + self.used)
        self.used += -(-self.library.c.dnnl_memory_desc_get_size(md) // 4096) * 4096
        if self.used > len(self.library.scratch):
            raise Unsupported("more scratch memory than there is")
        return made

    def placed_later(self, memories: Sequence[_P]) -> list[tuple[int, int]]:
        """Calls that put these memories where a job's arrays are; which argument of which call each array is."""
        first, set_handle = len(self.calls), self.library.address("memory_set_data_handle")
        self.calls += [(set_handle, memory.value, None) for memory in memories]
        return [(first + i, 1) for i in range(len(memories))]

    def quick(self, primitive_desc: _P) -> _P:
        """The descriptor of a primitive; Unsupported if oneDNN has no fast one."""
        name = ctypes.c_char_p()
        self.library("primitive_desc_query", primitive_desc, _QUERY_NAME, 0, ctypes.byref(name))
        if (name.value or b"").startswith(b"ref"):
            raise Unsupported("oneDNN has only its slow reference for this")
        return primitive_desc

    def append(self, primitive_desc: _P, arguments: list[tuple[int, _P]]) -> None:
        """Append the primitive of a descriptor."""
        self._scratch(primitive_desc, arguments)
        primitive = self.made.new("primitive")
        self.library("primitive_create", ctypes.byref(primitive), primitive_desc)
        self._execute(primitive, arguments)

    def reorder(self, source: _P, target: _P, source_memory: _P, target_memory: _P) -> None:
        """Append a copy from one order into another."""
        desc, engine = self.made.new("primitive_desc"), self.library.engine
        self.library(
            "reorder_primitive_desc_create", ctypes.byref(desc), source, engine, target, engine, self.library.attributes
        )
        self.append(desc, [(_ARGS["src"], source_memory), (_ARGS["dst"], target_memory)])

    def _scratch(self, primitive_desc: _P, arguments: list[tuple[int, _P]]) -> None:
        """Add the scratch memory that the primitive wants to its arguments."""
        md = _P(self.library.c.dnnl_primitive_desc_query_md(primitive_desc, _QUERY_SCRATCH, 0))
        if md and self.library.c.dnnl_memory_desc_get_size(md):
            arguments.append((_ARG_SCRATCH, self.take(md)))

    def _execute(self, primitive: _P, arguments: list[tuple[int, _P]]) -> None:
        """Append the call of a primitive."""
        array = (_Argument * len(arguments))(*[_Argument(arg, memory) for arg, memory in arguments])
        self.made.arrays.append(array)
        self.calls.append(
            (
                self.library.address("primitive_execute"),
                primitive.value,
                self.library.stream.value,
                len(arguments),
                ctypes.addressof(array),
            )
        )


class _Convolving(Calls):
    """The calls of one convolution: reorders of operands, the primitive, reorder of the result."""

    def __init__(self, library: _Library, convolution: Convolution) -> None:
        super().__init__(library)
        self.convolution = convolution

    def job(self) -> Job:
        """The job, on operands and result in the convolution's order."""
        described = {name: self._described(name) for name in ("src", "weights", "dst")}
        primitive_desc = self._primitive_desc({name: self._chosen(name, md) for name, md in described.items()})
        memories = [self.memory(described[name]) for name in self.convolution.arrays]
        arrays = self.placed_later(memories)
        arguments: list[tuple[int, _P]] = []
        *operands, result = [
            self._laid_out(primitive_desc, name, described[name], memory, arguments)
            for name, memory in zip(self.convolution.arrays, memories)
        ]
        for reorder in operands:
            self.reorder(*reorder) if reorder else None
        self.append(primitive_desc, arguments)
        self.reorder(*result) if result else None
        return Job(self.calls, arrays, self.made)

    # -- descriptors

    def _described(self, name: str) -> _P:
        """The descriptor of an array as the program has it."""
        dims, strides = getattr(self.convolution, name), getattr(self.convolution, f"{name}_strides")
        return self.desc("memory_desc_create_with_strides", dims, ints(strides), self.convolution.dtype)

    def _any(self, name: str) -> _P:
        """A descriptor that leaves the layout to oneDNN."""
        return self.desc(
            "memory_desc_create_with_tag", getattr(self.convolution, name), _TAG_ANY, self.convolution.dtype
        )

    def _chosen(self, name: str, described: _P) -> _P:
        """The descriptor of an array as the primitive is to have it.

        Of a convolution with groups, where one of src and dst lies channels last, the other is brought into that order:
        left to choose, oneDNN takes 1.8 ms for a depthwise one, 3 x 3, stride 2, of 16 x 96 x 32 x 32, which takes it
        0.1 if both lie so.
        """
        if self._is_channels_last(name):
            return described
        dims, grouped = getattr(self.convolution, name), len(self.convolution.weights) > len(self.convolution.src)
        if name == "weights" or not grouped or not any(map(self._is_channels_last, ("src", "dst"))):
            return self._any(name)
        strides = strides_of(dims, (0, *range(2, len(dims)), 1))
        return self.desc("memory_desc_create_with_strides", dims, ints(strides), self.convolution.dtype)

    def _is_channels_last(self, name: str) -> bool:
        """Whether an array is one that oneDNN is quick on as it is. A kernel never is."""
        if name == "weights":
            return False
        dims, strides = getattr(self.convolution, name), getattr(self.convolution, f"{name}_strides")
        return strides == strides_of(dims, (0, *range(2, len(dims)), 1))

    def _primitive_desc(self, chosen: dict[str, _P]) -> _P:
        convolution = self.convolution
        src, weights, dst = chosen["src"], chosen["weights"], chosen["dst"]
        holes = ints(tuple(d - 1 for d in convolution.dilation))
        geometry = [ints(convolution.strides), holes, ints(convolution.before), ints(convolution.after)]
        forward, made = self.made.new("primitive_desc"), self.made.new("primitive_desc")
        self._create(forward, "forward", _FORWARD_TRAINING, _DIRECT, src, weights, None, dst, *geometry)
        if convolution.kind == "data":
            self._create(made, "backward_data", _DIRECT, src, weights, dst, *geometry, forward)
        elif convolution.kind == "weights":
            self._create(made, "backward_weights", _DIRECT, src, weights, None, dst, *geometry, forward)
        return self.quick(made if made else forward)

    def _create(self, into: _P, kind: str, *arguments: Any) -> None:
        create = f"convolution_{kind}_primitive_desc_create"
        self.library(create, ctypes.byref(into), self.library.engine, *arguments, self.library.attributes)

    # -- calls

    def _laid_out(
        self, primitive_desc: _P, name: str, md: _P, memory: _P, arguments: list[tuple[int, _P]]
    ) -> tuple[_P, _P, _P, _P] | None:
        """Add an array to the primitive's arguments; the reorder (from, to, memories) that it needs."""
        is_result = name == self.convolution.arrays[2]
        gradient = self.convolution.kind != "forward" and (is_result or name == "dst")
        arg = _ARGS[name] + _GRADIENT_ARGS * gradient
        wanted = _P(
            self.library.c.dnnl_primitive_desc_query_md(primitive_desc, _QUERIES[name] + _GRADIENT_QUERY * gradient, 0)
        )
        if self.library.c.dnnl_memory_desc_equal(wanted, md):
            arguments.append((arg, memory))
            return None
        inner = self.take(wanted)
        arguments.append((arg, inner))
        return (wanted, md, inner, memory) if is_result else (md, wanted, memory, inner)


class _Argument(ctypes.Structure):
    _fields_ = [("arg", ctypes.c_int), ("memory", _P)]


def ints(values: Ints) -> Any:
    """Whole numbers as an array of C's int64_t."""
    return (ctypes.c_int64 * len(values))(*values)


def strides_of(dims: Ints, order: Ints) -> Ints:
    """The strides of a dense array whose dimensions lie in memory in this order, the last one fastest."""
    strides, step = [0] * len(dims), 1
    for d in reversed(order):
        strides[d], step = step, step * dims[d]
    return tuple(strides)


def work(convolution: Convolution) -> int:
    """Multiplications."""
    return math.prod(convolution.dst) * math.prod(convolution.weights[-len(convolution.strides) - 1 :])
