"""torch.distributed.pipelining in one process, beside PyTorch's: orders, parts of batches, cuts and errors.

Several processes: several_processes/pipelines.py.
"""

import pytest

from functorch_core import torch
from functorch_core.torch.compat.distributed.pipelining.split_backward import input_gradients

real = pytest.importorskip("torch")
real_pipelining = pytest.importorskip("torch.distributed.pipelining")
FakeStore = pytest.importorskip("torch.testing._internal.distributed.fake_pg").FakeStore
real_dist = real.distributed
dist, pipelining = torch.distributed, torch.distributed.pipelining
SPLIT = {"layers.1": "BEGINNING", "layers.1.0": "END", "head": "BEGINNING"}


@pytest.fixture
def alone():
    dist.init_process_group("gloo", init_method="tcp://127.0.0.1:0", rank=0, world_size=1)
    yield
    dist.destroy_process_group()


@pytest.fixture
def real_group():
    def begin(size):
        real_dist.init_process_group("fake", rank=0, world_size=size, store=FakeStore())

    yield begin
    real_dist.destroy_process_group()


def ours_of(size, rank=0):
    """A group of `size` processes, of which none but this one is there: enough to plan with."""
    return dist.ProcessGroup("gloo", range(size), rank)


def plan(order):
    return {rank: [str(a) for a in actions if a is not None] for rank, actions in order.items()}


@pytest.mark.parametrize("size, n", [(1, 3), (2, 2), (2, 4), (2, 6), (4, 3), (4, 10), (4, 8)])
@pytest.mark.usefixtures("alone")
def test_orders_of_several_stages(real_group, size, n):
    real_group(size)
    for name in ("ScheduleInterleaved1F1B", "ScheduleLoopedBFS"):
        found = []
        for module, t, group in ((pipelining, torch, ours_of(size)), (real_pipelining, real, None)):
            layer = t.nn.Linear(2, 2)
            stages = [module.PipelineStage(layer, i, 3 * size, "cpu", group=group) for i in range(0, 3 * size, size)]
            found.append(plan(getattr(module, name)(stages, n).pipeline_order))
        assert found[0] == found[1], name


def flat(order):
    """A plan of PyTorch's in which what overlaps comes one after the other."""
    found = {}
    for rank, actions in order.items():
        parts = [a.sub_actions or [a] if hasattr(a, "sub_actions") else [a] for a in actions if a is not None]
        found[rank] = [str(a) for part in parts for a in part]
    return found


