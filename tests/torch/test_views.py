"""Views against PyTorch: sharing, strides, versions, errors, and random programs."""

import math
import os
import warnings

import numpy as np
import pytest

from functorch_core import torch

from .view_programs import Program

reference = pytest.importorskip("torch")

# Random programs; FUNCTORCH_VIEW_PROGRAMS=5000 for a long run (75 s).
PROGRAMS = int(os.environ.get("FUNCTORCH_VIEW_PROGRAMS", "400"))
CHUNK = 50

BOTH = (reference, torch)


def outcome(expression: str, library, **names):
    """What an expression gives: the layout and values of tensors, or the error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = eval(expression, {"torch": library, **names})
        except Exception as error:
            return type(error).__name__, str(error)
    return describe(result)


def describe(result):
    """A tensor as (shape, dtype, strides, offset, values); anything else as it is."""
    if isinstance(result, (tuple, list)):
        return tuple(map(describe, result))
    if not hasattr(result, "untyped_storage"):
        return str(result)
    return (
        tuple(result.shape),
        str(result.dtype),
        result.stride(),
        result.storage_offset(),
        result.is_contiguous(),
        result.tolist(),
    )


def cube(library):
    """0 to 23 as 2 x 3 x 4."""
    return library.arange(24.0).reshape(2, 3, 4)


# ---- shapes, strides and errors ------------------------------------------------------------------


VIEWS = """
x.view(4, 6)
x.view(-1, 2)
x.view((3, 8))
x.view(size=(24,))
x.view(torch.int32)
x.view(torch.float64)
x.view(torch.uint8)
x.view(torch.complex64)
x.transpose(0, 1).reshape(-1)
x.transpose(0, 1).reshape(3, 8)
x.reshape(1, 24, 1)
x.reshape([])
x[:1, :1, :1].reshape(())
x.view_as(torch.zeros(6, 4))
x.permute(2, 0, 1)
x.permute(-1, 0, 1)
x.transpose(0, -1)
x.swapaxes(1, 2)
x[0].t()
x[0].T
x.mT
x.mH
x[0].H
x.movedim(0, 2)
x.movedim((0, 1), (2, 0))
torch.moveaxis(x, source=2, destination=0)
x[:1].squeeze()
x[:1].squeeze(0)
x[:1, :1].squeeze((0, 1))
x.unsqueeze(1)
x.unsqueeze(-1)
x[:1].expand(5, 3, 4)
x[:1].expand(2, -1, -1, 4)
x.expand_as(torch.zeros(2, 2, 3, 4))
torch.broadcast_to(x[0], (2, 3, 4))
x.select(1, -1)
x.narrow(2, 1, 2)
x.split(2, 1)
x.split([1, 3], dim=2)
x.chunk(2, -1)
x.tensor_split(3, 2)
x.tensor_split((1, 3), 2)
x.hsplit(3)
x.vsplit(2)
x.dsplit([1])
x.unbind(1)
x.diagonal()
x.diagonal(1, 1, 2)
x.diagonal(-1, 0, 2)
x.as_strided((2, 2), (1, 2))
x.as_strided((2, 3), (3, 1), 4)
x[1].as_strided((2, 2), (1, 2), 0)
x.unfold(2, 2, 1)
x.unfold(0, 1, 2)
x.flatten()
x.flatten(1)
x.flatten(0, 1)
x.unflatten(2, (2, -1))
x.ravel()
x.transpose(0, 1).ravel()
torch.view_as_complex(x.reshape(3, 4, 2))
torch.view_as_real(torch.view_as_complex(x.reshape(3, 4, 2)))
torch.view_as_complex(x.reshape(3, 4, 2)).imag
torch.view_as_complex(x.reshape(3, 4, 2)).real
x.transpose(0, 1).contiguous()
x.transpose(0, 1).clone()
x[:, ::2].clone()
x[:1].expand(3, 3, 4).clone()
x.transpose(0, 1).double()
x.permute(2, 0, 1).clone(memory_format=torch.contiguous_format)
torch.zeros_like(x.transpose(0, 1))
torch.zeros(2, 3, 4, 5).contiguous(memory_format=torch.channels_last)
torch.arange(3.).resize_(2, 3)[0]
x.resize_(2, 2)
x.permute(2, 1, 0).resize_(3)
torch.zeros(0).set_(x.storage(), 2, (2, 2), (3, 1))
torch.zeros(0).set_(x)
x.view(5)
x.view(-1, -1)
x.view(-2)
x.transpose(0, 1).view(-1)
torch.zeros(0).view(-1, 0)
x.t()
torch.zeros(2).mT
torch.zeros(2).H
x.permute(0, 1)
x.permute(0, 0, 1)
x.permute(0, 1, 5)
x.transpose(0, 5)
x.expand(3, 3, 4)
x.expand(4)
x.expand(-1, 2, 3, 4)
x.expand(2, -2, 4)
x.select(0, 5)
x.narrow(0, 1, 3)
x.narrow(0, 5, 1)
x.split(0)
x.split([1, 2])
x.chunk(0)
x.unbind(5)
x.diagonal(0, 0, 0)
x.as_strided((2, 2), (1,))
x.as_strided((5, 5), (9, 9))
x.as_strided((2, 2), (1, -1))
x.unfold(0, 5, 1)
x.unfold(0, 1, 0)
x.flatten(2, 1)
x.unflatten(0, (3, 3))
x.squeeze(5)
x.squeeze((0, 0))
x.movedim((0, 0), (1, 2))
torch.view_as_complex(x)
torch.view_as_real(x)
x.imag
x.contiguous(memory_format=torch.channels_last)
x[0, 0].view(torch.complex128)
x.transpose(0, 2).view(torch.int16)
torch.tensor(1.).view(torch.int16)
""".split("\n")[1:-1]


@pytest.mark.parametrize("expression", VIEWS)
def test_view(expression):
    found, expected = (outcome(expression, lib, x=cube(lib)) for lib in (torch, reference))
    assert found == expected


def test_sharing_both_ways():
    for lib in BOTH:
        x = cube(lib)
        row, turned, flat = x[0], x.transpose(0, 2), x.view(-1)
        row[1, 2] = 100.0
        flat[0] = -1.0
        turned.mul_(2)
        assert x[0, 1, 2].item() == 200.0 and row[0, 0].item() == -2.0 and flat[6].item() == 200.0
        assert x._version == row._version == turned._version == flat._version == 3


def test_detach_and_data_share():
    for lib in BOTH:
        x = lib.ones(3, requires_grad=True)
        x.detach()[0] = 5.0
        assert x.tolist() == [5.0, 1.0, 1.0]
        with lib.no_grad():
            x.view(3, 1)[2] = 7.0
        assert x.tolist() == [5.0, 1.0, 7.0]


def test_writing_to_a_part_of_a_detached_view_is_on_the_tape():
    for lib in BOTH:
        w = lib.ones(2, requires_grad=True)
        part = lib.zeros(4)[1:].detach()
        part[:2] = w * 3
        part.sum().backward()
        assert w.grad.tolist() == [3.0, 3.0]


def test_expanded_tensors_cannot_be_written_to():
    for lib in BOTH:
        x = lib.zeros(1, 3).expand(2, 3)
        with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
            x.add_(1)
        x[0] = 4.0
        assert x.tolist() == [[4.0] * 3] * 2


@pytest.mark.parametrize("shape, dimension", [((4, 37), -1), ((37,), 0), ((2, 37, 3), 1)])
@pytest.mark.parametrize("size", [0, 1, 8, 12, 17, 32, 37])
@pytest.mark.parametrize("step", [1, 4, 5, 16, 20, 40])
def test_windows(shape, dimension, size, step):
    found = []
    for lib in BOTH:
        x = lib.tensor(np.arange(float(math.prod(shape))).reshape(shape), requires_grad=True)
        windows = x.unfold(dimension, size, step)
        (windows * lib.arange(float(windows.numel())).reshape(windows.shape)).sum().backward()
        found.append((tuple(windows.shape), windows.stride(), windows.tolist(), x.grad.tolist()))
    assert found[0] == found[1]


def test_overlapping_windows_show_what_is_written_to_one():
    for lib in BOTH:
        x = lib.arange(4.0)
        windows = x.unfold(0, 2, 1)
        windows[1] = -1.0
        assert x.tolist() == [0.0, -1.0, -1.0, 3.0]
        assert windows.tolist() == [[0.0, -1.0], [-1.0, -1.0], [-1.0, 3.0]]


def test_leaves_cannot_be_written_to():
    for lib in BOTH:
        x = lib.ones(3, requires_grad=True)
        for action in (lambda: x.zero_(), lambda: x[0].fill_(1), lambda: x.__setitem__(0, 1.0), lambda: x.t_()):
            with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
                action()


def test_metadata_in_place():
    for lib in BOTH:
        x = cube(lib)
        part = x[1]
        x.transpose_(0, 2).unsqueeze_(0).squeeze_(0)
        part[0, 0] = 50.0
        x.mul_(2)
        assert tuple(x.shape) == (4, 3, 2) and x.stride() == (1, 4, 12)
        assert x[0, 0, 1].item() == 100.0 and part[0, 0].item() == 100.0


def test_data_ptr_and_storage():
    for lib in BOTH:
        x = cube(lib)
        assert x.view(-1).data_ptr() == x.data_ptr() and x[1].data_ptr() == x.data_ptr() + 48
        assert x.clone().data_ptr() != x.data_ptr() and x.element_size() == 4
        assert x[1].untyped_storage().nbytes() == 96 == len(x[1].untyped_storage())
        assert x.untyped_storage().data_ptr() == x.data_ptr()
        assert x.is_set_to(x.view(2, 3, 4)) and not x.is_set_to(x.view(6, 4))
        assert x._is_view() and x[0]._base is x._base


NODES = {
    "y.view(-1)": "View",
    "y.T": "Permute",
    "y.t()": "T",
    "y.transpose(0, 1)": "Transpose",
    "y[0]": "Select",
    "y[1:, 0]": "Select",
    "y[0, 1:]": "Slice",
    "y[None]": "Unsqueeze",
    "y[[0, 1]]": "Index",
    "y.split(1)[0]": "Split",
    "y.unbind()[0]": "Unbind",
    "y.expand(2, 2, 3)": "Expand",
    "y.clone()": "Clone",
    "y.double()": "ToCopy",
    "y.diagonal()": "Diagonal",
    "y.gather(0, y.long() * 0)": "Gather",
    "y.T.reshape(-1)": "UnsafeView",
}


@pytest.mark.parametrize("expression", NODES)
def test_names_of_nodes(expression):
    y = torch.ones(2, 3, requires_grad=True)
    assert eval(expression, {"torch": torch, "y": y}).grad_fn.name() == f"{NODES[expression]}Backward0"


def test_conversions():
    for lib in BOTH:
        x = cube(lib)
        assert x.to("cpu") is x and x.to(lib.float32) is x and x.float() is x and x.cpu() is x
        assert x.to(lib.float32, copy=True) is not x and x.to(lib.ones(1).long()).dtype == lib.int64
        assert x.type() == "torch.FloatTensor" and x.type("torch.DoubleTensor").dtype == lib.float64
        assert x.type(lib.LongTensor).dtype == lib.int64 and x.contiguous() is x


def test_copy_is_differentiable_and_forgets_the_old_value():
    for lib in BOTH:
        w = lib.ones(3, requires_grad=True)
        v = lib.ones(1, dtype=lib.float64, requires_grad=True)
        y = w * 2
        y.copy_(v * 3)
        y.sum().backward()
        assert w.grad.tolist() == [0.0] * 3 and v.grad.tolist() == [9.0]


def test_complex_parts_can_be_assigned():
    for lib in BOTH:
        z = lib.zeros(2, dtype=lib.complex64)
        z.real = lib.ones(2)
        z.imag[1] = 5.0
        assert z.tolist() == [1 + 0j, 1 + 5j]


# ---- random programs -----------------------------------------------------------------------------


@pytest.mark.parametrize("start", range(0, PROGRAMS, CHUNK))
def test_random_programs(start):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(start, min(start + CHUNK, PROGRAMS)):
            Program(seed, reference, torch).run()


def test_a_wrong_library_is_noticed():
    """The checker itself: a view that is a copy must not pass."""

    class Copying:
        def __getattr__(self, name):
            return getattr(torch, name)

    saved = torch.Tensor.view
    torch.Tensor.view = lambda self, *shape: saved(self, *shape).clone()
    try:
        with pytest.raises(AssertionError), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for seed in range(60):
                Program(seed, reference, Copying()).run()
    finally:
        torch.Tensor.view = saved
    np.testing.assert_equal(torch.zeros(2).view(2, 1).shape, (2, 1))


def test_versions_go_on_when_data_is_exchanged():
    def facts(library):
        x, y = library.ones(2), library.zeros(2)
        x.add_(1).add_(1)
        y.add_(1)
        x.data = y
        seen = [x._version, y._version]
        x.add_(1)
        layer = library.nn.Conv2d(2, 3, 3)
        layer.to(memory_format=library.channels_last)
        seen += [x._version, layer.weight._version, layer.weight.stride()]
        layer.to(library.float64)
        return seen + [layer.weight._version, layer.bias._version]

    assert facts(torch) == facts(reference)


LONG_CHAINS = (
    lambda x: x.view(2, 2),
    lambda x: x.t(),
    lambda x: x[:],
    lambda x: x[None][0],
    lambda x: x.unsqueeze(1).squeeze(1),
)


@pytest.mark.parametrize("step", LONG_CHAINS)
def test_a_chain_longer_than_the_stack_is_deep_is_written_to(step):
    def facts(library):
        whole = library.arange(4.0).view(2, 2)
        view = whole
        for _ in range(1201):
            view = step(view)
        view[0].add_(library.tensor([10.0, 20.0]))
        return describe(whole), describe(view)

    assert facts(torch) == facts(reference)


EMPTY_PARTS = {
    "slice": lambda x: x[4:],
    "narrow": lambda x: x[::2].narrow(0, 2, 0),
    "split": lambda x: x[::2].split([2, 0])[1],
    "tensor_split": lambda x: x[::2].tensor_split((1, 5))[2],
    "columns": lambda x: x[4:, ::2].t(),
}


@pytest.mark.parametrize("part", EMPTY_PARTS.values(), ids=EMPTY_PARTS)
def test_an_empty_part_is_read_wherever_it_begins(part):
    for make in (lambda m: m.ones(10, 4), lambda m: m.from_numpy(np.ones((10, 4)))):
        ours, theirs = [part(make(m)[::3]) for m in (torch, reference)]
        assert ours.tolist() == theirs.tolist()
        assert ours.numpy().shape == theirs.numpy().shape
