"""torch.distributed with real processes, started as torchrun starts them, and in one process."""

import copy
import functools
import io
import os
import pickle
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from functorch_core import torch
from functorch_core.torch.compat.distributed.group import free_port

PROGRAMS = Path(__file__).parent / "several_processes"
ROOT = Path(__file__).parents[2]
dist = torch.distributed


def launch(
    program: str, *args: str, n: int = 2, options=(), limit: float = 240, devices: int = 1, shared_memory: str = "1"
) -> subprocess.CompletedProcess:
    """Run a program in n processes, which share memory or send their data through Gloo."""
    command = [sys.executable, "-m", "functorch_core.torch.distributed.run", f"--nproc-per-node={n}", *options]
    command += [str(PROGRAMS / program), *map(str, args)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "FUNCTORCH_CPU_DEVICES": str(devices)}
    environment["FUNCTORCH_SHARED_MEMORY"] = shared_memory
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=limit, cwd=ROOT)


@pytest.mark.slow
@pytest.mark.parametrize(
    "program, n, shared_memory",
    [
        ("collectives.py", 2, "0"),
        ("collectives.py", 4, "0"),
        ("collectives.py", 2, "1"),
        ("collectives.py", 4, "1"),
        ("long_arrays.py", 2, "0"),
        ("long_arrays.py", 2, "1"),
        ("long_arrays.py", 3, "1"),
    ],
)
def test_collectives(program, n, shared_memory):
    done = launch(program, n=n, shared_memory=shared_memory)
    assert done.returncode == 0, done.stderr
    assert all(f"rank {r} of {n}: all as wanted" in done.stdout for r in range(n)), done.stdout


@pytest.mark.slow
def test_arrays_over_the_devices_of_two_processes():
    done = launch("arrays.py", devices=2)
    assert done.returncode == 0, done.stderr
    assert all(f"rank {r} of 2: all as wanted" in done.stdout for r in range(2)), done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    "program, n",
    [
        ("algorithms.py", 2),
        ("placements.py", 2),
        ("counts.py", 2),
        ("pipelines.py", 2),
        ("older_wrapper.py", 2),
        ("calls.py", 2),
        ("attention.py", 2),
        ("transforms.py", 3),
        ("two_dimensions.py", 4),
    ],
)
def test_training_of_several_processes_is_that_of_one(program, n):
    done = launch(program, n=n)
    assert done.returncode == 0, done.stderr
    assert all(f"rank {r} of {n}: all as wanted" in done.stdout for r in range(n)), done.stdout


def losses(done: subprocess.CompletedProcess) -> list[float]:
    assert done.returncode == 0, done.stderr
    return [float(line.split()[1]) for line in done.stdout.splitlines() if line.startswith("loss ")]


@pytest.mark.slow
@pytest.mark.parametrize("args", [(), ("unused",)])
def test_data_parallel_training_is_that_of_one_process(args):
    one, two = (losses(launch("training.py", *args, n=n)) for n in (1, 2))
    assert len(one) == 50 and one[-1] < one[0]
    assert two == pytest.approx(one, rel=1e-5, abs=1e-5)


@pytest.mark.slow
def test_a_checkpoint_of_four_processes_is_gone_on_from_by_two_and_by_one(tmp_path):
    runs = [launch("checkpoints.py", tmp_path, 2, n=n) for n in (4, 2, 1)]
    wanted = [float(line.split()[1]) for line in runs[-1].stdout.splitlines() if line.startswith("wanted ")]
    assert len(wanted) == 6
    assert [loss for done in runs for loss in losses(done)] == pytest.approx(wanted, rel=1e-5, abs=1e-5)


@pytest.mark.slow
def test_a_failed_process_ends_the_others_and_all_start_again(tmp_path):
    done = launch("fails.py", "killed", tmp_path, options=["--max-restarts=1"])
    assert done.returncode == 0, done.stderr
    assert "signal: SIGKILL" in done.stderr
    assert "rank 0 from step 2" in done.stdout and "rank 1 from step 2" in done.stdout
    pids = [int(path.read_text()) for path in tmp_path.glob("pid-*")]
    assert len(pids) == 4 and not any(Path(f"/proc/{pid}").exists() for pid in pids)


