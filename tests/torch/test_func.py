"""torch.func against PyTorch: transforms, their nesting, modules, errors."""

import gc
import random

import pytest

from functorch_core.torch.levels.levels import _living
from functorch_core.torch.tensors.active import active

from .agree import agree, ours, reference
from .test_autograd import data


def batch(torch):
    return data(torch, 4, 3, grad=False)


def vector(torch, seed=0):
    return data(torch, 3, grad=False, seed=seed)


def scalar(x):
    return (x**3).sum() + x.prod()


# ---- one transform -------------------------------------------------------------------------------

SINGLE = {
    "grad": lambda t: t.func.grad(scalar)(vector(t)),
    "grad argnums": lambda t: t.func.grad(lambda x, y: (x * y).sum(), (0, 1))(vector(t), vector(t, 1)),
    "hessian by parts of a vector": lambda t: t.func.hessian(
        lambda w: t.tanh(batch(t) @ w.split([3, 2])[0].view(3, 1) @ w.split([3, 2])[1].view(1, 2)).sum()
    )(data(t, 5, grad=False)),
    "grad of a tree": lambda t: t.func.grad(lambda p, x: (p["w"] * x + p["b"][0]).sum())(
        {"w": vector(t), "b": [vector(t, 1)]}, vector(t, 2)
    ),
    "grad unused": lambda t: t.func.grad(lambda x, y: x.sum(), 1)(vector(t), vector(t)),
    "grad has_aux": lambda t: t.func.grad(lambda x: (scalar(x), {"twice": x * 2}), has_aux=True)(vector(t)),
    "grad_and_value": lambda t: t.func.grad_and_value(scalar)(vector(t)),
    "grad kwargs": lambda t: t.func.grad(lambda x, *, y: (x * y).sum())(vector(t), y=vector(t, 1)),
    "grad of an integer output": lambda t: t.func.grad(lambda x: x.sum().long())(vector(t)),
    "vjp": lambda t: t.func.vjp(lambda x: (x.sin(), x.sum()), vector(t))[1]((vector(t, 1), t.tensor(2.0))),
    "vjp output": lambda t: t.func.vjp(lambda x: x.sin(), vector(t))[0].requires_grad,
    "vjp twice": lambda t: [t.func.vjp(t.exp, vector(t))[1](vector(t, i)) for i in (1, 2)],
    "vjp has_aux": lambda t: t.func.vjp(lambda x: (x.sin(), x * 2), vector(t), has_aux=True)[2],
    "jvp": lambda t: t.func.jvp(lambda x, y: (x * y).sin(), (vector(t), vector(t, 1)), (vector(t, 2), vector(t, 3))),
    "jvp independent": lambda t: t.func.jvp(lambda x: t.ones(2), (vector(t),), (vector(t),)),
    "jvp has_aux": lambda t: t.func.jvp(lambda x: (x.sin(), x * 2), (vector(t),), (vector(t),), has_aux=True),
    "linearize": lambda t: t.func.linearize(t.sin, vector(t))[1](vector(t, 1)),
    "jacrev": lambda t: t.func.jacrev(lambda x: x.sin() * x.sum())(vector(t)),
    "jacrev argnums": lambda t: t.func.jacrev(lambda x, y: (x * y[:2].sum(), y), (0, 1))(vector(t), vector(t, 1)),
    "jacrev chunks": lambda t: t.func.jacrev(lambda x: x.sin() * x.sum(), chunk_size=2)(vector(t)),
    "jacrev has_aux": lambda t: t.func.jacrev(lambda x: (x.sin(), x), has_aux=True)(vector(t)),
    "jacrev scalar": lambda t: t.func.jacrev(lambda x: x.sum())(vector(t)),
    "jacfwd": lambda t: t.func.jacfwd(lambda x: x.sin() * x.sum())(vector(t)),
    "jacfwd argnums": lambda t: t.func.jacfwd(lambda x, y: (x * y[:2].sum(), y), (0, 1))(vector(t), vector(t, 1)),
    "jacfwd has_aux": lambda t: t.func.jacfwd(lambda x: (x.sin(), x), has_aux=True)(vector(t)),
    "hessian": lambda t: t.func.hessian(scalar)(vector(t)),
    "hessian argnums": lambda t: t.func.hessian(lambda x, y: (x * x * y).sum(), (0, 1))(vector(t), vector(t, 1)),
    "vmap": lambda t: t.func.vmap(t.dot)(batch(t), batch(t)),
    "torch.vmap": lambda t: t.vmap(lambda x: x.sum())(batch(t)),
    "vmap in_dims": lambda t: t.vmap(lambda x, y: x * y, in_dims=(1, None))(batch(t), t.ones(4)),
    "vmap nested in_dims": lambda t: t.vmap(lambda d, z: d["x"] + d["y"][0] * z, in_dims=({"x": 0, "y": [None]}, -1))(
        {"x": batch(t), "y": [vector(t)]}, t.ones(3, 4)
    ),
    "vmap out_dims": lambda t: t.vmap(lambda x: (x, x.sum(), x.exp()), out_dims=(1, 0, -1))(batch(t)),
    "vmap out_dims None": lambda t: t.vmap(lambda x: (x, t.ones(2)), out_dims=(0, None))(batch(t)),
    "vmap of a constant": lambda t: t.vmap(lambda x: t.ones(2))(batch(t)),
    "vmap chunks": lambda t: t.vmap(lambda x: (x.sum(), x * 2), chunk_size=3, out_dims=(0, 1))(batch(t)),
    "vmap twice": lambda t: t.vmap(t.vmap(lambda x, y: x * y, (0, None)), (0, None))(batch(t), t.tensor(2.0)),
    "vmap of a matrix product": lambda t: t.vmap(lambda x, w: x @ w, (0, None))(batch(t), t.ones(3, 2)),
    "vmap kwargs": lambda t: t.vmap(lambda x, *, y: x + y.sum())(batch(t), y=vector(t)),
}


