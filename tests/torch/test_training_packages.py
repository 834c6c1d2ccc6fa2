"""What packages that train, explain and measure models ask of PyTorch."""

import collections
import importlib
import pickle

import numpy as np
import pytest

from functorch_core import torch
from tests.torch.test_shim import printed
from tests.tracker import without_tracker

reference = pytest.importorskip("torch")
importlib.import_module("torch.utils.benchmark")
BOTH = pytest.mark.parametrize("t", [torch, reference], ids=["ours", "theirs"])


def raised(function, *args):
    """The type and message of what a call raises."""
    with pytest.raises(Exception) as caught:
        function(*args)
    return type(caught.value), without_tracker(str(caught.value))


# ---- names ---------------------------------------------------------------------------------------


def test_modules_are_called_as_pytorchs():
    assert printed(
        code="""
        import torch, torch.nn.functional, torch.optim, torch.utils.data, sys, pickle
        modules = torch, torch.nn, torch.nn.functional, torch.optim.lr_scheduler, torch.utils.data
        print(*[m.__name__ for m in modules])
        print(torch.torch is torch, sys.modules[torch.__name__] is torch)
        import torch.fft, functorch_core.torch
        from torch import linalg
        print(torch.fft.__name__, linalg.__name__, functorch_core.torch is torch)
        """
    ) == [
        "torch torch.nn torch.nn.functional torch.optim.lr_scheduler torch.utils.data",
        "True True",
        "torch.fft torch.linalg True",
    ]


@BOTH
def test_functions_are_no_methods_of_other_classes(t):
    class Model(t.nn.Module):
        act, join, conv, zeros, weigh = t.tanh, t.cat, t.conv2d, t.zeros, t.nn.functional.linear

    m, x = Model(), t.ones(1, 1, 2, 2)
    assert m.join([x, x]).shape == (2, 1, 2, 2) and m.zeros(2).shape == (2,)
    assert m.conv(x, weight=x).item() == 4 and m.act(x).shape == x.shape
    assert m.weigh(x[0, 0], x[0, 0]).shape == (2, 2) and t.Tensor.exp(x).shape == x.shape
    assert x.tanh().shape == x.shape


@BOTH
def test_kinds_of_reductions(t):
    op = t.distributed.ReduceOp
    assert isinstance(op.SUM, op) and isinstance(op.SUM, op.RedOpType) and not isinstance(1, op)
    assert str(op.MAX) == "RedOpType.MAX" and op(op.SUM) == op.SUM and op.SUM != op.MAX
    assert {op.SUM: 1}[op.RedOpType.SUM] == 1
    assert t.futures.Future[int] and isinstance(t.futures.Future(), t.Future)
    assert t.distributed.constants.default_pg_timeout.total_seconds() == 1800


@BOTH
def test_private_questions(t):
    x = t.ones(2)
    assert not t._C._are_functorch_transforms_active() and isinstance(x._cdata, int)
    assert x._cdata != t.ones(2)._cdata and x._cdata == x._cdata
    seen = []

    def look(y):
        functorch = t._C._functorch
        inner = functorch.get_unwrapped(y)
        seen.append(
            (
                t._C._are_functorch_transforms_active(),
                functorch.is_batchedtensor(y),
                functorch.maybe_get_bdim(y),
                tuple(inner.shape),
                functorch.maybe_get_level(y),
                functorch.is_batchedtensor(inner),
                functorch.is_functorch_wrapped_tensor(inner),
            )
        )
        return y * 2

    t.func.vmap(look, in_dims=1)(t.ones(2, 3))
    assert seen == [(True, True, 1, (2, 3), 1, False, False)]
    device, dtype, *_ = t._C._nn._parse_to("cpu", t.float64)
    assert device == t.device("cpu") and dtype is t.float64
    assert t._utils._element_size(t.float64) == 8
    assert t._utils._get_device_index("cpu", True, True) == -1
    assert not t.autograd._profiler_enabled()
    with t.autograd.profiler.profile():
        assert t.autograd._profiler_enabled()
    assert t.hub.HASH_REGEX.search("model-0a1b.pth").group(1) == "0a1b"
    loader = t.utils.data.DataLoader(range(3))
    assert isinstance(iter(loader), t.utils.data.dataloader._BaseDataLoaderIter)


