"""Where tensors are: programs for a (simulated) GPU, each a function that asserts. Run by test_devices.py."""

from __future__ import annotations

import sys
import threading

import numpy as np

from tests.torch import simulated_gpu  # noqa: F401  before anything else

import functorch_core as fc  # isort: skip
from functorch_core import engine, torch, xla  # isort: skip


def results_are_where_their_operands_are():
    x, c = torch.ones(3, device="cuda"), torch.ones(3)
    assert (x * 2 + 1).is_cuda and not (c * 2 + 1).is_cuda
    on_host, there = c * 3, x * 3  # both recorded, by turns
    assert (on_host + 1).device.type == "cpu" and (there + 1).device == torch.device("cuda", 0)
    np.testing.assert_array_equal((on_host + 1).numpy(), [4, 4, 4])
    np.testing.assert_array_equal((there + 1).cpu().numpy(), [4, 4, 4])
    assert "device='cuda:0'" in repr(there) and "device" not in repr(on_host)


def numbers_of_the_host_may_be_operands():
    x = torch.ones(3, device="cuda")
    y = x * torch.tensor(2.0)
    assert y.is_cuda and y.sum().item() == 6
    assert (torch.tensor(2.0) * x).is_cuda


def a_thread_goes_on_with_the_device_of_its_last_operands():
    x, c = torch.ones(3, device="cuda"), torch.ones(3)
    for _ in range(3):
        x = x + x
        made = [torch.zeros(2), torch.ones_like(c), torch.arange(4), torch.full((2,), 2.5), c.new_zeros(2), c + 1]
        assert x.is_cuda and not any(t.is_cuda for t in made)
        x.zero_()
        c.zero_().fill_(2)
        assert x.is_cuda and not c.is_cuda
    assert x.sum().item() == 0 and c.sum().item() == 6 and made[-1].tolist() == [3, 3, 3]
    with torch.device("cuda"):
        there = torch.zeros(2) + 1
        assert there.is_cuda and not (c + 1).is_cuda
    assert not torch.zeros(2).is_cuda

    def on_another_thread():
        made.append(torch.zeros(2) + 1)
        made.append(x + 1)

    thread = threading.Thread(target=on_another_thread)
    thread.start()
    thread.join()
    assert not made[-2].is_cuda and made[-1].is_cuda


def two_gpus_do_not_mix():
    x, y = torch.ones(3, device="cuda:0"), torch.ones(3, device="cuda:1")
    try:
        x + y
    except RuntimeError as error:
        assert "found at least two devices, cuda:0 and cuda:1" in str(error)
    else:
        raise AssertionError("no error")
    assert (x + y.to(x.device)).sum().item() == 6 and y.device == torch.device("cuda:1")


def factories_make_them_there():
    size, x = (2, 3), torch.ones(2, 3, device="cuda")
    made = [
        *(f(*size, device="cuda") for f in (torch.zeros, torch.ones, torch.empty, torch.rand, torch.randn)),
        torch.full(size, 7.5, device="cuda"),
        torch.full(size, 7, device="cuda"),
        torch.arange(5, device="cuda"),
        torch.tensor([1.0, 2.0], device="cuda"),
        torch.zeros_like(x),
        torch.randn_like(x),
        x.new_ones(3),
        x.new_full((2,), 4.0),
        torch.bernoulli(x),
        torch.multinomial(x, 2),
    ]
    assert all(t.is_cuda for t in made)
    assert made[5].unique().item() == 7.5 and made[6].dtype == torch.int64 and made[6].sum().item() == 42
    assert not torch.zeros_like(x, device="cpu").is_cuda


def gradients_are_there():
    x = torch.randn(4, 4, device="cuda", requires_grad=True)
    (x @ x.t()).relu().sum().backward()
    assert x.grad.is_cuda
    x.grad = None
    x.sum().backward()
    assert x.grad.is_cuda
    w = torch.randn(4, requires_grad=True)  # of the host: its gradient comes back there
    (w.to("cuda") * x.detach()).sum().backward()
    assert not w.grad.is_cuda
    np.testing.assert_allclose(w.grad.numpy(), x.detach().cpu().numpy().sum(0), rtol=1e-6)