@pytest.mark.parametrize("name", SINGLE)
def test_single(name):
    agree(SINGLE[name], rtol=1e-4)


# ---- nesting -------------------------------------------------------------------------------------


def net(w, x):
    return (w * x).tanh().sum() ** 2


NESTED = {
    "grad grad": lambda t, F: F.grad(lambda x: F.grad(scalar)(x).sum())(vector(t)),
    "grad grad grad": lambda t, F: F.grad(F.grad(F.grad(lambda x: x**4)))(t.tensor(2.0)),
    "vmap grad": lambda t, F: F.vmap(F.grad(scalar))(batch(t)),
    "per-example, argument": lambda t, F: F.vmap(F.grad(net), (None, 0))(vector(t), batch(t)),
    "per-example, captured": lambda t, F: F.vmap(lambda x: F.grad(net)(vector(t), x))(batch(t)),
    "per-example, grad of captured tree": lambda t, F: F.vmap(
        lambda x: F.grad(lambda p: net(p["w"], x))({"w": vector(t)})
    )(batch(t)),
    "vmap grad_and_value": lambda t, F: F.vmap(F.grad_and_value(net), (None, 0))(vector(t), batch(t)),
    "grad vmap": lambda t, F: F.grad(lambda w: F.vmap(net, (None, 0))(w, batch(t)).sum())(vector(t)),
    "vmap vmap grad": lambda t, F: F.vmap(F.vmap(F.grad(net), (None, 0)), (0, None))(batch(t), batch(t)),
    "vmap grad vmap": lambda t, F: F.vmap(F.grad(lambda x: F.vmap(lambda y: (y * x).sin().sum())(batch(t)).sum()))(
        batch(t)
    ),
    "vmap grad grad": lambda t, F: F.vmap(F.grad(lambda x: F.grad(scalar)(x).sum()))(batch(t)),
    "vmap jacrev": lambda t, F: F.vmap(F.jacrev(lambda x: x.sin() * x.sum()))(batch(t)),
    "vmap jacfwd": lambda t, F: F.vmap(F.jacfwd(lambda x: x.sin() * x.sum()))(batch(t)),
    "vmap hessian": lambda t, F: F.vmap(F.hessian(scalar))(batch(t)),
    "jacrev jacrev": lambda t, F: F.jacrev(F.jacrev(scalar))(vector(t)),
    "jacfwd jacfwd": lambda t, F: F.jacfwd(F.jacfwd(scalar))(vector(t)),
    "jacrev jacfwd": lambda t, F: F.jacrev(F.jacfwd(scalar))(vector(t)),
    "jvp grad": lambda t, F: F.jvp(F.grad(scalar), (vector(t),), (vector(t, 1),)),
    "grad jvp": lambda t, F: F.grad(lambda x: F.jvp(scalar, (x,), (vector(t, 1),))[1])(vector(t)),
    "jvp jvp": lambda t, F: F.jvp(lambda x: F.jvp(scalar, (x,), (vector(t, 1),))[1], (vector(t),), (vector(t, 2),)),
    "jvp grad vmap": lambda t, F: F.jvp(
        F.grad(lambda w: F.vmap(net, (None, 0))(w, batch(t)).sum()), (vector(t),), (vector(t, 1),)
    ),
    "vmap jvp grad": lambda t, F: F.vmap(lambda x: F.jvp(F.grad(scalar), (x,), (vector(t),)))(batch(t)),
    "jvp vmap grad": lambda t, F: F.jvp(F.vmap(F.grad(scalar)), (batch(t),), (batch(t) * 2,)),
    "grad of vjp": lambda t, F: F.grad(lambda v: F.vjp(t.exp, vector(t))[1](v)[0].pow(2).sum())(vector(t, 1)),
    "vmap of vjp_fn": lambda t, F: F.vmap(F.vjp(lambda x: x.sin() * x.sum(), vector(t))[1])(t.eye(3)),
    "grad of a per-example norm": lambda t, F: F.grad(
        lambda w: F.vmap(F.grad(net), (None, 0))(w, batch(t)).pow(2).sum()
    )(vector(t)),
    "hessian of a mean over vmap": lambda t, F: F.hessian(lambda w: F.vmap(net, (None, 0))(w, batch(t)).mean())(
        vector(t)
    ),
}


