"""Views by calls that were seen before are those of the first call: values, memory, history, errors."""

import numpy as np
import pytest
import torch as reference

from functorch_core import engine, torch
from functorch_core.torch.operators.index import indexing
from functorch_core.torch.views import seen

CALLS = {
    "view": lambda x: x.view(6, 4),
    "view of a tuple": lambda x: x.view((6, -1)),
    "view of a size": lambda x: x.view(x.shape),
    "reshape": lambda x: x.reshape(24),
    "flatten": lambda x: x.flatten(1),
    "unflatten": lambda x: x.unflatten(2, (2, 2)),
    "transpose": lambda x: x.transpose(0, -1),
    "transpose of a matrix": lambda x: x[1].T,
    "transposes of matrices": lambda x: x.mT,
    "permute": lambda x: x.permute(2, 0, 1),
    "unsqueeze": lambda x: x.unsqueeze(1),
    "squeeze": lambda x: x[:1].squeeze(0),
    "expand": lambda x: x[:, :1].expand(2, 5, 4),
    "select": lambda x: x.select(1, 2),
    "narrow": lambda x: x.narrow(2, 1, 2),
    "diagonal": lambda x: x.diagonal(0, 1, 2),
    "row": lambda x: x[1],
    "rows": lambda x: x[:, 1:],
    "box": lambda x: x[1, ..., None, 1:3],
    "last": lambda x: x[..., -1],
    "element": lambda x: x[1, 1, 2],
    "last element": lambda x: x[-1, -1, -1],
    "element of rows": lambda x: x[1][1][2],
    "element of a transpose": lambda x: x.transpose(0, 2)[2, 1, 0],
    "element of a part": lambda x: x[:, 1:][1, 0, -2],
    "element of an expanded row": lambda x: x[:, :1].expand(2, 5, 4)[1, 3, 2],
    "element of a diagonal": lambda x: x.diagonal(0, 1, 2)[1][1],
    "element of windows": lambda x: x.unfold(2, 2, 1)[1, 2, 1, 1],
    "of a view": lambda x: x.transpose(0, 1)[1:].reshape(-1),
    "of a view of a view": lambda x: x.view(24)[3:].unsqueeze(0),
}


def thrice(call, lib, x):
    """The results of one call, made three times."""
    return [call(x) for _ in range(3)]


def array(lib):
    return lib.arange(24.0).reshape(2, 3, 4).clone()


@pytest.mark.parametrize("name", CALLS)
def test_values_layout_and_memory(name):
    """The third view is as the first, sees writes to the base, and writes to it."""
    found = []
    for lib in (torch, reference):
        x = array(lib)
        views = thrice(CALLS[name], lib, x)
        told = [(v.tolist(), v.stride(), v.storage_offset(), v.is_contiguous(), v._is_view()) for v in views]
        x.mul_(2)
        told.append(views[2].tolist())
        if name != "expand":
            views[2].add_(1)
        told += [x.tolist(), views[0].tolist(), x._version, views[1]._version]
        found.append(told)
    assert found[0] == found[1]


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("name", CALLS)
def test_of_shared_memory(name, transposed):
    """Of an array's memory: writes on either side are seen on the other."""
    found = []
    for lib in (torch, reference):
        memory = np.arange(24.0).reshape(2, 3, 4)
        x = lib.from_numpy(memory.transpose(2, 0, 1)).permute(1, 2, 0) if transposed else lib.from_numpy(memory)
        try:
            views = thrice(CALLS[name], lib, x)
        except RuntimeError:  # of strides that a view cannot have
            found.append("refused")
            continue
        told = [(v.tolist(), v.stride(), v.storage_offset(), v.is_contiguous(), v._is_view()) for v in views]
        told += [v._base is x for v in views] if not transposed else []
        memory *= 2
        told += [views[2].tolist(), (views[2] + 1).tolist()]
        if name != "expand":
            views[2].add_(1)
        told += [memory.tolist(), x.tolist(), views[0].tolist()]
        with lib.no_grad():
            told.append(CALLS[name](x).tolist())
        leaf = lib.from_numpy(memory).requires_grad_()
        thrice(CALLS[name], lib, leaf)[2].sum().backward()
        found.append([*told, leaf.grad.tolist()])
    assert found[0] == found[1]


