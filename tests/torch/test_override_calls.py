"""What TorchFunctionModes and Tensor subclasses are asked about: the calls PyTorch asks about.

`override_programs.txt` holds expressions of tensors (x, i, k of numbers, t of indices, s of one)."""

import pathlib
import warnings

import pytest

from functorch_core import torch

reference = pytest.importorskip("torch")

PROGRAMS = (pathlib.Path(__file__).parent / "override_programs.txt").read_text().splitlines()


def asked(library, program: str, by: str) -> list:
    """The names of the functions that a mode, or a subclass, is asked about."""
    log = []

    class Mode(library.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            log.append(func.__name__)
            return func(*args, **(kwargs or {}))

    class Sub(library.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            log.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs or {})

    library.manual_seed(0)
    names = {
        "x": library.rand(3, 3),
        "t": library.tensor([0, 1, 2]),
        "s": library.tensor(3),
        "i": library.rand(1, 2, 4, 4),
        "k": library.rand(3, 2, 2, 2),
    }
    if program.find("&") >= 0 or program.find("~") >= 0 or "<<" in program:
        names["i"] = library.ones(2, dtype=library.int64)
    if by == "subclass":
        names = {name: x.as_subclass(Sub) for name, x in names.items()}
    space = {
        **names,
        "torch": library,
        "nn": library.nn,
        "F": library.nn.functional,
        "mse_loss": library.nn.functional.mse_loss,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if by == "subclass":
            eval(program, space)
        else:
            with Mode():
                eval(program, space)
    return log


@pytest.mark.parametrize("by", ["mode", "subclass"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_asked(program, by):
    assert asked(torch, program, by) == asked(reference, program, by)


@pytest.mark.parametrize(
    "path",
    [
        "Tensor.add",
        "Tensor.shape.__get__",
        "Tensor.requires_grad.__set__",
        "Tensor.__getitem__",
        "Tensor.item",
        "Tensor.dim",
        "Tensor.to",
        "add",
        "cat",
        "ones",
        "einsum",
        "split",
        "nn.functional.relu",
        "nn.functional.conv2d",
        "nn.functional.linear",
        "nn.functional.unfold",
        "nn.functional.cross_entropy",
        "nn.init.uniform_",
        "linalg.inv",
        "fft.fft",
        "is_tensor",
    ],
)
def test_names(path):
    def name(library):
        function = library
        for part in path.split("."):
            function = getattr(function, part)
        return library.overrides.resolve_name(function)

    assert name(torch) == name(reference)


@pytest.mark.parametrize("library", [torch, reference], ids=["ours", "theirs"])
def test_a_table_of_attributes(library):
    """Handlers are looked up by Tensor.shape.__get__, made before the mode or in it."""
    table = {library.Tensor.shape.__get__: "before"}
    seen = []

    class Mode(library.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append((table.get(func), func == library.Tensor.shape.__get__))
            return func(*args, **(kwargs or {}))

    x = library.ones(2)
    with Mode():
        assert tuple(x.shape) == (2,)
    x.shape
    assert seen == [("before", True)]


def test_functions_keep_their_signature_and_identity():
    import inspect

    from functorch_core.torch.nn.functional import dropout

    before = str(inspect.signature(dropout))

    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            assert func is dropout
            return 7

    x = torch.ones(1)
    with Mode():
        assert dropout(x, p=0.3) == 7
    assert str(inspect.signature(dropout)) == before
    assert dropout(torch.ones(1), training=False).tolist() == [1]
    with pytest.raises(TypeError):
        dropout()