DIES = """
import os, signal, threading, time, torch, torch.distributed as dist
dist.init_process_group("gloo")
x, ticks = torch.ones(256), []
for _ in range(6): dist.all_reduce(x)
threading.Thread(target=lambda: [(time.sleep(0.01), ticks.append(1)) for _ in range(50)], daemon=True).start()
if dist.get_rank() == 1: time.sleep(1)
dist.all_reduce(x)
assert dist.get_rank() == 1 or len(ticks) > 20  # who waits lets other threads run
if dist.get_rank() == 1: os.kill(os.getpid(), signal.SIGKILL)
try:
    dist.all_reduce(x)
except RuntimeError as error:
    print(error)
"""


@pytest.mark.slow
@pytest.mark.parametrize("shared_memory", ["0", "1"])
def test_who_waits_for_a_process_that_ended_is_told_which(tmp_path, shared_memory):
    (tmp_path / "dies.py").write_text(DIES)
    given = {
        **os.environ,
        "FUNCTORCH_SHARED_MEMORY": shared_memory,
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(free_port()),
        "WORLD_SIZE": "2",
    }
    command = [sys.executable, "-m", "functorch_core", str(tmp_path / "dies.py")]
    other = subprocess.Popen(command, env={**given, "RANK": "1"}, cwd=ROOT)
    said = subprocess.run(
        command, env={**given, "RANK": "0"}, stdout=subprocess.PIPE, text=True, cwd=ROOT, timeout=120
    ).stdout
    assert other.wait(10) == -signal.SIGKILL
    if shared_memory == "1":
        assert said == "all_reduce(256 x float32, sum) of rank 0: the process of rank 1 has ended\n"
    else:
        assert "all_reduce of process 0 with rank 1 failed after" in said and "it ended, lost the connection" in said


