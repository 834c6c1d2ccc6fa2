"""Indices out of bounds: PyTorch's errors at the call, or where something is read next."""

from __future__ import annotations

import threading

import numpy as np
import pytest

reference = pytest.importorskip("torch")

from functorch_core import engine, torch  # noqa: E402

# What is called with one index tensor `i`, and the indices. `w` is 3 x 4, `v` has 3 elements.
CALLS = """
F.nll_loss(logs, i)                                        ; [0, 7]
F.nll_loss(logs, i)                                        ; [0, -2]
F.nll_loss(logs, i, weight=torch.ones(3))                  ; [0, 7]
F.nll_loss(logs, i, ignore_index=2)                        ; [2, 7]
F.nll_loss(torch.zeros(3), i)                              ; 3
F.nll_loss(torch.zeros(2, 3, 2), i)                        ; [[0, 3], [0, 0]]
F.nll_loss(logs, i.to(torch.uint8))                        ; [0, 7]
F.cross_entropy(logs, i)                                   ; [1, 9]
F.cross_entropy(logs, i, label_smoothing=0.1)              ; [0, 7]
torch.nn.CrossEntropyLoss(weight=torch.ones(3))(logs, i)   ; [0, 3]
torch.nn.NLLLoss()(logs, i)                                ; [0, 3]
F.embedding(i, w)                                          ; [0, 5]
F.embedding(i, w)                                          ; [0, -1]
F.embedding(i.int(), w)                                    ; [0, 5]
torch.embedding(w, i)                                      ; [0, 5]
torch.nn.Embedding(3, 4)(i)                                ; [[0, 5], [1, 2]]
torch.nn.Embedding(3, 4, max_norm=1.)(i)                   ; [0, 5]
F.embedding_bag(i, w.double(), torch.tensor([0]))          ; [0, 5]
F.embedding_bag(i, w, mode='max')                          ; [[0, -5]]
F.multi_margin_loss(logs, i)                               ; [0, 5]
F.multilabel_margin_loss(logs, i)                          ; [[0, 5, -1], [0, -1, -1]]
F.multilabel_margin_loss(logs, i)                          ; [[0, -5, -1], [0, -1, -1]]
F.max_unpool2d(torch.ones(1, 1, 2, 2), i, 2)               ; [[[[0, 1], [2, 99]]]]
F.max_unpool1d(torch.ones(1, 1, 2), i, 2)                  ; [[[0, 9]]]
w.gather(0, i)                                             ; [[5]]
w.gather(0, i)                                             ; [[-1]]
w.scatter(0, i, 1.)                                        ; [[5]]
w.scatter_(0, i, torch.ones(1, 1))                         ; [[5]]
w.scatter_add(1, i, torch.ones(1, 1))                      ; [[9]]
w.scatter_reduce(0, i, torch.ones(1, 1), 'mean')           ; [[-2]]
w.index_select(0, i)                                       ; [5]
w.index_select(1, i)                                       ; [5]
v.index_select(0, i)                                       ; [-1]
w.index_add(0, i, torch.ones(1, 4))                        ; [5]
v.index_add(0, i, torch.ones(1))                           ; [5]
w.index_copy(0, i, torch.ones(1, 4))                       ; [5]
w.index_fill(0, i, 1.)                                     ; [-5]
w.index_reduce(0, i, torch.ones(1, 4), 'prod')             ; [5]
w.take(i)                                                  ; [50]
w.take_along_dim(i)                                        ; [50]
w.put_(i, torch.ones(1))                                   ; [-50]
w.index_put_((i,), torch.tensor(1.))                       ; [5]
w.index_put((i,), torch.tensor(1.), accumulate=True)       ; [5]
w[i]                                                       ; [0, 5]
w[i]                                                       ; [[0, -5]]
w[:, i]                                                    ; [0, 5]
w[i, i]                                                    ; [0, 3]
w[:2, i]                                                   ; [0, -7]
w.__setitem__(i, 1.)                                       ; [0, 5]
w.__setitem__((slice(None), i), 1.)                        ; [0, 5]
""".strip().split("\n")
CALLS = [tuple(part.strip() for part in line.split(";")) for line in CALLS]


def recorded(indices):
    """An index tensor that is recorded: where nothing else is, a number would be computed at once."""
    recorded.before = torch.zeros(1)
    return torch.tensor(indices) + 0


def names(lib, index) -> dict:
    return {
        "torch": lib,
        "F": lib.nn.functional,
        "w": lib.arange(12.0).reshape(3, 4),
        "v": lib.arange(3.0),
        "logs": lib.log_softmax(lib.arange(6.0).reshape(2, 3), 1),
        "i": index,
    }


def error_of(run) -> tuple:
    try:
        run()
    except Exception as error:
        return type(error), str(error)
    return None, ""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call, indices", CALLS)
def test_known_indices_raise_what_pytorch_raises(call, indices):
    expected = error_of(lambda: eval(call, names(reference, reference.tensor(eval(indices)))))

    def run():
        found = eval(call, names(torch, torch.tensor(eval(indices))))
        if found is not None:
            found.detach().numpy()

    found = error_of(run)
    assert expected[0] is not None
    assert found[0] is expected[0]
    if "embedding_bag" not in call:  # its messages differ by vectorization
        assert found[1] == expected[1]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call, indices", CALLS)
