"""torch.profiler against PyTorch's: which operators a program calls, what the tables say, what is written."""

import gzip
import json

import pytest
import torch as real

from functorch_core import torch

PROGRAMS = """x[1:]; x[0, 1]; x[None]; x.t(); x.add_(1); x * 2; -x; x.sum(); x.mean(1); x.max(1); x.clone(); x.detach()
x.to(torch.float64); x.float(); x.view(3, 2); x.reshape(6); x.expand(4, 2, 3); x.chunk(2); x.split(1); x.contiguous()
torch.cat([x, x]); torch.stack([x, x]); x @ x.t(); x > 1; torch.zeros(2); torch.arange(3); float(x[0, 0]); x.std()
x.softmax(0); torch.where(x > 0, x, x); x.unsqueeze(0); x.permute(1, 0); F.gelu(x); F.layer_norm(x, (3,)); F.dropout(x)
F.relu(x); F.relu(x.clone(), inplace=True); F.cross_entropy(x, x); x.zero_(); x.copy_(x)
torch.linalg.norm(x); F.conv2d(torch.ones(1, 1, 4, 4), torch.ones(1, 1, 2, 2)); x.cumsum(0); x.gather(0, x.long())
F.embedding(x.long(), x); F.scaled_dot_product_attention(x[None], x[None], x[None]); torch.full((2,), 1.0); x.numel()
x.topk(1); x.sort(); torch.clamp(x, 0, 1); x**2; torch.bmm(x[None], x.t()[None])
x.cpu(); x[x > 0]; x.flatten(); x.repeat(2, 1); torch.einsum("ij,kj->ik", x, x)
torch.allclose(x, x); torch.equal(x, x); x.requires_grad_(); x.dim(); x.stride(); torch.ones_like(x)"""


def operators(lib, program: str) -> list[str]:
    """The operators of which no other is a part."""
    names = {"torch": lib, "F": lib.nn.functional, "x": lib.ones(2, 3)}
    with lib.autograd.profiler.profile() as profile, lib.autograd.profiler.record_function("all"):
        exec(program, names)
    [outer] = [e for e in profile.function_events if e.name == "all"]
    return [c.name for c in outer.cpu_children]


@pytest.mark.parametrize("program", [p.strip() for line in PROGRAMS.splitlines() for p in line.split(";")])
def test_operators_are_pytorchs(program):
    assert operators(torch, program) == operators(real, program)


def outermost(profile) -> list[str]:
    """The names of the events that are no part of others."""
    return [e.key for e in profile.events() if e.cpu_parent is None]


def step(lib):
    """A step of training under a profile: its profile."""
    model = lib.nn.Sequential(lib.nn.Flatten(), lib.nn.Linear(12, 4), lib.nn.ReLU(), lib.nn.Linear(4, 3))
    optimizer, x, y = lib.optim.SGD(model.parameters(), lr=0.1), lib.ones(5, 3, 4), lib.tensor([0, 1, 2, 0, 1])
    options = {"record_shapes": True, "profile_memory": True, "with_flops": True}
    activities = [lib.profiler.ProfilerActivity.CPU]
    with lib.profiler.profile(activities=activities, **options) as profile:
        with lib.profiler.record_function("step"):
            lib.nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
            optimizer.zero_grad()
    return profile


def test_a_step_of_training():
    ours, theirs = ({e.key: e for e in step(lib).key_averages()} for lib in (torch, real))
    ours.pop("[memory]", None), theirs.pop("[memory]", None)
    assert {name: e.count for name, e in ours.items()} == {name: e.count for name, e in theirs.items()}
    assert {"aten::linear", "aten::cross_entropy_loss", "AddmmBackward0", "Optimizer.step#SGD.step"} < set(ours)
    assert sum(e.flops for e in ours.values()) >= 2 * 5 * (12 * 4 + 4 * 3)
    assert ours["aten::linear"].cpu_memory_usage == theirs["aten::linear"].cpu_memory_usage


def test_times_add_up():
    events = step(torch).events()
    outer = events[0]
    assert outer.key == "step" and outer.cpu_parent is None
    assert all(outer.time_range.start <= e.time_range.start <= e.time_range.end <= outer.time_range.end for e in events)
    assert events.self_cpu_time_total == pytest.approx(outer.cpu_time_total)
    assert all(e.self_cpu_time_total > -1e-3 for e in events)


def test_tables_have_pytorchs_columns():
    ours, theirs = (step(lib).key_averages(group_by_input_shape=True) for lib in (torch, real))

    def columns(averages) -> list[str]:
        head = averages.table(sort_by="self_cpu_time_total", row_limit=3, header="A step").splitlines()[3]
        return [title.replace("KFLOPs", "FLOPs").replace("MFLOPs", "FLOPs") for title in head.split("  ") if title]

    assert [c.strip() for c in columns(ours)] == [c.strip() for c in columns(theirs)]
    assert [3, 4] in [s for e in ours for s in (e.input_shapes or []) if s]
    assert "computed one by one" in ours.table()
    with pytest.raises(ValueError, match="time_unit"):
        ours.table(time_unit="h")


