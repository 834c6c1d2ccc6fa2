"""The tape against PyTorch: passes, hooks, graphs, modes, errors."""

import gc
import time
import weakref

import numpy as np
import pytest

from .agree import agree, reference
from .agree import ours as torch


def data(torch, *shape, grad=True, seed=0):
    array = np.random.default_rng(seed).normal(size=shape).astype(np.float32)
    return torch.tensor(array.tolist(), requires_grad=grad)


# ---- backward and grad ---------------------------------------------------------------------------


def test_backward_accumulates_into_leaves():
    def program(torch):
        x, w = data(torch, 3), data(torch, 3, seed=1)
        ((x * w).sum() + (x * x).sum()).backward()
        first = x.grad
        (x * 2).sum().backward()
        return x.grad, w.grad, first is x.grad, x.grad.requires_grad

    agree(program)


@pytest.mark.parametrize("shape", [(), (0,), (2, 3), (1, 0, 2)])
def test_shapes(shape):
    def program(torch):
        x = torch.ones(shape, requires_grad=True)
        (x.exp() * x).sum().backward()
        return x.grad

    agree(program)


def test_gradient_dtype_follows_the_leaf():
    def program(torch):
        x = torch.ones(2, dtype=torch.float32, requires_grad=True)
        y = torch.ones(2, dtype=torch.float64, requires_grad=True)
        (x * y).sum().backward()
        return x.grad, y.grad

    agree(program)


def test_complex_convention():
    def program(torch):
        z = torch.tensor([1 + 2j, 3 - 1j], requires_grad=True)
        (z * z * (2 - 1j)).abs().sum().backward()
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        ((x * (1 + 1j)) ** 2).real.sum().backward()
        return z.grad, x.grad

    agree(program)


def test_grad_of_grad():
    def program(torch):
        x = data(torch, 4)
        y = (x.sin() * x.exp()).sum()
        (first,) = torch.autograd.grad(y, x, create_graph=True)
        (second,) = torch.autograd.grad(first.pow(2).sum(), x, create_graph=True)
        (third,) = torch.autograd.grad(second.sum(), x)
        return first, second, third

    agree(program, rtol=1e-4, atol=1e-4)


def test_double_backward_through_kept_values():
    def program(torch):
        x, w = data(torch, 3, 4), data(torch, 4, 4, seed=1)
        y = torch.softmax((x @ w).cumsum(0), 1).logsumexp(0)
        g = torch.autograd.grad(y.sum(), (x, w), create_graph=True)
        sum((t**2).sum() for t in g).backward()
        return x.grad, w.grad

    agree(program, rtol=1e-3, atol=1e-4)


def test_create_graph_in_backward():
    def program(torch):
        x = data(torch, 3)
        (x**3).sum().backward(create_graph=True)
        g = x.grad
        x.grad = None
        g.sum().backward()
        return g, x.grad, g.requires_grad

    agree(program)


def test_several_outputs_and_weights():
    def program(torch):
        x = data(torch, 3)
        y, z = x * 2, x.exp()
        return torch.autograd.grad([y, z], x, [torch.ones(3), torch.tensor([1.0, 0.0, 2.0])])

    agree(program)


def test_unused_inputs():
    def program(torch):
        x, w = data(torch, 3), data(torch, 3)
        loss = (x * x).sum()
        return (
            torch.autograd.grad(loss, (x, w), allow_unused=True, retain_graph=True)[1],
            torch.autograd.grad(loss, (x, w), materialize_grads=True)[1],
        )

    agree(program)


def test_inputs_of_backward():
    def program(torch):
        x, w = data(torch, 3), data(torch, 3, seed=1)
        h = x * w
        (h * h).sum().backward(inputs=[x, h])
        return x.grad, w.grad, h.grad

    agree(program)


def test_grads_batched():
    def program(torch):
        x = data(torch, 3)
        y = x.sin() * x.sum()
        return torch.autograd.grad(y, x, torch.eye(3), is_grads_batched=True)

    agree(program)


def test_intermediate_input_and_root_as_input():
    def program(torch):
        x = data(torch, 3)
        h = x.exp()
        y = (h * x).sum()
        return torch.autograd.grad(y, (h, y, x))

    agree(program)


