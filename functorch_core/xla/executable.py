"""Compile a module's text, from the disk cache where it is there, and run it."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import functools
import itertools
import math
import operator
import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

from ..locks import RLock
from . import binding, lapack, onednn
from . import cache as disk
from .binding import Aval, Buffer, aval_of
from .buffers import deleted_message, device_of
from .callbacks import Callback
from .device import AFTER_FORK, Device, default_device, hands_over, keep_clients
from .errors import ExecutionError, compile_error, fail
from .jobs import Job
from .memory import bytes_in_use, trimmed
from .patience import Patience


class MemorySizes(dict[str, int]):
    """Bytes by kind: sizes["temp"], which is sizes.temp_size_in_bytes, too, as JAX names it."""

    def __getattr__(self, name: str) -> int:
        try:
            return self[name.removesuffix("_in_bytes").removesuffix("_size").removesuffix("_memory")]
        except KeyError:
            raise AttributeError(f"{name!r} is none of the sizes: {', '.join(self)}") from None


class Executable:
    """A compiled program on one device.

    `executable(buffers)` checks the buffers; `executable.run(buffers)` does not, and XLA itself
    compares no more than their byte sizes: a wrong dtype of the right size gives garbage.
    """

    __slots__ = (
        "name",
        "inputs",
        "outputs",
        "device",
        "from_disk_cache",
        "compile_seconds",
        "key",
        "run",
        "raw",
        "_execute",
        "_awaited",
        "_room",
        "_consume",
        "_loaded",
        "__weakref__",
    )

    def __init__(
        self,
        loaded: Any,
        *,
        name: str,
        inputs: tuple[Aval, ...],
        outputs: tuple[Aval, ...],
        device: Device,
        from_disk_cache: bool,
        compile_seconds: float,
        key: str = "",
    ) -> None:
        self.name: str = name
        self.inputs: tuple[Aval, ...] = inputs
        self.outputs: tuple[Aval, ...] = outputs
        self.device: Device = device
        self.from_disk_cache: bool = from_disk_cache
        self.compile_seconds: float = compile_seconds
        self.key: str = key  # under which it is on disk
        binding.leave_out_tracebacks()  # jax may have been imported since
        # raw: the two C++ halves of `run`, for a caller that cannot spare the call of a closure
        # (70 ns): execute(buffers).consume_with_handlers(handlers), a RuntimeError passed to fail.
        handlers = binding.result_handlers(outputs, device._sharding)
        self._execute, execute = loaded.execute_sharded, loaded.execute_sharded
        self._loaded, self._awaited = loaded, hands_over(device)
        self._room = _Room(loaded, device)
        if self._awaited:
            self._execute, execute = functools.partial(execute, with_tokens=True), self._room.starting(execute)
        self.raw = execute, handlers
        self.run = _runner(*self.raw, device.platform)
        self._consume = operator.methodcaller("consume_with_handlers", handlers)
        _alive.add(self)

    def __call__(self, buffers: Sequence[Buffer]) -> list[Buffer]:
        """Run the program on buffers, whose number, dtypes, shapes and device are checked."""
        self._check(buffers)
        return self.run(buffers)

    def run_into(self, buffers: list[Buffer], found: list[Any], before: list[Any] | None = None) -> None:
        """Like `run`, but appends the list of results, behind those of `before`, to `found` before any line of Python
        runs: an interrupt comes before the program or when its results are there, never between."""
        in_use = self._room.wait() if self._awaited and self._room.temporary != 0 else 0
        try:
            executed, once_more = itertools.tee(map(self._execute, (buffers,)))
            results = map(self._consume, executed)
            found.extend(results if before is None else map(before.__add__, results))
            if self._awaited:
                tokens = list(map(_token, once_more))
                _running.extend(tokens)
                if self._room.temporary != 0:
                    self._room.started(tokens[0], in_use)
        except RuntimeError as error:
            fail(error, self.device.platform)

    def _check(self, buffers: Sequence[Buffer]) -> None:
        if len(buffers) != len(self.inputs):
            raise ExecutionError(f"{self} takes {len(self.inputs)} buffers, got {len(buffers)}")
        for index, (buffer, aval) in enumerate(zip(buffers, self.inputs)):
            problem = self._problem(buffer, aval)
            if problem:
                raise ExecutionError(f"{self}, argument {index}: {problem}")

    def _problem(self, buffer: Buffer, aval: Aval) -> str:
        if not isinstance(buffer, Buffer):  # type: ignore[misc]  # Any: jaxlib has no stubs of it
            return f"expected a Buffer, got {type(buffer).__name__}; use put() first"
        if buffer.is_deleted():
            return deleted_message(buffer)
        if buffer.aval.shape != aval.shape or buffer.aval.element != aval.element:
            return f"expected {aval}, got {buffer.aval}"
        if device_of(buffer) is not self.device:
            return f"expected it on {self.device}, it is on {device_of(buffer)}; use copy_to()"
        return ""

    def cost_analysis(self) -> dict[str, float]:
        """XLA's estimate: 'flops', 'bytes accessed', 'transcendentals', ..."""
        return dict(self._loaded.cost_analysis())

    def memory_analysis(self) -> MemorySizes:
        """Bytes by kind: 'argument', 'output', 'temp', 'alias', 'generated_code', 'peak'."""
        stats = self._loaded.get_compiled_memory_stats()
        sizes = {
            kind: getattr(stats, f"{kind}_size_in_bytes")
            for kind in ("argument", "output", "temp", "alias", "generated_code")
        }
        return MemorySizes(**sizes, peak=stats.peak_memory_in_bytes)

    def hlo_text(self) -> str:
        """The optimised HLO, as XLA runs it."""
        return self._loaded.hlo_modules()[0].to_string()

    def __repr__(self) -> str:
        takes = ", ".join(map(repr, self.inputs))
        gives = ", ".join(map(repr, self.outputs))
        return f"<program {self.name!r} ({takes}) -> ({gives}) on {self.device}>"