@pytest.mark.parametrize("name", NESTED)
def test_nested(name):
    agree(lambda t: NESTED[name](t, t.func), rtol=1e-3, atol=1e-4)


# ---- with the tape -------------------------------------------------------------------------------


def test_results_are_on_the_tape_of_captured_tensors():
    def program(torch):
        w = data(torch, 3)
        g = torch.func.grad(lambda x: (x * x * w).sum())(vector(torch))
        g.sum().backward()
        return g, g.requires_grad, w.grad

    agree(program)


def test_inputs_that_require_grad():
    def program(torch):
        x = data(torch, 3)
        g = torch.func.grad(scalar)(x)
        y, pull = torch.func.vjp(torch.sin, x)
        (g.sum() + y.sum() + pull(torch.ones(3))[0].sum()).backward()
        return x.grad

    agree(program)


def test_results_are_free_of_finished_functions():
    def program(torch):
        x = vector(torch)
        return (
            torch.func.grad(scalar)(x).requires_grad,
            torch.func.grad_and_value(scalar)(x)[1].requires_grad,
            torch.func.grad(lambda x: torch.func.grad(scalar)(x).sum())(x).requires_grad,
        )

    agree(program)


def test_grad_mode_outside_does_not_matter():
    def program(torch):
        w = data(torch, 3)
        with torch.no_grad():
            g = torch.func.grad(lambda x: (x * x * w).sum())(vector(torch))
            j = torch.func.jacrev(lambda x: x * w)(vector(torch))
        return g, g.requires_grad, j.requires_grad

    agree(program)


def test_no_grad_inside_matters():
    def program(torch):
        def f(x):
            with torch.no_grad():
                c = x * x
            return (c * x).sum()

        return torch.func.grad(f)(vector(torch)), torch.vmap(torch.func.grad(f))(batch(torch))

    agree(program)


def test_detach_inside():
    def program(torch):
        f = lambda x: (x.detach() * x).sum()  # noqa: E731
        return (
            torch.func.grad(f)(vector(torch)),
            torch.vmap(torch.func.grad(f))(batch(torch)),
            torch.func.jvp(f, (vector(torch),), (vector(torch),)),
        )

    agree(program)


def test_backward_through_vmap():
    def program(torch):
        x, w = data(torch, 4, 3), data(torch, 3, seed=1)
        torch.vmap(lambda x: (x * w).sin().sum())(x).sum().backward()
        return x.grad, w.grad

    agree(program)


