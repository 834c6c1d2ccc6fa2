"""What can go wrong with worker processes, and that nothing of them is left."""

import gc
import importlib
import multiprocessing
import os
import pickle
import queue
import random
import select
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest
from functorch_core.data._multiprocessing import context_of
from functorch_core.data._utils.transport import Channel
from functorch_core.data._utils.worker import WorkerError, numpy_seed
from functorch_core.data._utils.worker import _generate_state as ours_by_name

from functorch_core import data, engine, torch


def files() -> int:
    """How many descriptors this process has open."""
    return len(os.listdir("/proc/self/fd"))


@pytest.fixture(autouse=True)
def nothing_left():
    """After every test: no processes, no descriptors, no shared memory."""
    shared, before = set(os.listdir("/dev/shm")), files()
    yield
    gc.collect()
    assert multiprocessing.active_children() == []
    patience = time.monotonic() + 5  # the engine's compiling thread has files open for a moment
    while files() > before and time.monotonic() < patience:
        time.sleep(0.05)
        gc.collect()
    assert files() <= before
    left = set(os.listdir("/dev/shm")) - shared
    assert not {name for name in left if "functorch" in name}


class Of(data.Dataset):
    """The results of a function of the index."""

    def __init__(self, fun, n=8):
        self.fun, self.n = fun, n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return self.fun(i)


def at(i, action):
    """A dataset that does something instead of giving sample i."""
    return Of(lambda k: action() if k == i else k)


def load(dataset, **kwargs):
    """All batches, with two workers."""
    kwargs.setdefault("batch_size", 2)
    return list(data.DataLoader(dataset, num_workers=2, **kwargs))


def fails(error, match, dataset, **kwargs):
    """The loader raises this."""
    with pytest.raises(error, match=match) as found:
        load(dataset, **kwargs)
    text, cause = str(found.value), str(found.value.__cause__)
    del found
    return text, cause


def throw(error):
    raise error


class Awkward(Exception):
    """An exception that cannot be made from a message."""

    def __init__(self, a, b):
        super().__init__(a, b)


# ---- errors in workers ---------------------------------------------------------------------------


def test_exception():
    text, _ = fails(
        ValueError,
        "Caught ValueError in DataLoader worker process 1",
        at(2, lambda: throw(ValueError("sample is corrupt"))),
    )
    assert "Original Traceback (most recent call last)" in text
    assert "ValueError: sample is corrupt" in text and "in throw" in text


def test_key_error_is_readable():
    text, _ = fails(KeyError, "worker process 0", at(0, lambda: throw(KeyError("label"))))
    assert "\\n" not in text and "KeyError: 'label'" in text


def test_exception_that_cannot_be_made_from_a_message():
    fails(RuntimeError, "Caught Awkward in DataLoader", at(3, lambda: throw(Awkward(1, 2))))


def test_exception_of_a_local_class():
    class Local(Exception):
        pass

    fails(RuntimeError, "Caught Local in DataLoader", at(3, lambda: throw(Local("here"))))


def test_corrupted_sample():
    fails(RuntimeError, "stack expects each tensor to be equal size", Of(lambda i: torch.ones(3 if i == 5 else 2)))


def test_sample_that_cannot_be_sent():
    fails(
        (AttributeError, pickle.PicklingError),
        "Can't (pickle|get) local object",
        Of(lambda i: lambda: i),
        collate_fn=list,
    )


def test_non_leaf_that_requires_grad():
    fails(RuntimeError, "Cowardly refusing", Of(lambda i: torch.ones(2, requires_grad=True) * 2), batch_size=None)


def test_iteration_goes_on_after_an_exception():
    iterator = iter(data.DataLoader(at(2, lambda: throw(OSError("unreadable"))), num_workers=2))
    found = []
    for _ in range(8):
        try:
            found.append(next(iterator).item())
        except OSError:
            found.append("error")
    assert found == [0, 1, "error", 3, 4, 5, 6, 7]


def test_exception_in_worker_init_fn():
    fails(RuntimeError, "no such disk", Of(int), worker_init_fn=lambda i: throw(RuntimeError("no such disk")))


def test_exception_while_iterating():
    class Broken(data.IterableDataset):
        def __iter__(self):
            yield 1
            raise ArithmeticError("half way")

    fails(ArithmeticError, "half way", Broken())


