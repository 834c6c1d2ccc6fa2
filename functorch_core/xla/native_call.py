"""C functions called by a running program, without Python: an FFI handler of 621 bytes of machine code.

A handler in Python would need the interpreter's lock for every call: while Python records the next step
(5 ms between two chances), while it ends, in threads that Python does not know. The machine code here is
`native_call.c` beside this file, so that nobody needs a compiler (GCC 12.2, the sections of the object file linked in
the order .text.a, .text.b, .text.c, .text without gaps, then objcopy -O binary):

    gcc -Os -fPIC -ffreestanding -fno-builtin -fomit-frame-pointer -mno-sse -fno-stack-protector
        -fcf-protection=none -fno-asynchronous-unwind-tables -c native_call.c

A job is a list of calls of C functions with up to four arguments. XLA's arrays are written where the job
says, then one thread, the same for all jobs, runs the calls. So a library with threads of its own has
one team of them, not one for each of XLA's threads, and jobs may share memory between their calls. The main thread runs
its own jobs, with a second team: to hand one over and be woken takes it 15 to 50 us.
x86-64 Linux only.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import mmap
import os
import platform
import signal
import sys
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..locks import RLock

_CODE = bytes.fromhex(
    "554889f5534889fb4881ecc8000000488b47084885c0742183780801751b488b4018b90300000031d248c1e12048894818895020e9850000"
    "00488b5338488b4b60488b4508488d34114839c675064883f8187e1e488b4310488b7d00488b40304881c4c80000004881c7200100005b5d"
    "ffe031c04839d04889e67d15488b7b48488b3cc7488b7f1848893cc648ffc0ebe3488d14d631c04839c17e15488b7b70488b3cc7488b7f18"
    "48893cc248ffc0ebe64889efe8300100004885c075964881c4c800000031c05b5dc3e91a010000488d7778e92c00000055488d6f50534889"
    "fb50488b7b18ff1385c075f6488b73284889df4889eae89a000000488b7b20ff5308ebde837e04000f84860000004156415541544989fc55"
    "534889f34883c480ff574089c53903745e3dff030000775731c04989e6498b9404a00000004883c0084a895430f8483d8000000075e789e8"
    "48c7c2feffffff89e94531edc1f80648d3c24898482114c444396b047e17428b7cab084c89f2be8000000049ffc541ff542448ebe3892b48"
    "83ec805b5d415c415d415ec3c341554531ed41544989f44889d6554889fd53498d5c242051e852ffffff31c0488945304d396c24107e2248"
    "85c0751d488b4b20488b531849ffc5488b7310488b7b08ff134883c3284898ebd3585b5d415c415dc3415541544989f4554889fd5351488b"
    "1f644c8b2c2500000000488b7b10ff1385c075f6488b550831c04839c27e14488b4d18498b34c4488b0cc148ffc0488931ebe74c396b3875"
    "11488d53784889ee4889dfe855ffffffeb1548896b28488b7b18ff5308488b7b20ff1385c075f6488b6b30488b7b10ff53085a5b4889e85d"
    "415c415dc3"
)
_HANDLE, _RUN, _SETTLE, _SERVE = 0, 0xCA, 0xCF, 0xD8  # where the functions of native_call.c begin
_MOST_ARRAYS, _MOST_HELPERS, _WORDS = 24, 8, 16  # as in native_call.c

_Address, _Long = ctypes.c_void_p, ctypes.c_long
_SEMAPHORE_BYTES = 32  # sem_t of glibc and musl on x86-64


class _Team(ctypes.Structure):
    """Threads that help one that calls a library, and the core that they are kept off."""

    _fields_ = [("core", ctypes.c_int), ("helpers", ctypes.c_int), ("helper", ctypes.c_int * _MOST_HELPERS)]


class _Desk(ctypes.Structure):
    """What the thread that runs jobs shares with those that bring them."""

    _fields_ = [
        ("wait", _Address),
        ("post", _Address),
        ("free", _Address),
        ("start", _Address),
        ("done", _Address),
        ("job", _Address),
        ("status", _Long),
        ("home", _Address),
        ("getcpu", _Address),
        ("setaffinity", _Address),
        ("team", _Team * 2),
        ("cores", ctypes.c_ulong * _WORDS),
        ("error_size", _Long),
        ("error_extension", _Address),
        ("error_message", ctypes.c_char_p),
        ("error_code", ctypes.c_int),
    ]


_ERROR_SIZE, _INTERNAL = 28, 13  # XLA_FFI_Error_Create_Args and a code of it
_JOB_HEAD, _CALL_SIZE = 4, 5  # words of a job before its calls, and of a call


class Unsupported(Exception):
    """This machine, or its settings, do not let us run machine code."""


class Job:
    """Calls to be made one after the other on arrays whose addresses come later.

    A call is (function, up to four arguments), all as addresses or ints; `arrays` says for each array which
    argument of which call it is; `keep` is what has to live with it. A job that XLA knows lives until the
    process ends (`handler`).
    """

    def __init__(self, calls: Sequence[Sequence[int | None]], arrays: Sequence[tuple[int, int]], keep: Any) -> None:
        if len(arrays) > _MOST_ARRAYS:
            raise ValueError(f"a job takes {_MOST_ARRAYS} arrays at most, got {len(arrays)}")
        n = len(arrays)
        self._words = (_Address * (_JOB_HEAD + _CALL_SIZE * len(calls)))()
        self.address = ctypes.addressof(self._words)
        self._places = (_Address * n)(*[self._argument(*array) for array in arrays])
        head: list[Any] = [ctypes.addressof(_runtime().desk), n, len(calls), ctypes.addressof(self._places)]
        self._words[:_JOB_HEAD] = head
        for i, call in enumerate(calls):
            at = _JOB_HEAD + _CALL_SIZE * i
            self._words[at : at + len(call)] = list[Any](call)
        self._keep = keep
        self.n_arrays = n

    def _argument(self, call: int, argument: int) -> int:
        return self.address + 8 * (_JOB_HEAD + _CALL_SIZE * call + 1 + argument)

    @functools.cached_property
    def handler(self) -> int:
        """The address of an FFI handler, which XLA may call as long as there are programs."""
        _called_by_xla.append(self)
        with _lock:
            return _runtime().handlers.next(self.address)

    def on(self, *arrays: np.ndarray) -> None:
        """Run it on these arrays, which lie as it expects them."""
        self(*[address_of(array) for array in arrays])

    def __call__(self, *addresses: int) -> None:
        """Run it on arrays at these addresses. The interpreter's lock is free meanwhile."""
        if len(addresses) != self.n_arrays:
            raise ValueError(f"the job takes {self.n_arrays} arrays, got {len(addresses)}")
        runtime = _runtime()
        if runtime.is_home_new and is_home():
            runtime.settle_home()
        status = runtime.run(self.address, (_Address * self.n_arrays)(*addresses))
        if status:
            raise RuntimeError(f"a native call failed with status {status}")