def test_meta_learning():
    def program(torch):
        w = data(torch, 3)

        def inner(task):
            fast = w - 0.1 * torch.func.grad(net)(w, task)
            return net(fast, task)

        torch.vmap(inner)(batch(torch)).sum().backward()
        return w.grad

    agree(program, rtol=1e-3, atol=1e-4)


def test_data_dependent_branches_inside_grad():
    def program(torch):
        f = lambda x: (x * 2 if x.sum() > 0 else x * 3).sum()  # noqa: E731
        return (
            torch.func.grad(f)(vector(torch)),
            torch.func.grad(f)(-vector(torch)),
            torch.func.jvp(f, (vector(torch),), (vector(torch),)),
        )

    agree(program)


def test_autograd_grad_inside_func_grad():
    def program(torch):
        def f(x):
            y = (x**3).sum()
            return torch.autograd.grad(y, x, create_graph=True)[0].sum()

        return torch.func.grad(f)(vector(torch)), torch.vmap(torch.func.grad(f))(batch(torch))

    agree(program)


# ---- views and writing inside --------------------------------------------------------------------

WRITING = {
    "own": lambda t, x: t.zeros_like(x).add_(x).mul_(2),
    "clone, index": lambda t, x: _indexed(x.clone()),
    "view": lambda t, x: _viewed(x.clone()),
    "view of an intermediate": lambda t, x: _viewed(x * 2),
    "setitem": lambda t, x: _set(x.clone(), x.sum()),
    "out of a loop": lambda t, x: _loop(t, x),
    "new_zeros": lambda t, x: _set(x.new_zeros(3), x[0]),
}


def _indexed(y):
    y[1] *= 3
    return y


def _viewed(y):
    v = y.view(1, 3)[0, 1:]
    v.add_(1)
    y[0] = 5
    return y * v.sum()


def _set(y, value):
    y[..., 1] = value
    return y


def _loop(t, x):
    for i in range(3):
        x = x + x[i]
    return x


@pytest.mark.parametrize("transform", ["vmap", "grad", "vmap grad", "jvp"])
@pytest.mark.parametrize("name", WRITING)
def test_writing(name, transform):
    def program(torch):
        F = torch.func
        f = lambda x: WRITING[name](torch, x)  # noqa: E731
        total = lambda x: (f(x) ** 2).sum()  # noqa: E731
        if transform == "vmap":
            return F.vmap(f)(batch(torch))
        if transform == "grad":
            return F.grad(total)(vector(torch))
        if transform == "jvp":
            return F.jvp(f, (vector(torch),), (vector(torch, 1),))
        return F.vmap(F.grad(total))(batch(torch))

    agree(program, rtol=1e-4)


def test_vmap_writes_to_its_arguments():
    def program(torch):
        x = batch(torch)
        return torch.vmap(lambda x: x.mul_(2).sum())(x), x

    agree(program)


def test_unbatched_tensors_cannot_take_a_batch():
    agree(lambda torch: torch.vmap(lambda x: torch.zeros(3).add_(x))(batch(torch)))


# ---- random numbers ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "draw", ["rand", "randn", "randint", "randperm", "dropout", "bernoulli", "normal_", "rand_like"]
)
@pytest.mark.parametrize("randomness", ["same", "different"])
def test_randomness(draw, randomness):
    torch = ours
    draws = {
        "rand": lambda x: torch.rand(20),
        "randn": lambda x: torch.randn(20),
        "randint": lambda x: torch.randint(1000, (20,)),
        "randperm": lambda x: torch.randperm(20),
        "dropout": lambda x: torch.nn.functional.dropout(torch.ones(20), 0.5),
        "bernoulli": lambda x: torch.bernoulli(torch.full((20,), 0.5)),
        "normal_": lambda x: (x.expand(20) * 1 if randomness == "different" else torch.zeros(20)).normal_(),
        "rand_like": lambda x: torch.rand_like(torch.zeros(20)),
    }
    out = torch.vmap(draws[draw], randomness=randomness)(torch.zeros(5))
    assert out.shape == (5, 20)
    rows = {tuple(row) for row in out.tolist()}
    assert len(rows) == (1 if randomness == "same" else 5)


def test_randomness_error():
    agree(lambda torch: torch.vmap(lambda x: x + torch.rand(3))(batch(torch)), messages=True)