def alone_together(
    tmp_path, *args: str, n: int = 2, program: str = "does_not_come.py", **variables: str
) -> list[tuple[int, str]]:
    """(exit status, what was printed) of each process of a program, which nobody watches."""
    given = {
        **os.environ,
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(free_port()),
        "WORLD_SIZE": str(n),
        **variables,
    }
    command = [sys.executable, "-m", "functorch_core", str(PROGRAMS / program), *args]
    started = [
        subprocess.Popen(
            command,
            env={**given, "RANK": str(r)},
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for r in range(n)
    ]
    found = [process.communicate(timeout=120)[0] for process in started]
    return [(process.returncode, said) for process, said in zip(started, found)]


@pytest.mark.slow
@pytest.mark.parametrize("other, shared_memory", [("0", "1"), ("1", "1"), ("1", "0")])
def test_a_process_that_hangs_is_named_after_the_timeout(tmp_path, other, shared_memory):
    found = alone_together(tmp_path, "hangs", other, n=3, FUNCTORCH_SHARED_MEMORY=shared_memory)
    status, said = found.pop(int(other))
    assert status == -signal.SIGALRM and "after" not in said
    waited = f"rank {other} did not come within 6 s (it hangs, or called nothing)"
    gave_up = "does not come, as a call of its own failed before"
    for status, said in found:
        assert status == 0 and "all_reduce" in said and (waited in said or gave_up in said)
    assert any(waited in said for _, said in found)


@pytest.mark.slow
@pytest.mark.parametrize("shared_memory", ["0", "1"])
def test_the_end_of_the_first_process_does_not_end_the_others(tmp_path, shared_memory):
    first, *others = alone_together(tmp_path, "ended", "0", n=2, FUNCTORCH_SHARED_MEMORY=shared_memory)
    assert first == (7, "") or shared_memory == "0" and first[0] == 7
    for status, said in others:  # the runtime's service was the first one's
        assert status == 0 and "rank 1 after" in said and "rank 0" in said and "ended" in said


@pytest.mark.slow
def test_a_port_in_use_is_said(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        found = alone_together(tmp_path, "port", "1", n=2, MASTER_PORT=port)
    (_, first), (_, second) = found
    assert (
        f"DistNetworkError: the processes cannot meet at port {port} of this machine: Address already in use" in first
    )
    assert "could not join the others" in second and "is not their service" in second


@pytest.mark.slow
def test_collectives_that_do_not_fit_are_named_and_not_done(tmp_path):
    found = alone_together(tmp_path, "mismatch", "1", n=3)
    calls = [f"Rank {r} is running all_reduce({3 if r == 1 else 5} x float32, sum)" for r in range(3)]
    for rank, (status, said) in enumerate(found):
        assert status == 0 and ", ".join(calls) in said and f"rank {rank} has {[9.0] * 5}" in said


@pytest.mark.slow
@pytest.mark.parametrize("how", ["hangs", "ended", "mismatch"])
@pytest.mark.parametrize("shared_memory", [True, False])  # without it they tell each other in debug mode
def test_processes_of_tensors_over_a_mesh_that_do_not_meet(tmp_path, how, shared_memory):
    variables = {} if shared_memory else {"FUNCTORCH_SHARED_MEMORY": "0", "TORCH_DISTRIBUTED_DEBUG": "DETAIL"}
    (status, first), (_, second) = alone_together(tmp_path, how, program="programs_apart.py", **variables)
    assert status == 0
    if how == "mismatch":
        assert first.count("program") == second.count("program") == 2 and "mismatch between collectives" in first
        assert "rank 0 has [12.0, 16.0]" in first and "rank 1 has [12.0, 16.0]" in second
    elif how == "ended" and shared_memory:
        assert "program" in first and "the process of rank 1 has ended" in first
    else:
        assert "program" in first and "rank 1 did not c" in first and "6 s" in first


@pytest.mark.slow
def test_an_error_is_shown_and_ends_the_program(tmp_path):
    done = launch("fails.py", "raises", tmp_path)
    assert done.returncode == 1 and "ValueError: on purpose" in done.stderr
    assert "exitcode: 1; ValueError: on purpose" in done.stderr  # as the process told that of torchrun


@pytest.mark.slow
@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_interrupting_leaves_no_process(tmp_path, sent):
    command = [sys.executable, "-m", "functorch_core.torch.distributed.run", "--nproc-per-node=2"]
    command += [str(PROGRAMS / "fails.py"), "sleeps", str(tmp_path)]
    started = subprocess.Popen(
        command, env={**os.environ, "PYTHONPATH": str(ROOT)}, stderr=subprocess.DEVNULL, cwd=ROOT
    )
    end = time.monotonic() + 120
    while len(list(tmp_path.glob("pid-*"))) < 2 and time.monotonic() < end:
        time.sleep(0.1)
    started.send_signal(sent)
    started.wait(60)
    pids = [int(path.read_text()) for path in tmp_path.glob("pid-*")]
    assert len(pids) == 2 and not any(Path(f"/proc/{pid}").exists() for pid in pids)


@pytest.mark.parametrize(
    "given, said",
    [
        (["--nnodes=two"], "--nnodes: expected a number of machines or MIN:MAX, got 'two'"),
        (["--nnodes=3:2"], "--nnodes: expected a number of machines or MIN:MAX, got '3:2'"),
        (["--nnodes=2", "--rdzv-endpoint=localhost:x"], "--rdzv-endpoint: expected HOST:PORT, got 'localhost:x'"),
        (["--nnodes=2", "--rdzv-backend=c10d"], "machines that meet need a name in common: --rdzv-id=JOB"),
        (["--signals-to-handle=SIGTERM,SIGNONE"], "--signals-to-handle: SIGNONE is no signal of this system"),
    ],
    ids=lambda given: given[-1] if isinstance(given, list) else "",
)
def test_wrong_calls_of_torchrun_are_one_line(given, said):
    from functorch_core.torch.distributed.run import main

    with pytest.raises(SystemExit) as ended:
        main([*given, "script.py"])
    assert str(ended.value) == f"torchrun: {said}"


def test_output_goes_to_files(tmp_path):
    command = [sys.executable, "-m", "functorch_core.torch.distributed.run", "--nproc_per_node", "2", "--no-python"]
    command += ["--log-dir", str(tmp_path), "-r", "3", "--rdzv-id", "job", "sh", "-c", "echo rank $RANK of $WORLD_SIZE"]
    assert subprocess.run(command, capture_output=True, timeout=120, cwd=ROOT).returncode == 0
    found = sorted(path.read_text() for path in tmp_path.rglob("stdout.log"))
    assert found == ["rank 0 of 2\n", "rank 1 of 2\n"]


def test_options_of_torchrun(tmp_path, monkeypatch):
    command = [sys.executable, "-m", "functorch_core.torch.distributed.run", "--no_python", "--local-ranks-filter=1"]
    command += ["--virtual-local-rank", "sh", "-c", "echo rank $RANK, local $LOCAL_RANK"]
    given = {**os.environ, "PET_NPROC_PER_NODE": "3"}
    found = subprocess.run(command, env=given, capture_output=True, text=True, timeout=120, cwd=ROOT)
    assert found.stdout == "rank 1, local 0\n" and found.returncode == 0
    command[4:] = ["--signals-to-handle=SIGNOTHING", "true"]
    found = subprocess.run(command, env=given, capture_output=True, text=True, timeout=120, cwd=ROOT)
    assert found.returncode and "SIGNOTHING is no signal" in found.stderr


# ---- one process ---------------------------------------------------------------------------------


@pytest.fixture
def alone():
    dist.init_process_group("gloo", init_method="tcp://127.0.0.1:0", rank=0, world_size=1)
    yield
    dist.destroy_process_group()


@pytest.mark.usefixtures("alone")
def test_collectives_of_one_process():
    x = torch.arange(3.0)
    dist.all_reduce(x)
    assert x.tolist() == [0, 1, 2]
    places = [torch.zeros(3)]
    dist.all_gather(places, x)
    assert places[0].tolist() == [0, 1, 2]
    dist.scatter(x, [torch.ones(3)])
    assert x.tolist() == [1, 1, 1]
    whole = torch.zeros(2, 3)
    row, shared, before = whole[1], whole.numpy(), whole.clone()
    dist.scatter(row, [torch.full((3,), 4.0)])  # what is written is seen by all that share the memory
    assert whole.tolist() == shared.tolist() == [[0, 0, 0], [4, 4, 4]] and before.sum() == 0
    given = torch.full((2, 3), 5.0)
    dist.scatter(whole, [given])
    given.zero_()
    assert row.tolist() == [5, 5, 5] and shared.sum() == 30 and whole._version >= 2
    objects = [None]
    dist.all_gather_object(objects, "me")
    assert objects == ["me"] and dist.new_group([0]).size() == 1
    dist.barrier()
    with pytest.raises(ValueError, match="destination rank should not be the same"):
        dist.send(x, 0)
    with pytest.raises(ValueError, match="has 2 tensors"):
        dist.all_gather([x, x], x)
    with pytest.raises(ValueError, match="twice"):
        dist.init_process_group("gloo")


def test_debug_levels_of_the_environment(monkeypatch):
    assert dist.get_debug_level() is dist.DebugLevel.OFF
    monkeypatch.setenv("TORCH_DISTRIBUTED_DEBUG", "detail")
    dist.set_debug_level_from_env()
    assert dist.get_debug_level() is dist.DebugLevel.DETAIL
    monkeypatch.setenv("TORCH_DISTRIBUTED_DEBUG", "LOUD")
    with pytest.raises(RuntimeError, match="must be OFF, INFO, or DETAIL"):
        dist.set_debug_level_from_env()
    dist.set_debug_level(dist.DebugLevel.OFF)


@pytest.mark.usefixtures("alone")
def test_which_modules_the_older_wrapper_wraps():
    fsdp, nn = dist.fsdp, torch.nn

    def wrapped(policy, **options):
        net = nn.Sequential(nn.Linear(4, 8), nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 2)), nn.Linear(8, 2))
        model = fsdp.FullyShardedDataParallel(net, auto_wrap_policy=policy, **options)
        names = [name.replace("_fsdp_wrapped_module", "*") for name, m in model.named_modules()]
        return [name.removesuffix(".*").removeprefix("*.") for name in names if name.endswith(".*")]

    sizes = functools.partial(fsdp.wrap.size_based_auto_wrap_policy, min_num_params=50)
    assert wrapped(sizes) == ["1.0"]
    assert wrapped(fsdp.wrap.ModuleWrapPolicy([nn.Linear])) == ["0", "1.0", "1.1", "2"]
    assert wrapped(fsdp.wrap.always_wrap_policy) == ["0", "1", "1.*.0", "1.*.1", "2"]
    chosen = fsdp.wrap.CustomPolicy(
        lambda m: {"sharding_strategy": fsdp.ShardingStrategy.NO_SHARD} if type(m) is nn.Linear else False
    )
    assert wrapped(chosen, ignored_states=[nn.ReLU()]) == ["0", "1.0", "1.1", "2"]
    with pytest.raises(ValueError, match="should return False/True or a kwarg dict"):
        wrapped(fsdp.wrap.CustomPolicy(lambda m: None))
    with pytest.raises(RuntimeError, match="Expected state_dict_config of type .*FullStateDictConfig"):
        model = fsdp.FullyShardedDataParallel(nn.Linear(2, 2))
        full = fsdp.StateDictType.FULL_STATE_DICT
        fsdp.FullyShardedDataParallel.set_state_dict_type(model, full, fsdp.LocalStateDictConfig())