def _runner(execute: Any, handlers: list[Any], platform: str) -> Callable[..., Any]:
    """The hot path as a closure: two calls into C++ and no attribute of `self`."""

    def run(buffers: list[Any]) -> list[Any]:
        try:
            return execute(buffers).consume_with_handlers(handlers)
        except RuntimeError as error:
            for buffer in buffers if "deleted or donated" in str(error) else ():
                if buffer.is_deleted():
                    raise ExecutionError(deleted_message(buffer)) from None
            fail(error, platform)

    return run


# ---- the end of the process ----------------------------------------------------------------------

# Of programs that other threads may still run; who runs programs waits for one in sixteen (see engine.programs).
_running: deque[Any] = deque(maxlen=64)
_token = operator.methodcaller("consume_token")
_waiter = Patience()  # XLA's own waiting cannot be interrupted


def awaited_at_exit(execute: Callable[..., Any]) -> Callable[[list[Any]], Any]:
    """A program's `execute`, whose end is waited for before Python ends (0.2 us): C++ takes the compiler's and the
    libraries' data away at the end of the process, and a program that still runs ends it with SIGSEGV."""
    _waiter.start()

    def run(buffers: list[Any]) -> Any:
        results = execute(buffers, with_tokens=True)
        _running.append(results.consume_token())
        return results

    return run


def _wait_for_programs() -> None:
    """Until they have ended, or Ctrl-C."""
    tokens = list(_running)
    if not tokens:
        return
    try:
        _waiter.call(lambda: _wait_for(tokens), math.inf, lambda: False)
    except KeyboardInterrupt:
        _leave_without_cpp()
        raise


def _leave_without_cpp() -> None:
    """Let the process end as soon as Python has: C++ would wait for the programs, or be aborted by the thread that
    waits for them (before Python 3.14)."""
    keep_clients()
    libc = ctypes.CDLL(None)
    if hasattr(libc, "on_exit"):  # of glibc: what is registered last is called first, with the status
        libc.on_exit(libc._exit, None)


def _wait_for(tokens: list[Any]) -> None:
    for token in tokens:
        with contextlib.suppress(RuntimeError):  # what failed is nobody's any more
            token.block_until_ready()


atexit.register(_wait_for_programs)


def wait_for_the_one_before() -> None:
    """Until at most the program that was started last runs: what those before it read is not kept then."""
    if len(_running) > 1:
        _wait_for([_running[-2]])


# ---- programs that need much memory ----------------------------------------------------------------

# Bytes of temporary memory from which on a program does not wait in XLA's queue. The next in the queue starts when the
# results of the one before are there, which has not given its temporary memory back then: where its thread is not on a
# core just then, there are two such blocks, and the heap keeps both. ResNet-18 (235 MiB) had 1,041 MB for 790 in one of
# five processes beside another that kept a core busy.
LARGE_TEMPORARY = 1 << 26
LONGEST_RELEASE, LOOK = 0.02, 2e-4  # seconds: how long that memory is waited for, and between two looks


class _Large(NamedTuple):
    """A large program that was started, and how many bytes were in use before."""

    token: Any
    temporary: int
    in_use: int


class _LastLarge(threading.local):
    def __init__(self) -> None:
        self.of: dict[Device, _Large] = {}


_last_large = _LastLarge()