# ---- checks --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call",
    [
        lambda t: t._check(False),
        lambda t: t._check(1 == 2, lambda: "no"),
        lambda t: t._check(0),
        lambda t: t._check(t.tensor(True)),
        lambda t: t._check(False, "no"),
        lambda t: t._check_value(False, lambda: 3),
        lambda t: t._check_index(False),
        lambda t: t._check_type(False),
        lambda t: t._check_not_implemented(False),
        lambda t: t._check_tensor_all(t.tensor([True, False])),
        lambda t: t._check_tensor_all(3),
        lambda t: t._check_tensor_all(t.ones(2)),
        lambda t: t._assert_async(t.tensor(0)),
        lambda t: t._assert_async(t.tensor(0.0), "zero"),
        lambda t: t._assert_async(t.tensor([])),
        lambda t: t._assert_async(t.ones(2)),
        lambda t: t._assert_async(True),
    ],
)
def test_checks_that_fail(call):
    assert raised(call, torch) == raised(call, reference)


@BOTH
def test_checks_that_pass(t):
    t._check(True)
    t._check_tensor_all(t.tensor([True]))
    t._assert_async(t.tensor([2.0]), "never")
    assert t._shape_as_tensor(t.ones(2, 3)).tolist() == [2, 3]
    assert t._is_all_true(t.tensor([True, True])) and not t._is_any_true(t.tensor([False]))


def test_while_loop():
    x = torch.tensor(1.0, requires_grad=True)
    n, y = torch.while_loop(lambda n, y: n < 3, lambda n, y: (n + 1, y * x * 2), (0, x))
    y.backward()
    assert n == 3 and y.item() == 8 and x.grad.item() == 32
    with pytest.raises(RuntimeError, match="callable"):
        torch.while_loop(True, len, ())


# ---- sparse tensors in custom functions ----------------------------------------------------------


@BOTH
@pytest.mark.filterwarnings("ignore:Sparse invariant checks")
def test_sparse_constant_of_a_custom_function(t):
    class Product(t.autograd.Function):
        @staticmethod
        def forward(ctx, sparse, dense):
            ctx.save_for_backward(sparse)
            return t.dsmm(sparse, dense)

        @staticmethod
        def backward(ctx, grad):
            (sparse,) = ctx.saved_tensors
            return None, sparse.mT @ grad

    sparse = t.sparse_coo_tensor(t.tensor([[0, 1, 1], [2, 0, 2]]), t.tensor([3.0, 4, 5]), (2, 3))
    dense = t.ones(3, 2, requires_grad=True)
    Product.apply(sparse, dense).sum().backward()
    assert dense.grad.tolist() == [[4, 4], [0, 0], [8, 8]] and sparse.ndimension() == 2


@BOTH
@pytest.mark.filterwarnings("ignore:torch.sparse.SparseTensor", "ignore:Sparse invariant checks")
def test_legacy_sparse_types(t):
    indices, values = t.tensor([[0, 1], [2, 0]]), t.tensor([3.0, 4.0])
    x = t.sparse.FloatTensor(indices, values, t.Size([2, 3]))
    assert x.to_dense().tolist() == [[0, 0, 3], [4, 0, 0]]
    assert t.sparse.FloatTensor(indices, values).shape == (2, 3)
    assert t.sparse.DoubleTensor(2, 3).dtype is t.float64
    assert isinstance(x, t.sparse.FloatTensor) and not isinstance(x, t.sparse.DoubleTensor)
    assert not isinstance(x, t.FloatTensor) and not isinstance(values, t.sparse.FloatTensor)
    assert isinstance(values, t.FloatTensor)


