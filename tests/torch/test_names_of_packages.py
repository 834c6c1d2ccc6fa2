"""Names that packages written for PyTorch import: they are there, and do what PyTorch's do."""

import copy
import importlib
import warnings

import pytest

from functorch_core import torch

reference = pytest.importorskip("torch")
BOTH = pytest.mark.parametrize("t", [torch, reference], ids=["ours", "theirs"])


def module(t, name: str):
    return importlib.import_module(f"{t.__name__}.{name}")


@BOTH
def test_states_of_devices(t):
    checkpoint = module(t, "utils.checkpoint")
    x = t.ones(2)
    assert checkpoint.get_device_states() == checkpoint.get_device_states(x, [x], {"x": x.to("meta")}) == ([], [])
    checkpoint.set_device_states([], [])
    checkpoint.set_device_states([0], [t.get_rng_state()], device_type="meta")
    if not t.cuda.is_available():
        return
    y = x.cuda()
    devices, states = checkpoint.get_device_states(x, [y])
    first = t.rand(2, device="cuda")
    checkpoint.set_device_states(devices, states)
    assert devices == [0] and t.equal(first, t.rand(2, device="cuda"))


@BOTH
def test_whether_cuda_is_in_use(t):
    called = []
    if t.cuda.is_available():
        t.cuda._lazy_init()
        t.cuda._lazy_call(lambda: called.append(1))
        assert t.cuda._initialized and called == [1]
    else:
        with pytest.raises(AssertionError, match="not compiled with CUDA"):
            t.cuda._lazy_init()
        t.cuda._lazy_call(lambda: called.append(1))
        assert t.cuda._initialized is False and called == []
    assert t.cuda._is_in_bad_fork() is False and not hasattr(t.cuda, "_no_such_name")


@BOTH
def test_modules_of_cuda_amp(t):
    common, modes, scalers = (module(t, f"cuda.amp.{name}") for name in ("common", "autocast_mode", "grad_scaler"))
    assert common.amp_definitely_not_available() == (not t.cuda.is_available())
    assert t.cuda.amp.amp_definitely_not_available is common.amp_definitely_not_available
    assert scalers.OptState is module(t, "amp.grad_scaler").OptState and t.cuda.amp.GradScaler is scalers.GradScaler
    assert (t.cuda.amp.autocast, t.cuda.amp.custom_fwd) == (modes.autocast, modes.custom_fwd)
    for kind in ("cpu", "cuda"):
        amp = module(t, f"{kind}.amp")
        assert module(t, f"{kind}.amp.autocast_mode").autocast is amp.autocast
        assert module(t, f"{kind}.amp.grad_scaler").GradScaler is amp.GradScaler
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            amp.autocast(enabled=False)
            amp.GradScaler(enabled=False)
        said = f"Please use `torch.amp.GradScaler('{kind}', args...)` instead."
        assert [str(w.message).endswith(said) for w in caught] == [False, True]


@BOTH
def test_clipped_sigmoid(t):
    clipped = module(t, "distributions.transforms")._clipped_sigmoid
    for dtype in (t.float32, t.float64):
        y = clipped(t.tensor([0.0, 200.0, -2000.0], dtype=dtype))
        assert y.tolist() == [0.5, 1 - t.finfo(dtype).eps, t.finfo(dtype).tiny]


# ---- methods -------------------------------------------------------------------------------------

METHODS = """
x.broadcast_to(2, 3)
x.broadcast_to(3)
x.broadcast_to((2, 3))
x.broadcast_to([2, 3])
x.broadcast_to(size=(2, 3))
x.broadcast_to(2, 4)
x.broadcast_to()
x.resize(3, 1)
x.resize(3)
x.resize((3, 1))
x.resize(4, 1)
x.resize(-1, 1)
x.resize_as(t.ones(3, 1))
x.resize_as(t.ones(2))
t.ones(2, 3).T.resize(2, 3)
"""


@pytest.mark.parametrize("program", METHODS.split("\n")[1:-1])
def test_methods(program):
    said = []
    for t in (torch, reference):
        x = t.arange(3.0, requires_grad=True)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                y = eval(program, {"t": t, "x": x})
                if y.requires_grad:
                    y.sum().backward()
                found = y.tolist(), x.grad is not None and x.grad.tolist(), y.grad_fn and y.grad_fn.name()
            except Exception as error:
                found = type(error), str(error)
        said.append((found, [str(w.message) for w in caught]))
    assert said[0] == said[1]


@BOTH
def test_resized_tensors_are_views(t):
    x = t.ones(4)
    with pytest.warns(UserWarning, match="non-inplace resize is deprecated"):
        x.resize(2, 2)[0, 0] = 5
    assert x.tolist() == [5, 1, 1, 1]


# ---- types of TorchScript ------------------------------------------------------------------------

SINGLE = """Any Bool Complex DeviceObj Float Int None Number PyObject StreamObj String SymBool SymInt Tensor""".split()