# ---- dead and slow workers -----------------------------------------------------------------------


def test_killed_worker():
    _, cause = fails(
        RuntimeError,
        r"DataLoader worker \(pid\(s\) \d+\) exited unexpectedly",
        at(4, lambda: os.kill(os.getpid(), signal.SIGKILL)),
    )
    assert "is killed by signal: Killed" in cause


def test_worker_that_exits():
    _, cause = fails(RuntimeError, "exited unexpectedly", at(4, lambda: os._exit(3)))
    assert "exit code 3" in cause


def test_worker_killed_from_outside():
    iterator = iter(data.DataLoader(Of(lambda i: time.sleep(0.05) or i, 500), num_workers=2))
    next(iterator)
    os.kill(iterator._workers[0].pid, signal.SIGKILL)
    with pytest.raises(RuntimeError, match="exited unexpectedly"):
        for _ in iterator:
            pass
    del iterator


def test_timeout():
    start = time.monotonic()
    fails(RuntimeError, "DataLoader timed out after 0.5 seconds", at(2, lambda: time.sleep(3)), timeout=0.5)
    assert time.monotonic() - start < 8


def test_abandoned_iteration():
    iterator = iter(data.DataLoader(Of(lambda i: np.ones(10_000), 100), 4, num_workers=2))
    next(iterator)
    del iterator


def test_worker_that_does_not_want_to_end(monkeypatch):
    from functorch_core.data import _multiprocessing

    monkeypatch.setattr(_multiprocessing, "GRACE", 0.2)
    iterator = iter(data.DataLoader(at(6, lambda: time.sleep(60)), num_workers=2))
    assert next(iterator).item() == 0
    time.sleep(0.3)
    start = time.monotonic()
    del iterator
    assert time.monotonic() - start < 5


INTERRUPTED = """
    import os, signal, sys, time
    from functorch_core import data

    class Slow(data.Dataset):
        def __len__(self):
            return 10000
        def __getitem__(self, i):
            time.sleep(0.02)
            return i

    if __name__ == "__main__":
        loader = data.DataLoader(Slow(), num_workers=2, persistent_workers={persistent})
        iterator = iter(loader)
        next(iterator)
        print(*[w.pid for w in iterator._workers], flush=True)
        for _ in iterator:
            pass
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("persistent", [False, True])
def test_interrupt_leaves_no_orphans(tmp_path, how, persistent):
    script = tmp_path / "loop.py"
    script.write_text(textwrap.dedent(INTERRUPTED.format(persistent=persistent)))
    process = subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, text=True
    )
    pids = [int(p) for p in process.stdout.readline().split()]
    assert len(pids) == 2
    (os.killpg if how == signal.SIGINT else os.kill)(process.pid, how)
    _, errors = process.communicate(timeout=20)
    deadline = time.monotonic() + 10
    while any(map(alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(alive, pids))
    if how == signal.SIGINT:  # one traceback, of the script itself
        assert errors.count("KeyboardInterrupt") == 1 and "Process" not in errors


def alive(pid: int) -> bool:
    """Whether a process runs (a zombie does not)."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_workers_are_forked_unless_somebody_wants_something_else(forked):
    """From Python 3.14 on another way is the default, which asking for it puts in force."""
    multiprocessing.set_start_method(None, force=True)
    assert context_of(None).get_start_method() == "fork"
    multiprocessing.get_context()
    assert context_of(None).get_start_method() == "fork"
    assert len(load(at(9, None))) == 4
    multiprocessing.set_start_method("spawn", force=True)
    assert context_of(None).get_start_method() == "spawn"
    assert context_of(multiprocessing.get_context("forkserver")).get_start_method() == "forkserver"


# ---- what workers see ----------------------------------------------------------------------------


def test_seeds_are_those_of_pytorch(forked):
    reference = pytest.importorskip("torch")
    from torch.utils.data._utils.worker import _generate_state

    found = []
    for lib, module in ((torch, data), (reference, reference.utils.data)):

        def sample(i):
            info = module.get_worker_info()
            return [
                random.random(),
                float(np.random.rand()),
                lib.rand(1).item(),
                float(info.seed),
                info.id,
                info.num_workers,
            ]

        lib.manual_seed(7)
        loader = module.DataLoader(Of(sample), num_workers=2, collate_fn=list)
        found.append([list(loader), list(loader)])
    assert found[0] == found[1]
    for seed, worker in ((0, 0), (2**40 + 12345, 3), (2**63 - 1, 31)):
        assert numpy_seed(seed, worker).tolist() == _generate_state(seed, worker)


