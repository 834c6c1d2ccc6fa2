"""What errors say: PyTorch's text, unchanged; in a note the call as it was made and the next step."""

from __future__ import annotations

import traceback

import pytest

from functorch_core import torch as ours
from functorch_core import tracebacks

reference = pytest.importorskip("torch")


def twice(torch):
    loss = (torch.zeros(3, requires_grad=True) ** 2).sum()
    loss.backward()
    loss.backward()


def in_place_after_use(torch):
    y = torch.zeros(3, requires_grad=True).exp()
    y.add_(1)
    y.sum().backward()


def set_leaf(torch):
    x = torch.zeros(3, requires_grad=True)
    x[0] = 1


# name: a wrong call, the call as the note has it, the beginning of the next step
TABLE = {
    "matmul": (lambda t: t.zeros(1, 3) @ t.zeros(4, 2), "float32[1,3] @ float32[4,2]", "the 3 columns of"),
    "matmul, transposed": (
        lambda t: t.zeros(1, 3) @ t.zeros(4, 3),
        "float32[1,3] @ float32[4,3]",
        "transpose the second",
    ),
    "mm": (
        lambda t: t.mm(t.zeros(2, 3), t.zeros(2, 3)),
        "torch.mm(float32[2,3], float32[2,3])",
        "transpose the second",
    ),
    "bmm": (lambda t: t.zeros(2, 3).bmm(t.zeros(2, 3)), "float32[2,3].bmm(float32[2,3])", "give it a batch dimension"),
    "matrix and vector": (lambda t: t.zeros(2, 3) @ t.zeros(2), "float32[2,3] @ float32[2]", "the matrix's columns"),
    "matmul, dtypes": (
        lambda t: t.zeros(2, 2) @ t.zeros(2, 2, dtype=t.int64),
        "float32[2,2] @ int64[2,2]",
        "convert one of them: x.to(y.dtype)",
    ),
    "add": (lambda t: t.zeros(2, 3) + t.zeros(2), "float32[2,3] + float32[2]", "dimensions, counted from the last"),
    "reflected": (lambda t: 2 ** t.zeros(2, 2)[5], "float32[2,2][5]", "valid are -2 to 1"),
    "add_": (lambda t: t.zeros(2).add_(t.zeros(3, 2)), "float32[2].add_(float32[3,2])", "dimensions, counted"),
    "+=": (lambda t: t.zeros(2).__iadd__(t.zeros(3, 2)), "float32[2] += float32[3,2]", "dimensions, counted"),
    "in place, dtype": (lambda t: t.zeros(2, dtype=t.int64).add_(1.5), "int64[2].add_(1.5)", "use the form that"),
    "cat": (
        lambda t: t.cat([t.zeros(2, 3), t.zeros(3, 4)]),
        "torch.cat([float32[2,3], float32[3,4]])",
        "choose the dimension in which they differ",
    ),
    "cat, dimensions": (
        lambda t: t.cat([t.zeros(2, 3), t.zeros(3)], dim=0),
        "torch.cat([float32[2,3], float32[3]], dim=0)",
        "give the smaller one",
    ),
    "stack": (lambda t: t.stack([t.zeros(2), t.zeros(3)]), "torch.stack([float32[2], float32[3]])", "torch.cat joins"),
    "view": (lambda t: t.zeros(2, 3).view(4), "float32[2,3].view(4)", "the sizes must multiply to 6"),
    "view, strides": (lambda t: t.zeros(2, 3).mT.view(6), "float32[3,2].view(6)", "x.reshape(...) copies"),
    "reshape": (lambda t: t.zeros(2, 3).reshape(4, -1), "float32[2,3].reshape(4, -1)", "the sizes must multiply to 6"),
    "expand": (lambda t: t.zeros(2, 3).expand(4, 3), "float32[2,3].expand(4, 3)", "dimensions, counted"),
    "dim": (lambda t: t.zeros(3).sum(dim=2), "float32[3].sum(dim=2)", "dimensions are -1 to 0"),
    "mean of integers": (lambda t: t.zeros(3, dtype=t.int64).mean(), "int64[3].mean()", "convert it: x.float()"),
    "kernel": (lambda t: t.zeros(2) & t.zeros(2), "float32[2] & float32[2]", "convert it to integers or bools"),
    "device": (
        lambda t: t.zeros(2) + t.zeros(2, device="meta"),
        "float32[2] + float32[2] on meta",
        "bring them to one device",
    ),
    "x[i]": (lambda t: t.zeros(3)[5], "float32[3][5]", "valid are -3 to 2"),
    "x[i, j]": (lambda t: t.zeros(3)[0, 0], "float32[3][0, 0]", "give at most 1"),
    "x[tensor]": (lambda t: t.zeros(3)[t.tensor([5])], "float32[3][int64[1]]", "valid are -3 to 2"),
    "x[1.5]": (lambda t: t.zeros(3)[1.5], "float32[3][1.5]", "convert the index"),
    "x[mask]": (lambda t: t.zeros(3)[t.tensor([True])], "float32[3][bool[1]]", "the mask must have"),
    "x[i] = v": (
        lambda t: t.zeros(3).__setitem__(slice(0, 2), t.zeros(3)),
        "float32[3][0:2] = float32[3]",
        "dimensions, counted",
    ),
    "leaf": (lambda t: t.zeros(3, requires_grad=True).add_(1), "float32[3].add_(1)", "write to it under"),
    "x[i] = v of a leaf": (set_leaf, "float32[3][0] = 1", "write to it under"),
    "backward twice": (twice, "float32[].backward()", "call backward once"),
    "in place after use": (in_place_after_use, "float32[].backward()", "use the form that is not in place"),
    "backward of several": (
        lambda t: (t.zeros(3, requires_grad=True) * 2).backward(),
        "float32[3].backward()",
        "reduce it, y.sum().backward()",
    ),
    "backward of none": (lambda t: t.zeros(3).sum().backward(), "float32[].backward()", "call requires_grad_()"),
    "grad": (
        lambda t: t.autograd.grad(t.zeros(2, requires_grad=True).sum(), t.zeros(2, requires_grad=True)),
        "torch.autograd.grad(",
        "pass what the output was computed from",
    ),
    "numpy": (lambda t: t.zeros(3, requires_grad=True).numpy(), "float32[3].numpy()", "x.detach().numpy()"),
    "item": (lambda t: t.zeros(3).item(), "float32[3].item()", "reduce it to one number first"),
    "float": (lambda t: float(t.zeros(3)), "float(float32[3])", "reduce it to one number first"),
    "bool": (lambda t: bool(t.zeros(3)), "bool(float32[3])", "say which is meant"),
    "requires_grad_": (
        lambda t: t.zeros(3, dtype=t.int64).requires_grad_(),
        "int64[3].requires_grad_()",
        "convert it: x.float()",
    ),
    "linear": (
        lambda t: t.nn.functional.linear(t.zeros(1, 3), t.zeros(2, 4)),
        "F.linear(float32[1,3], float32[2,4])",
        "the last dimension of the input must be in_features, 4",
    ),
    "Linear": (
        lambda t: t.nn.Linear(4, 2)(t.zeros(1, 3)),
        "Linear(in_features=4, out_features=2, bias=True)(float32[1,3])",
        "the last dimension of the input must be in_features, 4",
    ),
    "Linear in Sequential": (
        lambda t: t.nn.Sequential(t.nn.ReLU(), t.nn.Sequential(t.nn.Linear(4, 2)))(t.zeros(1, 3)),
        "Linear(in_features=4, out_features=2, bias=True)(float32[1,3]), '1.0' of Sequential",
        "the last dimension of the input must be in_features, 4",
    ),
    "Linear, dtype": (
        lambda t: t.nn.Linear(4, 2)(t.zeros(1, 4, dtype=t.float64)),
        "Linear(in_features=4, out_features=2, bias=True)(float64[1,4])",
        "convert the input to the dtype of the weights",
    ),
    "Conv2d": (
        lambda t: t.nn.Conv2d(3, 8, 3)(t.zeros(1, 1, 8, 8)),
        "Conv2d(3, 8, kernel_size=(3, 3), stride=(1, 1))(float32[1,1,8,8])",
        "the input is (batch, channels, ...): give it 3 channels",
    ),
    "BatchNorm1d": (lambda t: t.nn.BatchNorm1d(3)(t.zeros(1, 3)), "BatchNorm1d(3, ", "use a larger batch"),
    "cross_entropy": (
        lambda t: t.nn.functional.cross_entropy(t.zeros(2, 3), t.tensor([0, 3])),
        "F.cross_entropy(float32[2,3], int64[2])",
        "class indices are from 0",
    ),
    "cross_entropy, dtype": (
        lambda t: t.nn.functional.cross_entropy(t.zeros(2, 3), t.zeros(2)),
        "F.cross_entropy(float32[2,3], float32[2])",
        "cross_entropy's targets are class indices",
    ),
    "cross_entropy, batch": (
        lambda t: t.nn.CrossEntropyLoss()(t.zeros(2, 3), t.tensor([0, 1, 2])),
        "CrossEntropyLoss()(float32[2,3], int64[3])",
        "the input is (batch, classes, ...)",
    ),
    "embedding": (
        lambda t: t.nn.functional.embedding(t.tensor([5]), t.zeros(3, 2)),
        "F.embedding(int64[1], float32[3,2])",
        "indices must be from 0",
    ),
    "Embedding, dtype": (
        lambda t: t.nn.Embedding(3, 2)(t.zeros(1)),
        "Embedding(3, 2)(float32[1])",
        "indices are integers: index.long()",
    ),
    "gather": (
        lambda t: t.gather(t.zeros(3), 0, t.tensor([7])),
        "torch.gather(float32[3], 0, int64[1])",
        "look at index.min()",
    ),
    "split": (lambda t: t.zeros(5).split([2, 2]), "float32[5].split([2, 2])", "the sizes must add up"),
    "topk": (lambda t: t.zeros(3).topk(5), "float32[3].topk(5)", "k must be at most"),
    "where": (lambda t: t.where(t.zeros(2), 0, 1), "torch.where(float32[2], 0, 1)", "make it a condition"),
    "list for a tensor": (lambda t: t.sum([1, 2]), "torch.sum([1, 2])", "make it a tensor"),
    "len": (lambda t: len(t.zeros(())), "len(float32[])", "it has no dimensions"),
    "an example": (lambda t: t.zeros(-1), "torch.zeros(-1)", "a call that works: torch.zeros(2, 3)"),
}
# PyTorch lists all forms of a function where the arguments fit none of them; here the first is spoken of.
OTHER_TEXT = {"list for a tensor", "an example"}