def training_is_that_of_the_cpu():
    def train(device):
        torch.manual_seed(0)
        n = torch.nn
        model = n.Sequential(n.Linear(5, 8), n.ReLU(), n.LayerNorm(8), n.Linear(8, 3)).to(device)
        x, y = torch.randn(16, 5).to(device), torch.randint(0, 3, (16,)).to(device)
        optimizer = torch.optim.AdamW(model.parameters(), 0.05)
        for _ in range(12):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(x), y)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        assert all(p.device.type == device == p.grad.device.type for p in model.parameters())
        state = optimizer.state[next(model.parameters())]
        assert state["exp_avg"].device.type == device
        return loss.item()

    assert abs(train("cpu") - train("cuda")) < 1e-5


def writes_and_indices():
    found = None
    for device in ("cpu", "cuda"):
        x = torch.zeros(4, 4, device=device)
        x[1:3, ::2] = 5
        x[:, 1].add_(1)
        x[x > 3] = 7
        x.t()[0] *= 2
        i = torch.tensor([0, 2], device=device)
        x.index_add_(0, i, torch.ones(2, 4, device=device))
        x[[0, 1]] += x[torch.tensor([2, 3])]  # indices of the host
        assert x.device.type == device and x[i].device.type == device
        assert x.nonzero().device.type == device and torch.unique(x, return_counts=True)[1].device.type == device
        found = x.numpy() if found is None else found
        np.testing.assert_array_equal(x.cpu().numpy(), found)


def bad_indices_are_heard_of_on_either_side():
    for device in ("cpu", "cuda"):
        table = torch.randn(4, 2, device=device)
        index = torch.tensor([1, 9], device=device) + 0
        try:
            torch.nn.functional.embedding(index, table).sum().item()
        except IndexError:
            pass
        else:
            raise AssertionError(f"no error on {device}")
    good = torch.tensor([0, 1])
    here, there = torch.randn(3, 2), torch.randn(3, 2, device="cuda")
    a, b = here[good + 1], there[good.to("cuda") + 1]  # a check on each
    assert not a.is_cuda and b.is_cuda and a.shape == b.shape == (2, 2)


def checks_do_not_wait_for_a_gpu():
    table, index = torch.randn(4, 2, device="cuda"), torch.tensor([1, 3], device="cuda") + 0
    rows = torch.nn.functional.embedding(index, table)
    engine.flush()  # the rows have data now, which nobody has verified
    before = type(rows._value.recording).__name__
    out = rows * 2 + 1
    assert before == "Unverified" == type(rows._value.recording).__name__
    np.testing.assert_array_equal(out.cpu().numpy(), table.cpu().numpy()[[1, 3]] * 2 + 1)


def data_do_not_become_arrays_by_themselves():
    x = torch.ones(2, device="cuda")
    for read in (lambda: x.numpy(), lambda: np.asarray(x)):
        try:
            read()
        except TypeError as error:
            assert "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu()" in str(error)
        else:
            raise AssertionError("no error")
    assert x.numpy(force=True).tolist() == x.tolist() == [1, 1]


def loops_run_as_programs():
    x = torch.ones(64, 64, device="cuda")
    before = engine.stats()["fused_runs"]
    for _ in range(40):
        y = (x * 1.5 + 1).tanh().sum()
        assert y.is_cuda and abs(y.item() - 64 * 64 * np.tanh(2.5)) < 0.1
    assert engine.stats()["fused_runs"] > before


def transforms_compute_there():
    x = torch.randn(6, 3, device="cuda")
    assert torch.func.vmap(lambda r: (r * r).sum())(x).is_cuda
    assert torch.func.grad(lambda v: (v**3).sum())(x).is_cuda
    assert torch.func.jvp(torch.sin, (x,), (torch.ones_like(x),))[1].is_cuda


