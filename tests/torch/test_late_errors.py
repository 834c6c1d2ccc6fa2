"""After an error that is found late: what depends on the failed check raises it at every reading, and
everything else is as PyTorch leaves it, which raises at the call."""

from __future__ import annotations

import threading

import numpy as np
import pytest

reference = pytest.importorskip("torch")

from functorch_core import engine, torch  # noqa: E402
from functorch_core.engine import deferred  # noqa: E402

from .test_bounds import CALLS, error_of, names, recorded  # noqa: E402


def read(x):
    """The numbers of tensors, lists of them, None."""
    if isinstance(x, (list, tuple)):
        return [read(y) for y in x]
    return None if x is None else x.detach().numpy().copy()


def raised_three_times(run, kind, text=None):
    for _ in range(3):
        with pytest.raises(kind) as info:
            run()
        assert text is None or str(info.value) == text


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("tier", ["auto", "reference", "per-op", "fused"])
@pytest.mark.parametrize("call, indices", CALLS)
def test_every_reading_raises_and_operands_are_intact(call, indices, tier):
    expected = error_of(lambda: eval(call, names(reference, reference.tensor(eval(indices)))))
    text = None if "embedding_bag" in call else expected[1]
    with engine.forced_tier(tier):
        index = recorded(eval(indices))
        given = names(torch, index)
        intact = names(reference, None)
        result = eval(call, given)
        in_place = result is None or result is given["w"]
        if not in_place:
            doubled = result * 2
            raised_three_times(lambda: read(result), expected[0], text)
            raised_three_times(lambda: read(doubled), expected[0], text)
            with pytest.raises(expected[0]):  # as an operand it raises at the call
                result + 1
        else:
            with pytest.raises(expected[0]):
                read(given["w"])
        for name in ("w", "v", "logs"):
            np.testing.assert_allclose(read(given[name]), read(intact[name]), rtol=1e-6)
        np.testing.assert_array_equal(read(index), np.array(eval(indices)))


def test_immediate_mode_raises_at_the_call():
    with engine.forced_tier("immediate"):
        index = torch.tensor([1, 7]) + 0
        with pytest.raises(IndexError, match="index 7 is out of bounds"):
            torch.arange(3.0)[index]


@pytest.mark.parametrize(
    "move",
    [
        lambda i: i.view(-1),
        lambda i: i.long().flatten(),
        lambda i: i.t(),
        lambda i: i[:, 1:],
        lambda i: i.reshape(4)[1:].unsqueeze(0),
        lambda i: torch.stack([i[0], i[1]]),
    ],
)
def test_parts_of_known_indices_raise_at_the_call(move):
    index = np.array([[0, 1], [9, 2]])
    expected = error_of(lambda: reference.arange(3.0)[move(reference.tensor(index))])
    if move.__code__.co_names == ("torch", "stack"):  # the same in both libraries' words
        expected = error_of(lambda: reference.arange(3.0)[reference.tensor(index)])
    found = error_of(lambda: torch.arange(3.0)[move(torch.tensor(index, dtype=torch.int32))])
    assert found == expected


# ---- training ------------------------------------------------------------------------------------

OPTIMIZERS = {
    "SGD": dict(lr=0.1),
    "SGD with momentum": dict(lr=0.1, momentum=0.9, dampening=0.5),
    "Adam": dict(lr=0.01),
    "AdamW": dict(lr=0.01, amsgrad=True),
    "RMSprop": dict(lr=0.01, momentum=0.5, centered=True),
    "Adagrad": dict(lr=0.05),
    "NAdam": dict(lr=0.01),
    "Rprop": dict(lr=0.01),
}


