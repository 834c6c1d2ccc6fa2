"""Strides of results: those of PyTorch, for operands whose dimensions lie in memory in any order.

`layout_programs.txt` holds expressions of a tensor x (and y, z, c of ones that broadcast with it),
and after an empty line those of images i, contiguous and channels-last.
"""

import copy
import io
import pathlib
import warnings

import pytest

from functorch_core import torch

reference = pytest.importorskip("torch")

TEXT = (pathlib.Path(__file__).parent / "layout_programs.txt").read_text()
PLAIN, IMAGES = (part.splitlines() for part in TEXT.split("\n\n"))
LIBRARIES = pytest.mark.parametrize("library", [torch, reference], ids=["ours", "theirs"])


def operands(library) -> dict:
    library.manual_seed(0)
    matrix, cube, batch = (library.rand(*shape) for shape in ((4, 3), (2, 3, 4), (2, 3, 4, 5)))
    return {
        "plain": library.rand(3, 4),
        "transposed": matrix.t(),
        "permuted": cube.permute(2, 0, 1),
        "swapped": cube.transpose(1, 2),
        "attention": batch.transpose(1, 2),
        "sliced": cube.permute(2, 1, 0)[::2],
        "column": library.rand(1, 5).t(),
        "reversed": cube.permute(2, 1, 0).clone(),
        "columns": library.rand(3, 4)[:, 1:3],
        "mixed": batch.permute(0, 2, 3, 1)[:, 1:],
        "expanded": library.rand(3, 1).expand(3, 4),
    }


def space(library, **names) -> dict:
    return {"torch": library, "nn": library.nn, "F": library.nn.functional, **names}


def layout(library, program: str, names: dict):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            made = eval(program, names)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
    return (tuple(made.shape), made.stride()) if isinstance(made, library.Tensor) else made


def layouts(library, program: str) -> dict:
    return {
        name: layout(
            library,
            program,
            space(
                library, x=x, y=library.ones(x.shape), z=library.ones(x.shape[-1]), c=library.ones(x.shape[:-1] + (1,))
            ),
        )
        for name, x in operands(library).items()
    }


@pytest.mark.parametrize("program", PLAIN)
def test_strides(program):
    assert layouts(torch, program) == layouts(reference, program)


def image_layouts(library, program: str) -> list:
    library.manual_seed(0)
    images, kernel = library.rand(2, 2, 6, 6), library.rand(3, 2, 3, 3)
    last = library.channels_last
    return [
        layout(library, program, space(library, i=i, k=kernel, kl=kernel.to(memory_format=last)))
        for i in (images, images.to(memory_format=last))
    ]


@pytest.mark.parametrize("program", IMAGES)
def test_strides_of_images(program):
    assert image_layouts(torch, program) == image_layouts(reference, program)


@LIBRARIES
def test_results_in_another_order_are_tensors_as_others(library):
    y = library.arange(6.0).reshape(2, 3).t() + 1
    assert not y.is_contiguous() and y.t().is_contiguous() and not y._is_view()
    with pytest.raises(RuntimeError, match="view size is not compatible"):
        y.view(-1)
    y.add_(1)
    y[0].zero_()
    y[:, 1] = 7
    assert y.tolist() == [[0, 7], [3, 7], [4, 7]] and y._version == 3
    assert y.as_strided((6,), (1,)).tolist() == [0, 3, 4, 7, 7, 7]
    assert y.numpy().strides == (4, 12)
    file = io.BytesIO()
    library.save(y, file)
    file.seek(0)
    assert library.load(file).stride() == copy.deepcopy(y).stride() == (1, 3)


@LIBRARIES
def test_gradients_lie_as_their_leaves(library):
    x = library.rand(3, 4).t().requires_grad_()
    (x * x).sum().backward()
    assert x.grad.stride() == (1, 4)
    (x * 2).sum().backward()
    assert x.grad.stride() == (1, 4)
    a = x * 2
    a.mul_(3).sum().backward()
    assert a.stride() == (1, 4) and a.grad_fn.name() == "MulBackward0"


@LIBRARIES
def test_out_takes_the_order(library):
    x, out = library.rand(3, 4).t(), library.empty(0)
    assert library.add(x, 1, out=out).stride() == (1, 4)
    assert library.add(x, 1, out=library.empty(4, 3)).stride() == (3, 1)


@LIBRARIES
def test_a_network_in_channels_last(library):
    nn = library.nn
    net = nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 4, 3), nn.GELU()
    ).to(memory_format=library.channels_last)
    x = library.rand(2, 3, 12, 12).contiguous(memory_format=library.channels_last)
    out = net(x)
    assert out.is_contiguous(memory_format=library.channels_last) and not out.is_contiguous()
    out.square().mean().backward()
    assert net[0].weight.grad.is_contiguous(memory_format=library.channels_last)
    library.optim.SGD(net.parameters(), lr=0.1).step()
    assert net[0].weight.is_contiguous(memory_format=library.channels_last)


@pytest.mark.parametrize("program", ["F.pad(x, (1, 1))", "x[:, i]", "x.flip(0)", "F.pad(x, (1, 1), mode='circular')"])
def test_rules_by_arguments_under_vmap(program):
    def results(library):
        x = library.arange(120.0).reshape(5, 4, 3, 2).permute(3, 0, 1, 2)
        names = space(library, i=library.tensor([0, 1]))
        return library.vmap(lambda x: eval(program, {**names, "x": x}))(x).tolist()

    assert results(torch) == results(reference)
