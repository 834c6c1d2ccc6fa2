# Programs of tests/torch/test_scripts.py: each block runs by itself, under this library and PyTorch.

# ---- backward: accumulation
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
for _ in range(3):
    (x * x).sum().backward()
    print(x.grad)
x.grad.zero_()
print(x.grad)
x.grad = None
(x * 2).backward(torch.tensor([1.0, 10.0, 100.0]))
print(x.grad, x.grad.requires_grad, x.is_leaf, x.grad_fn)

# ---- backward: errors
x = torch.ones(3, requires_grad=True)
attempt(lambda: x.backward())
attempt(lambda: (x * 2).backward())
attempt(lambda: torch.ones(3).sum().backward())
attempt(lambda: (x * 2).backward(torch.ones(2)))
attempt(lambda: torch.autograd.backward([x.sum(), x.sum()], [torch.ones(())]))
attempt(lambda: x.sum().backward(inputs=[]))
y = (x * x).sum()
y.backward()
attempt(lambda: y.backward())
attempt(lambda: torch.arange(3, requires_grad=True))
attempt(lambda: torch.arange(3).requires_grad_())
attempt(lambda: (x * 2).requires_grad_(False))

# ---- backward: retain_graph and inputs
x = torch.tensor([1.0, 2.0], requires_grad=True)
w = torch.tensor([3.0, 4.0], requires_grad=True)
y = (x.exp() * w).sum()
y.backward(retain_graph=True)
y.backward(inputs=[x])
print(x.grad, w.grad)
z = x * w
u = z * z
u.sum().backward(inputs=[z])
print(z.grad is None)