class Training:
    """A model with an embedding, batch statistics and a cross entropy, in one of both libraries."""

    def __init__(self, lib, name: str, options: dict):
        self.lib = lib
        nn = lib.nn
        self.model = nn.Sequential(
            nn.Embedding(5, 4), nn.Flatten(), nn.BatchNorm1d(8), nn.Linear(8, 6), nn.ReLU(inplace=True), nn.Linear(6, 3)
        )
        rng = np.random.default_rng(0)
        with lib.no_grad():
            for p in self.model.parameters():
                p.copy_(lib.tensor(rng.normal(size=tuple(p.shape)).astype(np.float32)))
        self.optimizer = getattr(lib.optim, name.split()[0])(self.model.parameters(), **options)
        self.steps = lib.zeros(())

    def step(self, x, y):
        self.optimizer.zero_grad()
        x, y = self.lib.tensor(x) + 1, self.lib.tensor(y) + 1  # not known at the call
        loss = self.lib.nn.functional.cross_entropy(self.model(x), y)
        loss.backward()
        self.optimizer.step()
        self.steps += 1
        return loss

    def state(self) -> list:
        held = [*self.model.state_dict().values(), self.steps]
        for s in self.optimizer.state_dict()["state"].values():
            held += [s[k] for k in sorted(s) if s[k] is not None]
        return [np.asarray(read(x)) for x in held if not isinstance(x, (int, float))]


GOOD = [[-1, 3], [2, 0], [1, 1]], [-1, 1, 0]
BAD_INDEX = [[-1, 3], [2, 4], [1, 1]], [-1, 1, 0]
BAD_TARGET = [[-1, 3], [2, 0], [1, 1]], [-1, 2, 0]


def compare(ours: Training, theirs: Training):
    for a, b in zip(ours.state(), theirs.state(), strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=1e-5)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_failed_step_leaves_what_pytorch_leaves(name):
    ours, theirs = (Training(lib, name, OPTIMIZERS[name]) for lib in (torch, reference))
    for batch in [BAD_INDEX, *[GOOD] * 4, BAD_TARGET, GOOD, BAD_INDEX, GOOD, GOOD]:
        if batch is GOOD:
            ours.step(*batch), theirs.step(*batch)
            continue
        kind, text = error_of(lambda: theirs.step(*batch))
        loss = ours.step(*batch)
        raised_three_times(loss.item, kind, text)
        compare(ours, theirs)
    compare(ours, theirs)


@pytest.mark.parametrize("batch", [BAD_INDEX, BAD_TARGET])
def test_steps_after_a_failure_that_nobody_has_heard_of_change_nothing(batch):
    ours, theirs = (Training(lib, "AdamW", dict(lr=0.01)) for lib in (torch, reference))
    for _ in range(6):
        ours.step(*GOOD), theirs.step(*GOOD)
    kind, text = error_of(lambda: theirs.step(*batch))
    losses = [ours.step(*batch)]
    losses += [ours.step(*GOOD) for _ in range(5)]
    raised_three_times(losses[0].item, kind, text)
    raised_three_times(losses[3].item, kind, text)
    compare(ours, theirs)
    assert np.isfinite(ours.step(*GOOD).item())
    theirs.step(*GOOD)
    compare(ours, theirs)


def test_a_parameter_that_is_read_raises_once_and_is_the_old_one():
    ours = Training(torch, "SGD", dict(lr=0.1))
    for _ in range(5):
        ours.step(*GOOD)
    before = ours.state()
    ours.step(*BAD_INDEX)
    with pytest.raises(IndexError):
        ours.model[0].weight.tolist()
    for a, b in zip(ours.state()[:-1], before[:-1]):
        np.testing.assert_array_equal(a, b)


def test_gradients_of_a_failed_pass_are_not_kept():
    w = torch.ones(3, requires_grad=True)
    (w * 2).sum().backward()
    v = torch.ones(3, requires_grad=True)
    index = torch.tensor([2]) + 1
    (w[index] * v).sum().backward()
    with pytest.raises(IndexError):
        v.grad.tolist()
    assert w.grad.tolist() == [2.0, 2.0, 2.0]
    assert v.grad is None
    (w * v).sum().backward()
    assert w.grad.tolist() == [3.0] * 3 and v.grad.tolist() == [1.0] * 3


def test_accumulation_goes_on_after_a_failed_micro_batch():
    def run(lib):
        w = lib.ones(4, requires_grad=True)
        for target in ([0, 1], [1, 2], [4, 4], [2, 3]):
            try:
                loss = lib.nn.functional.cross_entropy(w.expand(2, 4) * 2, lib.tensor(target) + 0)
                loss.backward()
                loss.item()
            except IndexError:
                continue
        return read(w.grad)

    np.testing.assert_allclose(run(torch), run(reference), rtol=1e-5)


