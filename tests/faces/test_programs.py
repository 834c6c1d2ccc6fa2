"""Programs that use both faces together, each against the same computation in real PyTorch."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import functorch_core as fc
from functorch_core import faces, nn, optax, torch

real = pytest.importorskip("torch")


def numbers(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def twin(module, theirs):
    """The weights and buffers of a module in a module of real PyTorch."""
    theirs.load_state_dict({name: real.tensor(x.detach().numpy()) for name, x in module.state_dict().items()})
    return theirs


def mlp(nn, *sizes, activation="Tanh"):
    layers: list = []
    for n, m in zip(sizes, sizes[1:]):
        layers += [nn.Linear(n, m), getattr(nn, activation)()]
    return nn.Sequential(*layers[:-1])


def close(found, wanted, rtol=2e-4, atol=2e-5):
    found = found.detach().numpy() if isinstance(found, torch.Tensor) else np.asarray(found)
    np.testing.assert_allclose(found, wanted.detach().numpy(), rtol=rtol, atol=atol)


def test_gradients_of_each_example_clipped_and_averaged():
    """Private training: vmap(grad) of a module, optax's clipping; a loop over examples in PyTorch."""
    net, x, y = mlp(nn, 3, 5, 1), numbers(0, 6, 3), numbers(1, 6, 1)
    theirs = twin(net, mlp(real.nn, 3, 5, 1))
    params = {name: p.detach() for name, p in net.named_parameters()}

    def loss(params, x, y):
        return ((torch.func.functional_call(net, params, x) - y) ** 2).sum()

    @fc.jit
    def clipped(params, x, y):
        total, n = optax.per_example_global_norm_clip(fc.vmap(fc.grad(loss), (None, 0, 0))(params, x, y), 0.5)
        return fc.tree.map(lambda g: g / len(x), total), n

    found, n_clipped = clipped(params, torch.tensor(x), torch.tensor(y))
    wanted, n_wanted = dict.fromkeys(params, 0), 0
    for xi, yi in zip(real.tensor(x), real.tensor(y)):
        theirs.zero_grad()
        ((theirs(xi) - yi) ** 2).sum().backward()
        norm = real.sqrt(sum((p.grad**2).sum() for p in theirs.parameters()))
        n_wanted += int(norm > 0.5)
        for name, p in theirs.named_parameters():
            wanted[name] = wanted[name] + p.grad * min(1.0, 0.5 / norm.item()) / len(x)
    assert int(n_clipped) == n_wanted
    for name in params:
        close(found[name], wanted[name])


def test_training_a_module_by_optax_in_one_program():
    """A module's parameters, AdamW by a schedule, the whole training in one scan; a loop in PyTorch."""
    net, x, y = mlp(nn, 2, 8, 1), numbers(0, 4, 16, 2), numbers(1, 4, 16, 1)
    theirs = twin(net, mlp(real.nn, 2, 8, 1))
    params, rest = faces.split(net)
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(optax.linear_schedule(1e-2, 0.0, 12)))

    def step(carry, batch):
        params, state = carry
        loss, grads = fc.value_and_grad(lambda p: nn.functional.mse_loss(faces.merge(p, rest)(batch[0]), batch[1]))(
            params
        )
        updates, state = optimizer.update(grads, state, params)
        return (optax.apply_updates(params, updates), state), loss

    train = fc.jit(lambda carry, data: fc.scan(step, carry, data))
    batches = torch.tensor(np.tile(x, (2, 1, 1))), torch.tensor(np.tile(y, (2, 1, 1)))
    (params, _), losses = train((params, optimizer.init(params)), batches)
    faces.update(net, params)

    reference = real.optim.AdamW(theirs.parameters(), lr=1e-2, weight_decay=1e-4)
    schedule = real.optim.lr_scheduler.LambdaLR(reference, lambda i: max(1 - i / 12, 0.0))
    for i in range(8):
        reference.zero_grad()
        loss = real.nn.functional.mse_loss(theirs(real.tensor(x[i % 4])), real.tensor(y[i % 4]))
        loss.backward()
        real.nn.utils.clip_grad_norm_(theirs.parameters(), 1.0)
        reference.step()
        schedule.step()
        close(losses[i], loss)
    for p, q in zip(net.parameters(), theirs.parameters()):
        close(p, q)