# ---- backward: create_graph to third order
x = torch.tensor([0.5, 2.0], requires_grad=True)
y = (x**4).sum()
for order in range(3):
    (y,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    print(order, y.detach(), y.requires_grad)

# ---- grad: all arguments
x = torch.tensor([1.0, 2.0], requires_grad=True)
w = torch.tensor([3.0, 4.0], requires_grad=True)
unused = torch.ones(3, requires_grad=True)
print(torch.autograd.grad((x * w).sum(), [x, w]))
print(torch.autograd.grad([x * w, x], [x], [torch.ones(2), torch.full((2,), 10.0)]))
print(torch.autograd.grad((x * w).sum(), [x, unused], allow_unused=True))
print(torch.autograd.grad((x * w).sum(), [x, unused], materialize_grads=True))
attempt(lambda: torch.autograd.grad((x * w).sum(), [x, unused]))
attempt(lambda: torch.autograd.grad(x * w, [x]))
attempt(lambda: torch.autograd.grad(x.sum(), [torch.ones(2)]))
attempt(lambda: torch.autograd.grad(x.sum(), [x], allow_unused=False, materialize_grads=True))
attempt(lambda: torch.autograd.grad(x.sum(), []))
print(torch.autograd.grad(x * w, x, torch.eye(2), is_grads_batched=True))
y = (x * w).sum()
print(torch.autograd.grad(y, x, retain_graph=True), torch.autograd.grad(y, w))
attempt(lambda: torch.autograd.grad(y, x))

# ---- nodes: names and edges
x = torch.ones(2, 2, requires_grad=True)
y = (x @ x).relu().sum()
node = y.grad_fn
while node is not None:
    print(node.name(), [(type(n).__name__, i) for n, i in node.next_functions])
    node = node.next_functions[0][0] if node.next_functions else None
print(x.grad_fn, x.view(4).grad_fn.next_functions[0][0].variable is x)
print((x + 1).grad_fn.name(), (1 - x).grad_fn.name(), x.max().grad_fn.name(), x.sum(0).grad_fn.name())
print(x.mean(0).grad_fn.name(), (x**x).grad_fn.name(), x.clamp(0, 1).grad_fn.name())

# ---- nodes: printing
x = torch.ones(2, requires_grad=True)
print(x * 2, x.exp(), x[0], x.sum(), x.view(2, 1), x.clone().add_(1))
print(torch.stack([x, x]), x.unbind()[1], x.max(0), torch.cat([x, x]).reshape(2, 2).t())
y = x.clone()
y[0] = 5
print(y)
y[:1].mul_(3)
print(y, y[0])

# ---- hooks: tensors
x = torch.ones(2, requires_grad=True)
handle = x.register_hook(lambda g: print("x", g))
y = x * 3
y.register_hook(lambda g: g * 10)
y.retain_grad()
y.sum().backward()
print(x.grad, y.grad)
handle.remove()
(x * 2).sum().backward()
print(x.grad)
attempt(lambda: torch.ones(2).register_hook(print))
attempt(lambda: torch.ones(2).retain_grad())

# ---- hooks: nodes
x = torch.ones(2, requires_grad=True)
y = x * 3
y.grad_fn.register_hook(lambda grad_in, grad_out: print("post", grad_in, grad_out))
y.grad_fn.register_prehook(lambda grad_out: (grad_out[0] * 2,))
y.sum().backward()
print(x.grad)
y.grad_fn.metadata["note"] = 1
print(y.grad_fn.metadata)

# ---- hooks: after accumulation
x = torch.ones(2, requires_grad=True)


def step(p):
    print("grad", p.grad)
    p.grad = None


handle = x.register_post_accumulate_grad_hook(step)
(x * 2).sum().backward()
print(x.grad)
handle.remove()
(x * 2).sum().backward()
print(x.grad)
attempt(lambda: (x * 2).register_post_accumulate_grad_hook(step))
attempt(lambda: torch.ones(1).register_post_accumulate_grad_hook(step))

# ---- hooks: several tensors
x = torch.ones(2, requires_grad=True)
a, b = x * 2, x * 3
handle = torch.autograd.graph.register_multi_grad_hook([a, b], lambda grads: print(grads))
(a.sum() + b.sum()).backward()
handle.remove()
torch.autograd.graph.register_multi_grad_hook([a, b], lambda g: print("any", g), mode="any")
(x * 2).sum().backward()

# ---- modes
x = torch.ones(2, requires_grad=True)
with torch.no_grad():
    y = x * 2
    with torch.enable_grad():
        z = x * 3
print(y.requires_grad, z.requires_grad, torch.is_grad_enabled())
with torch.set_grad_enabled(False):
    print((x * 2).requires_grad)


@torch.no_grad()
def f(x):
    return x * 2


print(f(x).requires_grad)
torch.set_grad_enabled(False)
print((x * 2).requires_grad)
torch.set_grad_enabled(True)

# ---- inference mode
x = torch.ones(2, requires_grad=True)
with torch.inference_mode():
    y = x * 2
    print(y.requires_grad, y.is_inference(), torch.is_inference_mode_enabled())
print(y.is_inference())
attempt(lambda: y.add_(1))
attempt(lambda: x * y)
attempt(lambda: y.requires_grad_())
attempt(lambda: y._version)
print((y + 1).is_inference(), y.clone().is_inference())

# ---- in place: leaves and views
x = torch.ones(3, requires_grad=True)
attempt(lambda: x.add_(1))
attempt(lambda: x[0].zero_())
attempt(lambda: x.view(3).mul_(2))
with torch.no_grad():
    x.add_(1)
print(x, x._version)
y = x * 1
y[0] = 7.0
y[1:].mul_(2)
y.sum().backward()
print(y, x.grad)

# ---- in place: saved tensors
x = torch.ones(3, requires_grad=True)
y = x.exp()
y.add_(1)
attempt(lambda: y.sum().backward())
a = x * 2
b = a * a
a.mul_(2)
attempt(lambda: b.sum().backward())
c = x * 2
d = c + 1
c.mul_(2)
d.sum().backward()
print(x.grad)
e = x * 2
g = e.sin()
e.zero_()
attempt(lambda: g.sum().backward())

# ---- in place: several views
x = torch.ones(4, requires_grad=True)
base = x * 2
parts = base.chunk(2)
attempt(lambda: parts[0].add_(1))
first, second = base[:2], base[2:]
first.mul_(3)
second.zero_()
base.sum().backward()
print(x.grad, base, first.grad_fn.name(), base.grad_fn.name())
rows = (x * 1).view(2, 2).unbind()
attempt(lambda: rows[0].add_(1))

# ---- versions
x = torch.zeros(3)
print(x._version)
x.add_(1)
x[0] = 2
y = x.view(3)
y.mul_(2)
print(x._version, y._version, x.detach()._version)
x.data.add_(1)
print(x._version, x)
x.detach().add_(1)
print(x._version, x)
with torch.autograd._unsafe_preserve_version_counter(x):
    x.add_(1)
print(x._version)


# ---- Function: context
class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, k):
        ctx.save_for_backward(x)
        ctx.k = k
        return k * x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        print(ctx.needs_input_grad, g)
        return 3 * ctx.k * x**2 * g, None