class _Room:
    """Lets a program that needs much memory start when this thread's last such program has given its own back; Python
    goes on while it runs.

    `temporary`: the bytes that it needs, 0 if these are not many, None until it starts for the second time. XLA takes
    up to 20 ms to tell, which pass beside the first run; a program that runs once is not asked.
    """

    __slots__ = ("loaded", "device", "temporary", "first")

    def __init__(self, loaded: Any, device: Device) -> None:
        self.loaded, self.device = loaded, device
        self.temporary: int | None = None
        self.first: Any = None  # the token of the first run

    def starting(self, execute: Callable[..., Any]) -> Callable[[list[Any]], Any]:
        """The program's `execute`, whose end is waited for before Python ends, too."""
        _waiter.start()

        def run(buffers: list[Any]) -> Any:
            in_use = 0 if self.temporary == 0 else self.wait()
            results = execute(buffers, with_tokens=True)
            token = results.consume_token()
            _running.append(token)
            if self.temporary != 0:
                self.started(token, in_use)
            return results

        return run

    def wait(self) -> int:
        """Before a start: until there is room; how many bytes are in use then."""
        if self.temporary is None:
            if self.first is None:
                return 0
            temporary = self.loaded.get_compiled_memory_stats().temp_size_in_bytes
            first, self.first = self.first, None
            self.temporary = temporary if temporary >= LARGE_TEMPORARY else 0
            if not self.temporary:
                return 0
            _last_large.of.setdefault(self.device, _Large(first, self.temporary, bytes_in_use()))
        last = _last_large.of.pop(self.device, None)
        if last is None:
            return bytes_in_use()
        _wait_for([last.token])
        end = time.perf_counter() + LONGEST_RELEASE
        while (in_use := bytes_in_use()) - last.in_use > last.temporary // 2 and time.perf_counter() < end:
            time.sleep(LOOK)
        return in_use

    def started(self, token: Any, in_use: int) -> None:
        """After a start."""
        if self.temporary is None:
            self.first = token
        else:
            _last_large.of[self.device] = _Large(token, self.temporary, in_use)


# ---- fork ----------------------------------------------------------------------------------------

_alive: weakref.WeakSet[Executable] = weakref.WeakSet()


def _after_fork_in_child() -> None:
    """Let the parent's programs raise in a forked child, where running one, or awaiting its end, would hang."""
    global _running
    for tokens in (_running, _last_large.of):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(tokens))  # what the tokens stand for is not freed
    _running, _last_large.of = deque(maxlen=_running.maxlen), {}
    for executable in _alive:
        executable.run = executable._execute = _refuse


def _refuse(buffers: Any) -> NoReturn:
    raise ExecutionError(AFTER_FORK)


os.register_at_fork(after_in_child=_after_fork_in_child)


# ---- compile -------------------------------------------------------------------------------------

_stats_lock = RLock()
_stats = {"compiles": 0, "compile_seconds": 0.0, "disk_hits": 0}


def compile_stats() -> dict[str, float]:
    """Of this process: 'compiles', 'compile_seconds' and 'disk_hits'."""
    return dict(_stats)


def _count(**amounts: float) -> None:
    with _stats_lock:
        for name, amount in amounts.items():
            _stats[name] += amount


def count_compile(seconds: float) -> None:
    """A program was compiled, in so many seconds."""
    _count(compiles=1, compile_seconds=seconds)


def compile(
    module: str,
    *,
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    device: Device | None = None,
    options: Mapping[str, object] | None = None,
    callbacks: Sequence[Callback] = (),
    cache: bool = True,
    name: str = "",
    on_this_thread: bool = False,
) -> Executable:
    """Compile a StableHLO module whose function is `main`.

    inputs, outputs: anything with `.shape` and `.dtype`, as the module has them.
    options: fields of XLA's DebugOptions (see `options.choose_options`); None is XLA's default.
    callbacks: what custom calls to `xla_ffi_python_cpu_callback` name by index.
    cache: look on disk first and store there.
    on_this_thread: run where it is called, if its inputs are there, as an asynchronous CPU client does with the
        smallest only; such a program is not for `serialize`.
    Raises CompileError, with the operation and the user's line where the module has locations.
    """
    device = default_device() if device is None else device
    request = _Request(module, device, dict(options or {}), callbacks, name)
    request.on_this_thread = on_this_thread and not callbacks and hands_over(device)
    if hands_over(device) and not request.on_this_thread:
        onednn.made_elsewhere(module)
    start = time.perf_counter()
    loaded, from_disk_cache = request.get_shielded(cache)
    seconds = time.perf_counter() - start
    if from_disk_cache:
        _count(disk_hits=1)
    else:
        _count(compiles=1, compile_seconds=seconds)
    return Executable(
        loaded,
        name=name,
        inputs=_avals(inputs),
        outputs=_avals(outputs),
        device=device,
        from_disk_cache=from_disk_cache,
        compile_seconds=seconds,
        key=request.key,
    )


_in_flight: dict[object, Job] = {}  # asked for by the main thread