def error_of(call, torch) -> Exception:
    with pytest.raises(Exception) as caught:
        call(torch)
    return caught.value


@pytest.mark.parametrize("name", TABLE)
def test_the_note_has_the_call_and_the_next_step(name):
    call, written, step = TABLE[name]
    error = error_of(call, ours)
    (note,) = error.__notes__
    first, second = note.split("\n")
    assert first == f"in {written}" or first.startswith(f"in {written}") and written.endswith(("(", ", "))
    assert second.startswith(f"next: {step}")


@pytest.mark.parametrize("name", TABLE)
def test_the_text_is_pytorchs(name):
    call = TABLE[name][0]
    expected, found = error_of(call, reference), error_of(call, ours)
    assert isinstance(found, next(t for t in type(expected).__mro__ if t.__module__ == "builtins"))
    if name not in OTHER_TEXT:
        assert str(found) == str(expected)


@pytest.mark.parametrize("name", TABLE)
def test_the_traceback_ends_at_the_users_line(name):
    error = tracebacks.hide(error_of(TABLE[name][0], ours))
    assert traceback.extract_tb(error.__traceback__)[-1].filename == __file__


# ---- what has no note ----------------------------------------------------------------------------


class Mine(ours.nn.Module):
    def forward(self, x):
        if x.ndim == 1:
            raise ValueError("mine")
        return x @ x