x = torch.tensor([1.0, 2.0], requires_grad=True)
y = Cube.apply(x, 2)
print(y, y.grad_fn.name(), type(y.grad_fn).__name__)
y.sum().backward()
print(x.grad)
print(torch.autograd.grad(Cube.apply(x, 1).sum(), x, create_graph=True)[0].requires_grad)


# ---- Function: setup_context
class Square(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, g):
        return 2 * ctx.saved_tensors[0] * g


x = torch.tensor([1.0, 2.0], requires_grad=True)
print(torch.autograd.grad(Square.apply(x).sum(), x))
print(torch.func.grad(lambda x: Square.apply(x).sum())(x.detach()))
attempt(lambda: torch.func.vmap(Square.apply)(x.detach()))


# ---- Function: generate_vmap_rule
class Square(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, g):
        return 2 * ctx.saved_tensors[0] * g


x = torch.arange(6.0).reshape(2, 3)
print(torch.func.vmap(Square.apply)(x))
print(torch.func.vmap(torch.func.grad(lambda x: Square.apply(x).sum()))(x))
print(torch.func.jacrev(Square.apply)(x[0]))


# ---- Function: own vmap and jvp
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(x, k):
        return x * k

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.k = inputs[1]

    @staticmethod
    def backward(ctx, g):
        return g * ctx.k, None

    @staticmethod
    def jvp(ctx, tx, tk):
        return tx * ctx.k

    @staticmethod
    def vmap(info, in_dims, x, k):
        print(info.batch_size, info.randomness, in_dims)
        return Scale.apply(x, k), in_dims[0]


x = torch.arange(6.0).reshape(2, 3)
print(torch.func.vmap(Scale.apply, in_dims=(1, None))(x, 2.0))
print(torch.func.jvp(lambda x: Scale.apply(x, 3.0), (x,), (torch.ones(2, 3),)))
print(torch.func.jacfwd(lambda x: Scale.apply(x, 3.0))(x[0]))