def test_a_differential_equation_by_a_module():
    """u'' of a network by jvp of jvp, the gradient of the residual by its weights; double backward in PyTorch."""
    net, x = mlp(nn, 1, 6, 1), np.linspace(-1, 1, 9, dtype=np.float32)
    theirs = twin(net, mlp(real.nn, 1, 6, 1))

    def residual(net, x):
        u = lambda x: net(x.reshape(1, 1)).reshape(())  # noqa: E731
        slope = lambda x: fc.jvp(u, (x,), (torch.ones(()),))[1]  # noqa: E731
        return fc.jvp(slope, (x,), (torch.ones(()),))[1] + u(x)

    @fc.jit
    def loss(net, x):
        return (fc.vmap(residual, (None, 0))(net, x) ** 2).mean()

    value, grads = fc.value_and_grad(loss)(net, torch.tensor(x))
    points = real.tensor(x, requires_grad=True)
    u = theirs(points[:, None])[:, 0]
    (slope,) = real.autograd.grad(u.sum(), points, create_graph=True)
    (curvature,) = real.autograd.grad(slope.sum(), points, create_graph=True)
    wanted = ((curvature + u) ** 2).mean()
    wanted.backward()
    close(value, wanted)
    for p, q in zip(grads.parameters(), theirs.parameters()):
        close(p, q.grad)


def test_a_recurrence_of_a_cell_as_scan():
    """A GRU's cell as the body of a scan, and the gradient through time; nn.GRU in PyTorch."""
    cell, x = nn.GRUCell(3, 4), numbers(0, 7, 2, 3)
    theirs = real.nn.GRU(3, 4)
    theirs.load_state_dict({f"{name}_l0": real.tensor(p.detach().numpy()) for name, p in cell.named_parameters()})

    @fc.jit
    def loss(cell, x):
        def step(h, x):
            h = cell(x, h)
            return h, h

        last, states = fc.scan(step, torch.zeros(2, 4), x)
        return (states**2).sum() + last.sum(), states

    (value, states), grads = fc.value_and_grad(loss, has_aux=True)(cell, torch.tensor(x))
    wanted_states, last = theirs(real.tensor(x))
    wanted = (wanted_states**2).sum() + last.sum()
    wanted.backward()
    close(value, wanted)
    close(states, wanted_states)
    for name, p in grads.named_parameters():
        close(p, getattr(theirs, f"{name}_l0").grad)


def test_running_statistics_are_carried():
    """Batch normalization trained in a jitted step that takes and returns the module."""
    net, x = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 1)), numbers(0, 3, 8, 3)
    theirs = twin(net, real.nn.Sequential(*[copy_of(layer) for layer in net]))
    start = net[1].running_mean.clone()

    @fc.jit
    def step(net, x):
        params, rest = faces.split(net)

        def loss(params):
            net = faces.merge(params, rest)
            return (net(x) ** 2).mean(), net

        (value, net), grads = fc.value_and_grad(loss, has_aux=True)(params)
        new, _ = faces.split(net)
        return value, faces.update(net, fc.tree.map(lambda p, g: p - 0.1 * g, new, grads))

    model = net
    reference = real.optim.SGD(theirs.parameters(), lr=0.1)
    for batch in x:
        value, model = step(model, torch.tensor(batch))
        reference.zero_grad()
        wanted = (theirs(real.tensor(batch)) ** 2).mean()
        wanted.backward()
        reference.step()
        close(value, wanted)
    assert (net[1].running_mean == start).all()  # the one that went in is as it was
    faces.update(net, model)
    for name, value in net.state_dict().items():
        close(value.float(), theirs.state_dict()[name].float())


