"""Machines that meet, come and go: the handlers, and torchrun with them."""

import os
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from datetime import timedelta

import pytest
from functorch_core.torch.distributed.elastic.agent.server.health_check_server import HealthCheckServer
from functorch_core.torch.distributed.elastic.rendezvous import (
    RendezvousClosedError,
    RendezvousParameters,
    RendezvousStateError,
    RendezvousTimeoutError,
)
from functorch_core.torch.distributed.elastic.rendezvous.c10d_rendezvous_backend import (
    C10dRendezvousBackend,
    create_backend,
)
from functorch_core.torch.distributed.elastic.rendezvous.dynamic_rendezvous import (
    DynamicRendezvousHandler,
    RendezvousTimeout,
)
from functorch_core.torch.distributed.elastic.rendezvous.registry import get_rendezvous_handler
from functorch_core.torch.distributed.elastic.rendezvous.utils import parse_rendezvous_endpoint
from functorch_core.torch.distributed.elastic.utils.data import ElasticDistributedSampler
from functorch_core.torch.distributed.elastic.utils.store import barrier, synchronize

import functorch_core.torch as torch
from functorch_core.torch.compat.distributed.group import free_port

from .test_distributed import ROOT

dist = torch.distributed


@pytest.fixture
def machines():
    """made(least, most, **options): another handler of one rendezvous."""
    store, found = dist.HashStore(), []

    def made(least, most, last_call=0.5, join=20.0, **options):
        limits = RendezvousTimeout(join=timedelta(seconds=join), last_call=timedelta(seconds=last_call))
        backend = C10dRendezvousBackend(store, "job")
        found.append(
            DynamicRendezvousHandler.from_backend("job", store, backend, least, most, timeout=limits, **options)
        )
        return found[-1]

    yield made
    for handler in found:
        handler.shutdown()


