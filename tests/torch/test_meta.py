"""The meta device against PyTorch's: `meta_programs.txt` holds expressions, of which shape, dtype,
strides, device, and the errors are compared."""

from __future__ import annotations

import copy
import gc
import importlib
import io
import pathlib
import pickle
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy
import pytest

from functorch_core import engine
from functorch_core import torch as ours
from functorch_core.engine.value import absent_values, is_absent
from functorch_core.torch.tensors.active import active

reference = pytest.importorskip("torch")
importlib.import_module("torch.utils.checkpoint")
importlib.import_module("functorch_core.torch.utils.checkpoint")

LINES = (pathlib.Path(__file__).parent / "meta_programs.txt").read_text().splitlines()
PROGRAMS = [line for line in LINES if line and line[0] not in "#="]

pytestmark = pytest.mark.filterwarnings("ignore")


class Tools:
    """What the programs use besides torch itself."""

    def __init__(self, torch):
        self.torch, self.nn, self.F = torch, torch.nn, torch.nn.functional

    def M(self, *size, **kwargs):
        """A tensor on the meta device."""
        return self.torch.empty(*size, device="meta", **kwargs)

    def leaf_(self, *size):
        """One that requires grad."""
        return self.M(*size, requires_grad=True)

    def leaf(self, size, function):
        """The gradient of a function of one."""
        x = self.leaf_(size)
        function(x).backward()
        return x.grad

    def under(self, function):
        """What a function gives under the device as a context, and as the default one."""
        with self.torch.device("meta"):
            first = function()
        self.torch.set_default_device("meta")
        try:
            return [first, function()]
        finally:
            self.torch.set_default_device(None)

    def saved(self, x, **kwargs):
        """Through a file."""
        file = io.BytesIO()
        self.torch.save(x, file)
        file.seek(0)
        return self.torch.load(file, **kwargs)

    def trained(self, name: str):
        """A parameter and the optimizer's state after a step."""
        model = self.nn.Linear(4, 3, device="meta")
        optimizer = getattr(self.torch.optim, name)(model.parameters(), lr=0.1)

        def closure():
            optimizer.zero_grad()
            loss = model(self.M(2, 4)).pow(2).mean()
            loss.backward()
            return loss

        optimizer.step(closure)
        state = optimizer.state_dict()["state"].get(0, {})
        return [model.weight, {k: state[k] for k in sorted(state) if state[k] is not None}]

    def drawn(self, function):
        """What a function gives, and whether the generator stayed where it was."""
        self.torch.manual_seed(0)
        before = self.torch.get_rng_state()
        return [function(), self.torch.equal(before, self.torch.get_rng_state())]

    def reset(self):
        """The parameters of modules that were built without data, initialised afterwards."""
        torch, nn = self.torch, self.nn
        torch.manual_seed(3)
        with torch.device("meta"):
            modules = nn.Sequential(nn.Linear(4, 3), nn.Conv2d(1, 2, 3), nn.Embedding(3, 2), nn.LSTM(2, 3))
        modules.to_empty(device="cpu")
        for module in modules:
            module.reset_parameters()
        return [[round(x, 5) for x in p.flatten().tolist()] for p in modules.parameters()]

    def seen(self, program):
        """The calls that a TorchFunctionMode sees inside of a program."""
        calls = []

        class Mode(self.torch.overrides.TorchFunctionMode):
            def __torch_function__(self, func, types, args=(), kwargs=None):
                if func.__name__ == "empty":
                    calls.append(sorted(kwargs or {}))
                return func(*args, **(kwargs or {}))

        def log(function):
            with Mode():
                return function()

        return [program(log), calls]