def make_used(module: str, device: Device) -> None:
    """Make what a module calls of the host's libraries, before it is compiled or read from the disk."""
    if device.platform == "cpu":
        lapack.make_used(module)
        onednn.make_used(module)


class _Request:
    """One program to be had: from the disk or from the compiler."""

    on_this_thread = False

    def __init__(
        self, text: str, device: Device, options: dict[str, object], callbacks: Sequence[Callback], name: str
    ) -> None:
        for callback in callbacks:
            if not isinstance(callback, Callback):
                raise TypeError(f"compile expects each callback as Callback(fn, outputs), got {callback!r}")
        self.text = text
        self.device = device
        self.callbacks = list(callbacks)
        self.name = name
        overrides = {**device.compile_overrides(), **options}
        self.options = binding.compile_options(device._handle, overrides)
        self.key = disk.program_key(text, options=options, callbacks=len(self.callbacks), device=device)
        make_used(text, device)

    def get_shielded(self, cache: bool) -> tuple[Any, bool]:
        """The program, and whether it is from the disk: on the main thread, where signals are handled
        (Ctrl-C), by another one.

        The handler of a signal runs between lines of Python only: during a compilation it would wait
        for its end, and what was compiled would be lost. So the main thread waits in Python, and who
        asks for the same program after an interrupt gets that one.
        """
        if threading.current_thread() is not threading.main_thread():
            return self.get(cache)
        # Programs with callbacks are each their own: the key does not know the functions.
        name = object() if self.callbacks else (self.key, cache, self.on_this_thread)
        job = _in_flight.get(name)
        if job is None:
            job = _in_flight[name] = Job(self.get, cache)
        job.wait()
        _in_flight.pop(name, None)
        return job.result()

    def get(self, cache: bool) -> tuple[Any, bool]:
        """The program, and whether it is from the disk."""
        loaded = self.load() if cache else None
        return (self.compile(store=cache), False) if loaded is None else (loaded, True)

    def load(self) -> Any:
        """The program from the disk, or None."""
        blob = disk.load(self.key)
        if blob is None:
            return None
        try:
            return self.read(blob)
        except RuntimeError:
            disk.discard(self.key)
            return None

    def read(self, blob: bytes) -> Any:
        """The program of its bytes."""
        callbacks = binding.ON_THIS_THREAD if self.on_this_thread else self.callbacks
        return self.device._client.deserialize_executable(blob, self.device._list, self.options, callbacks)

    def compile(self, *, store: bool) -> Any:
        client, module = self.device._client, self.text
        callbacks: tuple[list[Callback], ...] = ()
        if self.callbacks:  # only then must the module be parsed here
            from .mlir import parse

            module, callbacks = parse(self.text, self.name), (self.callbacks,)
        try:
            with trimmed(len(self.text)):
                loaded = client.compile_and_load(module, self.device._list, self.options, *callbacks)
        except RuntimeError as error:
            raise compile_error(error, self.text, self.name) from None
        store = store and disk.cache_dir() is not None
        if not store and not self.on_this_thread:
            return loaded
        blob = bytes(client.serialize_executable(loaded))
        if store:
            disk.store(self.key, blob)
        # Read back (0.6 ms) rather than compiled with callbacks, for which the text must be parsed here.
        return self.read(blob) if self.on_this_thread else loaded


def _avals(avals: Sequence[Any]) -> tuple[Aval, ...]:
    return tuple(aval_of(tuple(aval.shape), aval.dtype) for aval in avals)


# ---- saving --------------------------------------------------------------------------------------


_saved: weakref.WeakKeyDictionary[Executable, bytes] = weakref.WeakKeyDictionary()  # what was deserialized


def serialize(executable: Executable) -> bytes:
    """The compiled program as bytes, for this kind of machine and this version of jaxlib.

    One that came from the disk is taken from there: XLA writes it without its machine code.
    """
    if executable in _saved:
        return _saved[executable]
    if not executable.from_disk_cache:
        return bytes(executable.device._client.serialize_executable(executable._loaded))
    blob = disk.load(executable.key)
    if blob is None:
        raise ExecutionError(f"{executable} cannot be saved: its entry in the cache on disk is gone; compile it anew")
    return blob


def deserialize(
    blob: bytes, *, module: str, inputs: Sequence[Any], outputs: Sequence[Any], device: Device, name: str = ""
) -> Executable:
    """The program that `serialize` gave; its module says which libraries it calls. CompileError for a foreign one."""
    request = _Request(module, device, {}, (), name)
    try:
        loaded = device._client.deserialize_executable(blob, device._list, request.options, [])
    except RuntimeError as error:
        raise compile_error(error, module, name) from None
    executable = Executable(
        loaded,
        name=name,
        inputs=_avals(inputs),
        outputs=_avals(outputs),
        device=device,
        from_disk_cache=False,
        compile_seconds=0.0,
    )
    _saved[executable] = blob
    return executable