def test_the_warm_step_reads_and_computes_nothing_more():
    ours = Training(torch, "AdamW", dict(lr=0.01))
    for _ in range(8):
        ours.step(*GOOD)
    engine.flush()
    before = engine.stats()
    for _ in range(4):
        ours.step(*GOOD)
    engine.flush()
    after = engine.stats()
    assert after["compiles"] == before["compiles"]
    assert after["flushes"] - before["flushes"] <= 5
    assert len(deferred._local.chain.computed) >= 4  # not looked at


# ---- in place ------------------------------------------------------------------------------------

WRITES = """
x.add_(1)
x.copy_(x[i])
x.mul_(x[i].sum())
x[0].fill_(5)
x[1] = x[i].sum()
x[:2].copy_(x[i][:2])
x.view(3, 1)[1:].add_(7)
x.index_add_(0, i, lib.ones(3))
x.index_put_((i,), lib.tensor(3.))
x.scatter_(0, i, 1.)
x.masked_fill_(x > 0, 9)
x.data = x[i]
x.set_(x[i].clone())
lib._foreach_add_([x], 1)
lib.add(x, 1, out=x)
x += x[i]
x.clamp_(max=0).add_(2)
x.t_()
x.zero_()
lib.nn.init.constant_(x, 3.)
"""
WRITES = WRITES.strip().split("\n")


@pytest.mark.parametrize("tier", ["auto", "reference", "fused"])
@pytest.mark.parametrize("write", WRITES)
def test_writes_after_a_failed_check_have_not_happened(write, tier):
    with engine.forced_tier(tier):
        for recorded in (False, True):
            x = torch.arange(3.0)
            if recorded:
                x = x + 0
            x.add_(1)  # before the check: has happened
            i = torch.tensor([0, 1, 3]) + 0
            bad = torch.arange(3.0)[i]
            exec(write, {"x": x, "i": i, "lib": torch})
            raised_three_times(lambda: bad.tolist(), IndexError)
            assert x.tolist() == [1.0, 2.0, 3.0]
            x.add_(1)
            assert x.tolist() == [2.0, 3.0, 4.0]


@pytest.mark.parametrize("write", WRITES)
def test_writes_after_a_check_that_passes_have_happened(write):
    def run(lib):
        x = lib.arange(3.0)
        x.add_(1)
        i = lib.tensor([0, 1, 1]) + 1
        y = lib.arange(3.0)[i]
        exec(write, {"x": x, "i": i, "lib": lib})
        return y.tolist(), x.tolist()

    assert run(torch) == run(reference)


def test_values_made_between_checks_follow_the_first_that_fails():
    table = torch.arange(3.0)
    good, bad = torch.tensor([1]) + 0, torch.tensor([3]) + 0
    x = table[good]
    x.mul_(4)
    y = table[bad]
    x.add_(100)
    z = table[good + 0]
    with pytest.raises(IndexError):
        y.tolist()
    assert x.tolist() == [4.0]
    raised_three_times(y.tolist, IndexError)
    raised_three_times(z.tolist, IndexError)  # it was called after the error
    assert table[good].tolist() == [1.0]


def test_what_does_not_depend_on_the_check_can_be_read():
    table = torch.arange(3.0)
    before = table * 2
    y = table[torch.tensor([3]) + 0]
    beside = table * 3
    with pytest.raises(IndexError):
        beside.tolist()  # the next reading, whatever it reads
    assert beside.tolist() == [0.0, 3.0, 6.0] and before.tolist() == [0.0, 2.0, 4.0]
    raised_three_times(lambda: print(y), IndexError)
    raised_three_times(lambda: bool(y.sum() > 0), IndexError)


def test_what_the_host_has_does_not_wait_for_the_last_program():
    table, places = torch.arange(3.0), torch.tensor([7, 8])
    with engine.forced_tier("fused"):
        bad = table[torch.tensor([3]) + 0]
        engine.flush()
        assert places.tolist() == [7, 8]  # its check is looked at by later readings
        table[torch.tensor([2]) + 0]
        engine.flush()
    with pytest.raises(IndexError):
        places.tolist()
    raised_three_times(bad.tolist, IndexError)
    assert places.tolist() == [7, 8]