def test_elements_of_other_numbers():
    """Conjugates, negated and reinterpreted numbers, other dtypes, and indices that vary."""
    found = []
    for lib in (torch, reference):
        told = []
        x = lib.complex(lib.arange(600.0).reshape(200, 3), -lib.arange(600.0).reshape(200, 3)) + 1
        for view in (x, x.conj(), x.conj().imag, lib.view_as_real(x.conj().resolve_conj())[..., 1], x.T[1:].conj()):
            n = view.shape[1]
            told += [[view[i % view.shape[0], i % n].item(), view[i % view.shape[0]][i % n].item()] for i in range(5)]
        for dtype in (lib.bfloat16, lib.float16, lib.int64, lib.uint8, lib.bool, lib.float64):
            y = lib.arange(600).reshape(3, 200).to(dtype)
            told += [[y[i, 7 * i].item(), y[i][-i].item(), y[-1, 199 - i].item(), str(y[i, i])] for i in range(3)]
            told += [y.view(lib.uint8)[i, i + 1].item() for i in range(3) if dtype != lib.bool]
        y.sum().item()
        part = y[1:, 100:]
        for _ in range(4):  # writes in between
            part[0, 3] += 1
            y[1][103].mul_(2)
            told += [part[0][3].item(), y[1, 103].item(), y._version, part[0, 3]._base is y]
        found.append(told)
    assert found[0] == found[1]


@pytest.mark.parametrize("index", [(3, 0), (-4, 1), (0, 200), (2, -201)])
def test_elements_out_of_bounds(index):
    said = []
    for lib in (torch, reference):
        x = lib.ones(3, 200)
        for _ in range(3):
            assert x[2, 5].item() + x[0, 199].item() == 2
        for call in (lambda x: x[index], lambda x: x[index[0]][index[1]]):
            with pytest.raises(IndexError) as error:
                call(x)
            said.append(str(error.value))
    assert said[:2] == said[2:]


@pytest.mark.parametrize("name", CALLS)
def test_history(name):
    """On the tape: node, gradient, what is forbidden in no_grad."""
    found = []
    for lib in (torch, reference):
        leaf = array(lib).requires_grad_()
        views = thrice(CALLS[name], lib, leaf * 1)
        (views[2] * views[1].detach()).sum().backward()
        told = [*[v.requires_grad for v in views], type(views[2].grad_fn).__name__, leaf.grad.tolist()]
        with lib.no_grad():
            unsure = thrice(CALLS[name], lib, leaf * 1)[2]
        try:
            told.append(unsure.mul_(2).tolist())
        except RuntimeError as error:
            told.append(str(error).split("\n")[0])
        found.append(told)
    assert found[0] == found[1]


SEVERAL = {
    "chunk": lambda x: x.chunk(2, dim=-1),
    "split": lambda x: x.split(2, 1),
    "unbind": lambda x: x.unbind(1),
    "unbind of a part": lambda x: x[1:].transpose(0, 1).unbind(),
    "one chunk": lambda x: x.chunk(1),
    "tensor_split": lambda x: x.tensor_split(3, -1),
    "rows": lambda x: tuple(x),
}


@pytest.mark.parametrize("name", SEVERAL)
@pytest.mark.parametrize("taped", [False, True])
def test_several_views(name, taped):
    """Values, strides, nodes and gradients, memory, and what is said of writing to one of several."""
    found = []
    for lib in (torch, reference):
        leaf = array(lib).requires_grad_(taped)
        x = leaf * 1
        parts = [SEVERAL[name](x) for _ in range(3)]
        told = [(v.tolist(), v.stride(), v.requires_grad, v.output_nr) for views in parts for v in views]
        if taped:
            told.append([type(v.grad_fn).__name__ for v in parts[2]])
            told.append(len({v.grad_fn for v in parts[2]}))
            lib.stack([(v * v).sum() * i for i, v in enumerate(parts[2])]).sum().backward()
            told.append(leaf.grad.tolist())
        try:
            told.append((parts[2][-1].mul_(2).tolist(), x.tolist(), parts[0][-1].tolist()))
        except RuntimeError as error:
            told.append(str(error).split("\n")[0])
        x.detach().add_(1)
        told.append([v.tolist() for v in parts[2]])
        found.append(told)
    assert found[0] == found[1]


def test_gradients_of_gradients_and_writes_on_the_tape():
    found = []
    for lib in (torch, reference):
        x = array(lib).requires_grad_()
        y = x * x
        for i in range(3):
            y.view(24)[i : i + 2].mul_(y[1, i, 0] + 1)
        (g,) = lib.autograd.grad(y.transpose(0, 1).reshape(-1)[3:].pow(2).sum(), x, create_graph=True)
        (h,) = lib.autograd.grad(g[1].sum(), x)
        found.append((g.tolist(), h.tolist()))
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-5)
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-5)