# ---- measuring -----------------------------------------------------------------------------------


def test_steps_that_a_profilers_handler_sees():
    steps = []
    schedule = torch.profiler.schedule(wait=1, warmup=1, active=2, repeat=2)
    with torch.profiler.profile(schedule=schedule, on_trace_ready=lambda p: steps.append(p.step_num)) as p:
        for _ in range(8):
            p.step()
    assert steps == [4, 8] and torch.profiler.kineto_available()  # as PyTorch counts


def measurements(t) -> list:
    """Of two labels, two rows, two columns and two numbers of threads."""
    benchmark, found = t.utils.benchmark, []
    for label, row in (("dot", "[1, 1]"), ("dot", "[10000, 64]"), ("other", "[2]")):
        for column, seconds in (("mul/sum", 5e-6), ("bmm", 9.3e-5)):
            for threads in (1, 4):
                spec = benchmark.TaskSpec(
                    stmt=column, setup="pass", label=label, sub_label=row, description=column, num_threads=threads
                )
                times = [seconds * k / threads for k in (100, 102, 99, 101, 100)]
                found.append(benchmark.Measurement(100, times, spec))
    return found


def test_tables_of_measurements():
    for _ in range(2):
        ours, theirs = (t.utils.benchmark.Compare(measurements(t)[:7]) for t in (torch, reference))
        for t, table in ((torch, ours), (reference, theirs)):
            table.extend_results(measurements(t)[7:])
        assert str(ours) == str(theirs)
    ours.colorize()
    theirs.colorize()
    assert str(ours) == str(theirs)
    ours.trim_significant_figures()
    assert " 93" in str(ours) and "93.0" not in str(ours)
    with pytest.raises(ValueError, match="Expected an instance of `Measurement`"):
        ours.extend_results([1])


def test_measurements_tell_of_themselves():
    ours, theirs = measurements(torch)[0], measurements(reference)[0]
    assert repr(ours).splitlines()[1:] == repr(theirs).splitlines()[1:]
    for name in (
        "median",
        "mean",
        "iqr",
        "significant_figures",
        "has_warnings",
        "as_row_name",
        "title",
        "label",
        "num_threads",
        "times",
    ):
        assert (
            np.allclose(getattr(ours, name), getattr(theirs, name))
            if isinstance(getattr(theirs, name), float)
            else getattr(ours, name) == getattr(theirs, name)
        )
    merged = torch.utils.benchmark.Measurement.merge([ours, ours])
    assert len(merged) == 1 and len(merged[0].times) == 10
    assert pickle.loads(pickle.dumps(ours)).median == ours.median
    m = torch.utils.benchmark.Timer("x + 1", globals={"x": torch.ones(2)}, label="add").timeit(3)
    assert m.title == "add" and m.number_per_run == 3 and "runs" in repr(m)