def test_what_is_computed_with_a_check_waits_for_it():
    table, x = torch.arange(3.0), torch.arange(2.0)
    with engine.forced_tier("per-op"):
        table[torch.tensor([3]) + 0]
        y = x.view(2, 1)
        with pytest.raises(IndexError):
            (y + 1).tolist()


@pytest.mark.parametrize("tier", ["reference", "per-op", "fused"])
def test_who_reads_waits_for_checks_that_were_recorded_beside_it(tier, monkeypatch):
    waited = []
    monkeypatch.setattr(deferred.Chain, "verify_computed", lambda chain, wait=True: waited.append(wait))
    table, x, there = torch.arange(3.0), torch.arange(2.0), torch.tensor([1.0])
    with engine.forced_tier(tier):
        table[torch.tensor([2]) + 0]
        (x + 1).tolist()
        there.tolist()
    monkeypatch.undo()
    engine.flush()
    deferred._local.chain.verify_computed()
    assert waited == [True, False]


# ---- elsewhere -----------------------------------------------------------------------------------


def test_no_grad_inference_and_views():
    table = torch.arange(6.0).reshape(3, 2)
    for context in (torch.no_grad, torch.inference_mode):
        with context():
            y = table[torch.tensor([3]) + 0]
            part = y[0]
            y.add_(1)
            raised_three_times(part.tolist, IndexError)
            raised_three_times(y.tolist, IndexError)


def test_in_transforms():
    table = torch.arange(6.0).reshape(3, 2)
    outer = torch.zeros(2)
    index = torch.tensor([[0], [2]]) + 1
    y = torch.func.vmap(lambda i: table[i] * 2)(index)
    raised_three_times(y.tolist, IndexError)
    target = torch.tensor([1, 2]) + 1
    g = torch.func.grad(lambda x: torch.nn.functional.cross_entropy(x, target))(torch.zeros(2, 3))
    outer.add_(g.sum())
    raised_three_times(g.tolist, IndexError)
    assert outer.tolist() == [0.0, 0.0]
    out, tangent = torch.func.jvp(lambda t: t[index + 0], (table,), (torch.ones(3, 2),))
    raised_three_times(out.tolist, IndexError)
    raised_three_times(tangent.tolist, IndexError)


def test_in_backward():
    x = torch.ones(3, requires_grad=True)
    w = torch.ones(3, requires_grad=True)
    index = torch.tensor([2, 3]) + 0

    class Pick(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * g[index].sum()

    (Pick.apply(x) * w).sum().backward()
    with pytest.raises(IndexError):
        x.grad.tolist()
    assert x.grad is None or error_of(x.grad.tolist)[0] is IndexError


def test_a_failure_of_another_thread():
    made, kept = [], torch.zeros(2)

    def work():
        made.append(torch.arange(3.0)[torch.tensor([3]) + 0])
        engine.flush()

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    kept.add_(1)
    assert kept.tolist() == [1.0, 1.0]
    with pytest.raises(IndexError):
        made[0] + 1
    raised_three_times(made[0].tolist, IndexError)


def test_a_failure_in_a_long_loop_that_reads_nothing():
    table, count = torch.arange(3.0), torch.zeros(())
    with pytest.raises(IndexError):
        for k in range(3000):
            count += table[torch.tensor(2) + (k >= 700)]
        count.item()
    assert count.item() == 1400.0


def test_other_checks():
    low = torch.tensor([0.5, 2.0]) + 0
    loss = torch.nn.functional.binary_cross_entropy(low, torch.ones(2))
    raised_three_times(loss.item, RuntimeError, "all elements of input should be between 0 and 1")
    assert low.tolist() == [0.5, 2.0]


def test_parameters_of_distributions():
    scale = torch.ones(2, requires_grad=True) * 2
    scale = scale - 3
    normal = torch.distributions.Normal(torch.tensor([0.0, 0.0]), scale)
    twice = normal.scale * 2
    raised_three_times(twice.tolist, ValueError)
    assert scale.tolist() == [-1.0, -1.0]