def test_dropout_of_a_batch():
    x = ours.ones(6, 50)
    out = ours.vmap(ours.nn.functional.dropout, randomness="different")(x)
    assert len({tuple(row) for row in out.tolist()}) == 6
    shared = ours.vmap(ours.nn.functional.dropout, randomness="same")(x)
    assert len({tuple(row) for row in shared.tolist()}) == 1


# ---- modules -------------------------------------------------------------------------------------


def _module(torch):
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
    with torch.no_grad():
        for i, p in enumerate(net.parameters()):
            p.copy_(data(torch, *p.shape, grad=False, seed=i))
    return net


def test_functional_call():
    def program(torch):
        net = _module(torch)
        params = {k: v.detach() * 2 for k, v in net.named_parameters()}
        out = torch.func.functional_call(net, params, (batch(torch),))
        return out, net(batch(torch)), torch.func.functional_call(net, {"0.bias": torch.zeros(4)}, batch(torch))

    agree(program)


def test_per_example_gradients_of_a_module():
    def program(torch):
        net = _module(torch)
        params = {k: v.detach() for k, v in net.named_parameters()}

        def loss(params, x, y):
            out = torch.func.functional_call(net, params, (x.unsqueeze(0),))
            return ((out - y) ** 2).sum()

        return torch.vmap(torch.func.grad(loss), (None, 0, 0))(params, batch(torch), data(torch, 4, 2, grad=False))

    agree(program, rtol=1e-4)


def test_ensembles():
    def program(torch):
        nets = [_module(torch) for _ in range(3)]
        params, buffers = torch.func.stack_module_state(nets)

        def call(params, buffers, x):
            return torch.func.functional_call(nets[0], (params, buffers), (x,))

        out = torch.vmap(call, (0, 0, None))(params, buffers, batch(torch))
        out.sum().backward()
        return out, {k: v.grad for k, v in params.items()}

    agree(program, rtol=1e-4)


def test_functionalize_and_debug_unwrap():
    def program(torch):
        seen = []

        def f(x):
            seen.append(torch.func.debug_unwrap(x).shape)
            return x.clone().add_(1)

        return torch.func.functionalize(torch.vmap(f))(batch(torch)), seen

    agree(program)


# ---- errors --------------------------------------------------------------------------------------

ERRORS = {
    "branch in vmap": lambda t: t.vmap(lambda x: x if x.sum() > 0 else -x)(batch(t)),
    "item in vmap": lambda t: t.vmap(lambda x: x.sum().item())(batch(t)),
    "no tensor": lambda t: t.vmap(_two)(batch(t)),
    "sizes": lambda t: t.vmap(_first)(t.ones(3), t.ones(2)),
    "in_dim": lambda t: t.vmap(_identity, in_dims=3)(batch(t)),
    "in_dims type": lambda t: t.vmap(_identity, in_dims="a")(batch(t)),
    "in_dims structure": lambda t: t.vmap(_first, in_dims=(0,))(batch(t), 2),
    "not a tensor": lambda t: t.vmap(_identity)(2),
    "no arguments": lambda t: t.vmap(_identity)(),
    "out_dims structure": lambda t: t.vmap(_pair, out_dims=(0,))(batch(t)),
    "out_dims type": lambda t: t.vmap(_identity, out_dims="a")(batch(t)),
    "out_dim": lambda t: t.vmap(_identity, out_dims=5)(t.ones(3)),
    "chunk_size": lambda t: t.vmap(_identity, chunk_size=-1),
    "randomness": lambda t: t.vmap(_identity, randomness="some"),
    "not a scalar": lambda t: t.func.grad(_identity)(vector(t)),
    "grad of no tensor": lambda t: t.func.grad(_two)(vector(t)),
    "grad of integers": lambda t: t.func.grad(_identity)(t.ones(3, dtype=t.int64)),
    "argnums": lambda t: t.func.grad(_identity, argnums=1)(vector(t)),
    "cotangent structure": lambda t: t.func.vjp(_pair, vector(t))[1](vector(t)),
    "cotangent shape": lambda t: t.func.vjp(_identity, vector(t))[1](t.ones(2)),
    "primals": lambda t: t.func.jvp(_identity, vector(t), vector(t)),
    "tangent shape": lambda t: t.func.jvp(_identity, (vector(t),), (t.ones(2),)),
    "jvp of no tensor": lambda t: t.func.jvp(_two, (vector(t),), (vector(t),)),
    "requires_grad_": lambda t: t.func.grad(lambda x: t.ones(1).requires_grad_())(vector(t)),
    "backward": lambda t: t.func.grad(lambda x: x.sum().backward())(vector(t)),
    "autograd.grad in vmap": lambda t: t.vmap(lambda x: t.autograd.grad(x.sum(), x))(data(t, 4, 3)),
}