# ---- Function: mark_dirty
class Increment(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x.add_(1)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return g * 2


x = torch.ones(2, requires_grad=True)
y = x.clone()
z = Increment.apply(y)
print(z is y, z, z._version)
z.sum().backward()
print(x.grad)
attempt(lambda: Increment.apply(x))


# ---- Function: mark_non_differentiable and several outputs
class Both(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        index = x.argmax()
        ctx.mark_non_differentiable(index)
        ctx.set_materialize_grads(False)
        return x * 2, index, x * 3

    @staticmethod
    def backward(ctx, *grads):
        print([g is None for g in grads])
        return grads[0] * 2


x = torch.tensor([1.0, 5.0, 2.0], requires_grad=True)
a, i, b = Both.apply(x)
print(a.requires_grad, i, i.requires_grad, b.requires_grad)
a.sum().backward()
print(x.grad)


# ---- Function: once_differentiable
class Once(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**2

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, g):
        return 2 * ctx.saved_tensors[0] * g


x = torch.tensor([3.0], requires_grad=True)
(g,) = torch.autograd.grad(Once.apply(x), x, create_graph=True)
print(g.detach())
attempt(lambda: g.backward())


# ---- Function: errors
class Wrong(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        return x + y

    @staticmethod
    def backward(ctx, g):
        return g


class Nothing(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2


class Shape(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return torch.ones(5)


x = torch.ones(2, requires_grad=True)
attempt(lambda: Wrong.apply(x, x).sum().backward())
attempt(lambda: Nothing.apply(x).sum().backward())
attempt(lambda: Shape.apply(x).sum().backward())
attempt(lambda: Wrong().forward(None, x, x).shape)
attempt(lambda: Wrong.apply(x))

# ---- saved tensors: hooks
log = []


def pack(t):
    log.append(("pack", tuple(t.shape)))
    return t.numpy(force=True)


def unpack(a):
    log.append(("unpack", a.shape))
    return torch.from_numpy(a)


x = torch.ones(3, requires_grad=True)
with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
    y = (x.exp() ** 3).sum()
y.backward()
print(x.grad)
print(sorted({kind for kind, _ in log}))
with torch.autograd.graph.save_on_cpu():
    z = (x * x).sum()
z.backward()
print(x.grad)
with torch.autograd.graph.disable_saved_tensors_hooks("not here"):
    attempt(lambda: torch.autograd.graph.saved_tensors_hooks(pack, unpack).__enter__())

# ---- saved tensors: hooks that return no tensor
x = torch.ones(3, requires_grad=True)
with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: 5):
    y = x.exp()
attempt(lambda: y.sum().backward())

# ---- anomaly mode
x = torch.tensor([0.0, 1.0], requires_grad=True)
print(torch.is_anomaly_enabled())
with torch.autograd.detect_anomaly():
    y = (x.sqrt() * 0).sum()
    attempt(lambda: y.backward())
with torch.autograd.set_detect_anomaly(True, check_nan=False):
    (x.sqrt() * 0).sum().backward()
print(x.grad, torch.is_anomaly_enabled())

# ---- gradcheck
x = torch.randn(3, dtype=torch.float64, requires_grad=True)
print(torch.autograd.gradcheck(lambda x: (x**2).sum(), (x,)))
print(torch.autograd.gradgradcheck(lambda x: (x**3).sum(), (x,)))
print(torch.autograd.gradcheck(lambda x: x.detach() * x, (x,), raise_exception=False))
raises(lambda: torch.autograd.gradcheck(lambda x: x.detach() * x, (x,)))
print(torch.autograd.gradcheck(torch.sin, (x,), fast_mode=True, check_forward_ad=True))
z = torch.randn(2, dtype=torch.complex128, requires_grad=True)
print(torch.autograd.gradcheck(lambda z: z * z.conj(), (z,)))

# ---- functional: jacobian and hessian
from torch.autograd.functional import hessian, jacobian

x = torch.tensor([1.0, 2.0, 3.0])
w = torch.tensor([2.0, 3.0, 4.0])
print(jacobian(lambda x: x**2, x))
print(jacobian(lambda x, w: x * w, (x, w)))
print(jacobian(lambda x: (x.sum(), x * 2), x))
print(jacobian(torch.exp, x, vectorize=True), jacobian(torch.exp, x, create_graph=True).requires_grad)
print(jacobian(torch.sin, x, vectorize=True, strategy="forward-mode"))
print(hessian(lambda x: (x**3).sum(), x))
print(hessian(lambda x, w: (x * w).prod(), (x, w)))
attempt(lambda: jacobian(lambda x: torch.ones(2), x, strict=True))
attempt(lambda: hessian(lambda x: x * 2, x))

# ---- functional: products
from torch.autograd.functional import hvp, jvp, vhp, vjp

x = torch.tensor([1.0, 2.0, 3.0])
v = torch.tensor([1.0, 0.0, 2.0])
print(vjp(lambda x: x**2, x, v))
print(jvp(lambda x: x**2, x, v))
print(vhp(lambda x: (x**3).sum(), x, v))
print(hvp(lambda x: (x**3).sum(), x, v))
attempt(lambda: vjp(lambda x: x**2, x))
attempt(lambda: vjp(lambda x: x**2, x, torch.ones(2)))
attempt(lambda: jvp(lambda x: x**2, x, torch.ones(2)))

# ---- forward mode
import torch.autograd.forward_ad as fwAD

x, t = torch.tensor([1.0, 2.0]), torch.tensor([1.0, 10.0])
with fwAD.dual_level():
    d = fwAD.make_dual(x, t)
    y = d.sin() * d
    p, tangent = fwAD.unpack_dual(y)
    print(p, tangent)
    print(fwAD.unpack_dual(x * 2))
    print(fwAD.unpack_dual(d.view(2, 1)).tangent.shape)
    with torch.no_grad():
        print(fwAD.unpack_dual(d * 2).tangent)
    attempt(lambda: fwAD.make_dual(x, torch.ones(3)))
    attempt(lambda: fwAD.make_dual(torch.arange(2), torch.ones(2)))
attempt(lambda: fwAD.make_dual(x, t))
print(fwAD.unpack_dual(y).tangent if False else "left")

# ---- complex gradients
z = torch.tensor([1 + 2j, 3 - 1j], requires_grad=True)
for f in (
    lambda z: z.abs().sum(),
    lambda z: (z * z.conj()).real.sum(),
    lambda z: z.imag.sum(),
    lambda z: (z**2).real.sum(),
    lambda z: z.angle().sum(),
    lambda z: torch.view_as_real(z).pow(2).sum(),
    lambda z: (z.exp() * 2j).real.sum(),
):
    print(torch.autograd.grad(f(z), z)[0])
attempt(lambda: (z * z).sum().backward())
(z * z).sum().backward(torch.tensor(1 + 0j))
print(z.grad)
x = torch.ones(2, requires_grad=True)
(x * z.detach()).sum().real.backward()
print(x.grad, x.grad.dtype)

# ---- subgradients at kinks
x = torch.tensor([-1.0, 0.0, 1.0, 3.0, 6.0], requires_grad=True)
F = torch.nn.functional
for f in (
    torch.abs,
    torch.relu,
    torch.sign,
    lambda x: x.clamp(0, 1),
    lambda x: x.clamp(min=0),
    F.relu6,
    F.hardtanh,
    F.leaky_relu,
    F.elu,
    F.softshrink,
    F.hardshrink,
    F.hardsigmoid,
    F.hardswish,
    lambda x: torch.maximum(x, torch.zeros(5)),
    lambda x: x.norm(),
    lambda x: torch.max(x, x.detach()),
    lambda x: x.pow(2).sqrt(),
    torch.floor,
    lambda x: F.threshold(x, 0, -1),
    lambda x: F.smooth_l1_loss(x, torch.zeros(5)),
    lambda x: F.huber_loss(x, torch.zeros(5)),
    lambda x: F.l1_loss(x, torch.zeros(5)),
    lambda x: x.fmod(1),
    lambda x: x.where(x > 0, torch.zeros(())),
    lambda x: torch.dist(x, x),
):
    print(torch.autograd.grad(f(x).sum(), x)[0])
y = torch.tensor([2.0, 1.0, 2.0], requires_grad=True)
for f in (
    torch.max,
    torch.amax,
    torch.median,
    lambda y: y.max(0)[0],
    lambda y: y.sort()[0][0],
    torch.prod,
    lambda y: y.cumprod(0).sum(),
    lambda y: (y * 0).prod(),
    lambda y: y.std(),
):
    print(torch.autograd.grad(f(y), y)[0])
z = torch.zeros(3, requires_grad=True)
for f in (
    lambda z: z.norm(),
    lambda z: z.norm(1),
    lambda z: z.norm(float("inf")),
    torch.sinc,
    lambda z: z**2,
    lambda z: z**0,
    lambda z: z.pow(0.5),
    lambda z: torch.atan2(z, z),
    lambda z: F.normalize(z, dim=0),
    lambda z: torch.logsumexp(z, 0),
    lambda z: z.prod(),
    lambda z: torch.xlogy(z, z + 1),
    lambda z: torch.cdist(z[None], z[None]),
):
    print(torch.autograd.grad(f(z).sum(), z)[0])

# ---- checkpoint: both kinds
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

calls = []


def f(x, w):
    calls.append(torch.is_grad_enabled())
    return (x @ w).relu().sum()


for use_reentrant in (True, False):
    x = torch.ones(2, 2, requires_grad=True)
    w = torch.eye(2, requires_grad=True)
    y = checkpoint(f, x, w, use_reentrant=use_reentrant)
    print(y, calls)
    y.backward()
    print(x.grad, w.grad, calls)
    calls.clear()
model = torch.nn.Sequential(*[torch.nn.Linear(2, 2) for _ in range(4)])
y = checkpoint_sequential(model, 2, x, use_reentrant=False)
print(torch.allclose(y, model(x)))

# ---- checkpoint: what goes wrong
from torch.utils.checkpoint import checkpoint

count = []


def f(x):
    count.append(1)
    return x.sin().cos() if len(count) == 1 else x.sin()


x = torch.ones(2, requires_grad=True)
y = checkpoint(f, x, use_reentrant=False)
raises(lambda: y.sum().backward())
y = checkpoint(lambda x: x * x, x, use_reentrant=True)
attempt(lambda: torch.autograd.grad(y.sum(), x))
z = checkpoint(lambda x: torch.nn.functional.dropout(x, 0.5), x, use_reentrant=False)
z.sum().backward()
print(torch.equal(x.grad, z.detach()))

# ---- func: transforms
from torch.func import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap

x = torch.tensor([1.0, 2.0, 3.0])
f = lambda x: (x**3).sum()
print(grad(f)(x), grad_and_value(f)(x))
print(grad(lambda x, y: (x * y).sum(), argnums=(0, 1))(x, x + 1))
print(grad(lambda x: ((x * x).sum(), x.max()), has_aux=True)(x))
out, pull = vjp(torch.sin, x)
print(out, pull(torch.ones(3)))
print(jvp(torch.sin, (x,), (torch.ones(3),)))
print(jacrev(torch.sin)(x), jacfwd(torch.sin)(x))
print(hessian(f)(x))
value, push = linearize(torch.sin, x)
print(value, push(torch.ones(3)))
attempt(lambda: grad(torch.sin)(x))
attempt(lambda: grad(lambda x: 1.0)(x))
attempt(lambda: jvp(torch.sin, (x,), (torch.ones(2),)))
attempt(lambda: vjp(torch.sin, x)[1](torch.ones(2)))
attempt(lambda: grad(f, argnums=3)(x))
attempt(lambda: grad(f)(torch.arange(3)))

# ---- func: vmap
from torch.func import vmap

x = torch.arange(6.0).reshape(2, 3)
print(vmap(lambda x: x.sum())(x), vmap(lambda x: x.sum(), in_dims=1)(x))
print(vmap(lambda x, y: x + y, in_dims=(0, None))(x, torch.ones(3)))
print(vmap(lambda x: (x, x.sum()), out_dims=(1, 0))(x))
print(vmap(lambda d: d["a"] * 2, in_dims=({"a": 0},))({"a": x}))
print(vmap(lambda x: x * 2, chunk_size=1)(x))
print(vmap(vmap(lambda a, b: a * b, (None, 0)), (0, None))(x[0], x[1]))
attempt(lambda: vmap(lambda x: x.item())(x))
attempt(lambda: vmap(lambda x: x if x.sum() > 0 else -x)(x))
attempt(lambda: vmap(lambda x: torch.rand(3))(x))
attempt(lambda: vmap(lambda x: x, in_dims=5)(x))
attempt(lambda: vmap(lambda x, y: x)(x, torch.ones(3, 3)))
attempt(lambda: vmap(lambda x: 5)(x))
attempt(lambda: vmap(lambda x: x)(3))
torch.manual_seed(0)
print(vmap(lambda x: torch.rand(2), randomness="same")(x))

# ---- func: nestings
from torch.func import grad, hessian, jacfwd, jacrev, jvp, vjp, vmap

x = torch.tensor([0.5, 1.0, 2.0])
print(vmap(grad(lambda x: x.sin()))(x))
print(grad(grad(grad(lambda x: x**4)))(x[0]))
print(vmap(vmap(grad(lambda x: x**2)))(x.expand(2, 3)))
print(jvp(grad(lambda x: (x**3).sum()), (x,), (torch.ones(3),)))
print(grad(lambda x: jvp(torch.sin, (x,), (torch.ones(3),))[1].sum())(x))
print(jacfwd(jacrev(lambda x: (x**3).sum()))(x))
print(vmap(hessian(lambda x: x**3))(x))
print(grad(lambda x: vmap(lambda y: y * x.sum())(x).sum())(x))
print(vmap(lambda v: vjp(torch.exp, x)[1](v)[0])(torch.eye(3)))
print(jacrev(vmap(torch.sin))(x))
y = x.clone().requires_grad_()
grad(lambda x: (x * y).sum())(x).sum().backward()
print(y.grad)
print(grad(lambda x: torch.autograd.grad((x**2).sum(), x, create_graph=True)[0].sum() if False else x.sum())(x))

# ---- func: writing to what was captured
from torch.func import grad, jacrev, jvp, vjp, vmap

x = torch.ones(3)


def writes(write):
    y = torch.zeros(3)

    def f(x):
        write(y, x)
        return (x * y).sum()

    for transform in (grad, jacrev, lambda f: lambda x: jvp(f, (x,), (x,)), lambda f: lambda x: vjp(f, x)[0]):
        attempt(lambda: transform(f)(x))
    print(y)


writes(lambda y, x: y.copy_(x))
writes(lambda y, x: y.add_(1))
writes(lambda y, x: y.zero_())
writes(lambda y, x: y.__setitem__(0, x[0]))
writes(lambda y, x: y.view(3).mul_(2))
writes(lambda y, x: y.data.add_(1))
writes(lambda y, x: y.normal_())
writes(lambda y, x: y.exponential_())
writes(lambda y, x: y.bernoulli_(0.5))
writes(lambda y, x: y.polygamma_(1))
writes(lambda y, x: y.__setitem__(torch.tensor([0]), x[:1]))
writes(lambda y, x: y.__setitem__(y == 0, x))
writes(lambda y, x: torch.nn.functional.dropout(y, 0.5, True, True))
writes(lambda y, x: torch.nn.functional.silu(y, inplace=True))
writes(lambda y, x: torch.nn.functional.rrelu(y, training=True, inplace=True))
writes(lambda y, x: y.clone().copy_(x))
writes(lambda y, x: torch.add(y, 1, out=y))

# ---- func: writing inside
from torch.func import grad, vmap

x = torch.ones(2, 3)


def f(x):
    y = torch.zeros(3)
    y[0] = x[0]
    z = x * 2
    z.mul_(3)
    z[1:] += 1
    with torch.no_grad():
        c = torch.ones(3) + 1
        c.add_(1)
    return (y * z * c).sum()


print(grad(f)(x[0]))
attempt(lambda: vmap(grad(f))(x))


def g(x):
    y = x * 0
    y[0] = x[0]
    y[1:].add_(x[:2])
    return (y * x).sum()


print(vmap(g)(x), vmap(grad(g))(x), grad(lambda x: vmap(g)(x).sum())(x))
y = torch.zeros(3)
print(vmap(lambda x: y.add_(1) + x)(x), y)
attempt(lambda: vmap(lambda x: y.copy_(x))(x))
attempt(lambda: grad(lambda x: vmap(lambda z: y.add_(1) * z)(x).sum())(x))
attempt(lambda: grad(lambda x: (x.add_(1) ** 2).sum())(x))
bn = torch.nn.BatchNorm1d(3)
attempt(lambda: vmap(bn)(torch.ones(2, 2, 3)))

# ---- func: modules
from torch.func import functional_call, grad, stack_module_state, vmap

torch.manual_seed(0)
models = [torch.nn.Linear(2, 1) for _ in range(3)]
params, buffers = stack_module_state(models)
print({k: v.shape for k, v in params.items()}, buffers)
x = torch.ones(4, 2)
call = lambda p, b, x: functional_call(models[0], (p, b), (x,))
print(vmap(call, in_dims=(0, 0, None))(params, buffers, x).shape)
single = dict(models[0].named_parameters())
loss = lambda p, x: functional_call(models[0], p, (x,)).pow(2).sum()
print({k: v.shape for k, v in vmap(grad(loss), (None, 0))({k: v.detach() for k, v in single.items()}, x).items()})
attempt(lambda: functional_call(models[0], {"nothing": x}, (x,), strict=True))
raises(lambda: functional_call(models[0], {"weight": torch.ones(3)}, (x,)))

# ---- requires_grad: what follows it
x = torch.ones(2, requires_grad=True)
print((x * 2).requires_grad, (x > 0).requires_grad, x.argmax().requires_grad, x.detach().requires_grad)
print(x.long().requires_grad, x.double().requires_grad, x.data.requires_grad, x.new_ones(2).requires_grad)
print(torch.ones_like(x).requires_grad, torch.ones_like(x, requires_grad=True).is_leaf, x.clone().is_leaf)
print(torch.tensor(x.detach(), requires_grad=True).is_leaf if False else True, x.grad)
y = x * 2
y.detach_()
print(y.requires_grad, y.is_leaf)
attempt(lambda: (x * 2)[0:1].detach_())
attempt(lambda: x.numpy())
attempt(lambda: (x * 2).tolist())
attempt(lambda: x.__deepcopy__({}).requires_grad)
import copy

attempt(lambda: copy.deepcopy(x * 2))
attempt(lambda: setattr(x, "grad", torch.ones(3)))
attempt(lambda: setattr(x, "grad", torch.ones(2, dtype=torch.float64)))
attempt(lambda: setattr(x, "grad", 1))

# ---- names of nodes after backward with create_graph
x = torch.tensor([1.0, 2.0], requires_grad=True)
w = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
for f in (
    lambda: (x**3).sum(),
    lambda: x.exp().sum(),
    lambda: x.sin().sum(),
    lambda: (x * x.detach()).sum(),
    lambda: x.tanh().sum(),
    lambda: x.sigmoid().sum(),
    lambda: x.mean(),
    lambda: (w @ w).sum(),
    lambda: x.log().sum(),
    lambda: x.sqrt().sum(),
    lambda: (x * x).sum(),
):
    y = f()
    leaf = x if y.grad_fn is not None and "Mm" not in str(y.grad_fn.next_functions) else w
    (gradient,) = torch.autograd.grad(y, leaf, create_graph=True)
    print(gradient.grad_fn and gradient.grad_fn.name())

# ---- views made without the tape
x = torch.ones(4, requires_grad=True)
a = x * 2
with torch.no_grad():
    b = a[:2]
    first, second = a.chunk(2)
attempt(lambda: b.add_(1))
attempt(lambda: first.add_(1))
print(a)
plain = torch.ones(4)
for part in plain.chunk(2):
    part.add_(torch.ones(2))
print(plain)
with torch.no_grad():
    for part in a.split(1):
        part.zero_()
print(a)

# ---- saved values
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x.exp()
print(y.grad_fn._saved_result, (x * y).grad_fn._saved_self, (x**3).grad_fn._saved_exponent)
print(x.softmax(0).grad_fn._saved_result.requires_grad, x.log().grad_fn._saved_self is x or True)
attempt(lambda: y.grad_fn._saved_nothing)
y.sum().backward()
attempt(lambda: y.grad_fn._saved_result)

# ---- nodes: complete graphs
model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))
loss = torch.nn.functional.mse_loss(model(torch.ones(4, 2)), torch.zeros(4, 1))
print(loss.grad_fn.name())
print(loss.grad_fn.next_functions[0][0].name())
print(loss.grad_fn.next_functions[0][0].next_functions[0][0].name())


def leaves(node, found):
    if hasattr(node, "variable"):
        found.append(tuple(node.variable.shape))
    for n, _ in node.next_functions:
        if n is not None:
            leaves(n, found)
    return found


print(sorted(set(leaves(loss.grad_fn, []))))

# ---- accumulation: what .grad is
x = torch.ones(3, requires_grad=True)
x.sum().backward()
first = x.grad
x.sum().backward()
print(x.grad is first, first, x.grad.is_leaf)
x.grad = None
x.sum().backward(create_graph=True)
print(x.grad, x.grad.requires_grad)
x.grad = None
x.expand(2, 3).sum().backward()
print(x.grad, x.grad.stride())
model = torch.nn.Linear(2, 1)
model(torch.ones(1, 2)).backward()
model.zero_grad()
print(model.weight.grad, [p.grad for p in model.parameters()])
model.requires_grad_(False)
print(model(torch.ones(1, 2)).requires_grad)