@pytest.mark.parametrize("name", [f"{name}Type" for name in SINGLE])
def test_types_without_elements(name):
    said = []
    for t in (torch, reference):
        cls = getattr(t, name)
        one = cls.get()
        assert isinstance(one, t.Type) and one is cls.get() and cls is getattr(t._C, name)
        assert not isinstance(t.ones(1), cls) and one.containedTypes() == []
        with pytest.raises(TypeError) as caught:
            cls()
        others = [getattr(t, f"{other}Type").get() for other in SINGLE]
        wider = [one.isSubtypeOf(x) for x in others] + [one.isSubtypeOf(t.OptionalType(x)) for x in others[:5]]
        same = [one == x for x in others]
        said.append((repr(one), str(one), one.str(), one.annotation_str, one.kind(), wider, same, str(caught.value)))
    assert said[0] == said[1]


TYPES = """
t.ListType(i)
t.ListType(t.OptionalType(i))
t.OptionalType(t.OptionalType(i))
t.OptionalType.ofTensor()
t.OptionalType(i).getElementType()
t.OptionalType(i).isSubtypeOf(t.OptionalType(number))
t.OptionalType(i).isSubtypeOf(i)
t.DictType(s, i)
t.DictType(s, i).getKeyType()
t.DictType(s, i).getValueType()
t.DictType(s, i).containedTypes()
t.DictType(s, i).isSubtypeOf(t.DictType(s, number))
t.TupleType([])
t.TupleType([i, s])
t.TupleType([i, s]).elements()
t.TupleType([i]) == t.TupleType((i,))
t.TupleType([i]) == t.TupleType([s])
t.TupleType([i]).isSubtypeOf(t.TupleType([number]))
t.TupleType([i]).isSubtypeOf(t.TupleType([i, i]))
t.ListType(i).isSubtypeOf(t.ListType(number))
t.ListType(i).isSubtypeOf(t.AnyType.get())
t.ListType(i) == t.ListType.ofInts()
t.ListType(i) == t.OptionalType(i)
t.ListType.ofBools()
t.ListType.ofComplexDoubles()
t.ListType.ofFloats()
t.ListType.ofStrings()
t.ListType.ofTensors()
t.FutureType(i)
t.RRefType(i)
t.AwaitType(i).kind()
"""


@pytest.mark.parametrize("program", TYPES.split("\n")[1:-1])
def test_types_of_elements(program):
    said = []
    for t in (torch, reference):
        names = {"t": t, "i": t.IntType.get(), "s": t.StringType.get(), "number": t.NumberType.get()}
        found = eval(program, names)
        said.append((repr(found), found.str() if isinstance(found, t.Type) else None))
    assert said[0] == said[1]


@BOTH
def test_types_refuse_what_is_none(t):
    for call in (lambda: t.ListType(3), lambda: t.TupleType([3]), lambda: t.IntType.get() == 3):
        with pytest.raises(TypeError):
            call()
    with pytest.raises(TypeError, match="unhashable"):
        hash(t.IntType.get())
    for name in ("ClassType", "EnumType", "InterfaceType", "UnionType"):
        assert isinstance(getattr(t, name), type) and not isinstance(t.IntType.get(), getattr(t, name))


@BOTH
def test_arguments_of_schemas(t):
    first, _, alpha = t.ops.aten.add.Tensor._schema.arguments
    assert isinstance(first, t.Argument) and t._C.Argument is t.Argument and issubclass(t.FatalError, Exception)
    assert (first.name, first.kwarg_only, first.default_value) == ("self", False, None)
    assert (alpha.name, alpha.kwarg_only, alpha.default_value) == ("alpha", True, 1)
    assert [x.has_default_value() for x in (first, alpha)] == [False, True]


# ---- torch.fx.graph_module -----------------------------------------------------------------------


@BOTH
def test_attributes_of_graph_modules(t):
    graph_module = module(t, "fx.graph_module")
    net, to = t.nn.Sequential(t.nn.BatchNorm1d(2)), t.nn.Module()
    for name in ("weight", "running_mean", "eps"):
        graph_module._copy_attr(net, to, f"0.{name}")
    copied = to.get_submodule("0")
    assert copied.weight is net[0].weight and copied.eps == net[0].eps
    assert (list(dict(to.named_parameters())), list(dict(to.named_buffers()))) == (["0.weight"], ["0.running_mean"])
    with pytest.raises(AttributeError, match="nothing"):
        graph_module._copy_attr(net, to, "0.nothing")
    graph_module._assign_attr(t.ones(1), to, "1.mean")
    assert to.get_buffer("1.mean").tolist() == [1]
    only = graph_module._CodeOnlyModule(dict(vars(net)))
    assert isinstance(only, t.nn.Module) and only.get_submodule("0") is net[0]


@BOTH
def test_copies_of_graph_modules_keep_attributes(t):
    key = module(t, "fx.graph_module")._USER_PRESERVED_ATTRIBUTES_KEY
    traced = t.fx.symbolic_trace(t.nn.Sequential(t.nn.ReLU()))
    traced.meta[key] = {"note": 3}
    made = copy.deepcopy(traced)
    assert made.note == 3 and made.meta == {key: {"note": 3}} and made(t.tensor([-1.0])).tolist() == [0]