@pytest.mark.parametrize("call", ["view", "reshape", "flatten"])
def test_strides_are_looked_at_again(call):
    """What is a view of a contiguous tensor need not be one of another of the same shape."""
    found = []
    for lib in (torch, reference):
        square = lib.arange(16.0).reshape(4, 4).clone()
        for x in (square, square, square, square.t(), square.clone().t_()):
            try:
                y = x.flatten() if call == "flatten" else getattr(x, call)(16)
                found.append((lib is torch, y.tolist(), y.data_ptr() == x.data_ptr()))
            except RuntimeError as error:
                found.append((lib is torch, str(error)))
    assert [x[1:] for x in found if x[0]] == [x[1:] for x in found if not x[0]]


EQUAL_ARGUMENTS = [
    ("x.unsqueeze(1)", "x.unsqueeze(1.0)"),
    ("x.view(1, 24)", "x.view(1.0, 24)"),
    ("x[1]", "x[1.0]"),
    ("x[1]", "x[True]"),
    ("x[1:2]", "x[1.0:2]"),
    ("x[0, 1]", "x[0, True]"),
    ("x[0:1]", "x[0, 1, None]"),
    ("x[0, 1, None]", "x[0:1]"),
    ("x.unsqueeze(dim=1)", "x.unsqueeze(dim=1.0)"),
    ("x[0:1]", "x[False:1]"),
    ("x.select(0, 1)", "x.select(0, 1.0)"),
]


@pytest.mark.parametrize("seen_call,equal", EQUAL_ARGUMENTS)
def test_arguments_that_are_equal_are_not_the_same(seen_call, equal):
    found = []
    for lib in (torch, reference):
        names = {"x": array(lib)}
        for _ in range(3):
            eval(seen_call, names)
        try:
            found.append(eval(equal, names).tolist())
        except Exception as error:
            found.append(type(error))
    assert found[0] == found[1]


INDICES = ["i", "i - 1000", "slice(i, i + 7)", "(slice(None), i)", "(Ellipsis, i)", "(None, Ellipsis, slice(i, i + 3))"]


@pytest.mark.parametrize("index", INDICES)
def test_running_through_a_long_dimension(index):
    """Every place of it: the ends are programs of their own, all between are one."""
    x = np.arange(2 * 1000.0).reshape(1000, 2) if index in ("i", "i - 1000", "slice(i, i + 7)") else None
    x = np.arange(2 * 1000.0).reshape(2, 1000) if x is None else x
    t = torch.from_numpy(x.copy()).clone()
    places = [eval(index, {"i": i}) for i in (*range(12), 500, 500, *range(985, 1000))]
    views = [t[place] for place in places]
    for place, view in zip(places, views):
        np.testing.assert_array_equal(view.numpy(), x[place])
        assert view.storage_offset() == (np.argmax(x == view.numpy().flat[0]) if view.numel() else x.size)


def test_modes():
    """Inference mode, transforms, autocast and numbers computed at once."""
    x = array(torch)
    thrice(CALLS["view"], torch, x)
    with torch.inference_mode():
        assert not thrice(CALLS["view"], torch, x)[2].is_inference()  # views are what they are views of
        assert thrice(CALLS["view"], torch, x * 2)[2].is_inference()
    with engine.at_once("a test"):
        found = thrice(CALLS["of a view"], torch, x)[2].tolist()
    assert found == CALLS["of a view"](array(reference)).tolist()
    doubled = torch.func.vmap(lambda v: v.view(12)[3:])(x)
    assert doubled.shape == (2, 9) and thrice(CALLS["row"], torch, x)[2].shape == (3, 4)


def test_shared_memory_is_seen():
    """Views of an array's memory, before and after it is given up."""
    array = np.zeros(4, np.float32)
    x = torch.from_numpy(array)
    views = thrice(lambda x: x.view(2, 2), torch, x)
    array[:] = 5
    assert views[2].tolist() == [[5, 5], [5, 5]]


def test_caches_are_bounded():
    x = torch.zeros(100, 100)
    for n in range(100):
        for _ in range(2):
            for m in range(0, 100, 2):
                x[n : n + 1, m]
    assert len(indexing._seen) <= seen.MOST and len(indexing._lenses) <= seen.MOST
