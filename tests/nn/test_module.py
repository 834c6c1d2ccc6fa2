"""nn.Module and its containers against PyTorch."""

import copy
import pickle
from abc import ABC
from collections import OrderedDict
from typing import Generic, TypeVar

import pytest

from functorch_core import torch
from tests.nn.both import agree, failing, warned


def net(t):
    class Inner(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = t.nn.Linear(2, 3)
            self.register_buffer("scale", t.ones(3))
            self.register_buffer("hidden", t.zeros(1), persistent=False)
            self.own = t.nn.Parameter(t.ones(1))

        def forward(self, x):
            return self.fc(x) * self.scale * self.own

    return t.nn.Sequential(OrderedDict(a=Inner(), b=t.nn.ReLU(), c=t.nn.Linear(3, 1)))


# ---- registration --------------------------------------------------------------------------------


def test_tree():
    def program(t):
        m = net(t)
        m.shared = m.a
        return [
            m,
            [n for n, _ in m.named_modules()],
            [n for n, _ in m.named_children()],
            [n for n, _ in m.named_modules(remove_duplicate=False)],
            [n for n, _ in m.named_parameters()],
            [n for n, _ in m.named_buffers()],
            [n for n, _ in m.named_parameters(recurse=False)],
            [n for n, _ in m.named_parameters("p", remove_duplicate=False)],
            len(list(m.parameters())),
            len(list(m.modules())),
            len(list(m.buffers())),
            m.get_submodule("a.fc"),
            m.get_parameter("a.fc.bias").shape == (3,),
            m.get_buffer("a.scale"),
            m.state_dict(),
            "own" in dir(m.a),
            "0" in dir(m),
        ]

    agree(program)


def test_registration_errors():
    def program(t):
        m, linear = net(t).a, t.nn.Linear(1, 1)
        leaf = t.ones(1, requires_grad=True)
        blank = t.nn.Module.__new__(t.nn.Module)
        return [
            failing(*call)
            for call in (
                (m.register_buffer, "x", 3),
                (m.register_buffer, "a.b", t.ones(1)),
                (m.register_buffer, "", t.ones(1)),
                (m.register_buffer, "forward", t.ones(1)),
                (m.register_buffer, 3, t.ones(1)),
                (m.register_parameter, "x", t.ones(1)),
                (m.register_parameter, "a.b", None),
                (m.register_parameter, "", None),
                (m.register_parameter, "fc", None),
                (m.register_parameter, "x", t.nn.Linear),
                (m.add_module, "x", 3),
                (m.add_module, "a.b", linear),
                (m.add_module, "", linear),
                (m.add_module, "scale", linear),
                (m.add_module, 3, linear),
                (setattr, m, "own", t.ones(1)),
                (setattr, m, "fc", 3),
                (setattr, m, "scale", 3),
                (setattr, blank, "p", t.nn.Parameter(leaf.detach())),
                (setattr, blank, "m", linear),
                (getattr, m, "nothing"),
                (m.get_submodule, "fc.x"),
                (m.get_submodule, "own"),
                (m.get_parameter, "scale"),
                (m.get_buffer, "own"),
                (m.get_parameter, "fc.x"),
                (m.set_submodule, "", linear),
                (m.set_submodule, "x.y", linear),
                (m.set_submodule, "x", linear, True),
                (m.set_submodule, "fc", 3),
                (t.nn.Module, 1),
                (t.nn.Linear(1, 1).train, 1),
                (t.nn.Module(), 1),
                (m.load_state_dict, 3),
                (m.to, t.int64),
                (m.get_extra_state,),
            )
        ]

    agree(program)


def test_assignment_moves_between_kinds():
    def program(t):
        m = t.nn.Module()
        m.x = 3
        m.x = t.nn.Parameter(t.ones(1))
        out = [list(m._parameters), "x" in vars(m)]
        m.x = None
        out += [dict(m._parameters)]
        del m.x
        m.x = t.nn.Linear(1, 1)
        m.y = t.nn.Buffer(t.zeros(2), persistent=False)
        m.y = t.ones(2)
        out += [list(m._modules), list(m._buffers), sorted(m._non_persistent_buffers_set)]
        m.x = t.nn.Parameter(t.ones(1))
        del m.y
        return out + [list(m._modules), list(m._parameters), sorted(m._non_persistent_buffers_set)]

    agree(program)


def test_registration_hooks():
    def program(t):
        seen, module = [], t.nn.modules.module
        handles = [
            module.register_module_buffer_registration_hook(lambda m, n, b: seen.append(("buffer", n))),
            module.register_module_module_registration_hook(lambda m, n, b: seen.append(("module", n))),
            module.register_module_parameter_registration_hook(lambda m, n, b: seen.append(("parameter", n))),
        ]
        t.nn.Sequential(t.nn.BatchNorm1d(2))
        for handle in handles:
            handle.remove()
        t.nn.Linear(1, 1)
        return seen

    agree(program)


def test_kinds_of_tensors():
    def program(t):
        class Own(t.Tensor):
            pass

        nn, marked = t.nn, t.ones(1)
        marked._is_param = True
        p, b = nn.Parameter(t.ones(2)), nn.Buffer(t.ones(2), persistent=False)
        own = nn.Parameter(t.ones(1).as_subclass(Own))
        return [
            type(b) is t.Tensor,
            isinstance(b, nn.Buffer),
            isinstance(p, nn.Buffer),
            b.persistent,
            isinstance(t.ones(1), nn.Buffer),
            type(copy.deepcopy(b)) is t.Tensor,
            repr(b),
            type(own) is Own,
            isinstance(own, nn.Parameter),
            isinstance(marked, nn.Parameter),
            isinstance(b, nn.Parameter),
            nn.Buffer(t.ones(1, requires_grad=True)).requires_grad,
            failing(nn.Parameter, t.ones(1, dtype=t.int64)),
            failing(nn.Parameter, 3)[0],
        ]

    agree(program)


def test_arguments_of_to():
    def program(t):
        return [
            failing(t.nn.Linear(1, 1).to, *args, **kwargs)
            for args, kwargs in (
                ((t.float64,), {}),
                (("cpu", t.float16), {}),
                ((t.ones(1), True), {}),
                ((None,), {}),
                ((t.float32, "cpu"), {}),
                (("cpu",), {"device": "cpu"}),
                (("cpu",), {"foo": 2}),
                ((), {"foo": 1}),
                (([],), {}),
                ((t.float32, True, True), {}),
                ((t.int64,), {}),
            )
        ]

    agree(program)


# ---- hooks of calls ------------------------------------------------------------------------------


def test_forward_hooks():
    def program(t):
        m, seen = t.nn.Linear(2, 1), []
        x = t.ones(1, 2)
        first = m.register_forward_pre_hook(lambda mod, args: seen.append("pre"))
        m.register_forward_pre_hook(lambda mod, args, kwargs: ((args[0] * 2,), kwargs), with_kwargs=True, prepend=True)
        m.register_forward_pre_hook(lambda mod, args: args[0] + 1)
        m.register_forward_hook(lambda mod, args, out: seen.append(args[0]))
        m.register_forward_hook(lambda mod, args, kwargs, out: out * 3, with_kwargs=True, prepend=True)
        out = [m(x)]
        first.remove()
        with m.register_forward_hook(lambda mod, args, out: out + 100):
            out += [m(x)]
        everywhere = t.nn.modules.module.register_module_forward_hook(
            lambda mod, args, out: seen.append(type(mod).__name__)
        )
        before = t.nn.modules.module.register_module_forward_pre_hook(lambda mod, args: seen.append("before"))
        out += [m(x)]
        everywhere.remove()
        before.remove()
        m.register_forward_pre_hook(lambda mod, args, kwargs: 3, with_kwargs=True)
        return [out, failing(m, x), seen]

    agree(program)


def test_hooks_that_are_always_called():
    def program(t):
        class Bad(t.nn.Module):
            def forward(self, x):
                raise ValueError("no")

        m, seen = Bad(), []
        m.register_forward_hook(lambda mod, args, out: seen.append("never"))
        m.register_forward_hook(lambda mod, args, out: seen.append(out), always_call=True)
        out = [failing(m, 1)]

        def fails(mod, args, out):
            raise KeyError("hook")

        m.register_forward_hook(fails, always_call=True)
        return out + [warned(failing, m, 1), seen]

    agree(program)


def test_backward_hooks():
    def program(t):
        m, seen = net(t), []
        m.a.register_full_backward_hook(lambda mod, gi, go: seen.extend([gi[0], go[0]]))
        m.a.register_full_backward_hook(lambda mod, gi, go: (gi[0] * 2,), prepend=True)
        m.c.register_full_backward_pre_hook(lambda mod, go: (go[0] * 3,))
        x = t.randn(4, 2, requires_grad=True)
        m(x).sum().backward()
        out = [x.grad.clone(), m.c.weight.grad.clone(), m.a.fc.weight.grad.clone()]
        both = failing(m.a.register_backward_hook, print)
        m.a.register_full_backward_hook(lambda mod, gi, go: (1, 2))
        return out + [seen, both, failing(lambda: m(x).sum().backward())]

    agree(program)


def test_backward_hooks_without_input_gradient_and_everywhere():
    def program(t):
        m, seen = t.nn.Linear(2, 1), []
        m.register_full_backward_hook(lambda mod, gi, go: seen.extend([gi, go[0]]))
        out = [warned(lambda: m(t.ones(1, 2)).sum().backward())]
        handle = t.nn.modules.module.register_module_full_backward_hook(
            lambda mod, gi, go: seen.append(type(mod).__name__)
        )
        before = t.nn.modules.module.register_module_full_backward_pre_hook(lambda mod, go: seen.append("pre"))
        t.nn.Sequential(t.nn.ReLU(), t.nn.Tanh())(t.ones(2, requires_grad=True)).sum().backward()
        handle.remove()
        before.remove()
        return out + [seen]

    agree(program)


def test_regular_backward_hook():
    def program(t):
        m, seen = t.nn.Tanh(), []
        m.register_backward_hook(lambda mod, gi, go: seen.extend([gi[0], go[0]]))
        x = t.tensor([0.5, 1.0], requires_grad=True)
        (m(x * 1) * 2).sum().backward()
        return [seen, x.grad]

    agree(program)


# ---- state dict ----------------------------------------------------------------------------------


def test_load_state_dict_errors():
    def program(t):
        m = net(t)
        state = m.state_dict()
        missing = OrderedDict(list(state.items())[1:])
        extra = {**state, "a.nothing": t.ones(1), "d.x": t.ones(1)}
        wrong = {**state, "c.weight": t.ones(2, 2), "a.own": 3}
        return [failing(m.load_state_dict, s) for s in (missing, extra, wrong, {})] + [
            m.load_state_dict(missing, strict=False),
            m.load_state_dict(extra, strict=False),
            m.load_state_dict(state),
            state._metadata,
        ]

    agree(program)


def test_load_copies_and_assign_takes():
    def program(t):
        m = net(t)
        weight = m.c.weight
        state = {k: t.full_like(v, 2.0) for k, v in m.state_dict().items()}
        m.load_state_dict(state)
        out = [m.c.weight is weight, m.c.weight, m.c.weight.requires_grad]
        m.load_state_dict(state, assign=True)
        out += [m.c.weight is weight, m.c.weight.requires_grad, type(m.c.weight).__name__]
        state["c.weight"].zero_()
        return out + [m.c.weight]

    agree(program)


def test_state_dict_hooks_and_extra_state():
    def program(t):
        class WithState(t.nn.Linear):
            def get_extra_state(self):
                return {"n": 3}

            def set_extra_state(self, state):
                self.n = state["n"]

        m, seen = t.nn.Sequential(WithState(1, 1)), []
        m.register_state_dict_pre_hook(lambda mod, prefix, keep: seen.append(("pre", prefix, keep)))
        m.register_state_dict_post_hook(lambda mod, sd, prefix, meta: seen.append(("post", prefix)))
        m[0]._register_state_dict_hook(lambda mod, sd, prefix, meta: sd.update(new=t.ones(1)))
        m.register_load_state_dict_pre_hook(
            lambda mod, sd, prefix, meta, strict, missing, unexpected, errors: sd.pop("new")
        )
        m.register_load_state_dict_post_hook(lambda mod, keys: seen.append((keys.missing_keys, keys.unexpected_keys)))
        state = m.state_dict()
        m.load_state_dict(state)
        del state["0._extra_state"]
        failed = failing(m.load_state_dict, state)
        m.register_state_dict_post_hook(lambda *args: {})
        return [
            list(state),
            m[0].n,
            failed,
            seen,
            failing(m.state_dict),
            warned(m[0].state_dict, {})[-1:],
            list(m[0].state_dict(prefix="p.")),
        ]

    agree(program)


def test_state_dict_shares_memory():
    m = torch.nn.Linear(2, 2)
    state = m.state_dict()
    with torch.no_grad():
        m.weight.fill_(7.0)
    assert (state["weight"] == 7.0).all() and not state["weight"].requires_grad
    assert m.state_dict(keep_vars=True)["weight"] is m.weight


# ---- modes, dtypes -------------------------------------------------------------------------------


def test_modes():
    def program(t):
        m = net(t)
        m.eval()
        out = [[x.training for x in m.modules()]]
        m.train()
        out += [[x.training for x in m.modules()]]
        m(t.ones(1, 2)).sum().backward()
        m.zero_grad(set_to_none=False)
        out += [m.c.weight.grad]
        m.zero_grad()
        out += [m.c.weight.grad, m.requires_grad_(False).c.weight.requires_grad]
        seen = []
        m.apply(lambda x: seen.append(type(x).__name__))
        return out + [seen]

    agree(program)


def test_conversions():
    def program(t):
        m = t.nn.Sequential(t.nn.Linear(2, 2), t.nn.BatchNorm1d(2))
        m(t.randn(3, 2)).sum().backward()
        weight, out = m[0].weight, []
        for convert in ("double", "half", "bfloat16", "float", "cpu"):
            assert getattr(m, convert)() is m
            out.append(
                [
                    str(m[0].weight.dtype),
                    str(m[0].weight.grad.dtype),
                    str(m[1].num_batches_tracked.dtype),
                    m[0].weight is weight,
                ]
            )
        for args in ((t.float64,), ("cpu", t.float32), (t.ones(1, dtype=t.float16),)):
            out.append(str(m.to(*args)[1].running_mean.dtype))
        return out + [
            str(m.type(t.float64)[0].bias.dtype),
            m[0].weight.requires_grad,
            m.float().to_empty(device="cpu")[0].weight.shape,
        ]

    agree(program)


def test_training_goes_on_after_a_conversion():
    def program(t):
        m, x = t.nn.Linear(2, 1).double(), t.ones(1, 2, dtype=t.float64)
        m(x).sum().backward()
        return [m.weight.grad, m.weight]

    agree(program)


# ---- copies --------------------------------------------------------------------------------------


def test_deepcopy():
    def program(t):
        m = net(t)
        m.a.shared = m.a.fc
        c = copy.deepcopy(m)
        with t.no_grad():
            c.a.fc.weight.zero_()
        return [m, c, c.a.shared is c.a.fc, m.state_dict(), c.state_dict(), c(t.ones(1, 2))]

    agree(program)


def test_a_copied_parameter_has_no_gradient():
    def program(t):
        m = t.nn.Linear(2, 2)
        m(t.ones(1, 2)).sum().backward()
        c = copy.deepcopy(m)
        return [
            c.weight.grad is None,
            c.weight,
            c.weight.requires_grad,
            type(c.weight).__name__,
            copy.deepcopy([m.weight, m.weight])[1].shape,
        ]

    agree(program)


def test_pickle():
    m = torch.nn.Sequential(
        torch.nn.Linear(2, 3),
        torch.nn.BatchNorm1d(3),
        torch.nn.LSTM(3, 2),
        torch.nn.LazyLinear(2),
        torch.nn.TransformerEncoderLayer(4, 2, 8),
    )
    c = pickle.loads(pickle.dumps(m))
    assert repr(c) == repr(m)
    for a, b in zip(m[:3].parameters(), c[:3].parameters()):
        assert torch.equal(a, b) and b.requires_grad
    assert torch.equal(c[2](torch.ones(4, 1, 3))[0], m[2](torch.ones(4, 1, 3))[0])


def test_compile_goes_through_torch_compile(monkeypatch):
    calls = []
    monkeypatch.setattr(torch, "compile", lambda f, **kw: lambda *a: calls.append(kw) or f(*a))
    m = torch.nn.Linear(1, 1)
    m.compile(mode="x")
    m(torch.ones(1, 1))
    assert calls == [{"mode": "x"}]
    assert "_compiled_call_impl" not in copy.deepcopy(m).__dict__


# ---- containers ----------------------------------------------------------------------------------


def test_sequential():
    def program(t):
        nn = t.nn
        m = nn.Sequential(nn.Linear(1, 2), nn.ReLU(), nn.Linear(2, 3))
        out = [m[1], m[-1], m[:2], len(m), m + nn.Sequential(nn.Tanh()), m * 2, [*m][0]]
        m[1] = nn.Tanh()
        del m[0]
        m.append(nn.ReLU()).insert(1, nn.Identity()).extend([nn.Sigmoid()])
        m += nn.Sequential(nn.ELU())
        m *= 2
        out += [m, m.pop(-1), list(m._modules), m]
        return out + [
            failing(*c)
            for c in ((m.__getitem__, 50), (m.__add__, 3), (m.__mul__, 0), (m.__mul__, 1.0), (m.insert, 99, nn.ReLU()))
        ]

    agree(program)


def test_module_list_and_dict():
    def program(t):
        nn = t.nn
        m = nn.ModuleList([nn.Linear(1, 2) for _ in range(3)])
        m.insert(1, nn.ReLU())
        m += [nn.Tanh()]
        m.append(nn.Tanh()).extend(nn.ModuleList([nn.Tanh()]))
        out = [m, m[1:3], m[-1], len(m), m + [nn.ReLU()], nn.ModuleList()]
        del m[0]
        del m[1:3]
        out += [m, m.pop(0), list(m._modules), failing(m.extend, 3), failing(m.__getitem__, 9)]
        d = nn.ModuleDict({"b": nn.Linear(1, 1), "a": nn.ReLU()})
        d.update([("c", nn.Tanh())])
        d["d"] = nn.ModuleDict()
        out += [
            d,
            list(d),
            "a" in d,
            len(d),
            d.pop("b"),
            list(d.keys()),
            failing(d.update, 3),
            failing(d.update, [3]),
            failing(d.update, [(1, 2, 3)]),
        ]
        d.clear()
        return out + [d]

    agree(program)


def test_parameter_list_and_dict():
    def program(t):
        nn = t.nn
        m = nn.ParameterList([t.ones(2), nn.Parameter(t.zeros(1, 3), requires_grad=False), "x"])
        m.append(t.ones(1, dtype=t.float64))
        m[0] = t.zeros(4)
        out = [
            m,
            len(m),
            m[1],
            m[1:3],
            m.state_dict(),
            failing(m.extend, 3),
            failing(m),
            failing(m.extend, t.ones(1)),
            failing(m.__getitem__, 7),
        ]
        d = nn.ParameterDict({"b": t.ones(2), "a": t.zeros(1)})
        d["c"] = 3
        out += [
            d,
            list(d),
            d.get("x", 1),
            d.setdefault("d", t.ones(1)),
            d.popitem()[0],
            len(d),
            list(reversed(d)),
            list((d | {"e": t.ones(1)}).keys()),
            d.pop("b"),
            "b" in d,
            failing(d.__getitem__, 3),
            failing(d, 1),
            d.fromkeys(["x"], t.ones(1)),
        ]
        d.clear()
        return out + [len(d), d]

    agree(program)


# ---- lazy ----------------------------------------------------------------------------------------


def test_lazy_modules():
    def program(t):
        nn = t.nn
        m = nn.Sequential(nn.LazyConv2d(2, 3), nn.LazyBatchNorm2d(), nn.Flatten(), nn.LazyLinear(2))
        out = [
            m,
            list(m.state_dict()),
            failing(lambda: m[0].weight.shape),
            m[0].has_uninitialized_params(),
            repr(m[0].weight),
        ]
        out += [failing(lambda: m[3].weight + 1)[0], failing(m.share_memory)[0]]
        y = m(t.randn(2, 3, 5, 5))
        out += [m, y, m.state_dict(), type(m[3].weight).__name__]
        fresh = nn.Sequential(nn.LazyConv2d(2, 3), nn.LazyBatchNorm2d(), nn.Flatten(), nn.LazyLinear(2))
        fresh.load_state_dict(m.state_dict())
        return out + [fresh(t.ones(1, 3, 5, 5)), fresh]

    agree(program)


def test_what_an_uninitialized_parameter_refuses():
    def program(t):
        u, x = t.nn.UninitializedParameter(), t.ones(2)
        calls = [
            lambda: u + 1,
            lambda: 1 + u,
            lambda: u - 1,
            lambda: u * 1,
            lambda: u / 1,
            lambda: u @ u,
            lambda: -u,
            lambda: u[0],
            lambda: u < 1,
            lambda: ~u,
            lambda: u % 2,
            lambda: t.add(u, 1),
            lambda: t.cat([u]),
            lambda: t.nn.functional.linear(x, u),
            lambda: u.sum(),
            lambda: bool(u),
            lambda: u.shape,
            lambda: u.requires_grad_(False),
        ]
        hidden = [lambda: 1 - u, lambda: 1 / u, lambda: 2**u, lambda: u // 2, lambda: len(u)]
        return [
            *(failing(call) for call in calls if " at 0x" not in failing(call)[1]),
            *(failing(call)[0] for call in calls + hidden),
            u.size(),
            str(u.double().dtype),
        ]

    agree(program)


def test_lazy_modules_are_pickled():
    m = torch.nn.Sequential(torch.nn.LazyLinear(2), torch.nn.LazyBatchNorm1d())
    c = pickle.loads(pickle.dumps(m))
    assert c(torch.ones(2, 3)).shape == (2, 2) and repr(m) != repr(c)


def test_names():
    for name in ("Linear", "LSTM", "Module", "Transformer", "Parameter"):
        assert getattr(torch.nn, name).__module__.startswith("torch.nn.")
    assert repr(torch.nn.Linear) == "<class 'torch.nn.modules.linear.Linear'>"
    assert torch.nn.utils.prune.L1Unstructured.__module__ == "torch.nn.utils.prune"
    with pytest.raises(AttributeError):
        torch.nn.nothing
    with pytest.raises(NotImplementedError, match="torch.nn.quantized"):
        torch.nn.quantized


# ---- what conversions do to parameters, and the tables of hooks ----------------------------------


@pytest.fixture(params=["swap", "overwrite"])
def conversion(request):
    """torch.__future__ set in both libraries, to one of its ways."""
    name = f"set_{request.param}_module_params_on_conversion"
    switches = [getattr(t.__future__, name) for t in (torch, pytest.importorskip("torch"))]
    for switch in switches:
        switch(True)
    yield
    for switch in switches:
        switch(False)


def test_conversions_by_future(conversion):
    def program(t):
        m = t.nn.Linear(3, 2)
        m(t.ones(1, 3)).sum().backward()
        before = [*m.parameters()]
        grads = [p.grad for p in before]
        m.double()
        same = [p is q for p, q in zip(before, m.parameters())]
        kept = [p.grad is g for p, g in zip(m.parameters(), grads)]
        m(t.ones(1, 3, dtype=t.float64)).sum().backward()
        return same, kept, [p.grad for p in m.parameters()], [p.requires_grad for p in m.parameters()]

    agree(program)


def test_loading_by_future(conversion):
    def program(t):
        with t.device("meta"):
            empty = t.nn.Linear(3, 2)
        full, before = t.nn.Linear(3, 2), [*empty.parameters()]
        empty.load_state_dict(full.state_dict(), assign=True)
        empty(t.ones(1, 3)).sum().backward()
        optimizer = t.optim.SGD(empty.parameters(), lr=0.5)
        optimizer.step()
        same = [p is q for p, q in zip(before, empty.parameters())]
        full.load_state_dict(empty.state_dict())
        return same, full.weight - empty.weight, [p.grad for p in empty.parameters()]

    agree(program)


def test_graphs_of_swapped_parameters_raise():
    def program(t):
        t.__future__.set_swap_module_params_on_conversion(True)
        try:
            m = t.nn.Linear(2, 1)
            out = m(t.ones(1, 2)).sum()
            m.double()
        finally:
            t.__future__.set_swap_module_params_on_conversion(False)
        return failing(out.backward)

    assert program(torch) == program(pytest.importorskip("torch"))


def test_tables_of_hooks_can_be_replaced():
    def program(t):
        table, seen = t.nn.modules.module, []
        table._global_is_full_backward_hook = None  # a full backward hook anywhere in the process has set it for good
        t.nn.modules.module.register_module_forward_hook(lambda m, a, o: seen.append("gone"))
        table._global_forward_hooks = OrderedDict()
        t.nn.ReLU()(t.ones(1))
        handle = t.nn.modules.module.register_module_forward_hook(lambda m, a, o: seen.append("there"))
        t.nn.ReLU()(t.ones(1))
        handle.remove()
        return seen, list(table._global_forward_hooks), table._global_is_full_backward_hook

    agree(program)


def test_lazy_parameters():
    def program(t):
        layer, other = t.nn.LazyLinear(2), t.nn.LazyLinear(2)
        layer.load_state_dict(other.state_dict())
        p = t.nn.parameter.UninitializedParameter()
        errors = [failing(f)[0] for f in (lambda: t.empty_like(p), lambda: t.optim.Adagrad([p]), lambda: p + p)]
        return layer.has_uninitialized_params(), errors, "run a forward pass" in failing(t.jit.script, layer)[1]

    agree(program)


def test_generic_modules_and_classes_with_arguments():
    def program(t):
        kind = TypeVar("kind")

        class Announced:
            def __init_subclass__(cls, note="", **kwargs):
                super().__init_subclass__(**kwargs)
                cls.note = note

        class Layer(ABC, t.nn.Module, Generic[kind]):
            pass

        class Special(Layer[int], Announced, note="here"):
            pass

        return Layer.__parameters__ == (kind,), Special.note, str(Special())

    agree(program)
