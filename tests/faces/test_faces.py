"""Transforms of the functional face with functions of tensors, conversions, state, and what is refused."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import functorch_core as fc
from functorch_core import faces, nn, optax, torch

real = pytest.importorskip("torch")
X = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
F = torch.nn.functional

# ---- transforms ----------------------------------------------------------------------------------

# (how it is called here, the same by torch.func in PyTorch)
TRANSFORMS = {
    "jit": (lambda f, x: fc.jit(f)(x), lambda f, x: f(x)),
    "grad": (lambda f, x: fc.grad(lambda x: f(x).sum())(x), lambda f, x: real.func.grad(lambda x: f(x).sum())(x)),
    "jit of grad": (
        lambda f, x: fc.jit(fc.grad(lambda x: f(x).sum()))(x),
        lambda f, x: real.func.grad(lambda x: f(x).sum())(x),
    ),
    "vmap": (lambda f, x: fc.vmap(f)(x), lambda f, x: real.func.vmap(f)(x)),
    "jvp": (
        lambda f, x: fc.jvp(f, (x,), (torch.ones_like(x),))[1],
        lambda f, x: real.func.jvp(f, (x,), (real.ones_like(x),))[1],
    ),
    "vjp": (
        lambda f, x: (lambda y, pull: pull(y)[0])(*fc.vjp(f, x)),
        lambda f, x: (lambda y, pull: pull(y)[0])(*real.func.vjp(f, x)),
    ),
    "jacrev": (lambda f, x: fc.jacrev(f)(x[0]), lambda f, x: real.func.jacrev(f)(x[0])),
    "jacfwd": (lambda f, x: fc.jacfwd(f)(x[0]), lambda f, x: real.func.jacfwd(f)(x[0])),
    "hessian": (
        lambda f, x: fc.hessian(lambda x: f(x).sum())(x[0]),
        lambda f, x: real.func.hessian(lambda x: f(x).sum())(x[0]),
    ),
    "linearize": (lambda f, x: fc.linearize(f, x)[1](x), lambda f, x: real.func.jvp(f, (x,), (x,))[1]),
    "checkpoint": (
        lambda f, x: fc.grad(lambda x: fc.checkpoint(f)(x).sum())(x),
        lambda f, x: real.func.grad(lambda x: f(x).sum())(x),
    ),
    "scan": (
        lambda f, x: fc.scan(lambda c, x: (f(c + x), c), torch.zeros(4), x)[0],
        lambda f, x: f(f(f(x[0]) + x[1]) + x[2]),
    ),
    "map": (lambda f, x: fc.map(f, x), lambda f, x: real.stack([f(row) for row in x])),
    "cond": (lambda f, x: fc.cond(x.sum() > 1e3, lambda x: x, f, x), lambda f, x: f(x)),
    "fori_loop": (lambda f, x: fc.fori_loop(0, 2, lambda i, c: f(c) + i, x), lambda f, x: f(f(x)) + 1),
    "while_loop": (lambda f, x: fc.while_loop(lambda c: (c > 9.0).any(), f, f(x)), lambda f, x: f(x)),
}
FUNCTIONS = {
    "pointwise": lambda torch: lambda x: torch.sin(x) * x,
    "layer": lambda torch: lambda x: torch.nn.functional.layer_norm(x, (4,)) * 2,
    "in place": lambda torch: lambda x: _in_place(torch, x),
    "views": lambda torch: lambda x: torch.cat([x[..., 2:], x[..., :2]], -1).reshape(x.shape) ** 2,
    "softmax": lambda torch: lambda x: torch.nn.functional.softmax(x, -1).cumsum(-1),
}


def _in_place(torch, x):
    y = torch.zeros_like(x)
    y[..., 1:] = x[..., 1:] * 3
    y.mul_(x).add_(1)
    return y


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is")  # real PyTorch's, of its forward mode
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_transforms_give_what_pytorch_gives(transform, function):
    mine, theirs = TRANSFORMS[transform]
    found = mine(FUNCTIONS[function](torch), torch.tensor(X))
    wanted = theirs(FUNCTIONS[function](real), real.tensor(X))
    assert isinstance(found, torch.Tensor) and not found.requires_grad
    np.testing.assert_allclose(found.numpy(), wanted.detach().numpy(), rtol=2e-4, atol=1e-5)


def test_what_comes_out_is_what_the_function_gives():
    t, a = torch.ones(2), fc.ones(2)
    assert isinstance(fc.jit(lambda x: fc.sin(x))(t), fc.Array)
    assert isinstance(fc.jit(lambda x: torch.sin(x))(a), torch.Tensor)
    assert isinstance(fc.grad(lambda x: torch.sin(x).sum())(a), fc.Array)
    assert isinstance(fc.grad(lambda x: fc.sin(x).sum())(t), torch.Tensor)
    both = fc.jit(lambda x, y: {"t": x, "a": fc.asarray(x) + y})(t, a)
    assert isinstance(both["t"], torch.Tensor) and isinstance(both["a"], fc.Array)


def test_parameters_are_tensors_to_trees():
    net = nn.Linear(3, 2)
    params = dict(net.named_parameters())
    grads = fc.grad(lambda p: torch.func.functional_call(net, p, torch.ones(1, 3)).sum())(params)
    new = fc.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    assert type(new["weight"]) is torch.Tensor and not new["weight"].requires_grad
    np.testing.assert_allclose(new["bias"].numpy(), net.bias.detach().numpy() - 0.1, rtol=1e-6)
    assert fc.tree.structure(params) == fc.tree.structure(grads)
    fc.scan(lambda p, _: (fc.tree.map(lambda x: x * 2, p), None), params, length=2)


def test_arrays_pass_for_tensors_where_structures_are_compared():
    y, pull = fc.vjp(torch.sin, torch.zeros(2))
    assert pull(fc.ones(2))[0].tolist() == [1.0, 1.0]
    assert fc.jvp(torch.sin, (torch.zeros(2),), (fc.ones(2),))[1].tolist() == [1.0, 1.0]
    assert fc.scan(lambda c, _: (fc.asarray(c) + 1, None), torch.zeros(()), length=3)[0].item() == 3
    assert fc.tree.map(lambda a, b: a + b, {"x": torch.ones(1)}, {"x": fc.ones(1)})["x"].tolist() == [2.0]


def test_a_signature_is_compiled_once():
    traces = []

    @fc.jit
    def f(x, y):
        traces.append(1)
        return x @ y

    for _ in range(4):
        f(torch.ones(2, 2), torch.ones(2, 2))
    f(fc.ones((2, 2)), torch.ones(2, 2))
    assert len(traces) == 2


def test_known_values_may_be_branched_on_in_eager_derivatives():
    f = lambda x: x.sum() if x.sum() > 0 else -x.sum()  # noqa: E731
    assert fc.grad(f)(torch.ones(2)).tolist() == [1.0, 1.0]
    assert fc.grad(f)(-torch.ones(2)).tolist() == [-1.0, -1.0]
    with pytest.raises(fc.errors.ConcretizationTypeError):
        fc.jit(f)(torch.ones(2))


def test_indices_may_be_traced():
    pick = fc.jit(lambda x, i: (x[i], x[i + 1 :].sum() if isinstance(i, int) else x[i, 0]))
    x = torch.arange(6.0).reshape(3, 2)
    assert pick(x, torch.tensor(2))[0].tolist() == [4.0, 5.0]
    assert fc.vmap(lambda i: x[i])(torch.tensor([2, 0])).tolist() == [[4.0, 5.0], [0.0, 1.0]]


# ---- conversions ---------------------------------------------------------------------------------


def test_conversions_share_numbers_and_writes_stay_on_one_side():
    t = torch.ones(3)
    a = fc.asarray(t, copy=False)
    assert a._value is t._value
    t.add_(1)
    assert a.tolist() == [1.0] * 3
    for make in (torch.as_tensor, torch.asarray, torch.tensor, torch.from_dlpack):
        b = make(a)
        assert b._value is a._value
        b.mul_(5)
        assert a.tolist() == [1.0] * 3 and b.tolist() == [5.0] * 3
    assert torch.as_tensor(a, dtype=torch.float64).dtype is torch.float64


def test_conversions_inside_of_traces_carry_derivatives():
    f = lambda x: fc.sum(fc.asarray(torch.as_tensor(fc.sin(x)) ** 2))  # noqa: E731
    np.testing.assert_allclose(fc.grad(f)(fc.asarray([0.3])).item(), np.sin(0.6), rtol=1e-6)


def test_each_face_takes_what_is_the_others():
    a, t = fc.asarray([1.0, -2.0]), torch.tensor([1.0, -2.0])
    assert isinstance(torch.relu(a), torch.Tensor) and torch.relu(a).tolist() == [1.0, 0.0]
    assert isinstance(fc.abs(t), fc.Array) and fc.abs(t).tolist() == [1.0, 2.0]
    assert torch.cat([a, t]).tolist() == [1.0, -2.0, 1.0, -2.0]
    assert (a + t).tolist() == (t + a).tolist() == [2.0, -4.0]
    assert F.linear(a, torch.ones(1, 2)).tolist() == [-1.0]
    assert fc.jit(lambda a, t: a * t)(fc.asarray(2.0), t).tolist() == [2.0, -4.0]


# ---- state ---------------------------------------------------------------------------------------


def test_writes_to_what_was_captured_are_refused():
    kept = torch.zeros(2)
    with pytest.raises(RuntimeError, match="mutate a captured Tensor"):
        fc.jit(lambda x: kept.add_(x))(torch.ones(2))
    assert kept.tolist() == [0.0, 0.0]
    norm = nn.BatchNorm1d(4)
    with pytest.raises(RuntimeError, match="mutate a captured Tensor"):
        fc.jit(lambda x: norm(x))(torch.tensor(X))
    assert int(norm.num_batches_tracked) == 0
    net = nn.Linear(2, 1)

    def step(x):
        net.weight.grad = x * net.weight

    with pytest.raises(RuntimeError, match="captured"):
        fc.jit(step)(torch.ones(()))
    net.weight.grad = torch.ones(1, 2)
    with pytest.raises(RuntimeError, match="captured"):
        fc.jit(lambda x: torch.optim.SGD(net.parameters(), 0.1).step())(torch.ones(()))


def test_tensors_that_are_closed_over_are_read_as_they_are_now():
    net, x = nn.Linear(4, 2), torch.tensor(X)
    f = fc.jit(lambda x: net(x).sum())
    loop = fc.jit(lambda x: fc.scan(lambda c, row: (c + f(row), None), torch.zeros(()), x)[0])
    optimizer = torch.optim.SGD(net.parameters(), 0.5)
    for _ in range(3):
        wanted = net(x).sum()
        np.testing.assert_allclose(f(x).item(), wanted.item(), rtol=1e-5)
        np.testing.assert_allclose(loop(x).item(), wanted.item(), rtol=1e-5)
        optimizer.zero_grad()
        wanted.backward()
        optimizer.step()
    scale = torch.ones(2)
    scaled = fc.jit(lambda x: fc.sum(scale) * x)
    assert scaled(fc.ones(())).item() == 2
    scale.mul_(3)
    assert scaled(fc.ones(())).item() == 6
    traces = []
    g = fc.jit(lambda x: (traces.append(1), x * net.weight[0])[1])
    for _ in range(3):
        g(x)
    assert len(traces) == 1


def test_parameters_that_are_closed_over_get_no_gradient_silently():
    net = nn.Linear(4, 2)
    f = fc.jit(lambda x: net(x).sum())
    x = torch.tensor(X, requires_grad=True)
    with pytest.raises(TypeError, match="closes over a tensor that requires a gradient"):
        f(x * 1)
    net.requires_grad_(False)
    f(x * 1).backward()
    np.testing.assert_allclose(x.grad.numpy(), np.tile(net.weight.sum(0).numpy(), (3, 1)), rtol=1e-5)


def test_writes_to_arguments_have_to_be_returned():
    x = torch.ones(2)
    with pytest.raises(RuntimeError, match="writes in place to an argument"):
        fc.jit(lambda x: x.mul_(2).sum())(x)
    assert fc.jit(lambda x: x.mul_(2))(x).tolist() == [2.0, 2.0] and x.tolist() == [1.0, 1.0]
    assert fc.jit(lambda x: x.clone().mul_(2).sum())(x).item() == 4
    assert fc.jit(lambda x: (x[0].zero_(), x)[1])(x).tolist() == [0.0, 1.0]


def test_the_tape_is_off_inside():
    with pytest.raises(RuntimeError, match="backward\\(\\) called inside"):
        fc.jit(lambda x: (x * 2).sum().backward())(torch.ones(2))
    assert fc.jit(lambda x: torch.func.grad(lambda x: (x**3).sum())(x))(torch.arange(3.0)).tolist() == [0, 3, 12]


def test_autograd_functions_keep_their_backward():
    class Tripled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor):
            ctx.save_for_backward(x)
            ctx.factor = factor
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return ctx.factor * g * x, None

    x = torch.tensor([1.0, 2.0])
    assert fc.grad(lambda x: Tripled.apply(x, 7.0).sum())(x).tolist() == [7.0, 14.0]
    assert fc.jit(fc.grad(lambda x: Tripled.apply(x, 7.0).sum()))(x).tolist() == [7.0, 14.0]
    assert fc.vmap(fc.grad(lambda x: Tripled.apply(x, 7.0)))(x).tolist() == [7.0, 14.0]


def test_custom_rules_of_the_functional_face_take_tensors():
    f = fc.custom_vjp(lambda x: torch.sin(x))
    f.defvjp(lambda x: (torch.sin(x), x), lambda x, g: (g * 3 * torch.ones_like(x),))
    assert fc.grad(lambda x: f(x).sum())(torch.ones(2)).tolist() == [3.0, 3.0]
    g = fc.custom_jvp(lambda x: torch.sin(x))
    g.defjvp(lambda x, t: (torch.sin(x[0]), 5 * t[0]))
    assert fc.grad(lambda x: g(x).sum())(torch.ones(2)).tolist() == [5.0, 5.0]


# ---- random numbers ------------------------------------------------------------------------------

DRAWS = {
    "rand": lambda x: torch.rand(2, 3),
    "randn_like": lambda x: torch.randn_like(x),
    "dropout": lambda x: F.dropout(x + 10, 0.5),
    "randperm": lambda x: torch.randperm(5),
    "randint": lambda x: torch.randint(0, 100, (4,)),
    "bernoulli": lambda x: torch.bernoulli(torch.sigmoid(x)),
    "multinomial": lambda x: torch.multinomial(torch.softmax(x, -1), 2),
    "normal_": lambda x: torch.empty(3).normal_(),
    "normal": lambda x: torch.normal(x, 2.0),
    "rsample": lambda x: torch.distributions.Normal(x, 1.0).rsample(),
    "gamma": lambda x: torch.distributions.Gamma(x.exp(), 1.0).sample(),
}


@pytest.mark.parametrize("name", DRAWS)
def test_draws_by_a_key_are_the_same_in_every_tier(name):
    def drawn(key, x):
        with faces.random_numbers(key):
            return DRAWS[name](x)

    keys = fc.random.split(fc.random.key(0))
    first, second = keys
    x = torch.tensor(X[:2, :3])
    eager, compiled, other = drawn(first, x), fc.jit(drawn)(first, x), fc.jit(drawn)(second, x)
    np.testing.assert_allclose(eager.numpy(), compiled.numpy(), rtol=1e-5)
    assert not (compiled == other).all()
    rows = fc.vmap(drawn, (0, None))(keys, x)
    np.testing.assert_allclose(rows[0].numpy(), eager.numpy(), rtol=1e-5)


@pytest.mark.parametrize("name", DRAWS)
def test_draws_of_the_generator_are_refused_where_they_would_repeat(name):
    with pytest.raises(RuntimeError, match="random_numbers"):
        fc.jit(DRAWS[name])(torch.tensor(X[:2, :3]))


def test_eager_derivatives_draw_from_the_generator():
    torch.manual_seed(3)
    found = fc.grad(lambda x: F.dropout(x, 0.5).sum())(torch.ones(8))
    torch.manual_seed(3)
    np.testing.assert_array_equal(found.numpy(), F.dropout(torch.ones(8), 0.5).numpy())


def test_uniform_numbers_by_keys_are_uniform():
    def drawn(key):
        with faces.random_numbers(key):
            return torch.rand(5)

    u = np.sort(fc.vmap(drawn)(fc.random.split(fc.random.key(5), 400)).numpy().ravel())
    assert np.abs(u - (np.arange(len(u)) + 0.5) / len(u)).max() < 1.63 / np.sqrt(len(u))  # Kolmogorov, 1 %


# ---- modules -------------------------------------------------------------------------------------


def test_modules_of_one_structure_are_one_signature():
    nets = [nn.Sequential(nn.Linear(4, 3), nn.Dropout(0.0)) for _ in range(3)]
    f = fc.jit(lambda net, x: net(x))
    for net in nets:
        np.testing.assert_allclose(f(net, torch.tensor(X)).numpy(), net(torch.tensor(X)).detach().numpy(), rtol=1e-5)
    assert len(f._jitted._signatures) == 1
    nets[0].eval()
    f(nets[0], torch.tensor(X))
    nets[1][1].p = 0.5
    with pytest.raises(RuntimeError, match="random_numbers"):  # a new trace: an attribute has changed
        f(nets[1], torch.tensor(X))


def test_shared_parameters_stay_shared():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(2, 2), nn.Linear(2, 2)
            self.b.weight = self.a.weight

        def forward(self, x):
            return self.b(self.a(x))

    net, x = Tied(), torch.ones(1, 2)
    assert len(fc.tree.leaves(net)) == 3
    grads = fc.grad(lambda net: net(x).sum())(net)
    net(x).sum().backward()
    assert grads.a.weight is grads.b.weight
    np.testing.assert_allclose(grads.a.weight.detach().numpy(), net.a.weight.grad.numpy(), rtol=1e-5)


@pytest.mark.parametrize(
    "make, shape",
    [
        (lambda nn: nn.LSTM(4, 3, 2), (5, 2, 4)),
        (lambda nn: nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True), (2, 3, 4)),
        (lambda nn: nn.Conv2d(2, 3, 3, padding=1), (1, 2, 5, 5)),
        (lambda nn: nn.MultiheadAttention(4, 2), (3, 2, 4)),
        (lambda nn: nn.Embedding(5, 3), None),
        (lambda nn: nn.utils.parametrizations.weight_norm(nn.Linear(4, 3)), (2, 4)),
    ],
)
def test_layers_as_arguments(make, shape):
    layer = make(nn)
    x = torch.tensor([[0, 4], [2, 2]]) if shape is None else torch.tensor(np.random.rand(*shape).astype(np.float32))
    args = (x, x, x) if isinstance(layer, nn.MultiheadAttention) else (x,)

    def loss(layer):
        out = layer(*args)
        return ((out[0] if isinstance(out, tuple) else out) ** 2).sum()

    value, grads = fc.jit(fc.value_and_grad(loss))(layer)
    theirs = make(real.nn)
    theirs.load_state_dict({k: real.tensor(v.detach().numpy()) for k, v in layer.state_dict().items()})
    out = theirs(*[real.tensor(a.numpy()) for a in args])
    wanted = ((out[0] if isinstance(out, tuple) else out) ** 2).sum()
    wanted.backward()
    np.testing.assert_allclose(value.item(), wanted.item(), rtol=1e-4)
    found = dict(grads.named_parameters())
    for name, p in theirs.named_parameters():
        np.testing.assert_allclose(found[name].detach().numpy(), p.grad.numpy(), rtol=2e-3, atol=1e-4)


def test_modules_of_other_leaves_keep_their_structure():
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    mask = fc.tree.map(lambda p: p.ndim > 1, net)
    assert fc.tree.leaves(mask) == [True, False, True, False]
    kept = optax.masked(optax.set_to_zero(), mask)
    updates, _ = kept.update(net, kept.init(net))
    assert not updates[0].weight.any() and (updates[1].bias == net[1].bias).all()
    axes = fc.tree.map(lambda p: 0 if p.ndim > 1 else None, dict(net.named_parameters()))
    assert axes == {"0.weight": 0, "0.bias": None, "1.weight": 0, "1.bias": None}


def test_a_jitted_function_keeps_no_parameters():
    """What it remembers of a module is its structure."""
    f = fc.jit(lambda net, x: net(x))
    net = nn.Linear(4, 3)
    f(net, torch.tensor(X))
    kept = weakref.ref(net.weight)
    del net
    gc.collect()
    assert kept() is None


def test_split_and_merge():
    net = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3))
    net[0].bias.requires_grad_(False)
    params, rest = faces.split(net)
    assert list(params) == ["0.weight", "1.weight", "1.bias"]
    assert list(rest.tensors) == ["0.bias", "1.running_mean", "1.running_var", "1.num_batches_tracked"]
    again = faces.merge(params, rest)
    assert list(again.state_dict()) == list(net.state_dict())
    again(torch.tensor(X))
    assert int(again[1].num_batches_tracked) == 1 and int(net[1].num_batches_tracked) == 0
    with pytest.raises(ValueError, match="named"):
        faces.merge({"0.weight": params["0.weight"]}, rest)
    faces.update(net, again)
    assert int(net[1].num_batches_tracked) == 1
    with pytest.raises(ValueError, match="named"):
        faces.update(net, {"2.weight": params["0.weight"]})
    with pytest.raises(TypeError, match="module"):
        faces.split(torch.ones(2))


def test_lazy_modules_are_called_first():
    with pytest.raises(ValueError, match="without a shape"):
        fc.tree.leaves(nn.LazyLinear(2))


# ---- with the tape -------------------------------------------------------------------------------


def test_jitted_functions_are_steps_of_the_tape():
    f = fc.jit(lambda x, w: torch.tanh(x @ w).sum())
    x, w = torch.tensor(X, requires_grad=True), torch.tensor(X.T.copy(), requires_grad=True)
    for _ in range(3):
        f(x * 2, w * 1).backward()
    a, b = real.tensor(X, requires_grad=True), real.tensor(X.T.copy(), requires_grad=True)
    (3 * real.tanh((a * 2) @ b).sum()).backward()
    np.testing.assert_allclose(x.grad.numpy(), a.grad.numpy(), rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(w.grad.numpy(), b.grad.numpy(), rtol=1e-3, atol=1e-5)
    assert len(f._jitted.followed) == 1


def test_jitted_functions_inside_of_torch_func():
    f = fc.jit(lambda x: (x**3).sum())
    x = torch.arange(3.0)
    assert torch.func.grad(f)(x).tolist() == [0.0, 3.0, 12.0]
    assert torch.func.vmap(f)(torch.ones(2, 3)).tolist() == [3.0, 3.0]
    assert torch.func.hessian(f)(x).diagonal().tolist() == [0.0, 6.0, 12.0]
    assert torch.func.jvp(f, (x,), (torch.ones(3),))[1].item() == 15.0


def test_other_transforms_of_what_a_tape_follows_say_so():
    x = torch.ones(2, requires_grad=True) * 2
    with pytest.raises(TypeError, match="put fc.jit around"):
        fc.grad(lambda x: (x**2).sum())(x)
    assert fc.jit(fc.grad(lambda x: (x**2).sum()))(x).requires_grad
    assert fc.grad(lambda x: (x**2).sum())(x.detach()).tolist() == [4.0, 4.0]


def test_a_tensor_that_leaves_its_trace_says_so():
    kept = []
    fc.jit(lambda x: (kept.append(x * 2), x)[1])(torch.ones(2))
    assert "Traced" in repr(kept[0])
    with pytest.raises((fc.errors.UnexpectedTracerError, fc.errors.ConcretizationTypeError)):
        kept[0] + 1