def test_off_nothing_is_observed():
    from functorch_core.torch.tensors.active import active

    before = active.overrides, torch.Tensor.item
    step(torch)
    assert active.observer is None and (active.overrides, torch.Tensor.item) == before


def test_other_threads_are_not_collected():
    import threading

    with torch.profiler.profile() as profile:
        thread = threading.Thread(target=lambda: torch.ones(3).exp().sum().item())
        thread.start()
        thread.join()
        torch.ones(2).tan()
    assert outermost(profile) == ["aten::ones", "aten::tan"]


def test_an_error_inside_ends_the_profile():
    with pytest.raises(RuntimeError), torch.profiler.profile() as profile:
        torch.ones(2, 3) @ torch.ones(2, 3)
    assert outermost(profile) == ["aten::ones", "aten::ones", "aten::matmul"]


def test_overriding_classes_go_on_overriding():
    class Mine(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return "mine"

    mine = torch.ones(2).as_subclass(Mine)
    with torch.profiler.profile():
        assert torch.exp(mine) == "mine" and mine + 1 == "mine"


def test_scheduled_steps(tmp_path):
    def saved(lib):
        found = []

        def ready(p):
            p.export_chrome_trace(str(tmp_path / "trace.json"))
            named = {e["name"] for e in json.loads((tmp_path / "trace.json").read_text())["traceEvents"]}
            steps = sorted(name for name in named if name.startswith("ProfilerStep"))
            keys = [e.key for e in p.events() if e.key in ("aten::ones", "aten::sum", "ProfilerStep*")]
            found.append((steps, keys, sorted((e.key, e.count) for e in p.key_averages() if e.key in keys)))

        plan = lib.profiler.schedule(wait=1, warmup=1, active=2, repeat=1)
        activities = [lib.profiler.ProfilerActivity.CPU]
        with lib.profiler.profile(activities=activities, schedule=plan, on_trace_ready=ready) as profile:
            for _ in range(5):
                lib.ones(3).sum()
                profile.step()
        return found

    assert saved(torch) == saved(real)
    assert saved(torch)[0][0] == ["ProfilerStep#2", "ProfilerStep#3"]


def test_traces_and_stacks_are_written(tmp_path):
    with torch.profiler.profile(with_stack=True, record_shapes=True) as profile:
        with torch.profiler.record_function("part"):
            torch.ones(2, 3).sum()
    profile.add_metadata("who", "me")
    for name, opened in (("trace.json", open), ("trace.json.gz", gzip.open)):
        profile.export_chrome_trace(str(tmp_path / name))
        with opened(tmp_path / name, "rt") as file:
            trace = json.load(file)
        found = {e["name"]: e for e in trace["traceEvents"]}
        assert found["part"]["cat"] == "user_annotation" and found["aten::sum"]["cat"] == "cpu_op"
        assert found["aten::sum"]["args"]["Input Dims"] == [[2, 3], []] and trace["who"] == "me"
    profile.export_stacks(str(tmp_path / "stacks.txt"), "self_cpu_time_total")
    lines = (tmp_path / "stacks.txt").read_text().splitlines()
    assert lines and all(int(line.rsplit(" ", 1)[1]) > 0 for line in lines)
    assert any("test_profiler.py" in line for line in lines)
    [average] = [e for e in profile.key_averages(group_by_stack_n=1) if e.key == "aten::sum"]
    assert len(average.stack) == 1 and "test_traces_and_stacks_are_written" in average.stack[0]


def test_trace_handler(tmp_path):
    with torch.profiler.profile(on_trace_ready=torch.profiler.tensorboard_trace_handler(str(tmp_path), use_gzip=True)):
        torch.ones(3)
    [file] = tmp_path.iterdir()
    assert file.name.endswith(".pt.trace.json.gz")


def test_loader_and_backward_by_hooks():
    loader = torch.utils.data.DataLoader(range(4), batch_size=2)
    with torch.profiler.profile() as profile:
        for _ in loader:
            pass
    assert [e.count for e in profile.key_averages() if e.key.startswith("enumerate(DataLoader)#_Single")] == [3]


def test_events_made_by_hand_are_averaged():
    def numbers(torch):
        util = torch.autograd.profiler_util
        average = util.FunctionEventAvg()
        for id, (start, end) in enumerate([(10, 15), (20, 30)]):
            average.add(util.FunctionEvent(id=id, node_id=3, name="foo", thread=0, start_us=start, end_us=end))
        average.add(average)
        event = util.FunctionEvent(0, "foo", 0, 1, 3)
        return average.key, average.count, average.cpu_time_total, average.cpu_time, event.node_id

    assert numbers(torch) == numbers(real)


def test_layers_of_several_results():
    def program(lib):
        rnn, x = lib.nn.LSTM(3, 4, 2), lib.ones(5, 2, 3)
        with lib.autograd.profiler.profile() as profile:
            rnn(x)[0].sum().backward()
        return [e.name for e in profile.function_events if e.name == "aten::lstm"]

    assert program(torch) == program(real)