def test_same_tensor_used_twice():
    def program(torch):
        x = data(torch, 3)
        seen = []
        h = x * 2
        h.register_hook(lambda g: seen.append(g.clone()))
        (h * h + h).sum().backward()
        return x.grad, seen

    agree(program)


# ---- errors --------------------------------------------------------------------------------------


def _of(x):
    return (x * x).sum()


ERRORS = {
    "no grad": lambda torch, x: torch.ones(3).sum().backward(),
    "not scalar": lambda torch, x: (x * 2).backward(),
    "complex": lambda torch, x: (x * 1j).sum().backward(),
    "input without grad": lambda torch, x: torch.autograd.grad(_of(x), torch.ones(3)),
    "unused": lambda torch, x: torch.autograd.grad(_of(x), torch.ones(1, requires_grad=True)),
    "shape": lambda torch, x: torch.autograd.grad(x * 2, x, torch.ones(2)),
    "not a gradient": lambda torch, x: torch.autograd.backward([_of(x)], [3]),
    "no inputs": lambda torch, x: _of(x).backward(inputs=[]),
    "leaf in place": lambda torch, x: x.add_(1),
    "view of leaf in place": lambda torch, x: x[0].add_(1),
    "retain_grad": lambda torch, x: torch.ones(1).retain_grad(),
    "int requires grad": lambda torch, x: torch.ones(1, dtype=torch.int64).requires_grad_(),
    "non-leaf flag": lambda torch, x: setattr(x * 2, "requires_grad", False),
    "materialize": lambda torch, x: torch.autograd.grad(_of(x), x, allow_unused=False, materialize_grads=True),
    "hook": lambda torch, x: torch.ones(1).register_hook(print),
}


@pytest.mark.parametrize("name", ERRORS)
def test_error(name):
    agree(
        lambda torch: ERRORS[name](torch, torch.ones(3, requires_grad=True)),
        messages=name not in ("int requires grad",),
    )


def test_twice_through_a_freed_graph():
    def program(torch):
        y = _of(data(torch, 3))
        y.backward()
        y.backward()

    agree(program, messages=True)


def test_twice_with_retained_graph():
    def program(torch):
        x = data(torch, 3)
        y = _of(x)
        y.backward(retain_graph=True)
        y.backward()
        return x.grad

    agree(program)


# ---- in place ------------------------------------------------------------------------------------


def _output_changed(torch):
    x = data(torch, 3)
    y = x.exp()
    y.add_(1)
    y.sum().backward()


def _input_changed(torch):
    x, c = data(torch, 3), torch.ones(3)
    y = x * c
    c.add_(1)
    y.sum().backward()


@pytest.mark.parametrize("program", [_output_changed, _input_changed])
def test_saved_tensor_changed(program):
    agree(program, messages=True)


def test_in_place_ops_do_not_forbid_themselves():
    def program(torch):
        x, w = data(torch, 3), data(torch, 3, seed=1)
        h = x * 1
        h.mul_(w).sin_().exp_().pow_(2)
        h.sum().backward()
        a = torch.ones(3)
        a.mul_(w)
        a.sum().backward()
        return x.grad, w.grad, h._version

    agree(program, rtol=1e-4)


def test_in_place_through_views():
    def program(torch):
        x = data(torch, 3, 4)
        y = x * 1
        y[1].mul_(2)
        y[:, 0] = x[:, 1]
        y.view(-1)[3:5].exp_()
        (y * y).sum().backward()
        return y, x.grad

    agree(program)


# ---- hooks and nodes -----------------------------------------------------------------------------


def test_tensor_hooks_change_the_gradient_in_order():
    def program(torch):
        x = data(torch, 3)
        seen = []
        first = x.register_hook(lambda g: g * 2)
        x.register_hook(lambda g: seen.append(g) or g + 1)
        (x * x).sum().backward()
        first.remove()
        (x * x).sum().backward()
        return x.grad, seen

    agree(program)


def test_retain_grad_comes_after_hooks():
    def program(torch):
        x = data(torch, 3)
        h = x * 2
        h.retain_grad()
        h.register_hook(lambda g: g * 10)
        h.sum().backward()
        return h.grad, x.grad, h.retains_grad

    agree(program)