def arrays_stay_where_they_were_put():
    gpu = xla.devices("cuda")[1]
    x = fc.device_put(np.arange(3.0), gpu)
    y = fc.sin(x) + 1
    assert y.device is gpu and (y * 2).device is gpu
    np.testing.assert_allclose(np.asarray(y), np.sin(np.arange(3.0)) + 1)
    assert (fc.ones(3) + 1).device is xla.default_device()
    with fc.default_device(gpu):
        assert (fc.ones(3) + 1).device is gpu


def autocast_and_scaler():
    torch.manual_seed(0)  # of one draw in six a scaled gradient is beyond float16, and the scale is halved
    model = torch.nn.Linear(4, 2).cuda()
    optimizer, scaler = torch.optim.SGD(model.parameters(), 0.1), torch.amp.GradScaler("cuda")
    x = torch.randn(8, 4, device="cuda")
    for _ in range(3):
        with torch.autocast("cuda", dtype=torch.float16):
            out = model(x)
        assert out.dtype == torch.float16
        optimizer.zero_grad()
        scaler.scale(out.float().square().mean()).backward()
        scaler.step(optimizer)
        scaler.update()
    assert scaler.get_scale() == 65536


def random_numbers_are_drawn_there():
    def draws():
        x = torch.empty(40000, device="cuda")
        return [
            torch.rand(40000, device="cuda"),
            torch.empty_like(x).uniform_(-3, 5),
            torch.randn(200, 200, device="cuda"),
            torch.randn_like(x),
            torch.empty_like(x).normal_(7, 0.5),
            torch.normal(7.0, 0.5, (40000,), device="cuda"),
            torch.nn.functional.dropout(torch.ones_like(x), 0.25),
            torch.empty_like(x).bernoulli_(0.3),
            torch.rand(40000, device="cuda", dtype=torch.float16),
            torch.rand(40000, device="cuda", dtype=torch.bfloat16),
            torch.randn(40000, device="cuda", dtype=torch.float64),
        ]

    torch.manual_seed(3)
    state = torch.get_rng_state()
    first = draws()
    moments = [(x.double().mean().item(), x.double().std().item()) for x in first]
    root = 12**-0.5
    expected = [(0.5, root), (1, 8 * root), (0, 1), (0, 1), (7, 0.5), (7, 0.5), (1, 3**-0.5), (0.3, 0.21**0.5)]
    expected += [(0.5, root), (0.5, root), (0, 1)]
    for i, (found, wanted) in enumerate(zip(moments, expected, strict=True)):
        np.testing.assert_allclose(found, wanted, atol=0.06, err_msg=str(i))
    assert all(x.is_cuda for x in first) and len({x.sum().item() for x in first}) == len(first)
    assert first[1].min().item() >= -3 and first[1].max().item() < 5 and first[8].max().item() < 1
    torch.set_rng_state(state)
    assert all(torch.equal(a, b) for a, b in zip(first, draws()))
    assert set(first[7].unique().tolist()) == {0, 1} and set(first[6].unique().tolist()) == {0, np.float32(4 / 3)}
    with torch.random.fork_rng():
        torch.rand(3, device="cuda")
    generator = torch.Generator("cuda").manual_seed(5)
    a = torch.rand(9, device="cuda", generator=generator)
    assert torch.equal(a, torch.rand(9, device="cuda", generator=generator.manual_seed(5)))
    assert not torch.equal(a, torch.rand(9, device="cuda", generator=generator))


def a_checkpoint_draws_the_same_numbers_again():
    layer = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Dropout(0.5)).cuda()
    x = torch.randn(64, 8, device="cuda", requires_grad=True)

    def gradient(run):
        torch.manual_seed(1)
        x.grad = None
        run().square().sum().backward()
        return x.grad

    plain = gradient(lambda: layer(x))
    again = gradient(lambda: torch.utils.checkpoint.checkpoint(layer, x, use_reentrant=False))
    np.testing.assert_allclose(plain.cpu().numpy(), again.cpu().numpy(), rtol=1e-5)


PROGRAMS = {name: f for name, f in list(globals().items()) if callable(f) and getattr(f, "__module__", "") == __name__}

if __name__ == "__main__":
    PROGRAMS[sys.argv[1]]()