def test_of_calls_in_the_users_module_the_innermost_is_told():
    error = error_of(lambda t: t.nn.Sequential(Mine())(t.zeros(2, 3)), ours)
    assert error.__notes__[0].startswith("in float32[2,3] @ float32[2,3]\n")


def test_the_users_own_errors_have_no_note():
    class Function(ours.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            raise RuntimeError("Target 3 is out of bounds")

    def hook(grad):
        raise ValueError("the shape is mine")

    def hooked(t):
        x = t.zeros(2, requires_grad=True)
        x.register_hook(hook)
        (x * 2).sum().backward()

    calls = (
        lambda t: t.nn.Sequential(Mine())(t.zeros(3)),
        lambda t: Function.apply(t.zeros(2, requires_grad=True)).sum().backward(),
        lambda t: t.zeros(2).apply_(lambda x: [][0]),
        hooked,
    )
    for call in calls:
        assert not hasattr(error_of(call, ours), "__notes__")


def test_what_is_missing_has_no_note():
    error = error_of(lambda t: t.zeros(2).untyped_storage().resize_(99), ours)
    assert isinstance(error, NotImplementedError) and not hasattr(error, "__notes__")


def test_an_argument_that_cannot_be_shown_does_no_harm():
    class Bad:
        def __repr__(self):
            raise KeyError("no")

    error = error_of(lambda t: t.zeros(2).sum(Bad()), ours)
    assert not isinstance(error, KeyError)


def test_an_error_found_late_names_the_call_that_it_is_about():
    index = ours.arange(4).float().cumsum(0).long()  # computed when something is read
    picked = ours.zeros(3)[index]
    error = error_of(lambda t: (picked + 1).tolist(), ours)
    assert str(error).startswith("index 6 is out of bounds") and not any("tolist" in n for n in error.__notes__)
