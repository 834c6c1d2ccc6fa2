"""torch.distributed.run: start the processes of a program on this machine, watch them, start them again.

    python -m functorch_core.torch.distributed.run --nproc-per-node=2 script.py --its --arguments

Each process runs the script under this library, with RANK, LOCAL_RANK, WORLD_SIZE, MASTER_ADDR and the other variables
that PyTorch's torchrun sets. When one fails the others are ended; with --max-restarts all are started again. With
--rdzv-backend=c10d machines meet at --rdzv-endpoint, which gives them their numbers, and may come and go.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path
from typing import NamedTuple

from .elastic.agent.server.api import end_together, local_sizes
from .elastic.multiprocessing.errors import FILE, ProcessFailure
from .elastic.rendezvous.api import RendezvousError, RendezvousHandler, RendezvousParameters
from .elastic.rendezvous.dynamic_rendezvous import DynamicRendezvousHandler
from .elastic.rendezvous.registry import get_rendezvous_handler
from .group import free_port

EXIT_TIMEOUT = 300.0  # seconds that a machine which has ended well waits for the others
GRACE = 5.0  # seconds between asking a process to end and ending it
SIGNALS = "SIGTERM,SIGINT,SIGHUP,SIGQUIT"


def get_args_parser() -> argparse.ArgumentParser:
    """The arguments, PyTorch's names. What is not given may be in the environment, as PET_NPROC_PER_NODE and so on.

    >>> from torch.distributed.run import get_args_parser
    >>> get_args_parser().parse_args(["--nproc-per-node=2", "train.py", "--epochs=3"]).training_script_args
    ['--epochs=3']
    """
    made = argparse.ArgumentParser(
        "torchrun", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )

    def option(name: str, *others: str, **kwargs):
        underscored = name.replace("-", "_")
        given = os.environ.get(f"PET_{underscored.upper()}")
        if kwargs.get("action") == "store_true":
            kwargs["default"] = given not in (None, "", "0")
        else:
            kwargs["default"] = kwargs["default"] if given is None else given
        made.add_argument(f"--{name}", *([f"--{underscored}"] if underscored != name else []), *others, **kwargs)

    option("nproc-per-node", default="1", help="processes on this machine: a number, auto, cpu, gpu")
    option("nnodes", default="1", help="machines, or MIN:MAX (static takes MIN)")
    option("node-rank", type=int, default=0, help="the number of this machine (static)")
    option("master-addr", default="127.0.0.1", help="where the process of rank 0 runs")
    option("master-port", type=int, default=29500, help="its port")
    option("max-restarts", type=int, default=0, help="how often all are started again after a failure")
    option("monitor-interval", type=float, default=0.1, help="seconds between looks at the processes")
    option("log-dir", default=None, help="a folder for the output of the processes")
    option("redirects", "-r", default="0", help="1: standard output, 2: errors, 3: both go to the log folder only")
    option("tee", "-t", default="0", help="1, 2, 3: the same, and are shown")
    option("rdzv-backend", default="static", help="static or c10d")
    option("rdzv-endpoint", default="", help="host:port where machines meet; static: of the process of rank 0")
    option("rdzv-id", default="none", help="the name of the job")
    option("rdzv-conf", default="", help="options of c10d: join_timeout=600,last_call_timeout=30 (seconds)")
    option("start-method", default="spawn", choices=("spawn", "fork", "forkserver"), help="accepted")
    option("role", default="default", help="the name of the processes")
    option("local-addr", default=None, help="the address by which others reach this machine (c10d)")
    option("event-log-handler", default="null", help="accepted")
    option("local-ranks-filter", default="", help="show the output of these processes of the machine only: 0,1")
    option("signals-to-handle", default=SIGNALS, help="at these signals the processes are ended")
    option(
        "shutdown-timeout", type=float, default=GRACE, help="seconds that processes have to end when they are asked to"
    )
    option("virtual-local-rank", action="store_true", help="LOCAL_RANK is 0 in all processes")
    option("standalone", action="store_true", help="one machine, any free port")
    option("module", "-m", action="store_true", help="the script is the name of a module")
    option("no-python", action="store_true", help="the script is a program, no Python")
    option("run-path", action="store_true", help="the script is a path, as it is without this")
    made.add_argument("training_script", help="the script")
    made.add_argument("training_script_args", nargs=argparse.REMAINDER, help="its arguments")
    return made


parser = get_args_parser


def _signals(given: str) -> list[int]:
    """The numbers of the signals with these names, but for SIGINT, which is KeyboardInterrupt."""
    names = [name.strip() for name in given.split(",") if name.strip()]
    unknown = [name for name in names if not hasattr(signal, name)]
    if unknown:
        raise ValueError(f"--signals-to-handle: {', '.join(unknown)} is no signal of this system")
    return [getattr(signal, name) for name in names if name != "SIGINT"]


def processes_per_node(given: str) -> int:
    """How many processes --nproc-per-node says.

    >>> from torch.distributed.run import processes_per_node
    >>> processes_per_node("2")
    2
    """
    if given.isdecimal() and int(given) > 0:
        return int(given)
    if given == "cpu":
        return os.cpu_count() or 1
    if given in ("gpu", "auto"):
        from ..devices.cuda import device_count

        n = device_count()
        if n or given == "auto":
            return n or os.cpu_count() or 1
        raise ValueError("--nproc-per-node=gpu: there is no GPU")
    raise ValueError(f"Unsupported nproc_per_node value: {given}")


class MachinesCame(Exception):
    """Machines wait to be taken in.

    >>> from torch.distributed.run import MachinesCame
    >>> issubclass(MachinesCame, Exception)
    True
    """


class Place(NamedTuple):
    """Where this machine's processes stand among all, and where that of rank 0 listens.

    >>> from torch.distributed.run import Place
    >>> Place(0, 1, 0, 2, "127.0.0.1", 29500).world_size
    2
    """

    machine: int
    machines: int
    first_rank: int
    world_size: int
    host: str
    port: int


class Launch:
    """What is to be run: a command, and the environment of each process.

    >>> from torch.distributed.run import Launch, parser
    >>> launch = Launch(parser().parse_args(["--nproc-per-node=2", "train.py"]))
    >>> launch.command()[-1], launch.environment(1, launch.meet(), 0)["WORLD_SIZE"]
    ('train.py', '2')
    """

    def __init__(self, args: argparse.Namespace):
        self.args = args
        least, _, most = str(args.nnodes).partition(":")
        if not (least.isdecimal() and (most or least).isdecimal() and 0 < int(least) <= int(most or least)):
            raise ValueError(f"--nnodes: expected a number of machines or MIN:MAX, got {args.nnodes!r}")
        self.local, self.nodes, most_nodes = processes_per_node(args.nproc_per_node), int(least), int(most or least)
        host, _, port = args.rdzv_endpoint.partition(":")
        if port and not port.isdecimal():
            raise ValueError(f"--rdzv-endpoint: expected HOST:PORT, got {args.rdzv_endpoint!r}")
        self.host = host or args.master_addr
        self.port = int(port) if port else args.master_port
        self.chooses_port = args.standalone or (self.nodes == 1 and self.port == 29500) or self.port == 0
        self.signals = _signals(args.signals_to_handle)
        self.id = uuid.uuid4().hex if args.rdzv_id == "none" else args.rdzv_id
        self.handler: RendezvousHandler | None = None
        if args.rdzv_backend != "static" and most_nodes > 1 and not args.standalone:
            self.handler = _handler(args, self.nodes, most_nodes)

    def meet(self) -> Place:
        """Wait for the other machines, if they meet; RendezvousError if they do not come."""
        if self.handler is None:
            port = free_port() if self.chooses_port else self.port
            machine, local = self.args.node_rank, self.local
            return Place(machine, self.nodes, machine * local, local * self.nodes, self.host, port)
        found = self.handler.next_rendezvous()
        sizes, there = local_sizes(found, self.local), found.bootstrap_store_info
        first = sum(sizes[: found.rank])
        self.store = found.store
        return Place(found.rank, found.world_size, first, sum(sizes), there.master_addr, there.master_port)

    def check_others(self) -> None:
        """MachinesCame if machines wait to be taken in."""
        if self.handler is not None and self.handler.num_nodes_waiting() > 0:
            raise MachinesCame

    def close(self, place: Place | None = None) -> None:
        """Let nobody join any more: this machine has failed, or, at a place, ended well, when all others have."""
        if self.handler is None:
            return
        if place is not None and not end_together(self.handler, self.store, place.machines, EXIT_TIMEOUT):
            print("torchrun: not all of the other machines ended well", file=sys.stderr)
        self.handler.shutdown()

    def leave(self) -> None:
        """Leave the other machines, which may go on."""
        if isinstance(self.handler, DynamicRendezvousHandler):
            with contextlib.suppress(RendezvousError):
                self.handler.leave()

    def command(self) -> list[str]:
        """What each process runs."""
        args = self.args
        rest = [args.training_script, *args.training_script_args]
        if args.no_python:
            return rest
        return [sys.executable, "-u", "-m", "functorch_core", *(["-m"] if args.module else []), *rest]

    def environment(self, local: int, place: Place, restarts: int) -> dict[str, str]:
        """The variables of a process."""
        size, rank = place.world_size, place.first_rank + local
        known = {
            "LOCAL_RANK": 0 if self.args.virtual_local_rank else local,
            "RANK": rank,
            "GROUP_RANK": place.machine,
            "ROLE_RANK": rank,
            "ROLE_NAME": self.args.role,
            "LOCAL_WORLD_SIZE": self.local,
            "WORLD_SIZE": size,
            "GROUP_WORLD_SIZE": place.machines,
            "ROLE_WORLD_SIZE": size,
            "MASTER_ADDR": place.host,
            "MASTER_PORT": place.port,
            "TORCHELASTIC_RESTART_COUNT": restarts,
            "TORCHELASTIC_MAX_RESTARTS": self.args.max_restarts,
            "TORCHELASTIC_RUN_ID": self.id,
        }
        if self.local > 1:
            known["OMP_NUM_THREADS"] = os.environ.get("OMP_NUM_THREADS", "1")
        return {**os.environ, **{name: str(value) for name, value in known.items()}}


def _handler(args: argparse.Namespace, least: int, most: int) -> RendezvousHandler:
    if args.rdzv_id == "none":
        raise ValueError("machines that meet need a name in common: --rdzv-id=JOB")
    options = dict(pair.strip().partition("=")[::2] for pair in args.rdzv_conf.split(",") if pair.strip())
    given = RendezvousParameters(
        args.rdzv_backend, args.rdzv_endpoint, args.rdzv_id, least, most, args.local_addr, **options
    )
    return get_rendezvous_handler(given)


class Processes:
    """The processes of one attempt.

    >>> from torch.distributed.run import Launch, Processes, parser
    >>> launch = Launch(parser().parse_args(["--no-python", "true"]))
    >>> processes = Processes(launch, launch.meet(), 0)
    >>> processes.wait(0.01) is None  # none has failed
    True
    >>> processes.end()
    """

    def __init__(self, launch: Launch, place: Place, restarts: int):
        self.launch, self.files = launch, contextlib.ExitStack()
        self.folder = self.files.enter_context(tempfile.TemporaryDirectory(prefix="torchrun-"))
        self.errors: dict[int, str] = {}  # where a function decorated with `record` writes its exception
        self.running = [self._start(k, place, restarts) for k in range(launch.local)]

    def _start(self, local: int, place: Place, restarts: int) -> subprocess.Popen:
        args, streams = self.launch.args, {}
        if args.log_dir is not None:
            folder = Path(args.log_dir, self.launch.id, f"attempt_{restarts}", str(local))
            folder.mkdir(parents=True, exist_ok=True)
            for name, number in (("stdout", "1"), ("stderr", "2")):
                if {args.redirects, args.tee} & {number, "3"}:
                    streams[name] = self._file(folder / f"{name}.log", name, args.tee in (number, "3"))
        if args.local_ranks_filter and str(local) not in args.local_ranks_filter.replace(" ", "").split(","):
            for name in ("stdout", "stderr"):
                streams.setdefault(name, subprocess.DEVNULL)
        environment = self.launch.environment(local, place, restarts)
        self.errors[local] = environment[FILE] = str(Path(self.folder, f"{local}.json"))
        return subprocess.Popen(self.launch.command(), env=environment, **streams)

    def _file(self, path: Path, name: str, shown: bool):
        if not shown:
            return self.files.enter_context(open(path, "wb"))
        tee = subprocess.Popen(["tee", str(path)], stdin=subprocess.PIPE, stdout=getattr(sys, name).fileno())
        self.files.callback(tee.wait)
        self.files.callback(tee.stdin.close)
        return tee.stdin

    def wait(self, interval: float) -> tuple[int, int] | None:
        """Wait until all have ended well, None, or until one fails: (its number, its exit status). MachinesCame if
        others are to be taken in."""
        while True:
            statuses = [p.poll() for p in self.running]
            failed = [(k, s) for k, s in enumerate(statuses) if s]
            if failed:  # one that a signal ended did not fail because another had, nor one that told first
                return min(failed, key=lambda pair: (pair[1] > 0, self._told(pair[0])))
            if all(s == 0 for s in statuses):
                return None
            self.launch.check_others()
            time.sleep(interval)

    def _told(self, local: int) -> float:
        """When a process told what it raised."""
        try:
            return os.stat(self.errors[local]).st_mtime
        except (OSError, KeyError):
            return math.inf

    def failure(self, local: int, status: int) -> str:
        """How a process failed, and what it raised, if it told."""
        found = ProcessFailure(local, self.running[local].pid, status, self.errors[local])
        how = f"exitcode: {status}" if status > 0 else f"signal: {found.signal_name()}"
        return f"{how}; {found.message['message']}" if isinstance(found.message, dict) else how

    def end(self):
        """End those that still run; none is left behind."""
        for p in self.running:
            if p.poll() is None:
                p.terminate()
        end = time.monotonic() + self.launch.args.shutdown_timeout
        for p in self.running:
            try:
                p.wait(max(0.0, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                p.kill()
                p.wait()
        self.files.close()


def run(args: argparse.Namespace) -> int:
    """Start the processes, and again as often as they may fail; the exit status.

    >>> from torch.distributed.run import parser, run
    >>> run(parser().parse_args(["--no-python", "true"]))
    0
    """
    return _launched(Launch(args))


def _launched(launch: Launch) -> int:
    before = {number: signal.signal(number, lambda which, _: sys.exit(128 + which)) for number in launch.signals}
    try:
        return _run(launch)
    except RendezvousError as error:
        print(f"torchrun: {error}", file=sys.stderr)
        launch.close()
        return 1
    except (KeyboardInterrupt, SystemExit):
        launch.leave()
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _run(launch: Launch) -> int:
    args, restarts = launch.args, 0
    while True:
        place = launch.meet()
        started = Processes(launch, place, restarts)
        try:
            failed = started.wait(args.monitor_interval)
            how = started.failure(*failed) if failed else ""
        except MachinesCame:
            print("torchrun: machines wait to be taken in; the processes are started again", file=sys.stderr)
            continue
        finally:
            started.end()
        if failed is None:
            launch.close(place)
            return 0
        local, status = failed
        rank = place.first_rank + local
        print(f"torchrun: process {local} (rank {rank}) failed ({how}); the others were ended", file=sys.stderr)
        if restarts == args.max_restarts:
            launch.close()
            return status if status > 0 else 128 - status
        restarts += 1


def main(args=None):
    """What `torchrun` runs.

    >>> from torch.distributed.run import main
    >>> main(["--no-python", "true"])
    """
    parsed = parser().parse_args(args)
    try:
        launch = Launch(parsed)
    except (ValueError, RendezvousError) as error:
        because = "" if error.__cause__ is None else f" ({error.__cause__})"
        raise SystemExit(f"torchrun: {error}{because}") from None
    try:
        status = _launched(launch)
    except KeyboardInterrupt:
        status = 130
    if status:
        raise SystemExit(status)


if __name__ == "__main__":
    main()