def copy_of(layer):
    kinds = {"Linear": ("in_features", "out_features"), "BatchNorm1d": ("num_features",), "ReLU": ()}
    name = type(layer).__name__
    return getattr(real.nn, name)(*[getattr(layer, k) for k in kinds[name]])


def test_an_ensemble_is_one_module_with_an_axis():
    """Four networks trained at once by vmap over stacked modules; one after the other in PyTorch."""
    nets, x, y = [mlp(nn, 2, 4, 1) for _ in range(4)], numbers(0, 10, 2), numbers(1, 10, 1)
    theirs = [twin(net, mlp(real.nn, 2, 4, 1)) for net in nets]
    stacked = fc.tree.map(lambda *leaves: fc.stack(leaves), *nets)
    optimizer = optax.pytorch.sgd(lr=0.1, momentum=0.9)

    def step(net, state, x, y):
        grads = fc.grad(lambda net: nn.functional.mse_loss(net(x), y))(net)
        updates, state = optimizer.update(grads, state, net)
        return optax.apply_updates(net, updates), state

    steps = fc.jit(fc.vmap(step, (0, 0, None, None)))
    state = fc.vmap(optimizer.init)(stacked)
    for _ in range(3):
        stacked, state = steps(stacked, state, torch.tensor(x), torch.tensor(y))
    for i, net in enumerate(theirs):
        reference = real.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
        for _ in range(3):
            reference.zero_grad()
            real.nn.functional.mse_loss(net(real.tensor(x)), real.tensor(y)).backward()
            reference.step()
        mine = fc.tree.map(lambda leaf, i=i: leaf[i], stacked)
        for p, q in zip(mine.parameters(), net.parameters()):
            close(p, q)


def test_learning_to_learn_through_a_step():
    """MAML: the gradient through an inner step, tasks by vmap; create_graph in PyTorch."""
    net = mlp(nn, 1, 5, 1)
    theirs = twin(net, mlp(real.nn, 1, 5, 1))
    xs, ys = numbers(0, 3, 6, 1), numbers(1, 3, 6, 1)
    params, rest = faces.split(net)

    def loss(params, x, y):
        return ((faces.merge(params, rest)(x) - y) ** 2).mean()

    def adapted_loss(params, x, y):
        grads = fc.grad(loss)(params, x, y)
        return loss(fc.tree.map(lambda p, g: p - 0.1 * g, params, grads), x, y)

    meta = fc.jit(fc.grad(lambda p, x, y: fc.vmap(adapted_loss, (None, 0, 0))(p, x, y).mean()))
    found = meta(params, torch.tensor(xs), torch.tensor(ys))
    total = 0.0
    weights = dict(theirs.named_parameters())
    for x, y in zip(real.tensor(xs), real.tensor(ys)):
        inner = ((theirs(x) - y) ** 2).mean()
        grads = real.autograd.grad(inner, list(weights.values()), create_graph=True)
        moved = {name: p - 0.1 * g for (name, p), g in zip(weights.items(), grads)}
        total = total + ((real.func.functional_call(theirs, moved, (x,)) - y) ** 2).mean() / 3
    total.backward()
    for name, p in weights.items():
        close(found[name], p.grad)


def test_gauss_newton_by_torch_linalg():
    """The Jacobian of residuals by parameters, a solve of torch.linalg in the same program; torch.func in PyTorch."""
    net, x, y = mlp(nn, 2, 3, 1), numbers(0, 12, 2), numbers(1, 12)
    theirs = twin(net, mlp(real.nn, 2, 3, 1))
    params, rest = faces.split(net)
    names = list(params)

    @fc.jit
    def newton_step(params, x, y):
        def residuals(params):
            return faces.merge(params, rest)(x)[:, 0] - y

        jacobian = fc.jacrev(residuals)(params)
        rows = torch.cat([jacobian[name].reshape(len(x), -1) for name in names], 1)
        return torch.linalg.solve(rows.T @ rows + 0.1 * torch.eye(rows.shape[1]), rows.T @ residuals(params))

    found = newton_step(params, torch.tensor(x), torch.tensor(y))
    weights = {name: p.detach() for name, p in theirs.named_parameters()}

    def residuals(weights):
        return real.func.functional_call(theirs, weights, (real.tensor(x),))[:, 0] - real.tensor(y)

    jacobian = real.func.jacrev(residuals)(weights)
    rows = real.cat([jacobian[name].reshape(len(x), -1) for name in names], 1)
    wanted = real.linalg.solve(rows.T @ rows + 0.1 * real.eye(rows.shape[1]), rows.T @ residuals(weights))
    close(found, wanted, rtol=2e-3, atol=2e-4)