def test_node_hooks():
    def program(torch):
        x = data(torch, 3)
        y = (x * 3).sum()
        seen = []
        y.grad_fn.register_prehook(lambda gs: (gs[0] * 2,))
        y.grad_fn.register_hook(lambda ins, outs: seen.append((ins[0], outs[0])))
        y.grad_fn.next_functions[0][0].register_hook(lambda ins, outs: (ins[0] + 1, *ins[1:]))
        y.backward()
        return x.grad, seen

    agree(program)


def test_post_accumulate_hook():
    def program(torch):
        x = data(torch, 3)
        seen = []

        def step(p):
            seen.append(p.grad.clone())
            p.grad = None

        x.register_post_accumulate_grad_hook(step)
        (x * x).sum().backward()
        return seen, x.grad

    agree(program)


def test_multi_grad_hooks():
    def program(torch):
        x, w, v = data(torch, 3), data(torch, 3, seed=1), data(torch, 3, seed=2)
        seen, some = [], []
        torch.autograd.graph.register_multi_grad_hook((x, w, v), lambda gs: seen.append([g is not None for g in gs]))
        torch.autograd.graph.register_multi_grad_hook((x, w), lambda g: some.append(1), mode="any")
        (x * w).sum().backward()
        (x * w * v).sum().backward()
        return seen, some

    agree(program)


def test_names_and_edges():
    def program(torch):
        x = data(torch, 3)
        y = ((x * 2 + 1).exp() / 3).sum()
        names, node = [], y.grad_fn
        while node is not None:
            names.append(node.name())
            node = node.next_functions[0][0] if node.next_functions else None
        return names, y.grad_fn.next_functions[0][1], x.grad_fn, y.is_leaf, x.output_nr

    agree(program)


def test_metadata_and_node_class():
    y = data(torch, 3).exp()
    y.grad_fn.metadata["note"] = 1
    assert y.grad_fn.metadata == {"note": 1}
    assert isinstance(y.grad_fn, torch.autograd.graph.Node)
    assert repr(y.grad_fn).startswith("<ExpBackward0 object at 0x")
    assert y.grad_fn.next_functions[0][0].variable is None  # the leaf is gone


def test_gradient_edges():
    def program(torch):
        x = data(torch, 3)
        h = x.exp()
        edge = torch.autograd.graph.get_gradient_edge(h)
        return torch.autograd.grad((h * x).sum(), (edge, x)), edge.output_nr

    agree(program)


# ---- saved tensors -------------------------------------------------------------------------------


def test_saved_tensor_hooks():
    def program(torch):
        x = data(torch, 3)
        packed = []

        def pack(t):
            packed.append(t.shape)
            return t.numpy()

        with torch.autograd.graph.saved_tensors_hooks(pack, torch.from_numpy):
            y = (x.exp() * x.sin()).sum()
        y.backward()
        return x.grad, bool(packed)

    agree(program)


def test_saved_tensor_hooks_with_double_backward():
    def program(torch):
        x = data(torch, 3)
        with torch.autograd.graph.save_on_cpu():
            y = (x.exp() * x).sum()
        (g,) = torch.autograd.grad(y, x, create_graph=True)
        return torch.autograd.grad(g.sum(), x)

    agree(program)


def test_disabled_hooks():
    def program(torch):
        with torch.autograd.graph.disable_saved_tensors_hooks("not here"):
            with torch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x):
                pass

    agree(program, messages=True)


def test_mutation_allowed():
    def program(torch):
        with torch.autograd.graph.allow_mutation_on_saved_tensors():
            x = data(torch, 3)
            h = x * 1
            y = h.sin()
            h.add_(10)
            y.sum().backward()
            return x.grad

    agree(program)


def test_increment_version():
    def program(torch):
        x, c = data(torch, 3), torch.ones(3)
        y = x * c
        torch.autograd.graph.increment_version(c)
        version = c._version
        try:
            y.sum().backward()
        except RuntimeError:
            return version, "changed"

    agree(program)


# ---- modes ---------------------------------------------------------------------------------------