@pytest.mark.usefixtures("alone")
def test_the_older_wrapper_leaves_out_what_is_ignored():
    fsdp, nn = dist.fsdp, torch.nn
    net = nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 2))
    model = fsdp.FullyShardedDataParallel(net, ignored_modules=[net[1]])
    kinds = [isinstance(p, dist.tensor.DTensor) for p in model.parameters()]
    assert kinds == [True, True, False, False]
    model(torch.ones(1, 4)).sum().backward()
    assert torch.equal(model[1].bias.grad, torch.ones(2))
    with torch.device("meta"):
        later = nn.Linear(4, 2)
    made = fsdp.FullyShardedDataParallel(later, param_init_fn=lambda m: m.to_empty(device="cpu") and None)
    assert not made.weight.is_meta and made.weight.placements


@pytest.mark.usefixtures("alone")
def test_offloading_is_taken_where_parameters_are_on_the_host(monkeypatch):
    fsdp = dist.fsdp
    model, plain = torch.nn.Linear(4, 2), torch.nn.Linear(4, 2)
    plain.load_state_dict(model.state_dict())
    mesh = dist.init_device_mesh("cpu", (1,))
    fsdp.fully_shard(model, mesh=mesh, offload_policy=fsdp.CPUOffloadPolicy(pin_memory=False))
    for m in (model, plain):
        m(torch.ones(3, 4)).square().sum().backward()
    assert torch.allclose(model.weight.grad.full_tensor(), plain.weight.grad)
    monkeypatch.setattr(mesh, "device_type", "cuda")
    with pytest.raises(NotImplementedError, match="CPUOffloadPolicy is not implemented for a mesh of cuda"):
        fsdp.fully_shard(torch.nn.Linear(4, 2), mesh=mesh, offload_policy=fsdp.CPUOffloadPolicy())


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("weights_only", [True, False])
def test_saved_tensors_over_a_mesh_are_loaded_as_they_were(weights_only):
    tensor = dist.tensor
    mesh = dist.init_device_mesh("cpu", (1,))
    x = tensor.distribute_tensor(torch.arange(4.0).bfloat16(), mesh, [tensor.Shard(0)])
    p = torch.nn.Parameter(tensor.distribute_tensor(torch.eye(2), mesh), requires_grad=False)
    file = io.BytesIO()
    torch.save({"x": x, "p": p, "again": x}, file)
    file.seek(0)
    found = torch.load(file, weights_only=weights_only)
    assert found["again"] is found["x"] and found["x"].placements == (tensor.Shard(0),)
    assert found["x"].to_local().tolist() == [0, 1, 2, 3] and found["x"].dtype == torch.bfloat16
    assert isinstance(found["p"], torch.nn.Parameter) and not found["p"].requires_grad
    assert pickle.loads(pickle.dumps(p)).placements == copy.deepcopy(p).placements == (tensor.Replicate(),)