_from_buffer, _addressof = ctypes.c_char.from_buffer, ctypes.addressof


def address_of(array: np.ndarray) -> int:
    """Where the memory of an array begins: `array.ctypes.data`, in 0.2 us for 0.8 where it is contiguous and writeable.

    >>> import numpy as np
    >>> from functorch_core.xla.native_call import address_of
    >>> x = np.zeros((2, 3))
    >>> address_of(x) == x.ctypes.data, address_of(x[:, ::2]) == x.ctypes.data
    (True, True)
    """
    try:
        return _addressof(_from_buffer(array))  # type: ignore[arg-type]  # it is a buffer
    except (TypeError, ValueError):
        return array.ctypes.data


_called_by_xla: list[Job] = []
_main = threading.main_thread().ident


def keep_helpers_apart(parallel: Any) -> None:
    """Keep threads off the core of the one that they help; from now on the main thread runs its own jobs.

    `parallel` is GNU OpenMP's function that calls another on all threads of the caller's team. Linux wakes a thread on
    the core of the one that wakes it if it ran there before and does not know that the cores share a cache, as on many
    virtual machines: then both take turns on one core, and each waits for the other. Read after a millisecond of other
    work, us, two cores: a layer norm of 2,048 x 256 238 handed over, 65 at home, 57 with its helper elsewhere; in a
    tight loop 43, 165, 41.
    """
    _runtime().keep_helpers_apart(parallel)