def test_modes_as_contexts_and_decorators():
    def program(torch):
        x = data(torch, 1)
        seen = []
        with torch.no_grad():
            seen.append((x * 2).requires_grad)
            with torch.enable_grad():
                seen.append((x * 2).requires_grad)
        with torch.set_grad_enabled(False):
            seen.append(torch.is_grad_enabled())
        torch.set_grad_enabled(False)
        seen.append((x * 2).requires_grad)
        torch.set_grad_enabled(True)

        @torch.no_grad()
        def f(x):
            return (x * 2).requires_grad

        @torch.no_grad
        def g(x):
            return (x * 2).requires_grad

        return seen, f(x), g(x), torch.is_grad_enabled()

    agree(program)


def test_generators_leave_their_mode_between_items():
    def program(torch):
        @torch.no_grad()
        def items():
            try:
                got = yield torch.is_grad_enabled()
                yield got, torch.is_grad_enabled()
            except ValueError:
                yield "thrown", torch.is_grad_enabled()

        first, second = items(), items()
        seen = [next(first), torch.is_grad_enabled(), first.send(5), torch.is_grad_enabled()]
        next(second)
        return seen, second.throw(ValueError()), torch.is_grad_enabled()

    agree(program)


def test_modes_are_of_the_thread():
    import threading

    seen = []
    with torch.no_grad():
        thread = threading.Thread(target=lambda: seen.append(torch.is_grad_enabled()))
        thread.start()
        thread.join()
    assert seen == [True]


def test_inference_mode():
    def program(torch):
        x = data(torch, 3)
        with torch.inference_mode():
            y = x * 2
            seen = [y.is_inference(), y.requires_grad, torch.is_inference_mode_enabled()]
        try:
            y * x
        except RuntimeError as error:
            seen.append(str(error))
        return seen, (y + 1).is_inference(), torch.is_grad_enabled()

    agree(program)


@pytest.mark.filterwarnings("ignore:Anomaly")
def test_anomaly_mode():
    def program(torch):
        with torch.autograd.detect_anomaly():
            x = torch.zeros(1, requires_grad=True)
            (x.sqrt() * 0).sum().backward()

    with pytest.warns(UserWarning, match="Error detected in SqrtBackward0"):
        agree(program, messages=True)


# ---- the size of graphs --------------------------------------------------------------------------


def test_deep_graph():
    x = torch.ones(1, requires_grad=True)
    y = x
    for _ in range(10_000):
        y = y + 1
    start = time.perf_counter()
    y.sum().backward()
    assert x.grad.item() == 1
    assert time.perf_counter() - start < 5
    del y  # the chain of nodes goes without recursion


def test_wide_graph_is_visited_once():
    x = torch.ones(2, requires_grad=True)
    y = x
    for _ in range(60):
        y = y + y  # 2 ** 60 paths
    y.sum().backward()
    assert x.grad[0].item() == 2**60


def test_backward_frees_what_was_saved():
    x = torch.ones(4, requires_grad=True)
    h = x.exp()
    y = (h * h).sum()
    value = weakref.ref(h._value)
    del h
    assert value() is not None
    y.backward()
    assert x.grad.tolist()  # what is recorded is computed
    assert value() is None


def test_dropped_leaves_go_without_the_garbage_collector():
    gc.disable()
    try:
        x = torch.ones(4, requires_grad=True)
        gone = weakref.ref(x)
        (x * x).sum().backward()
        del x
        assert gone() is None
    finally:
        gc.enable()


# ---- forward mode --------------------------------------------------------------------------------


def test_dual_numbers():
    def program(torch):
        fw = torch.autograd.forward_ad
        x = data(torch, 3, grad=False)
        with fw.dual_level():
            dual = fw.make_dual(x, torch.ones(3))
            y = fw.unpack_dual((dual.sin() * x).sum())
            return y.primal, y.tangent, fw.unpack_dual(x).tangent

    agree(program)


def test_forward_over_reverse():
    def program(torch):
        fw = torch.autograd.forward_ad
        x = data(torch, 3)
        with fw.dual_level():
            dual = fw.make_dual(x, torch.full((3,), 2.0))
            (g,) = torch.autograd.grad((dual**3).sum(), dual, create_graph=True)
            return fw.unpack_dual(g)[:]

    agree(program)