def test_wrong_ranks_and_methods():
    with pytest.raises(ValueError, match="is not one of world_size"):
        dist.init_process_group("gloo", init_method="tcp://127.0.0.1:0", rank=2, world_size=2)
    with pytest.raises(ValueError, match="there are env://"):
        dist.init_process_group("gloo", init_method="carrier://pigeon", rank=0, world_size=2)
    with pytest.raises(ValueError, match="has not been initialized"):
        dist.get_rank()


@pytest.mark.parametrize("kind", ["hash", "file", "tcp", "prefix"])
def test_stores(kind, tmp_path):
    made = {
        "hash": dist.HashStore,
        "file": lambda: dist.FileStore(str(tmp_path / "store"), 1),
        "tcp": lambda: dist.TCPStore("127.0.0.1", 0, is_master=True),
        "prefix": lambda: dist.PrefixStore("p", dist.HashStore()),
    }[kind]()
    made.set("a", "1")
    assert made.get("a") == b"1" and made.add("a", 4) == 5 and made.get("a") == b"5"
    assert made.check(["a"]) and not made.check(["b"])
    made.append("t", b"\x00\xff")
    made.append("t", "x")
    assert made.get("t") == b"\x00\xffx"
    assert made.compare_set("a", "9", "1") == b"5" and made.compare_set("a", "5", "1") == b"1"
    assert made.compare_set("new", "", "1") == b"1"
    made.multi_set(["c", "d"], ["3", "4"])
    assert made.multi_get(["c", "d"]) == [b"3", b"4"] and made.num_keys() == 5
    assert made.delete_key("c") and not made.delete_key("c")
    with pytest.raises(dist.DistStoreError, match="wait timeout after 50ms, keys: gone"):
        made.wait(["gone"], 0.05)
    assert sorted(made.list_keys()) == ["a", "d", "new", "t"] and made.clone().get("d") == b"4"
    for value in ("first", "", b"third"):
        made.queue_push("q", value)
    assert made.queue_len("q") == 3 and [made.queue_pop("q") for _ in range(3)] == [b"first", b"", b"third"]
    assert made.queue_len("q") == made.queue_len("none") == 0
    made.set_timeout(0.05)
    with pytest.raises(dist.DistStoreError, match="queue_pop"):
        made.queue_pop("q")
    with pytest.raises(dist.QueueEmptyError):
        made.queue_pop("q", block=False)


