"""torch.distributed.elastic.multiprocessing.api: functions or programs in several processes, started and watched."""

from __future__ import annotations

import abc
import contextlib
import enum
import multiprocessing
import os
import signal as _signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .errors import FILE, ProcessFailure, record

NOT_ALL = "{what}: entries for the processes {found} are needed, there are {given}"


class SignalException(Exception):
    """The process is to end: a signal came.

    >>> from torch.distributed.elastic.multiprocessing import SignalException
    >>> SignalException("ended", 15).sigval
    15
    """

    def __init__(self, msg: str, sigval: int):
        super().__init__(msg)
        self.sigval = sigval


class Std(enum.IntFlag):
    """Standard output, standard error, or both.

    >>> from torch.distributed.elastic.multiprocessing import Std
    >>> Std.from_str("3") is Std.ALL, Std.from_str("0:1,1:2")[1] is Std.ERR
    (True, True)
    """

    NONE = 0
    OUT = 1
    ERR = 2
    ALL = OUT | ERR

    @classmethod
    def from_str(cls, vm: str) -> Std | dict[int, Std]:
        """Of "3", or of "0:1,1:2" by local rank."""
        if ":" not in vm:
            return cls(int(vm))
        return {int(rank): cls(int(value)) for rank, value in (part.split(":") for part in vm.split(","))}


def to_map(val_or_map: Std | dict[int, Std], local_world_size: int) -> dict[int, Std]:
    """What each local rank has.

    >>> from torch.distributed.elastic.multiprocessing import Std, to_map
    >>> to_map(Std.OUT, 2) == {0: Std.OUT, 1: Std.OUT}
    True
    """
    if isinstance(val_or_map, Std):
        return dict.fromkeys(range(local_world_size), val_or_map)
    return {i: val_or_map.get(i, Std.NONE) for i in range(local_world_size)}


# ---- where output goes ---------------------------------------------------------------------------


@dataclass
class LogsDest:
    """The files of each local rank.

    >>> from torch.distributed.elastic.multiprocessing import LogsDest
    >>> LogsDest().stdouts
    {}
    """

    stdouts: dict[int, str] = field(default_factory=dict)
    stderrs: dict[int, str] = field(default_factory=dict)
    tee_stdouts: dict[int, str] = field(default_factory=dict)
    tee_stderrs: dict[int, str] = field(default_factory=dict)
    error_files: dict[int, str] = field(default_factory=dict)
    filtered_stdout: str = ""
    filtered_stderr: str = ""


class LogsSpecs(abc.ABC):
    """What goes to files: `redirects` alone, `tee` also to the screen.

    >>> from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs, LogsSpecs
    >>> issubclass(DefaultLogsSpecs, LogsSpecs)
    True
    """

    def __init__(
        self,
        log_dir: str | None = None,
        redirects: Std | dict[int, Std] = Std.NONE,
        tee: Std | dict[int, Std] = Std.NONE,
        local_ranks_filter: set[int] | None = None,
    ):
        self._root_log_dir, self._redirects, self._tee = log_dir, redirects, tee
        self._local_ranks_filter = local_ranks_filter

    @abc.abstractmethod
    def reify(self, envs: dict[int, dict[str, str]]) -> LogsDest:
        """The files of processes with these environments."""

    @property
    @abc.abstractmethod
    def root_log_dir(self) -> str:
        """The folder of all."""


class DefaultLogsSpecs(LogsSpecs):
    """Files log_dir/RUN/attempt_N/RANK/stdout.log, stderr.log, error.json; a temporary folder without log_dir.

    >>> from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs
    >>> DefaultLogsSpecs().reify({0: {}}).error_files[0].endswith("attempt_0/0/error.json")
    True
    """

    def __init__(
        self,
        log_dir: str | None = None,
        redirects: Std | dict[int, Std] = Std.NONE,
        tee: Std | dict[int, Std] = Std.NONE,
        local_ranks_filter: set[int] | None = None,
    ):
        super().__init__(log_dir or tempfile.mkdtemp(prefix="torchelastic_"), redirects, tee, local_ranks_filter)

    @property
    def root_log_dir(self) -> str:
        """The folder of all."""
        return str(self._root_log_dir)

    def reify(self, envs: dict[int, dict[str, str]]) -> LogsDest:
        """The files of processes with these environments; their folders are made."""
        found, n = LogsDest(), len(envs)
        redirects, tee = to_map(self._redirects, n), to_map(self._tee, n)
        for rank, env in envs.items():
            run, attempt = env.get("TORCHELASTIC_RUN_ID", "run"), env.get("TORCHELASTIC_RESTART_COUNT", "0")
            folder = Path(self.root_log_dir, run, f"attempt_{attempt}", str(rank))
            folder.mkdir(parents=True, exist_ok=True)
            for kind, which in ((Std.OUT, "stdout"), (Std.ERR, "stderr")):
                path = str(folder / f"{which}.log") if kind in redirects[rank] | tee[rank] else ""
                getattr(found, f"{which}s")[rank] = path
                getattr(found, f"tee_{which}s")[rank] = path if kind in tee[rank] else ""
            found.error_files[rank] = str(folder / "error.json")
        return found