def test_dual_levels_do_not_nest():
    def program(torch):
        with torch.autograd.forward_ad.dual_level():
            torch.autograd.forward_ad.enter_dual_level()

    agree(program, messages=True)


# ---- functional and checks -----------------------------------------------------------------------


def _two(torch):
    return lambda x, y: ((x * y).sin(), x.exp() @ y)


@pytest.mark.parametrize("vectorize", [False, True])
def test_jacobian(vectorize):
    agree(
        lambda torch: torch.autograd.functional.jacobian(
            _two(torch), (data(torch, 3), data(torch, 3, seed=1)), vectorize=vectorize
        )
    )


@pytest.mark.parametrize("vectorize", [False, True])
def test_hessian(vectorize):
    def program(torch):
        f = torch.autograd.functional
        inputs = (data(torch, 3), data(torch, 3, seed=1))
        return (
            f.hessian(lambda x, y: (x.exp() * y * y).sum(), inputs, vectorize=vectorize),
            f.hessian(lambda x: (x**3).sum(), inputs[0], vectorize=vectorize),
        )

    agree(program, rtol=1e-4)


@pytest.mark.parametrize("name", ["vjp", "jvp"])
def test_products(name):
    def program(torch):
        fun = getattr(torch.autograd.functional, name)
        x = data(torch, 3)
        return fun(lambda x: x.exp() * x.sum(), x, torch.ones(3)), fun(
            lambda x: x.exp(), x, torch.ones(3), create_graph=True
        )[1].requires_grad

    agree(program)


@pytest.mark.parametrize("name", ["hvp", "vhp"])
def test_hessian_products(name):
    agree(lambda torch: getattr(torch.autograd.functional, name)(lambda x: (x**3).sum(), data(torch, 3), torch.ones(3)))


def test_forward_strategies():
    def program(torch):
        f = torch.autograd.functional
        x = data(torch, 3)
        return (
            f.jacobian(lambda x: x.exp(), x, vectorize=True, strategy="forward-mode"),
            f.hessian(lambda x: (x**3).sum(), x, vectorize=True, outer_jacobian_strategy="forward-mode"),
        )

    agree(program)


def test_strict_jacobian():
    agree(lambda torch: torch.autograd.functional.jacobian(lambda x: torch.ones(2), data(torch, 3), strict=True))


def test_gradcheck():
    x = torch.rand(3, dtype=torch.float64, requires_grad=True)
    w = torch.rand(3, 2, dtype=torch.float64, requires_grad=True)
    f = lambda x, w: (x @ w).tanh()  # noqa: E731
    assert torch.autograd.gradcheck(f, (x, w), check_forward_ad=True, check_batched_grad=True)
    assert torch.autograd.gradgradcheck(f, (x, w))


def test_gradcheck_of_complex():
    z = torch.tensor([1 + 2j, 0.5j], dtype=torch.complex128, requires_grad=True)
    assert torch.autograd.gradcheck(lambda z: z * z * 2j, (z,))


def test_gradcheck_finds_a_wrong_backward():
    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 3

    x = torch.rand(3, dtype=torch.float64, requires_grad=True)
    with pytest.raises(RuntimeError, match="Jacobian mismatch"):
        torch.autograd.gradcheck(Wrong.apply, (x,))
    assert not torch.autograd.gradcheck(Wrong.apply, (x,), raise_exception=False)


# ---- the rest ------------------------------------------------------------------------------------


def test_variable():
    x = torch.autograd.Variable(torch.ones(2), requires_grad=True)
    assert isinstance(x, torch.autograd.Variable) and x.requires_grad and x.is_leaf


def test_profiler():
    with torch.autograd.profiler.profile() as prof:
        with torch.autograd.profiler.record_function("outer"):
            with torch.autograd.profiler.record_function("inner"):
                torch.ones(3).sum()
    operators = ["ones", "empty", "fill_", "sum", "as_strided"]
    assert [e.key.removeprefix("aten::") for e in prof.key_averages()] == ["outer", "inner", *operators]
    assert "outer" in prof.key_averages().table(sort_by="cpu_time_total")