def test_a_store_for_several_clients():
    server = dist.TCPStore("127.0.0.1", 0, is_master=True)
    client = dist.TCPStore("127.0.0.1", server.port)
    client.set("a", b"x")
    assert server.get("a") == b"x" and [client.add("n", 1) for _ in range(3)] == [1, 2, 3]
    with pytest.raises(dist.DistStoreError, match="failed to connect"):
        dist.TCPStore("127.0.0.1", 1, timeout=0.1)


@pytest.mark.usefixtures("alone")
def test_distributed_tensors_without_data_lie_somewhere():
    tensor, mesh = dist.tensor, dist.init_device_mesh("cpu", (1,))
    with torch.device("meta"):
        model = dist.fsdp.fully_shard(torch.nn.Linear(2, 3))
    weight = model.weight
    assert isinstance(weight, tensor.DTensor) and weight.is_meta and weight.placements == (tensor.Shard(0),)
    assert weight.to_local().shape == (3, 2) and weight.to_local().is_meta
    assert weight.redistribute(placements=[tensor.Replicate()]).placements == (tensor.Replicate(),)
    assert isinstance(torch.zeros_like(weight), tensor.DTensor) and torch.zeros_like(weight).is_meta
    with pytest.raises(NotImplementedError, match="no data"):
        weight.tolist()
    model.to_empty(device="cpu")
    assert isinstance(model.weight, tensor.DTensor) and not model.weight.is_meta
    given = tensor.distribute_tensor(torch.ones(3, 2), mesh, [tensor.Shard(0)])
    model.load_state_dict({"weight": torch.nn.Parameter(given), "bias": torch.zeros_like(model.bias)}, assign=True)
    assert model(torch.ones(1, 2)).tolist() == [[2.0, 2.0, 2.0]]  # computes with what took the parameters' places
    for made, value in (
        (torch.zeros_like(given), 0.0),
        (torch.ones_like(given), 1.0),
        (torch.full_like(given, 2), 2.0),
    ):
        assert made.placements == given.placements and made.full_tensor().tolist() == [[value] * 2] * 3
    assert not isinstance(torch.zeros_like(torch.ones(2)), tensor.DTensor)