def described(x, strides: bool = True):
    """Tensors by what is to agree; what holds them as it is."""
    if isinstance(x, (reference.Tensor, ours.Tensor)):
        assert x.is_meta == (x.device.type == "meta")
        return (
            tuple(x.shape),
            str(x.dtype),
            str(x.device),
            x.requires_grad,
            type(x).__name__,
            x.stride() if 0 not in x.shape else None,
            x.storage_offset(),
        )
    if isinstance(x, dict):
        return {k: described(v) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        return [described(y) for y in x]
    return x if isinstance(x, (bool, int, float, str, type(None))) else str(x)


def outcome(torch, program: str):
    """What a program gives, or its error."""
    tools = Tools(torch)
    space = {
        "copy": copy,
        "pickle": pickle,
        "numpy": numpy,
        "torch": torch,
        **{k: getattr(tools, k) for k in dir(tools) if k[0] != "_"},
    }
    try:
        torch.manual_seed(0)
        return described(eval(program, space))
    except Exception as error:
        return error


@pytest.mark.parametrize("line", PROGRAMS)
def test_program(line):
    program = line.removeprefix("!")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected, found = outcome(reference, program), outcome(ours, program)
    if isinstance(expected, Exception):
        wanted = next(t for t in type(expected).__mro__ if t.__module__ == "builtins")
        assert isinstance(found, wanted), (found, expected)
        if line != program:
            assert first_line(found) == first_line(expected)
        return
    assert found == expected


def first_line(error: Exception) -> str:
    return str(error).split("\n")[0]


# ---- what PyTorch does not say, or does otherwise ------------------------------------------------


def test_nothing_is_computed_or_recorded():
    engine.flush()
    before, start = engine.stats(), time.perf_counter()
    x = ours.empty(10**12, device="meta", requires_grad=True)
    for _ in range(3):
        y = (x * 2).sin() + x
        y.sum().backward()
    model = ours.nn.TransformerEncoderLayer(4096, 32, 16384, device="meta")
    model(ours.empty(8, 512, 4096, device="meta")).sum().backward()
    engine.flush()
    after = engine.stats()
    assert after["flushes"] == before["flushes"] and after["compiles"] == before["compiles"]
    assert is_absent(x.grad._value) and time.perf_counter() - start < 10


def test_what_is_recorded_before_goes_on():
    a = ours.arange(4.0) * 3
    meta = ours.empty(4, device="meta")
    made = [meta * 2.5 + ours.tensor(1.5), meta.sum() * 7]
    b = a * 2.5 + 1
    c = a.sum() + ours.tensor(1.5)
    assert all(x.is_meta for x in made)
    assert b.tolist() == [1.0, 8.5, 16.0, 23.5] and c.item() == 19.5


@pytest.mark.parametrize(
    "write",
    [
        lambda m, c: c.add_(m),
        lambda m, c: m.add_(c),
        lambda m, c: c[0].add_(m[0]),
        lambda m, c: c.fill_(m[0]),
        lambda m, c: ours.mm(c.view(3, 1), m.view(1, 3)),
        lambda m, c: c[m.long()],
    ],
)
def test_garbage_is_an_error(write):
    """PyTorch returns memory as it is, or the tensor unchanged."""
    m, c = ours.empty(3, device="meta"), ours.ones(3)
    with pytest.raises(RuntimeError, match="is not on the expected device|no data"):
        write(m, c)
    assert c.tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    "read",
    [
        lambda m: m.nonzero(),
        lambda m: m[m > 0],
        lambda m: m.unique(),
        lambda m: m.masked_select(m > 0),
        lambda m: ours.bincount(m.long()),
        lambda m: ours.equal(m, m),
    ],
)
def test_errors_say_what_is_the_matter(read):
    with pytest.raises(NotImplementedError, match="depends on the elements"):
        read(ours.empty(3, device="meta"))


def test_state_dict_copied_to_meta_warns():
    model = ours.nn.Linear(2, 3, device="meta")
    with pytest.warns(UserWarning, match="which is a no-op"):
        model.load_state_dict(ours.nn.Linear(2, 3).state_dict())