# ---- writing and what autograd sees of it --------------------------------------------------------


def test_retained_gradient_follows_an_in_place_op():
    def program(torch):
        x = data(torch, 3)
        y = x * 2
        y.retain_grad()
        seen = []
        y.register_hook(seen.append)
        y.mul_(3)
        y.sum().backward()
        return y.grad, seen, x.grad

    agree(program)


def test_writes_through_data_go_unseen():
    def program(torch):
        x, w = data(torch, 3), data(torch, 3, seed=1)
        y = x * w
        w.data.mul_(2)
        w.data[0] = 7
        y.sum().backward()
        return w, w._version

    agree(program)


def test_gradients_are_tensors_of_their_own():
    def program(torch):
        x, v = data(torch, 3), torch.ones(3)
        x.backward(v)
        x.grad.zero_()
        x.grad = torch.ones(3)
        held = x.grad
        (x * 2).sum().backward()
        return v, held, held is x.grad

    agree(program)


def test_inference_tensors_are_not_written_to():
    def program(torch):
        with torch.inference_mode():
            y = torch.ones(3) * 2
            y.add_(1)
        y.add_(1)

    agree(program, messages=True)


@pytest.mark.parametrize(
    "wrong", [lambda torch: torch.ones(2), lambda torch: 3, lambda torch: torch.ones(3, dtype=torch.float64)]
)
def test_wrong_grad(wrong):
    def program(torch):
        data(torch, 3).grad = wrong(torch)

    agree(program)


def test_backward_inside_a_hook():
    def program(torch):
        x, w = data(torch, 3), data(torch, 3, seed=1)
        y = x * 2
        y.register_hook(lambda g: (w * w).sum().backward())
        y.sum().backward()
        return x.grad, w.grad

    agree(program)


def test_grad_mode_inside_backward():
    def program(torch):
        seen = []
        x = data(torch, 3)
        x.register_hook(lambda g: seen.append((torch.is_grad_enabled(), g.requires_grad)))
        (x * x).sum().backward()
        (x * x).sum().backward(create_graph=True)
        x.grad = None
        return seen

    agree(program)


def test_retained_gradients_share_nothing():
    def program(torch):
        x = data(torch, 3)
        a, b = x * 2, x * 3
        a.retain_grad()
        b.retain_grad()
        (a + b).sum().backward()
        a.grad.zero_()
        return a.grad, b.grad, x.grad

    agree(program)


COMPLEX = """z.real.sum() z.imag.sum() z.abs().sum() (z*z).real.sum() (z*x).real.sum() (z/x).real.sum()
(x/z).real.sum() (-z).real.sum() (z-x).real.sum() z.exp().real.sum() z.log().real.sum()
z.sqrt().real.sum() z.sgn().real.sum() z.tanh().real.sum() (z**2).real.sum() z.sum().real z.mean().real
z.prod().real z.cumsum(0).real.sum() z[0].real z.flip(0).real.sum() z.clone().real.sum() z.norm()
torch.stack([z,z]).real.sum() torch.outer(z,z).real.sum() z.expand(2,3).real.sum() (1/z).real.sum()
torch.conj_physical(z).real.sum() z.to(torch.complex128).real.sum() torch.vdot(z,z).real
torch.view_as_real(z).sum() torch.fft.rfft(x).real.sum()""".split()


@pytest.mark.parametrize("values", [[1 + 2j, -1 + 0j, 0.5 - 1j], [1 + 0j, 2 + 0j, 3 + 0j]])
def test_signs_of_zero_in_complex_gradients(values):
    """Gradients print as PyTorch's: 1.+0.j, where conjugating back and forth would give 1.-0.j."""

    def printed(library, expression):
        z = library.tensor(values, requires_grad=True)
        x = library.tensor([1.0, -2.0, 3.0], requires_grad=True)
        found = library.autograd.grad(eval(expression, {"torch": library, "z": z, "x": x}), [z, x], allow_unused=True)
        return [str(g) for g in found]

    for expression in COMPLEX:
        assert printed(torch, expression) == printed(reference, expression), expression