def test_recorded_indices_raise_the_same_when_something_is_read(call, indices):
    expected = error_of(lambda: eval(call, names(reference, reference.tensor(eval(indices)))))
    flushes = engine.stats()["flushes"]
    found = None
    try:
        result = eval(call, names(torch, recorded(eval(indices))))
        assert engine.stats()["flushes"] == flushes
        (torch.ones(2) + 1 if result is None else result).detach().numpy()
        torch.ones(1).numpy()
        engine.flush()
        torch.ones(1).numpy()
    except Exception as error:
        found = error
    assert type(found) is expected[0]
    assert str(found) == expected[1] or "embedding_bag" in call
    assert any("test_bounds.py" in n or "<string>" in n for n in found.__notes__)
    assert torch.ones(2).tolist() == [1.0, 1.0]  # said once; the engine goes on


def test_the_note_names_the_operation_and_the_line():
    index = torch.tensor([1, 4]) * 2
    rows = torch.nn.functional.embedding(index, torch.ones(3, 2))  # this line
    with pytest.raises(IndexError, match="index out of range in self") as info:
        rows.sum().item()
    assert any("embedding" in n and "test_bounds.py" in n for n in info.value.__notes__)


@pytest.mark.parametrize("tier", engine.TIERS)
def test_in_every_tier(tier):
    with engine.forced_tier(tier):
        for _ in range(3):
            with pytest.raises(IndexError, match="Target 5 is out of bounds"):
                target = torch.tensor([-1, 2]) + 3
                torch.nn.functional.nll_loss(torch.zeros(2, 3), target).item()
        target = torch.tensor([1, 2]) - 1
        assert torch.nn.functional.nll_loss(torch.zeros(2, 3), target).item() == 0


def test_ignored_targets_are_none():
    logs = torch.zeros(3, 3)
    for shift in (0, 1):
        target = torch.tensor([-100, 1, -100]) if not shift else torch.tensor([-101, 0, -101]) + 1
        assert torch.nn.functional.nll_loss(logs, target).item() == 0
    target = torch.tensor([7, 1, 2]) + 0
    assert torch.nn.functional.nll_loss(logs, target, ignore_index=7).item() == 0
    with pytest.raises(IndexError, match="Target -100"):
        torch.nn.functional.nll_loss(logs, torch.tensor([-100, 1, 7]), ignore_index=7)


@pytest.mark.parametrize(
    "make",
    [
        lambda x: x.argmax(1),
        lambda x: x.argsort(dim=1).flatten(),
        lambda x: x.sort(1)[1][0],
        lambda x: x.topk(2).indices[:, 0],
        lambda x: x.max(1).indices.long(),
        lambda x: torch.tensor([3, 0, 1]).reshape(3, 1).squeeze(1),
        lambda x: torch.arange(4).flip(0),
    ],
)
def test_what_cannot_be_out_of_bounds_is_not_checked(make):
    index = make(torch.rand(3, 4))
    engine.flush()
    index = make(torch.rand(3, 4) + 1)
    before = len(index._value.recording.checks) if index._value.recording else 0
    picked = torch.arange(4.0)[index]
    recording = picked._value.recording
    assert recording is not None and len(recording.checks) == before == 0
    np.testing.assert_array_equal(picked.numpy(), index.numpy())


def test_a_conversion_that_wraps_is_checked():
    index = torch.tensor([300, 1]).to(torch.uint8).long()
    assert torch.arange(60.0)[index].tolist() == [44.0, 1.0]
    with pytest.raises(IndexError):
        torch.arange(40.0)[index].tolist()


def test_inside_transforms():
    table = torch.arange(6.0).reshape(3, 2)
    pick = torch.func.vmap(lambda i: table[i])
    with pytest.raises(IndexError):
        pick(torch.tensor([[0], [3]])).numpy()
    with pytest.raises(IndexError):
        pick(torch.tensor([[0], [2]]) + 1).numpy()
    loss = torch.func.grad(lambda x, y: torch.nn.functional.cross_entropy(x, y))
    with pytest.raises(IndexError, match="Target 3"):
        loss(torch.zeros(2, 3), torch.tensor([1, 2]) + 1).numpy()


def test_a_training_step_checks_without_a_further_flush():
    model = torch.nn.Sequential(torch.nn.Embedding(5, 4), torch.nn.Flatten(), torch.nn.Linear(8, 3))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(x, y):
        opt.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        opt.step()
        return loss

    x, y = torch.tensor([[0, 1], [2, 3]]), torch.tensor([0, 1])
    for _ in range(8):
        step(x + 1, y + 1)
    flushes, compiles = engine.stats()["flushes"], engine.stats()["compiles"]
    for _ in range(4):
        step(x + 1, y + 1)
    assert engine.stats()["flushes"] == flushes + 4
    assert engine.stats()["compiles"] == compiles
    bad = step(x + 2, y + 1)
    with pytest.raises(IndexError, match="index out of range in self"):
        bad.item()


def test_unread_checks_are_bounded_and_raise_at_last():
    from functorch_core.engine import deferred

    table = torch.arange(3.0)
    with pytest.raises(IndexError):
        for _ in range(deferred.MAX_PENDING + 2):
            table[recorded([3])]
            engine.flush()
    assert deferred._local.chain not in deferred.pending


def test_a_check_of_a_recording_that_another_thread_reads():
    made = []

    def work():
        made.append(torch.arange(3.0)[torch.tensor([1]) + 2])

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    with pytest.raises(IndexError):
        made[0].numpy()


def test_ctc_targets():
    logs = torch.zeros(4, 2, 3).log_softmax(2)
    lengths = torch.tensor([4, 4]), torch.tensor([1, 2])
    ctc = torch.nn.functional.ctc_loss
    padded = torch.tensor([[1, -7], [1, 2]])  # what is beyond a length may be anything
    assert np.isfinite(ctc(logs, padded, *lengths).item())
    with pytest.raises(IndexError, match="target 5 is none of 3 classes"):
        ctc(logs, torch.tensor([[1, 0], [1, 5]]), *lengths).item()