def counted(t, backward: bool):
    """The counts of a small model, and of some functions."""

    class Net(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = t.nn.Conv2d(3, 8, 3, stride=2, groups=1)
            self.body = t.nn.Sequential(t.nn.Linear(8, 16), t.nn.ReLU(), t.nn.Linear(16, 4, bias=False))

        def forward(self, x):
            return self.body(self.conv(x).mean((2, 3)))

    mode = t.utils.flop_counter.FlopCounterMode(display=False)
    x, a, b = t.ones(2, 3, 8, 8), t.ones(4, 5, 6), t.ones(4, 6, 7)
    net = Net()
    with mode:
        y = net(x.requires_grad_(backward))
        if backward:
            y.sum().backward()
        a @ b, a @ b[0], t.einsum("bij,bjk->bik", a, b), t.baddbmm(t.zeros(4, 5, 7), a, b)
        t.mv(a[0], b[0, :, 0]), t.nn.functional.linear(a, t.ones(3, 6), t.ones(3))
        t.nn.functional.conv_transpose2d(t.ones(1, 3, 5, 5), t.ones(3, 4, 3, 3), stride=2)
        t.conv1d(t.ones(1, 4, 9), t.ones(6, 2, 3), groups=2)
    counts = {
        name: {str(kind): flops for kind, flops in found.items()} for name, found in mode.get_flop_counts().items()
    }
    return mode, (mode.get_total_flops(), counts)


@pytest.mark.parametrize("backward", [False, True])
def test_floating_point_operations(backward):
    importlib.import_module("torch.utils.flop_counter")
    assert counted(torch, backward)[1] == counted(reference, backward)[1]


CONVOLUTIONS = {
    "plain": {},
    "stride": dict(stride=2),
    "padding": dict(padding=1),
    "dilation": dict(dilation=2, padding=2),
}


def of_convolution(t, transposed: bool, dims: int, options: dict) -> dict:
    """What is counted of a convolution, forward and backward."""
    x, w = t.ones(2, 4, *[7] * dims), t.ones(*(4, 6) if transposed else (6, 4), *[3] * dims)
    function = getattr(t.nn.functional, f"conv{'_transpose' * transposed}{dims}d")
    with t.utils.flop_counter.FlopCounterMode(display=False) as mode:
        function(x.requires_grad_(), w.requires_grad_(), **options).sum().backward()
    return {str(kind): flops for kind, flops in mode.get_flop_counts()["Global"].items()}


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("options", CONVOLUTIONS.values(), ids=CONVOLUTIONS)
def test_floating_point_operations_of_convolutions(transposed, dims, options):
    importlib.import_module("torch.utils.flop_counter")
    assert of_convolution(torch, transposed, dims, options) == of_convolution(reference, transposed, dims, options)


def test_modules_are_not_given_to_a_flop_counter():
    with pytest.warns(UserWarning, match="mods argument is not needed anymore"):
        torch.utils.flop_counter.FlopCounterMode(torch.nn.Linear(2, 2))


TABLE = """\
Module           FLOP    % Total
------------  -------  ---------
Global        56.048K    100.00%
- aten.addmm  48.000K     85.64%
- aten.mm      8.048K     14.36%
Net           56.000K     99.91%
- aten.addmm  48.000K     85.64%
- aten.mm      8.000K     14.27%
Net.a         48.000K     85.64%
- aten.addmm  48.000K     85.64%
Net.b          8.000K     14.27%
- aten.mm      8.000K     14.27%
Module      FLOP    % Total
--------  ------  ---------
Global         0         0%
"""


def test_table_of_operations(capsys):
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a = torch.nn.Linear(30, 400)
            self.b = torch.nn.Sequential(torch.nn.Linear(400, 5, bias=False))

        def forward(self, x):
            return self.b(self.a(x))

    with torch.utils.flop_counter.FlopCounterMode():
        Net()(torch.ones(2, 30))
        torch.ones(2, 3) @ torch.ones(3, 4)
    with torch.utils.flop_counter.FlopCounterMode():
        torch.ones(2).exp()
    assert capsys.readouterr().out == TABLE  # as PyTorch prints it


def test_operations_of_what_is_no_product_of_matrices():
    with torch.utils.flop_counter.FlopCounterMode(display=False) as mode:
        torch.ones(3).exp()
    assert mode.get_total_flops() == 0
    with torch.utils.flop_counter.FlopCounterMode(display=False) as mode:
        torch.nn.LSTM(4, 5)(torch.ones(3, 2, 4))
    assert mode.get_total_flops() == 2 * 3 * 2 * 20 * (4 + 5)


def fuzzed(t) -> list:
    """Shapes, layouts and parameters of what a Fuzzer makes."""
    b = t.utils.benchmark
    parameters = [
        b.FuzzedParameter("rows", 1, 100, "loguniform"),
        [b.FuzzedParameter("columns", 1, 100, "uniform"), b.FuzzedParameter("share", 0.0, 1.0, "uniform")],
        b.FuzzedParameter("dims", 1, 3, "uniform", strict=True),
        b.FuzzedParameter("step", 1, 3, "uniform"),
    ]
    tensors = [
        b.FuzzedTensor("x", ("rows", "columns", 3), ("step", 1), 0.3, 4, 2000, 20000, dim_parameter="dims"),
        b.FuzzedTensor("y", ("columns",), dtype=t.int32),
        b.FuzzedTensor("z", (2, "step"), tensor_constructor=lambda size, dtype, step, **_: t.full(size, step)),
    ]
    fuzzer = b.Fuzzer(parameters, tensors, [lambda p: p["rows"] < 60], seed=7)
    found = [
        (
            {k: (tuple(x.shape), x.stride(), str(x.dtype)) for k, x in made.items()},
            {k: dict(v, order=list(v["order"])) for k, v in about.items()},
            params,
        )
        for made, about, params in fuzzer.take(8)
    ]
    return [*found, fuzzer.rejection_rate]


def test_fuzzers_draw_what_pytorchs_draw():
    ours, theirs = fuzzed(torch), fuzzed(reference)
    assert ours == theirs and any(not about["x"]["is_contiguous"] for _, about, _ in ours[:-1])


def test_distributions_of_fuzzed_parameters():
    """PyTorch 2.13 refuses those whose probabilities sum to 1 and takes all others, which NumPy then refuses."""
    import numpy as np

    b = torch.utils.benchmark
    sizes = b.FuzzedParameter("n", distribution={1: 0.25, 4: 0.75}, strict=True)
    drawn = [sizes.sample(np.random.RandomState(seed)) for seed in range(50)]
    assert drawn == [(1, 4)[np.random.RandomState(seed).choice(2, p=(0.25, 0.75))] for seed in range(50)]
    alias = b.FuzzedParameter("m", distribution={b.ParameterAlias("n"): 1.0})
    assert all(p["m"] == p["n"] for _, _, p in b.Fuzzer([alias, sizes], [], seed=0).take(9))
    with pytest.raises(AssertionError, match="not normalized"):
        b.FuzzedParameter("n", distribution={1: 0.25})
    with pytest.raises(ValueError, match="cycle"):
        next(b.Fuzzer([b.FuzzedParameter("a", distribution={b.ParameterAlias("a"): 1.0})], [], seed=0).take(1))
    for t in (torch, reference):
        b = t.utils.benchmark
        with pytest.raises(AssertionError, match="Unknown distribution: None"):
            b.FuzzedParameter("n", 1, 2)
        n = b.FuzzedParameter("n", 1, 2, "uniform")
        with pytest.raises(ValueError, match="Duplicate names in parameters and tensors: {'n'}"):
            b.Fuzzer([n], [b.FuzzedTensor("n", (2,))])
        with pytest.raises(ValueError, match="Failed to generate"):
            next(b.Fuzzer([n], [], [lambda p: False], seed=0).take(1))


SCHEMA = "(Tensor x, int n=3) -> Tensor"
FORMULA_CALLS = """foo(x); t.ops.mine.foo(x, 4); t.add(x, 2, alpha=3); x + x; t.relu(x); F.gelu(x); t.mv(x, t.ones(3))
F.linear(x, x); F.linear(x, x, t.ones(2)); F.linear(t.ones(5, 2, 3), x, t.ones(2)); t.bmm(x[None], x.T[None]); net(x)
x.exp(); x.clone().exp_(); x.sum(); x**2; t.addmm(t.ones(2, 2), x, x.T); (x @ w.T).sum()"""


def counted_by_formulas(t) -> list:
    """What each of the calls counts, and what the formulas are given."""
    counter, given = importlib.import_module(f"{t.__name__}.utils.flop_counter"), []

    def formula(name, raw=False):
        def of(*args, **kwargs):
            shown = t.utils._pytree.tree_map(lambda x: x.tolist() if isinstance(x, t.Tensor) else x, (args, kwargs))
            given.append((name, shown[0], sorted(shown[1].items())))
            return len(name)

        of._get_raw = raw
        return of

    foo = t.library.custom_op("mine::foo", lambda x, n=3: x @ x.T, mutates_args=(), schema=SCHEMA)
    counter.register_flop_formula(t.ops.mine.foo)(formula("of mine"))
    names = {"t": t, "F": t.nn.functional, "x": t.ones(2, 3), "w": t.ones(4, 3, requires_grad=True), "foo": foo}
    names["net"] = t.nn.Sequential(t.nn.Linear(3, 4), t.nn.ReLU(), t.nn.Linear(4, 2, bias=False))
    mapping = {getattr(t.ops.aten, n): formula(n) for n in "mm bmm relu gelu mv exp exp_ sum pow addmm".split()}
    mapping[t.ops.aten.add] = formula("add", raw=True)
    found = []
    try:
        for call in FORMULA_CALLS.replace("\n", ";").split(";"):
            given.clear()
            with counter.FlopCounterMode(display=False, custom_mapping=mapping) as mode:
                exec(call.strip(), names)
            counts = mode.get_flop_counts().items()
            found.append((call, {k: {str(o): n for o, n in v.items()} for k, v in counts}, list(given)))
        with pytest.raises(RuntimeError, match="duplicate registrations for mine.foo"):
            counter.register_flop_formula(t.ops.mine.foo)(len)
        with pytest.raises(ValueError, match="expected each target to be OpOverloadPacket .*, got a which is of type"):
            counter.register_flop_formula("a")(len)
    finally:
        del counter.flop_registry[t.ops.mine.foo]
    return found


def test_operations_by_the_users_formulas():
    for ours, theirs in zip(counted_by_formulas(torch), counted_by_formulas(reference), strict=True):
        assert ours == theirs


def test_formulas_and_profiles_at_once():
    from functorch_core.torch.tensors.active import active

    before = active.observer, active.overrides, torch.Tensor.item, torch.Tensor.exp
    exp = {torch.ops.aten.exp: lambda *args, **kwargs: 7}
    mode, profile = (
        torch.utils.flop_counter.FlopCounterMode(display=False, custom_mapping=exp),
        torch.profiler.profile(),
    )
    for first, second in ((mode, profile), (profile, mode)):
        with first, second:
            torch.zeros(2).exp()
        assert mode.get_total_flops() == 7
        outermost = [e.key for e in profile.events() if e.cpu_parent is None]
        assert outermost == ["aten::zeros", "aten::exp"]
        assert (active.observer, active.overrides, torch.Tensor.item, torch.Tensor.exp) == before  # nobody asks


# ---- classes of others ---------------------------------------------------------------------------


def test_divergences_of_classes_that_are_no_distributions():
    class Mine:
        pass

    @torch.distributions.register_kl(Mine, Mine)
    def divergence(p, q):
        return 3

    try:
        assert torch.distributions.kl_divergence(Mine(), Mine()) == 3
        with pytest.raises(TypeError):
            torch.distributions.register_kl(Mine, 1)
    finally:
        del torch.distributions.kl._KL_REGISTRY[Mine, Mine]


def test_names_that_packages_import_are_there():
    from functorch_core.torch.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler

    assert not isinstance(collections.OrderedDict(), ShardedGradScaler)
    with pytest.warns(UserWarning, match="CUDA is not available"):
        assert not ShardedGradScaler().is_enabled()


@BOTH
def test_private_names_that_packages_import(t):
    """torchopt annotates with the class of contexts, mmengine's analysis imports the tracer."""
    autograd = importlib.import_module(f"{t.__name__}.distributed.autograd")
    assert isinstance(autograd.DistAutogradContext, type)
    assert callable(importlib.import_module(f"{t.__name__}.jit")._get_trace_graph)