def _identity(x):
    return x


def _first(x, y):
    return x


def _pair(x):
    return x, x


def _two(x):
    return 2


@pytest.mark.parametrize("name", ERRORS)
def test_error(name):
    agree(ERRORS[name], messages=name not in ("jvp of no tensor",))


# ---- random compositions -------------------------------------------------------------------------


def functions(t):
    """Functions of a vector of three to another."""
    return [
        lambda x: x.sin() * x.sum() + x**3 * 0.1,
        lambda x: t.stack([x[0] * x[1], x[2].exp() * 0.3, (x * x).sum()]),
        lambda x: t.softmax(x, 0).cumsum(0) * x.logsumexp(0),
    ]


def transforms(t):
    """From a function of a vector of three to another to one of the same kind."""
    F = t.func
    v = t.tensor([0.3, -0.7, 0.5], dtype=t.float64)
    s = t.tensor([[1.0, 0.5, 2.0], [0.2, 1.1, -0.4]], dtype=t.float64)
    return [
        lambda f: lambda x: F.grad(lambda y: (f(y) * v).sum())(x),
        lambda f: lambda x: F.vmap(lambda s: f(x * s))(s).sum(0),
        lambda f: lambda x: F.jvp(f, (x,), (v,))[1],
        lambda f: lambda x: F.jvp(lambda y: f(y * x), (x,), (x * v,))[1],
        lambda f: lambda x: F.jacrev(f)(x) @ v,
        lambda f: lambda x: F.jacfwd(f)(x).sum(0),
        lambda f: lambda x: F.vjp(f, x)[1](v * x)[0],
        lambda f: lambda x: F.vmap(lambda s: F.grad(lambda w: f(w * s).sum())(x))(s).mean(0),
        lambda f: lambda x: F.vmap(F.grad(lambda w, s: (f(w) * s).sum()), (None, 0))(x, s).sum(0),
        lambda f: lambda x: F.vmap(F.vjp(f, x)[1])(s)[0].sum(0),
        lambda f: lambda x: F.hessian(lambda y: (f(y) * x).sum())(x) @ v,
    ]


@pytest.mark.parametrize("seed", range(40))
def test_random_composition(seed):
    rng = random.Random(seed)
    which, chosen = rng.randrange(3), [rng.randrange(11) for _ in range(rng.choice([2, 2, 3]))]
    where = [rng.uniform(-1, 1) for _ in range(3)]

    def program(torch):
        f = functions(torch)[which]
        for i in chosen:
            f = transforms(torch)[i](f)
        x = torch.tensor(where, dtype=torch.float64, requires_grad=seed % 3 == 0)
        if seed % 3 == 1:
            return torch.vmap(f)(torch.stack([x, x * 0.5]))
        y = f(x)
        if seed % 3 == 0:
            y.sum().backward()
        return y, x.grad

    agree(program, rtol=1e-6, atol=1e-8)


# ---- arguments that a function writes to ---------------------------------------------------------

WRITES = {
    "scaled": lambda x, y: (x * y.mul_(2)).sum(),
    "summed": lambda x, y: (x * y.add_(x)).sum(),
    "sliced": lambda x, y: (y.__setitem__(slice(1, None), x[:2]), (x * y * y).sum())[1],
    "copied": lambda x, y: y.copy_(x * x).view(-1).sum(),
}