def test_worker_info_is_none_here():
    assert data.get_worker_info() is None


def test_worker_init_fn_and_persistent_workers():
    def init(i):
        os.environ["WORKER"] = f"{i} of {os.getpid()}"

    loader = data.DataLoader(
        Of(lambda i: os.environ["WORKER"]), num_workers=2, collate_fn=set, worker_init_fn=init, persistent_workers=True
    )
    first, second = set().union(*loader), set().union(*loader)
    assert first == second and len(first) == 2
    del loader


def test_persistent_workers_after_break():
    loader = data.DataLoader(Of(int), num_workers=2, persistent_workers=True)
    for _ in range(3):
        for batch in loader:
            if batch.item() == 2:
                break
    assert [b.item() for b in loader] == list(range(8))
    del loader


def test_tensors_computed_by_xla_can_be_read():
    with engine.forced_tier("fused"):
        x = torch.arange(16.0).reshape(8, 2) * 2 + 1
        x.sum().item()
    recorded = x + 1  # not computed when the workers start
    for dataset in (data.TensorDataset(x), Of(lambda i: (x[i] * 2).exp().sum()), Of(lambda i: recorded[i])):
        alone = [str(b) for b in data.DataLoader(dataset, 3)]
        assert [str(b) for b in load(dataset, batch_size=3)] == alone


def test_batches_outlive_the_loader():
    batches = load(Of(lambda i: torch.full((100, 100), float(i))))
    assert [b[1, 0, 0].item() for b in batches] == [1.0, 3.0, 5.0, 7.0]
    changed = [b.add_(1) for b in batches]
    assert changed[0][0, 0].sum().item() == 100


def test_many_batches_are_few_descriptors():
    before = files()
    batches = load(Of(lambda i: np.ones(20_000), 300), batch_size=1)
    assert len(batches) == 300 and files() < before + 20


def test_prefetching_overlaps():
    """Workers with each other, and with what the program does with a batch; no clock says so."""
    pipes = [os.pipe() for _ in range(3)]  # what the first two items, then all of them, say

    def said(pipe) -> bytes:
        assert select.select([pipe[0]], [], [], 60)[0], "nobody says anything"
        return os.read(pipe[0], 1)

    def fetch(i):
        if i < 2:  # both workers are here at a time
            os.write(pipes[i][1], b".")
            said(pipes[1 - i])
        os.write(pipes[2][1], b".")
        return i

    try:
        batches = iter(data.DataLoader(Of(fetch), num_workers=2))
        found = [int(next(batches))]
        for _ in range(5):  # two for each worker, and one for that taken
            said(pipes[2])
        assert found + [int(b) for b in batches] == list(range(8))
    finally:
        for end in (end for pipe in pipes for end in pipe):
            os.close(end)


def test_large_prefetch_factor_and_messages():
    big = "x" * 50_000
    loader = data.DataLoader(Of(lambda i: big, 400), num_workers=2, collate_fn=len, prefetch_factor=200)
    assert sum(loader) == 400
    indices = [[i % 8 for i in range(30_000)] for _ in range(6)]
    loader = data.DataLoader(Of(int), batch_sampler=indices, num_workers=2, collate_fn=sum, prefetch_factor=3)
    assert list(loader) == [sum(row) for row in indices]


# ---- spawned workers -----------------------------------------------------------------------------

SPAWNED = """
    import sys
    {shim}
    import {torch} as torch
    from {data} import DataLoader, TensorDataset

    def collate(batch):
        return torch.stack([x for x, in batch]) * 2, "torch" in sys.modules

    if __name__ == "__main__":
        dataset = TensorDataset(torch.arange(6.).reshape(3, 2))
        loader = DataLoader(dataset, 2, num_workers=1, multiprocessing_context="spawn",
                            collate_fn=collate)
        print([(x.tolist(), flag) for x, flag in loader])
"""