def settle_service() -> None:
    """Before a program is compiled whose jobs are not the main thread's.

    Its team is made here, not earlier: with it there are more threads than cores, and each looks for work for 20 us
    only before it sleeps, for 40 without it (means of 16 x 64 x 32 x 32 read in a loop 80 us, 45).
    """
    runtime = _runtime()
    if runtime.is_service_new:
        with _lock:
            if runtime.is_service_new:
                runtime.settle_service()


def is_home() -> bool:
    """Whether the caller is Python's main thread."""
    return threading.get_ident() == _main


def settle_home() -> None:
    """Before the main thread calls the library itself."""
    _runtime().settle_home()


# ---- machine code ----------------------------------------------------------------------------------


def _executable(code: bytes) -> int:
    """The address of a copy of the code that can be run; it stays until the process ends."""
    try:
        memory = mmap.mmap(-1, len(code), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        memory.write(code)
        protected = ctypes.CDLL(None).mprotect(_Address(address), ctypes.c_size_t(len(code)), _READ | _EXECUTE)
    except (OSError, AttributeError) as error:
        raise Unsupported(str(error)) from None
    if protected != 0:
        raise Unsupported("no memory for machine code")
    _mapped.append(memory)
    return address


_READ, _EXECUTE = 1, 4
_mapped: list[mmap.mmap] = []


class _Handlers:
    """Functions of one argument, XLA's frame, that call `handle(frame, job)`: a block of them at a time.

    mov rsi, [rip + job's place]; mov rax, [rip + place of handle's address]; jmp rax
    """

    BLOCK = 256

    def __init__(self, handle: int) -> None:
        self.handle, self.used, self.block = handle, self.BLOCK, 0
        self.jobs: Any = None
        self.tables: list[Any] = []

    def next(self, job: int) -> int:
        """A handler's address for the job at an address."""
        if self.used == self.BLOCK:
            self._more()
        self.jobs[self.used] = job
        self.used += 1
        return self.block + _STUB_SIZE * (self.used - 1)

    def _more(self) -> None:
        self.jobs, self.used = (_Address * self.BLOCK)(), 0
        self.tables.append(self.jobs)
        at = ctypes.addressof(self.jobs)
        self.block = _executable(b"".join(_stub(at + 8 * i, self.handle) for i in range(self.BLOCK)))


def _stub(job_at: int, handle: int) -> bytes:
    """movabs rsi, job_at; mov rsi, [rsi]; movabs rax, handle; jmp rax"""
    return (
        b"\x48\xbe"
        + job_at.to_bytes(8, "little")
        + b"\x48\x8b\x36\x48\xb8"
        + handle.to_bytes(8, "little")
        + b"\xff\xe0"
    )


_STUB_SIZE = len(_stub(0, 0))


# ---- the thread --------------------------------------------------------------------------------------


class _Runtime:
    """The machine code, the desk and the thread behind it, for the life of the process."""

    def __init__(self) -> None:
        code = _executable(_CODE)
        libc = ctypes.CDLL(None)
        self._semaphores = [ctypes.create_string_buffer(_SEMAPHORE_BYTES + 16) for _ in range(3)]
        free, start, done = [(ctypes.addressof(s) + 15) // 16 * 16 for s in self._semaphores]
        for at, value in ((free, 1), (start, 0), (done, 0)):
            libc.sem_init(_Address(at), 0, ctypes.c_uint(value))
        self.desk = _Desk(
            wait=_address_of(libc.sem_wait), post=_address_of(libc.sem_post), free=free, start=start, done=done,
            getcpu=_address_of(libc.sched_getcpu), setaffinity=_address_of(libc.sched_setaffinity),
            cores=(ctypes.c_ulong * _WORDS)(*_as_words(os.sched_getaffinity(0))),
            error_size=_ERROR_SIZE, error_message=b"oneDNN could not run a primitive of this program",
            error_code=_INTERNAL,
        )  # fmt: skip
        self.handlers = _Handlers(code + _HANDLE)
        self.run = ctypes.CFUNCTYPE(ctypes.c_long, _Address, ctypes.POINTER(_Address))(code + _RUN)
        self._settle = ctypes.PYFUNCTYPE(None, _Address)(code + _SETTLE)
        self._parallel: Any = None
        self.is_home_new = self.is_service_new = False  # there are helpers which are not noted
        _start_thread(libc, code + _SERVE, ctypes.addressof(self.desk))

    def keep_helpers_apart(self, parallel: Any) -> None:
        """See the function of this name."""
        self._parallel, self.is_home_new, self.is_service_new = parallel, True, True
        self.desk.home = _main

    def settle_service(self) -> None:
        """Before programs run jobs on other threads: note the helpers of the thread that does."""
        self.is_service_new, note = False, _Noting()
        at_home, self.desk.home = self.desk.home, None  # it is that thread's job, not the main thread's
        try:
            function = _address_of(note.function)
            with contextlib.suppress(RuntimeError):  # the second returns nothing, which may look like a failure
                Job([(function,), (_address_of(self._parallel), function, None, 0, 0)], [], note)()
        finally:
            self.desk.home = at_home
        note.write(self.desk.team[0])

    def settle_home(self) -> None:
        """Before the main thread runs a job: its helpers run elsewhere. They are noted when it does so first."""
        if self.is_home_new:
            self.is_home_new, note = False, _Noting()
            note.function(None)
            self._parallel(note.function, None, ctypes.c_uint(0), ctypes.c_uint(0))
            note.write(self.desk.team[1])
        self._settle(ctypes.addressof(self.desk))


class _Noting:
    """A function that notes the threads it is called on: first by one of them, then by its whole team."""

    def __init__(self) -> None:
        self.found: list[int] = []
        self.function = ctypes.CFUNCTYPE(ctypes.c_int, _Address)(self._note)

    def _note(self, _: Any) -> int:
        self.found.append(threading.get_native_id())
        return 0

    def write(self, team: _Team) -> None:
        """Write down all but the first."""
        helpers = sorted(set(self.found) - {self.found[0]})
        if len(helpers) <= _MOST_HELPERS:  # more are spread by their number
            team.helper[: len(helpers)] = helpers
            team.core, team.helpers = -1, len(helpers)


def _as_words(cores: set[int]) -> list[int]:
    """A set of cores as the system takes it."""
    return [sum([1 << core % 64 for core in cores if core // 64 == word]) for word in range(_WORDS)]


def _address_of(function: Any) -> int:
    return ctypes.cast(function, _Address).value or 0


def _start_thread(libc: Any, function: int, argument: int) -> None:
    """A thread without Python, to which no signal comes: Ctrl-C is the main thread's."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        failed = libc.pthread_create(ctypes.byref(_Address()), None, _Address(function), _Address(argument))
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    if failed:
        raise Unsupported("no thread could be started")


_lock = RLock()
_started: _Runtime | None = None
_forked = False


_IS_MADE_FOR_THIS = sys.platform == "linux" and platform.machine() == "x86_64" and sys.maxsize > 2**32


def is_possible() -> bool:
    """Whether such calls can be made in this process: never in one that was forked."""
    return _IS_MADE_FOR_THIS and not _forked


def _runtime() -> _Runtime:
    global _started
    if not is_possible():
        raise Unsupported("native calls need Linux on x86-64, and a process that was not forked")
    if _started is None:
        with _lock:
            if _started is None:
                _started = _Runtime()
    return _started


def _after_fork_in_child() -> None:
    """The thread did not come along: who waited for it would wait for ever."""
    global _forked, _lock
    _forked, _lock = True, RLock()


os.register_at_fork(after_in_child=_after_fork_in_child)