def written(t, name: str) -> list:
    """Derivatives by the first argument, and what the second is afterwards."""
    f, x, made = WRITES[name], t.tensor([1.0, 2.0, 3.0]), []
    calls = {
        "grad": lambda y: t.func.grad(f)(x, y),
        "value": lambda y: t.func.grad_and_value(f)(x, y),
        "aux": lambda y: t.func.grad(lambda x, y: (f(x, y), y), has_aux=True)(x, y),
        "twice": lambda y: t.func.grad(lambda x, y: t.func.grad(f)(x, y).sum() + y.sum())(x, y),
        "jacobian": lambda y: t.func.jacrev(t.func.grad(f))(x, y),
        "tree": lambda y: t.func.grad(lambda x, d, k=None: f(x, d["y"]) + k.add_(1).sum())(x, {"y": y}, k=y.clone()),
        "output": lambda y: t.func.jacrev(lambda x, y: (f(x, y), y)[1])(x, y),
    }
    for call in calls.values():
        y = t.full((3,), 2.0)
        made.append((call(y), y.tolist(), y.requires_grad))
    outer, y = t.tensor([1.0, 2.0, 3.0], requires_grad=True), t.full((3,), 2.0)
    (t.func.grad(f)(outer, y) * outer).sum().backward()
    with pytest.raises(RuntimeError):
        t.func.grad(lambda x, y: (f(x, y), y)[1])(x, y)  # fails after it has written
    return [*made, outer.grad, y.tolist(), y.is_leaf]


@pytest.mark.parametrize("name", WRITES)
def test_writes_to_arguments_that_nothing_is_differentiated_by(name):
    assert repr(written(ours, name)) == repr(written(reference, name))


def test_buffers_that_a_module_writes_to():
    def program(t):
        model = t.nn.Sequential(t.nn.Linear(2, 2), t.nn.BatchNorm1d(2))
        for p in model.parameters():
            p.data.fill_(0.5)
        buffers = {name: b.clone() for name, b in model.named_buffers()}

        def loss(params, buffers, x):
            return t.func.functional_call(model, (params, buffers), (x,)).square().sum()

        params = {name: p.detach() for name, p in model.named_parameters()}
        grads = t.func.grad(loss)(params, buffers, t.arange(6.0).reshape(3, 2))
        rounded = {name: [round(v, 3) + 0.0 for v in g.flatten().tolist()] for name, g in grads.items()}
        return rounded, {name: b.tolist() for name, b in buffers.items()}

    assert program(ours) == program(reference)


def test_ops_ask_for_levels_while_there_are_some():
    gc.collect()
    before, left = len(_living), []
    ours.func.vmap(lambda x: left.append(x) or x * 2)(batch(ours))
    assert len(_living) > before and active.levels is not None  # what is left may meet any op
    assert (left[0] + 1).shape == (3,)
    left.clear()
    assert len(_living) == before
    for transform in (ours.func.grad, ours.func.jacfwd, ours.func.jacrev, ours.func.hessian):
        assert transform(scalar)(vector(ours)) is not None
        assert len(_living) == before
    with ours.autograd.forward_ad.dual_level():
        dual = ours.autograd.forward_ad.make_dual(vector(ours), vector(ours, 1))
    assert len(_living) > before
    assert (dual * 2).tolist() == (vector(ours) * 2).tolist()
    del dual
    assert len(_living) == before and (active.levels is None) == (before == 0)


def test_transforms_in_inference_mode():
    """What a transform differentiates is a tensor of its own, whatever mode made the one that it is given."""

    def program(t):
        with t.inference_mode():
            y = t.tensor([1.0, 2.0])
            found = [t.func.grad(lambda v: (v * y).sin().sum())(y * 2), t.func.hessian(lambda v: (v**3).sum())(y)]
            found.append(t.func.vmap(t.func.grad(lambda v: (v * y).tanh().sum()))(t.stack([y, y])))
        return [*found, t.func.grad(lambda v: (v * y).sin().sum())(y)]

    agree(program)


def test_parameters_made_in_transforms():
    """They are of the level of what they are made of: the sum of a parameter in vmap was that of the whole batch."""

    def program(t):
        x = t.arange(6.0).reshape(3, 2)
        return (
            t.vmap(lambda v: t.nn.Parameter(v).sum())(x),
            t.vmap(lambda v: t.nn.Parameter(v, requires_grad=False) * v.shape[0])(x),
            t.vmap(lambda v: t.nn.functional.linear(t.ones(2), t.nn.Parameter(v[None])))(x),
            t.func.jvp(lambda v: t.nn.Parameter(v) * 2, (x,), (x,)),
            t.func.grad(lambda v: (t.nn.Parameter(v) * 2).sum())(x),
        )

    agree(program)