@pytest.mark.parametrize("shim", [False, True])
def test_spawn(tmp_path, shim):
    script = tmp_path / "spawned.py"
    names = ("torch", "torch.utils.data") if shim else ("functorch_core.torch", "functorch_core.data")
    install = "import functorch_core.shim; functorch_core.shim.install()" if shim else ""
    script.write_text(textwrap.dedent(SPAWNED.format(shim=install, torch=names[0], data=names[1])))
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=60)
    expected = [([[0.0, 2.0], [4.0, 6.0]], shim), ([[8.0, 10.0]], shim)]
    assert done.stdout.strip() == str(expected), done.stderr


# ---- the way between processes -------------------------------------------------------------------

OBJECTS = [
    None,
    "text",
    {"a": [1, 2.5]},
    b"x" * 100_000,
    np.arange(5),
    np.ones((300, 300)),
    np.ones((300, 300)).T,
    np.zeros((0, 3)),
    np.array(["a", "b"]),
    [np.full(n, 1.5) for n in range(0, 5000, 333)],
]


@pytest.mark.parametrize("i", range(len(OBJECTS)))
def test_channel(i):
    a, b = map(Channel, multiprocessing.Pipe())
    a.send(OBJECTS[i])
    np.testing.assert_equal(b.receive(), OBJECTS[i])
    a.close()
    with pytest.raises(EOFError):
        b.receive()
    b.close()


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "int8", "bool", "complex64", "float8_e5m2"])
@pytest.mark.parametrize("shape", [(), (0, 3), (3, 2), (200, 300)])
def test_channel_with_tensors(dtype, shape):
    a, b = map(Channel, multiprocessing.Pipe())
    x = torch.ones(shape).to(getattr(torch, dtype))
    a.send([x, torch.nn.Parameter(torch.ones(2)), torch.ones(3, requires_grad=True)])
    y, parameter, leaf = b.receive()
    assert y.dtype is x.dtype and y.shape == x.shape and (y._array() == x._array()).all()
    assert isinstance(parameter, torch.nn.Parameter) and leaf.requires_grad
    a.close()
    b.close()


def test_workers_by_the_names_that_pytorch_has():
    iterator = iter(data.DataLoader(Of(lambda i: i), num_workers=2))
    next(iterator)
    processes = iterator._workers
    assert [w.is_alive() for w in processes] == [True, True]
    del iterator
    for worker in processes:
        worker.join(20)
    assert [w.exitcode for w in processes] == [0, 0]
    assert list(ours_by_name(2**40 + 12345, 3)) == numpy_seed(2**40 + 12345, 3).tolist()


# ---- loaders of other packages -------------------------------------------------------------------

BOTH = pytest.mark.parametrize("t", ["functorch_core.data", "torch.utils.data"], ids=["ours", "theirs"])


class Countdown:
    """An iterable dataset."""

    def __iter__(self):
        return iter(range(3, 0, -1))


def answers_of_a_loop(t: str, kind: int, dataset, tasks: list) -> list:
    """What a worker's loop puts into its queue."""
    pytest.importorskip(t.partition(".")[0])
    module = importlib.import_module(f"{t}._utils.worker")
    tasks_in, out, done = queue.Queue(), queue.Queue(), threading.Event()
    out.cancel_join_thread = out.close = lambda: None  # which those of multiprocessing have
    for task in tasks:
        tasks_in.put(module._ResumeIteration(task[1]) if task and task[0] == "resume" else task)
    done.set() if tasks == [None] else tasks_in.put(None)
    ended = threading.Event()

    def watched_get(*args, _get=tasks_in.get, **kwargs):
        task = _get(*args, **kwargs)
        if task is None:
            done.set()
            ended.set()
        return task

    tasks_in.get = watched_get
    state = random.getstate(), np.random.get_state()
    module._worker_loop(kind, dataset, tasks_in, out, done, True, list, False, 3, None, 0, 1, True, None)
    module._worker_info = None
    random.setstate(state[0])
    np.random.set_state(state[1])
    found = []
    while not out.empty():
        number, content = out.get()
        if isinstance(content, module._IterableDatasetStopIteration):
            content = "end", content.worker_id
        elif hasattr(content, "reraise"):
            content = content.exc_type, content.where
        found.append((number if isinstance(number, int) else (type(number).__name__, number.seed), content))
    return found