@pytest.mark.parametrize("size, n", [(1, 3), (2, 4), (2, 7), (4, 8), (4, 12), (3, 6)])
@pytest.mark.usefixtures("alone")
def test_orders_of_zero_bubble_schedules(real_group, size, n):
    real_group(size)
    for name in ("ScheduleInterleavedZeroBubble", "ScheduleZBVZeroBubble", "ScheduleDualPipeV"):
        if name == "ScheduleInterleavedZeroBubble" and n % max(1, n // size):
            continue
        found, places = [], (0, size) if "Interleaved" in name else (0, 2 * size - 1)
        for module, t, group in ((pipelining, torch, ours_of(size)), (real_pipelining, real, None)):
            stages = [module.PipelineStage(t.nn.Linear(2, 2), i, 2 * size, "cpu", group=group) for i in places]
            found.append(flat(getattr(module, name)(stages, n).pipeline_order))
        assert found[0] == found[1], name


class Tied(torch.nn.Module):
    """A weight that is used at both ends, a residual, an output that does not depend on the input, two inputs."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3), torch.nn.Parameter(torch.ones(3))

    def forward(self, x, y):
        h = torch.tanh(self.a(x)) * y + x
        return h @ self.b.weight.t() + self.a(h) @ self.a.weight, self.c * 2 + self.b.bias


def test_a_backward_pass_in_two_halves_is_one():
    torch.manual_seed(0)
    net = Tied()
    x, y, fixed = (torch.randn(4, 3, requires_grad=i < 2) for i in range(3))
    for inputs in ((x, y), (x, fixed), (fixed, fixed)):
        outputs = net(*inputs)
        weights = [torch.randn_like(out) for out in outputs]
        found, left = input_gradients(outputs, weights, inputs)
        assert all(p.grad is None for p in net.parameters())
        left.add()
        of_weights = [p.grad for p in net.parameters()]
        net.zero_grad()
        leaves = [*net.parameters(), *[i for i in inputs if i.requires_grad]]
        wanted = torch.autograd.grad(net(*inputs), leaves, weights)
        of_inputs = iter(wanted[len(of_weights) :])
        for grad, i in zip(found, inputs):
            assert (grad is not None) == i.requires_grad
            if i.requires_grad:
                torch.testing.assert_close(grad, next(of_inputs))
        for grad, w in zip(of_weights, wanted):
            torch.testing.assert_close(grad, w)


def text(error):
    return f"{type(error).__name__}: {error}"


@pytest.mark.usefixtures("alone")
def test_errors_are_pytorchs(real_group):
    real_group(2)
    shown = []
    for module, t, group in ((pipelining, torch, ours_of(2)), (real_pipelining, real, None)):
        layer = t.nn.Linear(3, 3)

        def stage(i, n, module=module, layer=layer, group=group):
            return module.PipelineStage(layer, i, n, "cpu", group=group)

        def without_grad(module=module, stage=stage, t=t):
            with t.no_grad():
                module.ScheduleGPipe(stage(0, 2), 2, t.nn.MSELoss()).step(t.ones(4, 3))

        wrong = [
            lambda stage=stage: stage(2, 2),
            lambda stage=stage: stage(0, 1),
            lambda stage=stage, module=module: module.Schedule1F1B(stage(0, 2), 1),
            lambda stage=stage, module=module: module.ScheduleInterleaved1F1B([stage(0, 4), stage(2, 4)], 5),
            without_grad,
            lambda module=module: module.schedules.get_schedule_class("nope"),
        ]
        for call in wrong:
            with pytest.raises((ValueError, RuntimeError)) as caught:
                call()
            shown.append(text(caught.value))
    half = len(shown) // 2
    assert shown[:half] == shown[half:]


@pytest.mark.usefixtures("alone")
def test_what_is_not_built_says_so():
    stage = pipelining.PipelineStage(torch.nn.Linear(2, 2), 0, 1, "cpu")
    with pytest.raises(NotImplementedError, match="use_full_backward"):
        pipelining.schedules.PipelineScheduleMulti([stage], 2, use_full_backward=False)
    with pytest.raises(ValueError, match="has the stages 0 and 1, got \\[0\\]"):
        pipelining.ScheduleZBVZeroBubble([stage], 2)
    with pytest.raises(NotImplementedError, match="dw_builder"):
        pipelining.PipelineStage(torch.nn.Linear(2, 2), 0, 1, "cpu", dw_builder=lambda: None)


@pytest.mark.parametrize("chunks", [1, 2, 3, 7])
def test_parts_of_a_batch(chunks):
    found = []
    for module, t in ((pipelining, torch), (real_pipelining, real)):
        micro = module.microbatch
        x = t.arange(10.0).view(5, 2)
        specs = (micro.TensorChunkSpec(1), micro._Replicate()), {"k": micro.TensorChunkSpec(0)}
        plain = micro.split_args_kwargs_into_chunks((x, 3), {"k": x}, chunks)
        parts = micro.split_args_kwargs_into_chunks((x, 3), {"k": x}, min(chunks, 2), *specs)
        merged = micro.merge_chunks([a[:1] for a in plain[0]], None)[0]
        again = micro.merge_chunks([a[0] for a in parts[0]], micro.TensorChunkSpec(1))
        assert merged.tolist() == again.tolist() == x.tolist()
        found.append(repr((plain, parts)))
    assert found[0] == found[1]


def network(t):
    class Network(t.nn.Module):
        def __init__(self):
            super().__init__()
            t.manual_seed(0)
            self.layers = t.nn.ModuleList(t.nn.Sequential(t.nn.Linear(3, 3), t.nn.Tanh()) for _ in range(2))
            self.head = t.nn.Linear(3, 2)
            self.scale = t.nn.Parameter(t.full((3,), 2.0))

        def forward(self, x, shift=0.5):
            first = x * self.scale
            for layer in self.layers:
                x = layer(x) + shift
            return self.head(x + first * self.scale)

    return Network()


@pytest.mark.filterwarnings("ignore")  # PyTorch's export warns of itself
@pytest.mark.usefixtures("alone")
def test_a_module_is_cut_and_trained():
    found = []
    for module, t in ((pipelining, torch), (real_pipelining, real)):
        spec = {name: module.SplitPoint[point] for name, point in SPLIT.items()}
        pipe = module.pipeline(network(t), (t.ones(2, 3),), split_spec=spec)
        found.append([sorted(pipe.get_stage_module(i).state_dict()) for i in range(pipe.num_stages)])
    assert found[0] == found[1]  # where the parameters are: a value that is skipped to the end goes through all
    model = network(torch)
    pipe = pipelining.pipeline(
        model, (torch.ones(2, 3),), split_spec={name: pipelining.SplitPoint[p] for name, p in SPLIT.items()}
    )
    x, y = torch.randn(8, 3), torch.randn(8, 2)
    assert pipe(x).tolist() == model(x).tolist()
    wanted = torch.autograd.grad(torch.nn.functional.mse_loss(model(x), y), list(model.parameters()))
    stages = [pipe.build_stage(i, "cpu") for i in range(pipe.num_stages)]
    losses: list = []
    schedule = pipelining.ScheduleInterleaved1F1B(stages, 4, torch.nn.MSELoss())
    out = schedule.step(x, target=y, losses=losses)
    assert len(losses) == 4 and torch.allclose(out, model(x))
    for p, g in zip(model.parameters(), wanted):
        assert torch.allclose(p.grad, g, atol=1e-6)
    assert torch.allclose(schedule.eval(x), out) and schedule.step(x, target=y, return_outputs=False) is None
    with pytest.raises(ValueError, match="3 parts, n_microbatches is 4"):
        schedule.step(x[:3])


def test_marks_in_forward():
    class Marked(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)

        def forward(self, x):
            x = self.a(x)
            pipelining.pipe_split()
            return self.b(x)

    model, x = Marked(), torch.ones(3, 2)
    pipe = pipelining.pipeline(model, (x,))
    assert pipe.num_stages == 2 and pipe.info().num_stages == 2
    assert list(pipe.get_stage_module(0).state_dict()) == ["a.weight", "a.bias"]
    assert pipe(x).tolist() == model(x).tolist()
    with pytest.raises(ValueError, match="Invalid stage index 2!"):
        pipe.get_stage_module(2)
    with pytest.raises(ValueError, match="Unknown split point type"):
        pipelining.pipeline(model, (x,), split_spec={"b": 1})
    with pytest.raises(ValueError, match="Cannot specify both"):
        pipelining.pipeline(model, (x,), split_spec={"b": pipelining.SplitPoint.END}, split_policy=lambda g: g)
    with pytest.raises(AttributeError, match="nope"):
        pipelining.pipeline(model, (x,), split_spec={"nope": pipelining.SplitPoint.END})


@pytest.mark.usefixtures("alone")
def test_a_tensor_that_is_not_as_announced_is_named():
    layers = [torch.nn.Linear(2, 3), torch.nn.Linear(3, 1)]
    first = pipelining.PipelineStage(layers[0], 0, 2, "cpu")
    second = pipelining.PipelineStage(layers[1], 1, 2, "cpu", input_args=torch.ones(2, 4))
    with pytest.raises(RuntimeError, match=r"stage 1: input 0 is torch.float32\[2, 3\] where input_args says .*2, 4"):
        pipelining.ScheduleLoopedBFS([first, second], 2).step(torch.ones(4, 2))
    silent = pipelining.PipelineStage(torch.nn.Identity(), 0, 2, "cpu")
    with pytest.raises(TypeError, match="stage 0: forward gave str"):
        silent.forward_one_chunk(0, ("text",))
