"""__torch_function__: subclasses of Tensor, classes that are no tensors, and modes."""

import subprocess
import sys

import numpy as np
import pytest

from functorch_core import torch
from functorch_core.torch.dispatch import overrides as _overrides
from functorch_core.torch.tensors.active import active


@pytest.fixture(autouse=True)
def restored(monkeypatch):
    """Leave the library as if no class had overridden anything: other tests measure speed."""
    monkeypatch.setattr(active, "overrides", active.overrides)
    monkeypatch.setattr(_overrides, "for_good", _overrides.for_good)
    names = "ndimension", *_overrides.MEMBERS, *_overrides.USERS_MEMBERS
    members = {name: getattr(torch.Tensor, name) for name in names}
    exchanged = dict(_overrides.dispatcher.exchanged)  # a copy: what a test puts into it is not there afterwards
    yield
    for name, member in members.items():
        setattr(torch.Tensor, name, member)
    _overrides.dispatcher.exchanged = exchanged


def library(name):
    """This library or real PyTorch: the same class is to behave alike in both."""
    return torch if name == "ours" else pytest.importorskip("torch")


BOTH = pytest.mark.parametrize("lib", ["ours", "theirs"])


# ---- subclasses ----------------------------------------------------------------------------------


@BOTH
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_subclass_is_kept_by_numpy(lib):
    """NumPy's operators and ufuncs ask for __array_wrap__, which the class is told of as of all functions."""
    lib, array = library(lib), np.full(2, 2.0, np.float32)
    told = []

    class Told(lib.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            told.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs)

    x = lib.ones(2).as_subclass(Told)
    for made in (x * array, x - array, x / array, x**array, x @ array, x // array, x % array, (x > 0) & (array > 0)):
        assert type(made) is Told
    told.clear()
    for made in (np.sin(x), np.add(x, x), np.add(array, x), *np.modf(x), np.isnan(x)):
        assert type(made) is Told
    assert told.count("__array_wrap__") == 6
    assert type(np.sin(lib.nn.Parameter(lib.ones(2)).detach())) is lib.Tensor


@BOTH
def test_a_subclass_is_kept(lib):
    t = library(lib)

    class Tagged(t.Tensor):
        pass

    x = t.arange(6.0).reshape(2, 3).as_subclass(Tagged)
    for result in (
        x + 1,
        1 + x,
        x.sum(),
        t.exp(x),
        x[0],
        x.reshape(3, 2),
        x.t(),
        x.detach(),
        x @ x.t(),
        x.max(dim=0).values,
        t.stack([x, x]),
        x.add_(1),
        x.clone(),
        -x,
    ):
        assert type(result) is Tagged
    assert [type(part) for part in x.unbind()] == [Tagged, Tagged]
    assert type(x.numpy()) is np.ndarray and x.sum().item() == 21 and type(x.shape) is t.Size
    assert type(t.ones(2)) is t.Tensor


def logging_class(t, seen):
    class Logging(t.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append((func.__name__, types))
            return super().__torch_function__(func, types, args, kwargs or {})

    return Logging


@BOTH
def test_an_override_sees_calls(lib):
    t, seen = library(lib), []
    cls = logging_class(t, seen)
    x = t.ones(2).as_subclass(cls)
    seen.clear()
    t.add(x, 1), x.mul(2), x - 1, t.nn.functional.relu(x), t.cat([t.ones(2), x])
    assert [name for name, _ in seen if name != "__get__"] == ["add", "mul", "sub", "relu", "cat"]
    assert all(types == (cls,) for _, types in seen)


@BOTH
def test_subclasses_go_before_their_bases(lib):
    t, seen = library(lib), []
    base = logging_class(t, seen)

    class Special(base):
        pass

    result = t.ones(2).as_subclass(base) + t.ones(2).as_subclass(Special)
    assert type(result) is Special and seen[-1][1] == (Special, base)


@BOTH
def test_parameters_do_not_override(lib):
    t = library(lib)
    assert type(t.nn.Parameter(t.ones(2)) + 1) is t.Tensor

    class Mine(t.nn.Parameter):
        pass

    assert type(Mine(t.ones(2)) + 1) is t.Tensor


@BOTH
def test_switching_off(lib):
    t = library(lib)

    class Tagged(t.Tensor):
        pass

    x = t.ones(2).as_subclass(Tagged)
    with t._C.DisableTorchFunctionSubclass():
        assert type(x + 1) is t.Tensor
    assert type(x + 1) is Tagged


@BOTH
def test_gradients_of_a_subclass(lib):
    t = library(lib)

    class Tagged(t.Tensor):
        pass

    leaf = t.ones(3, requires_grad=True)
    (leaf.as_subclass(Tagged) * 2).sum().backward()
    assert leaf.grad.tolist() == [2, 2, 2]


# ---- classes that are no tensors -----------------------------------------------------------------


def diagonal_class(t):
    handled = {}

    class Diagonal:
        """The example of PyTorch's documentation: n times a value on a diagonal."""

        def __init__(self, n, value):
            self.n, self.value = n, value

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            if func not in handled or not all(issubclass(x, (t.Tensor, cls)) for x in types):
                return NotImplemented
            return handled[func](*args, **(kwargs or {}))

    handled[t.mean] = lambda x: float(x.value) / x.n
    handled[t.add] = lambda a, b: ("sum", type(a).__name__, type(b).__name__)
    handled[t.Tensor.add] = handled[t.add]
    return Diagonal


@BOTH
def test_duck_typing(lib):
    t = library(lib)
    cls = diagonal_class(t)
    d = cls(5, 2)
    assert t.mean(d) == 0.4
    assert t.add(t.ones(2), d) == ("sum", "Tensor", "Diagonal")
    assert t.ones(2) + d == ("sum", "Tensor", "Diagonal")
    with pytest.raises(TypeError, match="no implementation found|Multiple dispatch failed"):
        t.sub(d, t.ones(1))
    with pytest.raises(TypeError):
        t.mean(object())


# ---- modes ---------------------------------------------------------------------------------------


@BOTH
def test_modes(lib):
    t, seen = library(lib), []

    class Log(t.overrides.TorchFunctionMode):
        def __init__(self, name):
            super().__init__()
            self.name = name

        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append((self.name, func.__name__))
            return func(*args, **(kwargs or {}))

    with Log("outer"), Log("inner"):
        x = t.ones(2)
        x.exp()
    t.zeros(2)
    assert seen == [("inner", "ones"), ("outer", "ones"), ("inner", "exp"), ("outer", "exp")]


@BOTH
def test_a_mode_can_change_results(lib):
    t = library(lib)

    class Zero(t.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            if func is t.rand:
                func = t.zeros
            return func(*args, **(kwargs or {}))

    with Zero():
        assert t.rand(2).tolist() == [0, 0]
    assert t.rand(2).tolist() != [0, 0]


# ---- torch.overrides -----------------------------------------------------------------------------


@BOTH
def test_own_functions_can_be_overridden(lib):
    t, seen = library(lib), []
    cls = logging_class(t, seen)

    def double(x):
        if t.overrides.has_torch_function((x,)):
            return t.overrides.handle_torch_function(double, (x,), x)
        return x * 2

    x = t.ones(2).as_subclass(cls)
    seen.clear()
    assert type(double(x)) is cls and seen[0][0] == "double"
    assert not t.overrides.has_torch_function((t.ones(1), 3))

    @t.overrides.wrap_torch_function(lambda x: (x,))
    def triple(x):
        return x * 3

    seen.clear()
    assert triple(x).tolist() == [3, 3] and seen[0][0] == "triple"


@BOTH
def test_questions(lib):
    o = library(lib).overrides
    t = library(lib)
    assert o.is_tensor_like(t.ones(1)) and not o.is_tensor_like(3)
    assert o.is_tensor_like(diagonal_class(t)(1, 2))
    assert o.is_tensor_method_or_property(t.Tensor.add)
    assert not o.is_tensor_method_or_property(t.nn.functional.relu)
    assert o.resolve_name(t.Tensor.add) == "torch.Tensor.add"
    assert t.add in o.get_overridable_functions()[t]
    assert t.Tensor.add in o.get_overridable_functions()[t.Tensor]
    assert t.is_tensor in o.get_ignored_functions()
    assert t.add in o.get_testing_overrides()


def test_nothing_is_asked_before_a_class_overrides():
    code = (
        "from functorch_core import torch\nfrom functorch_core.torch.tensors.active import active\n"
        "torch.nn.Parameter(torch.ones(1)) + 1\nassert active.overrides is None\n"
        "class T(torch.Tensor): pass\nassert active.overrides is not None\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("name", "shape grad is_xla is_vulkan is_maia is_mtia is_ipu _version _base itemsize".split())
def test_all_attributes_ask(name):
    def asked(library):
        seen = []

        class Mode(library.overrides.TorchFunctionMode):
            def __torch_function__(self, func, types, args=(), kwargs=None):
                seen.append(func.__name__)
                return func(*args, **(kwargs or {}))

        x = library.ones(2)
        with Mode():
            getattr(x, name)
        return seen

    assert asked(torch) == asked(pytest.importorskip("torch"))


def test_nobody_is_asked_before_there_is_somebody():
    """Neither an optimizer nor distributions let calls look for overriding arguments. A sparse tensor does, but not
    those of plain tensors; a mode all, and transforms and the meta device while their tensors live."""
    program = (
        "from functorch_core import torch\n"
        "from functorch_core.torch.tensors.active import active\n"
        "from functorch_core.torch import distributions\n"
        "layer = torch.nn.Linear(2, 2)\n"
        "torch.optim.Adam(layer.parameters())\n"
        "distributions.Categorical(logits=layer(torch.ones(2))).sample().item()\n"
        "assert active.overrides is None and active.plain\n"
        "x = torch.sparse_coo_tensor([[0]], [1.0], (2,))\n"
        "assert active.overrides is not None and active.plain\n"
        "assert (x + x).to_dense().tolist() == [2.0, 0.0] and torch.add(torch.ones(2), x).tolist() == [2.0, 1.0]\n"
        "with torch.overrides.TorchFunctionMode():\n"
        "    assert not active.plain\n"
        "assert active.plain\n"
        "assert torch.func.vmap(lambda x: x + 1)(torch.ones(2)).tolist() == [2.0, 2.0] and active.plain\n"
        "kept = []\n"
        "torch.func.vmap(lambda x: kept.append(x) or x)(torch.ones(2))\n"
        "assert not active.plain and active.levels is not None\n"
        "kept.clear()\n"
        "assert active.plain and active.levels is None\n"
        "x = torch.ones(2, device='meta')\n"
        "y = x[0] + 1\n"
        "del x\n"
        "assert not active.plain and y[None].shape == (1,)\n"
        "del y\n"
        "assert active.plain and not active.rewrites\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


MIXED = {
    "theirs of ours": lambda t, x, y: t.add(x, x),
    "theirs of both": lambda t, x, y: y + x,
    "theirs in a list": lambda t, x, y: t.cat([y, x]),
    "their layer": lambda t, x, y: t.nn.functional.softmax(x, dim=0),
    "ours of both": lambda t, x, y: x + y,
    "ours of theirs": lambda t, x, y: torch.sin(y),
    "ours in a list": lambda t, x, y: torch.cat([x, y]),
    "our layer": lambda t, x, y: torch.nn.functional.mse_loss(x, y),
    "in place": lambda t, x, y: x.mul_(y),
}


@pytest.mark.parametrize("name", MIXED)
def test_tensors_of_two_installations_are_told_apart(name):
    reference = library("theirs")
    x, y = torch.ones(3), reference.ones(3)
    for _ in range(2):
        with pytest.raises(TypeError, match="two installations of torch are mixed"):
            MIXED[name](reference, x, y)
    assert torch.from_dlpack(y).tolist() == reference.from_dlpack(x).tolist() == [1.0] * 3


def redispatching(t) -> list:
    """What a class and a mode see that let the function run without asking them again."""
    seen = []

    class Seeing(t.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append(getattr(func, "__name__", str(func)))
            result = t.overrides.redispatch_function(func, types, args, kwargs)
            return result.as_subclass(cls) if isinstance(result, t.Tensor) else result

    class Mode(t.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func.__name__)
            with self:
                return t.overrides.redispatch_function(func, types, args, kwargs)

    def scaled(a, b):
        if t.overrides.has_torch_function((a, b)):
            return t.overrides.handle_torch_function(scaled, (a, b), a, b)
        return a * b + 1

    x, plain = t.ones(2).as_subclass(Seeing), t.ones(2)
    made = [scaled(x, x), x * x, x.sum(), x.detach(), x[0], t.cat([x, x]), x.add_(1), t.nn.functional.linear(x, x)]
    seen.append(x.shape)
    with Mode():
        made += [scaled(plain, plain), plain.sum() + 1]
    asked = list(seen)
    with pytest.raises(RuntimeError, match="doesn't use has_torch_function"):
        t.overrides.redispatch_function(lambda: 1, (Seeing,), (), {})
    return [asked, [type(a).__name__ for a in made], [a.sum().item() for a in made]]


def test_functions_that_run_without_asking_again():
    assert redispatching(torch) == redispatching(library("theirs"))


def test_subclasses_are_printed_by_their_names():
    def program(t):
        class Named(t.Tensor):
            pass

        class Weight(t.nn.Parameter):
            pass

        x, made = t.ones(2).as_subclass(Named), t.Tensor._make_subclass(Named, t.arange(30).reshape(3, 10))
        shown = x, made, x * 2, x.requires_grad_() * 2, t.empty(0).as_subclass(Named), t.nn.Parameter(x.detach())
        more = t.ones(2, device="meta").as_subclass(Named), t.nn.Buffer(t.ones(2)), t.nn.Parameter(t.ones(2))
        return [repr(y) for y in (*shown, *more, Weight(t.ones(2)))]

    assert program(torch) == program(library("theirs"))


class Noted:
    """Has a __dict__ of its own, as classes before Tensor have."""

    def note(self, other):
        self.__dict__.update({name: other.__dict__[name] for name in other.__dict__})


def noted(torch):
    """What a class with another before Tensor shows of its instances, and whether copying that changes them."""

    class NotedTensor(Noted, torch.Tensor):
        pass

    class Further(NotedTensor):
        pass

    class NotedParameter(Noted, torch.nn.Parameter):
        pass

    found = []
    for cls in (NotedTensor, Further):
        x = torch.ones(2).as_subclass(cls)
        x.label = "a"
        mask = x == 0
        mask.note(x)
        found += [dict(x.__dict__), vars(mask), mask.dtype is torch.bool, mask.tolist(), type(mask).__name__]
        x.__dict__ = {"other": 1}
        found += [vars(x), (x + 1).tolist(), hasattr(x, "label")]
    p = NotedParameter(torch.ones(2))
    p.label = 1
    return [*found, vars(p), p.requires_grad, p.tolist()]


def test_a_class_before_tensor_does_not_show_what_a_tensor_is_made_of():
    """Copying __dict__ from one instance to another gave it the other's numbers."""
    assert noted(torch) == noted(pytest.importorskip("torch"))