@BOTH
def test_a_loop_that_other_loaders_start(t):
    read = answers_of_a_loop(t, 0, Of(lambda i: 10 // i), [(0, [1, 2]), (1, [0]), (2, [5])])
    assert read == [(0, [10, 5]), (1, (ZeroDivisionError, "in DataLoader worker process 0")), (2, [2])]
    tasks = [(0, [None] * 2), (1, [None] * 2), (2, [None]), ("resume", 7), (0, [None])]
    iterable = [(0, [3, 2]), (1, [1]), (2, ("end", 0)), (("_ResumeIteration", 7), None), (0, [3])]
    assert answers_of_a_loop(t, 1, Countdown(), tasks) == iterable


@BOTH
def test_names_that_loaders_of_other_packages_import(t):
    pytest.importorskip(t.partition(".")[0])
    utils = importlib.import_module(f"{t}._utils")
    assert utils.HAS_NUMPY and not utils.IS_WINDOWS and utils.worker.ManagerWatchdog().is_alive()
    fetch = importlib.import_module(f"{t}._utils.fetch")
    assert issubclass(fetch._MapDatasetFetcher, fetch._BaseDatasetFetcher)
    assert fetch._IterableDatasetFetcher([1], True, list, True).drop_last
    with pytest.raises(NotImplementedError):
        fetch._BaseDatasetFetcher([1], True, list, False).fetch([0])
    with pytest.raises(AssertionError):
        importlib.import_module(f"{t}.dataloader")._sharding_worker_init_fn(None, 2, 0, 0)


@BOTH
def test_readers_that_loaders_of_other_packages_make(t):
    pytest.importorskip(t.partition(".")[0])
    kinds = importlib.import_module(t)._DatasetKind
    assert kinds.create_fetcher(kinds.Map, [5, 6, 7], True, list, False).fetch([2, 0]) == [7, 5]
    reader = kinds.create_fetcher(kinds.Iterable, Countdown(), True, list, False)
    assert reader.fetch([None] * 2) == [3, 2] and list(reader.dataset_iter) == [1] and not reader.ended
    assert importlib.import_module(f"{t}._utils").python_exit_status is False


@BOTH
def test_iterators_of_other_packages(t):
    """They choose the next task themselves."""
    pytest.importorskip(t.partition(".")[0])
    module = importlib.import_module(f"{t}.dataloader")

    class Counting(module._MultiProcessingDataLoaderIter):
        asked = 0

        def _try_put_index(self):
            self.asked += 1
            super()._try_put_index()

    class Loader(module.DataLoader):
        def _get_iterator(self):
            return Counting(self)

    iterator = iter(Loader(range(6), 2, num_workers=2))
    assert [batch.tolist() for batch in iterator] == [[0, 1], [2, 3], [4, 5]] and iterator.asked == 7


def test_errors_of_workers_are_those_of_other_processes():
    wrapper = importlib.import_module("functorch_core.torch._utils").ExceptionWrapper
    error = WorkerError(ValueError("no"), "in a worker")
    assert isinstance(error, wrapper) and isinstance(pickle.loads(pickle.dumps(error)), wrapper)


@BOTH
@pytest.mark.parametrize(
    "ends, message", [("os._exit(0)", None), ("os._exit(3)", "exit code 3"), ("os.abort()", "Abo")]
)
def test_watched_workers(t, ends, message):
    pytest.importorskip(t.partition(".")[0])
    watch = importlib.import_module(f"{t}._utils.signal_handling")
    process = subprocess.Popen([sys.executable, "-c", f"import os; {ends}"])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    watch._set_worker_pids(17, (process.pid,))
    with pytest.raises(ValueError, match="only once"):
        watch._set_worker_pids(17, ())
    try:
        if message is None:
            watch._error_if_any_worker_fails()
        else:
            with pytest.raises(RuntimeError, match=message):
                watch._error_if_any_worker_fails()
            watch._error_if_any_worker_fails()
    finally:
        watch._remove_worker_pids(17)
        process.wait()
    with pytest.raises(ValueError, match="worker information"):
        watch._remove_worker_pids(17)