@pytest.mark.parametrize("save, load", [(reference, ours), (ours, reference)])
def test_files_of_the_other_library(save, load):
    file = io.BytesIO()
    model = save.nn.Linear(2, 3, device="meta")
    save.save({"model": model.state_dict(), "t": save.empty(2, 3, device="meta").t()}, file)
    file.seek(0)
    found = load.load(file)
    assert all(x.is_meta for x in found["model"].values())
    assert found["t"].is_meta and found["t"].stride() == (1, 3) and found["t"].shape == (3, 2)


def test_at_once_and_other_threads():
    import threading

    made = []
    with engine.at_once("a test"):
        meta = ours.empty(3, device="meta")
        made += [meta + 1, meta[0], ours.ones(3).sum()]
    thread = threading.Thread(target=lambda: made.append(meta * 2))
    thread.start()
    thread.join()
    assert [x.is_meta for x in made] == [True, True, False, True]


def test_default_devices_are_of_their_thread():
    def program(t):
        def devices():
            made = [t.ones(1), t.tensor([1.0]), t.nn.Linear(1, 1).weight]
            return [str(d) for d in (t.get_default_device(), *[x.device for x in made])]

        def with_its_own():
            t.set_default_device("meta")
            with t.device("cpu"):
                inner = devices()
            return inner, devices()

        found = []
        try:
            with ThreadPoolExecutor(1) as other, t.device("meta"):
                found += [devices(), other.submit(devices).result(), other.submit(with_its_own).result(), devices()]
                with t.device("cpu"):
                    found += [devices(), other.submit(devices).result()]
                found += [devices()]
            t.set_default_device("meta")
            with ThreadPoolExecutor(1) as other:
                found += [devices(), other.submit(devices).result()]
        finally:
            t.set_default_device(None)
        return [*found, devices()]

    assert program(ours) == program(reference)


@pytest.mark.parametrize("tier", ["reference", "per-op", "fused", "immediate"])
def test_every_tier(tier):
    with engine.forced_tier(tier):
        x = ours.empty(3, device="meta", requires_grad=True)
        (x * ours.tensor(2.0)).sum().backward()
        assert x.grad.is_meta and (ours.ones(3) + 1).tolist() == [2.0, 2.0, 2.0]


def test_lazy_under_the_context():
    with ours.device("meta"):
        layer = ours.nn.LazyLinear(3)
    assert layer(ours.empty(2, 4, device="meta")).shape == (2, 3)
    layer.to_empty(device="cpu").reset_parameters()
    assert layer(ours.ones(2, 4)).device.type == "cpu"


def test_parametrize():
    class Symmetric(ours.nn.Module):
        def forward(self, x):
            return x.triu() + x.triu(1).transpose(-1, -2)

    layer, parametrize = ours.nn.Linear(3, 3, device="meta"), ours.nn.utils.parametrize
    parametrize.register_parametrization(layer, "weight", Symmetric())
    assert layer.weight.is_meta and layer(ours.empty(2, 3, device="meta")).is_meta
    parametrize.remove_parametrizations(layer, "weight")
    assert layer.weight.is_meta and isinstance(layer.weight, ours.nn.Parameter)


def test_an_optimizer_steps_while_an_index_is_not_known_yet():
    place = (ours.arange(3) * 1.5).long()
    found = ours.arange(10.0)[place]  # is checked when something is read
    weight = ours.nn.Parameter(ours.empty(3, device="meta"))
    weight.grad = ours.empty(3, device="meta")
    ours.optim.Adam([weight]).step()
    assert weight.is_meta and found.tolist() == [0, 1, 3]


def test_ops_go_their_quick_ways_again_when_no_tensor_on_meta_is_left():
    gc.collect()
    before = bool(absent_values)
    x = ours.empty(2, 3, device="meta")
    layer = ours.nn.Linear(3, 2, device="meta")
    y = layer(x).t()[:1]
    assert active.meets_meta and active.rewrites and not active.plain
    y.add_(1)
    y.sum().backward()
    layer.to_empty(device="cpu")
    del x, y
    gc.collect()
    assert active.meets_meta == before