def test_a_jitted_function_in_a_training_loop_of_pytorch():
    """A layer with a fixed point, solved by fc.while_loop and differentiated by fc.custom_root's way, on the tape of
    a training loop with a class of torch.optim; backward through the unrolled iteration in PyTorch."""
    net, x, y = nn.Linear(3, 3), numbers(0, 5, 3), numbers(1, 5, 3)
    with torch.no_grad():
        net.weight.mul_(0.3)
    theirs = twin(net, real.nn.Linear(3, 3))

    @fc.jit
    def fixed_point(weight, bias, x):
        return fc.fori_loop(0, 30, lambda i, z: torch.tanh(z @ weight.T + bias + x), torch.zeros_like(x))

    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    reference = real.optim.SGD(theirs.parameters(), lr=0.1, momentum=0.9)
    for _ in range(3):
        optimizer.zero_grad()
        loss = ((fixed_point(net.weight * 1, net.bias * 1, torch.tensor(x)) - torch.tensor(y)) ** 2).mean()
        loss.backward()
        optimizer.step()
        reference.zero_grad()
        z = real.zeros(5, 3)
        for _ in range(30):
            z = real.tanh(theirs(z) + real.tensor(x))
        wanted = ((z - real.tensor(y)) ** 2).mean()
        wanted.backward()
        reference.step()
        close(loss, wanted)
    for p, q in zip(net.parameters(), theirs.parameters()):
        close(p, q)


def test_a_variational_posterior_by_keys():
    """The gradient of an expectation by reparametrized samples of torch.randn, keys split over a vmap. The
    expectation of (mu + s e)**2 is mu**2 + s**2: its gradient is known."""
    mu, log_s = torch.tensor([0.5, -1.0]), torch.tensor([0.1, -0.3])

    def sample_loss(params, key):
        with faces.random_numbers(key):
            z = params[0] + params[1].exp() * torch.randn(2)
        return (z**2).sum()

    @fc.jit
    def gradient(params, key):
        return fc.grad(lambda p: fc.vmap(sample_loss, (None, 0))(p, fc.random.split(key, 2000)).mean())(params)

    by_mu, by_log_s = gradient((mu, log_s), fc.random.key(0))
    again, _ = gradient((mu, log_s), fc.random.key(0))
    np.testing.assert_array_equal(by_mu.numpy(), again.numpy())
    np.testing.assert_allclose(by_mu.numpy(), 2 * mu.numpy(), atol=0.12)
    np.testing.assert_allclose(by_log_s.numpy(), 2 * np.exp(2 * log_s.numpy()), atol=0.25)


def test_modules_are_copied_and_saved_as_ever(tmp_path):
    """What comes out of transforms is a module: deepcopy, state_dict, torch.save and real PyTorch read it."""
    net = mlp(nn, 2, 3, 1)
    new = fc.jit(lambda net: fc.tree.map(lambda p: p * 2, net))(net)
    torch.save(new.state_dict(), tmp_path / "net.pt")
    theirs = mlp(real.nn, 2, 3, 1)
    theirs.load_state_dict(real.load(tmp_path / "net.pt"))
    for p, q, r in zip(net.parameters(), theirs.parameters(), copy.deepcopy(new).parameters()):
        close(p * 2, q)
        close(r, q)