# ---- processes -----------------------------------------------------------------------------------


@dataclass
class RunProcsResult:
    """What processes gave that have ended: results of functions, failures, files, by local rank.

    >>> from torch.distributed.elastic.multiprocessing import RunProcsResult
    >>> RunProcsResult().is_failed()
    False
    """

    return_values: dict[int, Any] = field(default_factory=dict)
    failures: dict[int, ProcessFailure] = field(default_factory=dict)
    stdouts: dict[int, str] = field(default_factory=dict)
    stderrs: dict[int, str] = field(default_factory=dict)

    def is_failed(self) -> bool:
        """Whether one failed."""
        return len(self.failures) > 0


class PContext(abc.ABC):
    """Processes that were started by start_processes.

    >>> from torch.distributed.elastic.multiprocessing import PContext, SubprocessContext
    >>> issubclass(SubprocessContext, PContext)
    True
    """

    def __init__(
        self,
        name: str,
        entrypoint: Callable | str,
        args: dict[int, tuple],
        envs: dict[int, dict[str, str]],
        logs_specs: LogsSpecs,
        log_line_prefixes: dict[int, str] | None = None,
        **options: Any,
    ):
        if args.keys() != envs.keys() or sorted(args) != list(range(len(args))):
            raise RuntimeError(NOT_ALL.format(what="args and envs", found=sorted(args), given=sorted(envs)))
        self.name, self.entrypoint, self.args = name, entrypoint, args
        self.logs = logs_specs.reify(envs)
        self.envs = {r: {**env, FILE: self.logs.error_files.get(r, "")} for r, env in envs.items()}
        self.shown: dict[str, int] = {}  # how much of each file was printed

    @abc.abstractmethod
    def start(self) -> None:
        """Start the processes."""

    @abc.abstractmethod
    def pids(self) -> dict[int, int]:
        """The process ids, by local rank."""

    @abc.abstractmethod
    def _statuses(self) -> dict[int, int | None]:
        """The exit statuses, None of those that run."""

    @abc.abstractmethod
    def _values(self) -> dict[int, Any]:
        """What functions returned."""

    def _poll(self) -> RunProcsResult | None:
        self._show()
        statuses = self._statuses()
        failed = {r: s for r, s in statuses.items() if s}
        if not failed and any(s is None for s in statuses.values()):
            return None
        pids, files = self.pids(), self.logs.error_files
        failures = {r: ProcessFailure(r, pids[r], s, files.get(r, "")) for r, s in failed.items()}
        values = {} if failed else self._values()
        if failed:
            self.close()
        self._show()
        return RunProcsResult(values, failures, self.logs.stdouts, self.logs.stderrs)

    def wait(self, timeout: float = -1, period: float = 1) -> RunProcsResult | None:
        """Wait until all have ended well or one has failed (then the others are ended); None after the timeout."""
        end = time.monotonic() + timeout if timeout >= 0 else float("inf")
        while True:
            found = self._poll()
            if found is not None or time.monotonic() >= end:
                return found
            time.sleep(max(0.0, min(period, 0.1, end - time.monotonic())))

    def _show(self):
        """Print what is new in the files of those whose output is shown, too."""
        for files, stream in ((self.logs.tee_stdouts, sys.stdout), (self.logs.tee_stderrs, sys.stderr)):
            for rank, path in files.items():
                if not path or not os.path.exists(path):
                    continue
                with open(path, "rb") as file:
                    file.seek(self.shown.get(path, 0))
                    data = file.read()
                whole = data[: data.rfind(b"\n") + 1]
                self.shown[path] = self.shown.get(path, 0) + len(whole)
                for line in whole.decode(errors="replace").splitlines():
                    print(f"[{self.name}{rank}]:{line}", file=stream, flush=True)

    def close(self, death_sig: _signal.Signals | None = None, timeout: int = 30) -> None:
        """End those that still run: by a signal (SIGTERM), after so many seconds by SIGKILL."""
        end = time.monotonic() + timeout
        for how in (death_sig or _signal.SIGTERM, _signal.SIGKILL):
            for rank, status in self._statuses().items():
                if status is None:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(self.pids()[rank], how)
            while None in self._statuses().values() and (how == _signal.SIGKILL or time.monotonic() < end):
                time.sleep(0.02)