def together(*handlers):
    """(rank, number of machines, where rank 0's process listens) of handlers that meet at the same time."""
    found = {}

    def meet(handler):
        info = handler.next_rendezvous()
        there = info.bootstrap_store_info
        found[handler] = info.rank, info.world_size, (there.master_addr, there.master_port)

    threads = [threading.Thread(target=meet, args=(handler,)) for handler in handlers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return [found[handler] for handler in handlers]


def alike(found):
    """How many machines there are: all agree, and have the ranks up to it."""
    ranks, sizes, places = zip(*found)
    assert sorted(ranks) == list(range(len(found))) and len(set(sizes)) == len(set(places)) == 1
    return sizes[0]


def test_a_round_ends_at_once_with_as_many_as_there_may_be(machines):
    start = time.monotonic()
    assert alike(together(*[machines(1, 3, last_call=60) for _ in range(3)])) == 3
    assert time.monotonic() - start < 30


def test_a_round_ends_with_as_many_as_are_needed_when_no_more_come(machines):
    assert alike(together(machines(2, 5), machines(2, 5))) == 2


def test_late_machines_wait_until_the_others_start_again(machines):
    first, second = machines(1, 3), machines(1, 3)
    assert alike(together(first, second)) == 2 and first.num_nodes_waiting() == 0
    third, found = machines(1, 3), []
    late = threading.Thread(target=lambda: found.extend(together(third)))
    late.start()
    end = time.monotonic() + 20
    while first.num_nodes_waiting() != 1 and time.monotonic() < end:
        time.sleep(0.02)
    assert second.num_nodes_waiting() == 1 and not found
    again = together(first, second)
    late.join(60)
    assert alike([*again, *found]) == 3


def test_more_than_there_may_be_are_spare_until_one_leaves(machines):
    first, second, third = (machines(1, 2) for _ in range(3))
    assert alike(together(first, second)) == 2
    found = []
    spare = threading.Thread(target=lambda: found.extend(together(third)))
    spare.start()
    time.sleep(1)
    assert first.num_nodes_waiting() == 0
    second.leave()
    end = time.monotonic() + 20
    while first.num_nodes_waiting() != 1 and time.monotonic() < end:
        time.sleep(0.02)
    again = together(first)
    spare.join(60)
    assert alike([*again, *found]) == 2


def test_a_machine_that_is_not_heard_of_is_taken_out(machines):
    first, second = (machines(1, 2, keep_alive_interval=1, keep_alive_max_attempt=3) for _ in range(2))
    assert alike(together(first, second)) == 2
    second._stop()  # as if its machine had lost its power
    assert alike(together(first)) == 1


def test_nobody_joins_what_is_closed_and_nobody_waits_for_ever(machines):
    with pytest.raises(RendezvousTimeoutError, match="1 of at least 2 machines are there"):
        machines(2, 2, join=0.3).next_rendezvous()
    first = machines(1, 2, last_call=0.1)
    first.next_rendezvous()
    assert not first.is_closed() and first.shutdown() and first.is_closed()
    with pytest.raises(RendezvousClosedError, match="'job' is closed"):
        machines(1, 2).next_rendezvous()
    with pytest.raises(ValueError, match="must be positive"):
        RendezvousTimeout(join=timedelta(0))
    with pytest.raises(ValueError, match="minimum number of nodes"):
        machines(2, 1)


def test_states_are_compared_before_they_are_set_as_with_pytorch():
    real = pytest.importorskip("torch.distributed.elastic.rendezvous.c10d_rendezvous_backend")
    stores = real.TCPStore("127.0.0.1", free_port(), is_master=True), dist.HashStore()
    said = []
    for backend in (real.C10dRendezvousBackend(stores[0], "j"), C10dRendezvousBackend(stores[1], "j")):
        lines = [backend.name, backend.get_state()]
        state, token, was_set = backend.set_state(b"one")
        lines += [state, was_set, backend.set_state(b"two")[::2], backend.set_state(b"two", token)[::2]]
        lines += [backend.set_state(b"three", token)[::2], backend.get_state()[0]]
        said.append(lines)
    assert said[0] == said[1]
    store = dist.HashStore()
    store.set("torch.rendezvous.j", "no base64!")
    with pytest.raises(RendezvousStateError):
        C10dRendezvousBackend(store, "j").get_state()


@pytest.mark.parametrize(
    "endpoint",
    ["", None, "node1", "node1:80", "127.0.0.1:1", "[::1]:2", "[::1]", " a.b:3 ", "a:b", "a:70000", "a:-1", ":1"],
)
def test_endpoints_are_pytorchs(endpoint):
    real = pytest.importorskip("torch.distributed.elastic.rendezvous.utils")
    found = []
    for function in (real.parse_rendezvous_endpoint, parse_rendezvous_endpoint):
        try:
            found.append(function(endpoint, 29400))
        except ValueError:
            found.append(ValueError)
    assert found[0] == found[1]


def test_the_first_at_an_endpoint_has_the_store_and_the_next_ones_use_it(tmp_path):
    port = free_port()
    given = [RendezvousParameters("c10d", f"localhost:{port}", "job", 1, 2, last_call_timeout=1) for _ in range(2)]
    (_, first), (_, second) = map(create_backend, given)
    first.set("key", "value")
    assert second.get("key") == b"value"
    assert alike(together(*[get_rendezvous_handler(g) for g in given])) == 2
    file = RendezvousParameters("c10d", str(tmp_path / "store"), "job", 1, 2, store_type="file")
    assert type(create_backend(file)[1]).__name__ == "FileStore"
    with pytest.raises(ValueError, match="supports file and tcp"):
        create_backend(RendezvousParameters("c10d", "h", "job", 1, 2, store_type="x"))


def test_agents_tell_each_other_by_a_store():
    store, found = dist.HashStore(), {}

    def run(rank):
        found[rank] = synchronize(store, f"of {rank}".encode(), rank, 3, "size")
        barrier(store, 3, "end", rank=rank)

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert list(found.values()) == [[b"of 0", b"of 1", b"of 2"]] * 3
    with pytest.raises(dist.DistStoreError, match=r"missing_ranks=\[1\]"):
        barrier(store, 2, "next", barrier_timeout=0.1, rank=0)


def test_the_rest_of_an_epoch_is_divided_as_with_pytorch():
    real = pytest.importorskip("torch.distributed.elastic.utils.data")
    for n, start in ((10, 0), (10, 3), (11, 4)):
        for rank in range(2):
            made = [m(range(n), 2, rank, start) for m in (real.ElasticDistributedSampler, ElasticDistributedSampler)]
            for sampler in made:
                sampler.set_epoch(2)
            assert list(made[0]) == list(made[1]) and len(made[0]) == len(made[1])
    with pytest.raises(ValueError, match="Start index 3"):
        ElasticDistributedSampler(range(3), 2, 0, 3)


def test_a_health_check_says_whether_the_agent_looks_at_its_workers():
    looked = [time.time()]
    server = HealthCheckServer(lambda: int(looked[0]), 0, 10)
    server.start()
    try:
        address = f"http://127.0.0.1:{server.port}"
        assert urllib.request.urlopen(address, timeout=20).status == 200
        looked[0] -= 60
        with pytest.raises(urllib.error.HTTPError, match="503") as refused:
            urllib.request.urlopen(address, timeout=20)
        refused.value.close()
    finally:
        server.stop()


def torchrun(endpoint, command, *options):
    given = ["--nproc-per-node=2", "--rdzv-backend=c10d", f"--rdzv-endpoint={endpoint}", "--rdzv-id=job", *options]
    start = [sys.executable, "-m", "functorch_core.torch.distributed.run", *given, "--no-python", "sh", "-c", command]
    return subprocess.Popen(start, cwd=ROOT, stderr=subprocess.PIPE, text=True, env={**os.environ})


def ended(*started):
    """(exit status, what was said) of each."""
    said = [process.communicate(timeout=60)[1] for process in started]
    return [(process.returncode, text) for process, text in zip(started, said)]


@pytest.mark.slow
def test_machines_of_torchrun_meet_without_numbers(tmp_path):
    said = f"echo $RANK $WORLD_SIZE $GROUP_RANK $LOCAL_RANK $MASTER_ADDR $MASTER_PORT > {tmp_path}/$RANK"
    endpoint = f"localhost:{free_port()}"
    found = ended(*[torchrun(endpoint, said, "--nnodes=2") for _ in range(2)])
    assert [status for status, _ in found] == [0, 0]
    lines = [(tmp_path / str(rank)).read_text().split() for rank in range(4)]
    assert [line[:4] for line in lines] == [[str(r), "4", str(r // 2), str(r % 2)] for r in range(4)]
    assert len({tuple(line[4:]) for line in lines}) == 1


@pytest.mark.slow
def test_a_machine_that_comes_later_is_taken_in(tmp_path):
    said = f"echo $RESTARTS $WORLD_SIZE >> {tmp_path}/$RANK; test $WORLD_SIZE = 4 || exec sleep 100"
    endpoint = f"localhost:{free_port()}"
    options = ["--nnodes=1:2", "--rdzv-conf=last_call_timeout=1"]
    first = torchrun(endpoint, said, *options)
    end = time.monotonic() + 60
    while len(list(tmp_path.iterdir())) < 2 and time.monotonic() < end:
        time.sleep(0.05)
    (status, text), (other, _) = ended(first, torchrun(endpoint, said, *options))
    assert status == other == 0 and "machines wait to be taken in" in text
    assert (tmp_path / "0").read_text().split() == ["2", "4"] and (tmp_path / "3").read_text().split() == ["4"]


@pytest.mark.slow
def test_a_machine_that_fails_for_good_ends_the_job(tmp_path):
    store = dist.TCPStore("localhost", 0, is_master=True)  # which is there to the end
    endpoint = f"localhost:{store.port}"
    command = "test $GROUP_RANK = 0 && exec sleep 2; exit 3"
    found = dict(ended(*[torchrun(endpoint, command, "--nnodes=2") for _ in range(2)]))
    assert sorted(found) == [0, 3] and "not all of the other machines ended well" in found[0]
    ((status, text),) = ended(torchrun(endpoint, command, "--nnodes=2"))
    assert status == 1 and "The rendezvous 'job' is closed" in text