@contextlib.contextmanager
def _output(path: str) -> Iterator[Any]:
    if not path:
        yield None
        return
    with open(path, "wb") as file:
        yield file


class SubprocessContext(PContext):
    """Programs.

    >>> from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs, start_processes
    >>> started = start_processes("echo", "true", {0: ()}, {0: {}}, DefaultLogsSpecs())
    >>> type(started).__name__, started.wait().is_failed()
    ('SubprocessContext', False)
    """

    def start(self) -> None:
        """Start the programs."""
        self.running = {}
        for rank, args in self.args.items():
            with _output(self.logs.stdouts[rank]) as out, _output(self.logs.stderrs[rank]) as err:
                command, env = [str(self.entrypoint), *map(str, args)], {**os.environ, **self.envs[rank]}
                self.running[rank] = subprocess.Popen(command, env=env, stdout=out, stderr=err)

    def pids(self) -> dict[int, int]:
        """The process ids, by local rank."""
        return {rank: p.pid for rank, p in self.running.items()}

    def _statuses(self) -> dict[int, int | None]:
        return {rank: p.poll() for rank, p in self.running.items()}

    def _values(self) -> dict[int, Any]:
        return {}


def _call(function: Callable, args: tuple, env: dict[str, str], out: str, err: str, answer: Any):
    """What a process of MultiprocessContext does."""
    os.environ.update(env)
    for path, number, name in ((out, 1, "stdout"), (err, 2, "stderr")):
        if path:
            file = open(path, "w", 1)
            os.dup2(file.fileno(), number)
            setattr(sys, name, file)
    answer.send(record(function)(*args))


class MultiprocessContext(PContext):
    """Functions, whose results come back.

    >>> from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs, start_processes
    >>> args, envs = {0: (7, 2), 1: (9, 2)}, {0: {}, 1: {}}
    >>> started = start_processes("divide", divmod, args, envs, DefaultLogsSpecs(), start_method="fork")
    >>> started.wait().return_values
    {0: (3, 1), 1: (4, 1)}
    """

    def __init__(self, *args: Any, start_method: str = "spawn", **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.context = multiprocessing.get_context(start_method)

    def start(self) -> None:
        """Start the processes."""
        self.running, self.answers, self.found = {}, {}, {}
        for rank, args in self.args.items():
            self.answers[rank], theirs = self.context.Pipe(duplex=False)
            files = self.logs.stdouts[rank], self.logs.stderrs[rank]
            call = (self.entrypoint, args, self.envs[rank], *files, theirs)
            self.running[rank] = self.context.Process(target=_call, args=call, daemon=True)
            self.running[rank].start()
            theirs.close()

    def pids(self) -> dict[int, int]:
        """The process ids, by local rank."""
        return {rank: p.pid for rank, p in self.running.items()}

    def _statuses(self) -> dict[int, int | None]:
        for rank, answer in self.answers.items():  # read at once: who writes much waits for it
            with contextlib.suppress(EOFError):
                if rank not in self.found and answer.poll():
                    self.found[rank] = answer.recv()
        return {rank: p.exitcode for rank, p in self.running.items()}

    def _values(self) -> dict[int, Any]:
        self._statuses()
        return dict(self.found)


def start_processes(
    name: str,
    entrypoint: Callable | str,
    args: dict[int, tuple],
    envs: dict[int, dict[str, str]],
    logs_specs: LogsSpecs,
    log_line_prefixes: dict[int, str] | None = None,
    start_method: str = "spawn",
    **options: Any,
) -> PContext:
    """Start a function, or a program, in a process for each local rank, with its arguments and environment.

    `wait()` of the result gives a RunProcsResult. What a process that fails raised is in its failure.

    >>> from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs, start_processes
    >>> started = start_processes("fails", "false", {0: ()}, {0: {}}, DefaultLogsSpecs())
    >>> started.wait().failures[0].exitcode
    1
    """
    what = (name, entrypoint, args, envs, logs_specs, log_line_prefixes)
    started: PContext = (
        SubprocessContext(*what)
        if isinstance(entrypoint, str)
        else MultiprocessContext(*what, start_method=start_method)
    )
    try:
        started.start()
    except BaseException:
        started.close()
        raise
    return started
