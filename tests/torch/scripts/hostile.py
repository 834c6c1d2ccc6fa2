# Odd uses of what every program uses: each block runs by itself, under this library and PyTorch.

# ---- repr: nested values
inf, nan = float("inf"), float("nan")
for v in (
    [nan, inf, -inf, 1.0],
    [nan, nan],
    [inf],
    [1e-8, 1.0],
    [1e8, 1.0],
    [1e5, 1e-5],
    [0.0, -0.0],
    [1e-45],
    [123456789.0],
    [0.1, 1000.5],
    [nan, 1e10],
    [1.0, 2.0, nan],
    [3e38, 1e-38],
):
    print(torch.tensor(v), torch.tensor(v, dtype=torch.float64), torch.tensor(v, dtype=torch.bfloat16))
print(
    torch.tensor([[nan], [1.0]]),
    torch.tensor(nan),
    torch.tensor(-inf),
    torch.tensor([1e4, 1e-4]),
    torch.tensor([99999.0, 1.0]),
    torch.tensor([100000.0, 1.0]),
)

# ---- repr: empty and huge
for s in ((0,), (0, 3), (3, 0), (1, 0, 2), (0, 0)):
    print(
        torch.zeros(s),
        torch.zeros(s, dtype=torch.int64),
        torch.zeros(s, requires_grad=True),
        torch.zeros(s, dtype=torch.bool),
    )
print(
    torch.zeros(1001),
    torch.arange(1001),
    torch.zeros(40, 40).shape,
    torch.zeros(2, 3, 400),
    torch.zeros(1000, 2),
    torch.ones(11, 11, 11),
)
print(torch.zeros(2, 2000, requires_grad=True), torch.zeros(1, 1, 1, 1, 1), torch.full((3, 2000), 1e10))

# ---- repr: complex
nan, inf = float("nan"), float("inf")
for v in ([1 + 2j, -1e-5j], [complex(nan, 1)], [complex(inf, -inf)], [1e10 + 1j], [0j], [-0.5 + 100j, 3j], []):
    print(torch.tensor(v, dtype=torch.complex64), torch.tensor(v, dtype=torch.complex128))
print(torch.tensor(1 + 1j), torch.tensor([1j], requires_grad=True), torch.arange(3) * 1j, torch.full((1100,), 2 - 1j))

# ---- repr: with a graph
x = torch.ones(2, 2, requires_grad=True)
for y in (
    x + 1,
    x.sum(),
    x[0],
    x.view(4),
    x.t(),
    (x * 2).detach(),
    x.clone(),
    x.double(),
    x @ x,
    x.max(0).values,
    x.relu(),
    torch.stack([x, x]),
    x.data,
    x.detach().requires_grad_(),
):
    print(y)
print(
    [x],
    (x,),
    {"x": x},
    torch.nn.Parameter(torch.zeros(0)),
    torch.nn.Parameter(torch.tensor(1).float()),
    torch.nn.Parameter(torch.ones(2), requires_grad=False),
)
with torch.no_grad():
    print(x + 1, x)
with torch.inference_mode():
    print(x + 1)

# ---- repr: other dtypes
for d in (
    torch.float8_e4m3fn,
    torch.float8_e5m2,
    torch.float8_e4m3fnuz,
    torch.float8_e5m2fnuz,
    torch.uint16,
    torch.uint32,
    torch.uint64,
    torch.int8,
    torch.half,
):
    print(torch.tensor([0, 1, 100]).to(d), torch.empty(0, dtype=d), torch.tensor(3).to(d))
print(
    torch.tensor([True]),
    torch.tensor(False),
    torch.tensor([[True, False]] * 3),
    torch.tensor([-128, 127], dtype=torch.int8),
    torch.tensor([2**62]),
)
print(
    torch.tensor([0.5, 65504.0], dtype=torch.half),
    torch.tensor([1e-8], dtype=torch.half),
    torch.tensor([1 / 3], dtype=torch.bfloat16),
)

# ---- repr: named tuples and small things
x = torch.tensor([[1.0, 3.0], [2.0, 0.0]])
print(
    x.max(0),
    x.sort(),
    x.topk(1),
    x.min(1),
    torch.linalg.svd(x),
    torch.linalg.eigh(x @ x.T),
    torch.linalg.slogdet(x),
    x.mode(),
    x.median(0),
    torch.aminmax(x),
    x.kthvalue(1),
    torch.frexp(x),
)
print(
    torch.Size([1, 2]),
    repr(torch.Size([])),
    torch.device("cpu"),
    repr(torch.device("cuda", 0)),
    torch.float32,
    torch.strided,
    torch.contiguous_format,
    type(torch.Generator()).__name__,
    repr(torch.finfo(torch.half)),
    torch.iinfo(torch.int8),
)
print(torch.return_types.max, type(x.max(0)), isinstance(x.max(0), tuple), x.max(0)[0], len(x.max(0)))
print(
    torch.tensor([1.5]).dtype,
    torch.float,
    torch.double,
    torch.long,
    torch.Tensor,
    torch.nn.Parameter,
    torch.FloatTensor,
    torch.LongTensor,
)

# ---- repr: options
torch.set_printoptions(precision=1)
print(torch.tensor([1.55, 2.0]))
torch.set_printoptions(precision=8)
print(torch.tensor([1.55, 2.0]))
torch.set_printoptions(profile="short")
print(torch.tensor([1.55, 2.0]), torch.arange(2000.0))
torch.set_printoptions(profile="default", linewidth=20)
print(torch.arange(30.0))
torch.set_printoptions(profile="default", sci_mode=True)
print(torch.tensor([1.0, 2.0]), torch.tensor([1]))
torch.set_printoptions(profile="default", edgeitems=1, threshold=2)
print(torch.arange(9.0).reshape(3, 3))
torch.set_printoptions(profile="default")
attempt(lambda: torch.set_printoptions(profile="nothing"))

# ---- promotion: in place and out
i, f, d, c, b, h = (
    torch.ones(2, dtype=t) for t in (torch.int64, torch.float32, torch.float64, torch.complex64, torch.bool, torch.half)
)
for name, t in (("i", i), ("f", f), ("b", b), ("c", c)):
    for o in (
        i,
        f,
        d,
        c,
        b,
        h,
        1,
        1.5,
        1j,
        True,
        torch.tensor(2),
        torch.tensor(2.5),
        torch.tensor(2.5, dtype=torch.float64),
        torch.tensor(1j),
    ):
        for op in ("add_", "mul_", "div_", "sub_"):
            attempt(lambda: (name, op, getattr(t.clone(), op)(o).dtype))

# ---- promotion: out=
i, f, d, c, b, h = (
    torch.ones(2, dtype=t) for t in (torch.int64, torch.float32, torch.float64, torch.complex64, torch.bool, torch.half)
)
for o in (i, f, d, c, b, h):
    for call in (
        lambda: torch.add(f, f, out=o.clone()),
        lambda: torch.add(i, i, out=o.clone()),
        lambda: torch.div(i, i, out=o.clone()),
        lambda: torch.exp(i, out=o.clone()),
        lambda: torch.sum(f, 0, out=o[0].clone()),
        lambda: torch.eq(f, f, out=o.clone()),
        lambda: torch.matmul(f, f, out=o[0].clone()),
        lambda: torch.cat([f[:1], f[:1]], out=o.clone()),
        lambda: torch.where(b, f, f, out=o.clone()),
        lambda: torch.argmax(f, out=o[0].clone()),
        lambda: torch.clamp(f, 0, 1, out=o.clone()),
        lambda: torch.mean(f, 0, out=o[0].clone()),
        lambda: torch.cumsum(i, 0, out=o.clone()),
    ):
        attempt(lambda: call().dtype)

# ---- promotion: scalars
for t in (
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.bool,
    torch.bfloat16,
    torch.float64,
    torch.complex128,
):
    x = torch.ones(1, dtype=t)
    print(
        t,
        [(x + s).dtype for s in (1, 1.5, 1j, True)],
        [(x * torch.tensor(s)).dtype for s in (1, 1.5, 1j, True)],
        (x / 2).dtype if t is not torch.bool else (x / 2).dtype,
        (x**2).dtype,
        x.sum().dtype,
        x.prod().dtype,
        x.cumsum(0).dtype,
    )
    attempt(lambda: (x // 2).dtype)
    attempt(lambda: x.mean().dtype)
    attempt(lambda: (x & 1).dtype)
    attempt(lambda: x.sqrt().dtype)
    attempt(lambda: torch.arange(0, 3, dtype=t))
    attempt(lambda: (x << 1).dtype)
    attempt(lambda: (~x).dtype)
    attempt(lambda: torch.result_type(x, 300))
attempt(lambda: torch.ones(1, dtype=torch.uint8) - 2)
attempt(lambda: torch.ones(1, dtype=torch.uint8) + 300)
attempt(lambda: torch.tensor([300], dtype=torch.uint8))
attempt(lambda: torch.tensor([2**70]))
attempt(lambda: torch.tensor([-1], dtype=torch.uint8))

# ---- indexing: errors
x = torch.arange(24.0).reshape(2, 3, 4)
for f in (
    lambda: x[2],
    lambda: x[-3],
    lambda: x[0, 3],
    lambda: x[0, 0, 0, 0],
    lambda: x[::0],
    lambda: x[::-1],
    lambda: x["a"],
    lambda: x[1.0],
    lambda: x[[0, 5]],
    lambda: x[torch.tensor([0, 2])],
    lambda: x[torch.tensor(5)],
    lambda: x[torch.tensor([True, False, True])],
    lambda: x[:, torch.tensor([True, False])],
    lambda: x[torch.tensor([0.5])],
    lambda: x[{}],
    lambda: x[[0, 1], [0, 1, 2]],
    lambda: x[torch.zeros(2, 3, 5, dtype=torch.bool)],
    lambda: x[None, None, None].shape,
    lambda: x[0][0][0][0],
    lambda: x[()].shape,
    lambda: x[[]].shape,
    lambda: x[True, False].shape,
    lambda: x[torch.tensor(True)].shape,
    lambda: x[slice(None, None, None)].shape,
    lambda: x[slice("a")],
    lambda: x[1:2.5],
    lambda: x[range(2)].shape,
    lambda: x[(0, 1), (1, 2)].shape,
    lambda: x[torch.tensor([1], dtype=torch.uint8)].shape,
    lambda: x[torch.tensor([1], dtype=torch.int8)].shape,
    lambda: x[object()],
):
    attempt(f)


def put(index, value):
    y = x.clone()
    y[index] = value
    return y.sum()


for index, value in (
    (0, torch.ones(5)),
    ((0, 0), torch.ones(3)),
    (slice(0, 1), torch.ones(2, 3, 4)),
    ([0, 1], torch.ones(3)),
    (x > 3, torch.ones(3)),
    (x > 100, torch.ones(0)),
    (5, 1.0),
    ("a", 1),
    (0, "a"),
    (0, [1, 2, 3, 4]),
    (0, None),
    (0, 1j),
    (None, 2.0),
    ((), 3.0),
    (Ellipsis, 4),
    (torch.tensor([0, 0]), torch.tensor([1.0, 2.0])[:, None, None]),
    ((0, 0, 0), torch.tensor([5.0])),
    ((0, 0, 0), torch.tensor([5.0, 6.0])),
):
    attempt(lambda: put(index, value))


# ---- views and in-place
def run(f):
    x = torch.arange(6.0, requires_grad=True)
    attempt(lambda: f(x, x * 1))


def a(x, y):
    v = y[:3]
    v.mul_(2)
    y.sum().backward()
    return x.grad, v.grad_fn.name(), y.grad_fn.name()


def b(x, y):
    x.add_(1)


def c(x, y):
    x[0] = 1


def d(x, y):
    x.view(2, 3).add_(1)


def e(x, y):
    z = y.exp()
    z.add_(1)
    z.sum().backward()


def f(x, y):
    z = y * y
    y.add_(1)
    z.sum().backward()


def g(x, y):
    p, q = y.chunk(2)
    p.add_(1)


def h(x, y):
    p, *q = y.unbind()
    p.zero_()


def i(x, y):
    with torch.no_grad():
        v = y.view(2, 3)
    v.add_(1)


def j(x, y):
    with torch.no_grad():
        x.add_(1)
    return x, x._version


def k(x, y):
    y.detach().zero_()
    return y, y._version


def l(x, y):
    w = y.sigmoid()
    y.add_(1)
    w.sum().backward()
    return x.grad


def m(x, y):
    w = y.sigmoid()
    w.add_(1)
    w.sum().backward()
    return x.grad


def n(x, y):
    v = y.view(2, 3)[0]
    v[1] = 5
    (y * y).sum().backward()
    return x.grad, y


def o(x, y):
    y[1:3] = y[3:5].clone()
    y.sum().backward()
    return x.grad


def p(x, y):
    y.data.mul_(3)
    (y * y).sum().backward()
    return x.grad, y._version


def q(x, y):
    y.expand(2, 6).add_(1)


def r(x, y):
    y.requires_grad_(False)


def s(x, y):
    x.data = torch.zeros(3)
    return x


def t(x, y):
    y.resize_(3)


def u(x, y):
    x.resize_(3)


def v(x, y):
    x.squeeze_()
    return x.shape


def w(x, y):
    return y.unsqueeze_(0).shape, y.t_().shape, y.grad_fn.name()


def xx(x, y):
    return torch.Tensor.add_(y, 1).grad_fn.name(), y.copy_(torch.ones(6)).grad_fn.name(), y.fill_(2).grad_fn.name()


def yy(x, y):
    s = y.sum()
    s.backward()
    s.backward()


def zz(x, y):
    s = (y * y).sum()
    s.backward()
    s.backward()


def aa(x, y):
    y.backward()


def bb(x, y):
    torch.zeros(3).backward()


def cc(x, y):
    y.sum().backward(torch.ones(2))


def dd(x, y):
    y.backward(torch.ones(6, dtype=torch.float64))
    return x.grad


def ee(x, y):
    return torch.autograd.grad(y.sum(), torch.ones(2, requires_grad=True))


def ff(x, y):
    return torch.autograd.grad(y.sum(), torch.ones(2, requires_grad=True), allow_unused=True)


def gg(x, y):
    return torch.autograd.grad(y.sum(), torch.ones(2))


def hh(x, y):
    return x.grad_fn, x.is_leaf, y.is_leaf, y.grad


def ii(x, y):
    x.grad = torch.ones(3)


def jj(x, y):
    x.grad = torch.ones(6, dtype=torch.float64)


def kk(x, y):
    x.grad = 3


def ll(x, y):
    torch.add(x, 1, out=torch.empty(6))


def mm(x, y):
    torch.ones(2, dtype=torch.int64, requires_grad=True)


def nn(x, y):
    return (x > 0).requires_grad, x.argmax().requires_grad, x.long().requires_grad


for fun in (
    a,
    b,
    c,
    d,
    e,
    f,
    g,
    h,
    i,
    j,
    k,
    l,
    m,
    n,
    o,
    p,
    q,
    r,
    s,
    t,
    u,
    v,
    w,
    xx,
    yy,
    zz,
    aa,
    bb,
    cc,
    dd,
    ee,
    ff,
    gg,
    hh,
    ii,
    jj,
    kk,
    ll,
    mm,
    nn,
):
    run(fun)

# ---- numpy
import numpy as np

a = np.arange(6.0).reshape(2, 3)
print(
    torch.from_numpy(a),
    torch.from_numpy(a.T).stride(),
    torch.tensor(a),
    torch.as_tensor(a).dtype,
    torch.from_numpy(np.array(3.0)),
    torch.from_numpy(np.zeros((0, 2))).shape,
)
for bad in (
    a[::-1],
    a.astype(">f8"),
    np.array(["a"]),
    np.array([object()]),
    np.array([1], dtype="M8[s]"),
    [1],
    np.float64(2),
    a.astype(np.longdouble),
):
    attempt(lambda: torch.from_numpy(bad))
    attempt(lambda: torch.tensor(bad))
    attempt(lambda: torch.as_tensor(bad))
for dt in ("f2", "f4", "i1", "i2", "u1", "u2", "u4", "u8", "?", "c8", "c16"):
    print(
        torch.from_numpy(np.ones(2, dt)),
        torch.ones(2).numpy().astype(dt).dtype,
        torch.from_numpy(np.ones((), dt)).item(),
    )
print(
    np.asarray(torch.ones(2)),
    np.array(torch.tensor(3)),
    np.sin(torch.ones(2)),
    np.add(torch.ones(2), 1),
    torch.ones(2) + np.ones(2),
    np.float32(2) * torch.ones(2),
    torch.ones(2) * np.float64(2),
    type(np.float64(2) * torch.ones(2)),
)
attempt(lambda: torch.ones(2, requires_grad=True).numpy())
attempt(lambda: torch.ones(2, dtype=torch.bfloat16).numpy())
attempt(lambda: np.asarray(torch.ones(2, requires_grad=True)))
print(
    torch.ones(2, requires_grad=True).numpy(force=True),
    torch.ones(2, 3).t().numpy().shape,
    np.stack([torch.ones(2), torch.zeros(2)]),
    np.array([torch.tensor(1), torch.tensor(2)]),
    float(np.mean(torch.ones(3).numpy())),
)
print(
    torch.tensor(np.float32(1.5)),
    torch.tensor(np.int8(3)),
    torch.tensor([np.float64(1), 2]),
    torch.tensor([[np.int32(1)], [2]]),
    torch.tensor(np.bool_(True)),
    torch.tensor([a[0], a[1]]).shape,
    torch.tensor(np.array([1 + 2j])),
)
print(
    np.from_dlpack(torch.arange(3)),
    torch.from_dlpack(np.arange(3)),
    torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(torch.ones(2))),
)
print(
    torch.ones(2).tolist(),
    torch.tensor(1).tolist(),
    torch.ones(1, 2, dtype=torch.bool).tolist(),
    torch.tensor([1j]).tolist(),
    torch.zeros(0, 2).tolist(),
    torch.tensor([1.5], dtype=torch.bfloat16).tolist(),
)
attempt(lambda: torch.ones(2).item())
attempt(lambda: int(torch.tensor([1, 2])))
attempt(lambda: float(torch.tensor([2.5])))
attempt(lambda: int(torch.tensor(2.7)))
attempt(lambda: int(torch.tensor(1j)))
attempt(lambda: bool(torch.tensor([])))
attempt(lambda: bool(torch.tensor([0, 1])))
attempt(lambda: [1, 2, 3][torch.tensor(1.0)])
attempt(lambda: len(torch.tensor(1)))
attempt(lambda: list(torch.tensor(1)))
attempt(lambda: torch.tensor([1, 2]) in [torch.tensor([1, 2])])
attempt(lambda: torch.tensor([[1, 2], [3]]))
attempt(lambda: torch.tensor(["a"]))
attempt(lambda: torch.tensor(None))
attempt(lambda: torch.tensor([None]))
attempt(lambda: torch.tensor({}))
attempt(lambda: torch.Tensor(2, 3).shape)
attempt(lambda: torch.Tensor([1, 2]))
attempt(lambda: torch.LongTensor([1, 2]))
attempt(lambda: torch.FloatTensor(2).shape)
attempt(lambda: torch.LongTensor([1.5]))
attempt(lambda: torch.Tensor())

# ---- random: sizes
for d in (torch.float32, torch.float64, torch.half, torch.bfloat16):
    for n in (1, 15, 16, 17, 1000):
        torch.manual_seed(n)
        for f in (
            lambda: torch.rand(n, dtype=d),
            lambda: torch.randn(n, dtype=d),
            lambda: torch.empty(n, dtype=d).uniform_(-1, 3),
            lambda: torch.empty(n, dtype=d).normal_(1, 2),
            lambda: torch.empty(n, dtype=d).exponential_(2),
            lambda: torch.empty(n, dtype=d).bernoulli_(0.3),
            lambda: torch.bernoulli(torch.full((n,), 0.3, dtype=d)),
            lambda: torch.empty(n, dtype=d).random_(10),
            lambda: torch.empty(n, dtype=d).random_(),
            lambda: torch.randint(0, 100, (n,), dtype=d),
            lambda: torch.nn.init.trunc_normal_(torch.empty(n, dtype=d)),
            lambda: torch.normal(torch.zeros(n, dtype=d), 2.0),
            lambda: torch.normal(0.0, torch.ones(n, dtype=d)),
            lambda: torch.nn.functional.dropout(torch.ones(n, dtype=d)),
            lambda: torch.empty(n, dtype=d).geometric_(0.3),
            lambda: torch.empty(n, dtype=d).cauchy_(),
            lambda: torch.empty(n, dtype=d).log_normal_(),
        ):
            try:
                y = f().double()
                print(d, n, f"{y.sum().item():.4e} {y[0].item():.5f} {y[-1].item():.5f}")
            except Exception as error:
                print(str(error))
    torch.manual_seed(1)
    print(torch.randperm(5), torch.randperm(1000).sum(), torch.randint(2**40, (3,)), torch.randint(-5, 5, (20,)))
    attempt(lambda: torch.multinomial(torch.tensor([0.1, 0.2, 0.7], dtype=d), 5, replacement=True))
    attempt(lambda: torch.multinomial(torch.ones(2, 4, dtype=d), 2))
    print(torch.initial_seed(), torch.rand(1))

# ---- random: states
import copy
import pickle

g = torch.Generator().manual_seed(5)
torch.rand(3, generator=g)
torch.randn(1, generator=g)
s = g.get_state()
a = torch.randn(20, generator=g)
h = torch.Generator()
h.set_state(s)
print(torch.equal(a, torch.randn(20, generator=h)), s.shape, s.dtype, s.sum())
attempt(lambda: pickle.loads(pickle.dumps(g)).get_state().equal(g.get_state()))
attempt(lambda: g.clone_state().initial_seed())
attempt(lambda: g.set_state(torch.zeros(3)))
attempt(lambda: g.set_state(torch.zeros(5056, dtype=torch.uint8)))
attempt(lambda: g.seed() is not None)
attempt(lambda: torch.Generator("nothing"))
attempt(lambda: torch.rand(2, generator=torch.Generator(device="cpu").manual_seed(2**64 + 1)))
attempt(lambda: torch.manual_seed(-1).initial_seed())
attempt(lambda: torch.manual_seed(2**64))
torch.manual_seed(0)
with torch.random.fork_rng():
    torch.manual_seed(9)
    x = torch.rand(1)
with torch.random.fork_rng(enabled=False):
    y = torch.rand(1)
print(x, y, torch.rand(1), torch.get_rng_state().sum(), torch.default_generator.initial_seed(), torch.seed() != 0)
torch.set_rng_state(torch.get_rng_state())
attempt(lambda: torch.randint(5, 5, (2,)))
attempt(lambda: torch.randint(0, 300, (2,), dtype=torch.uint8))
attempt(lambda: torch.bernoulli(torch.tensor([2.0])))
attempt(lambda: torch.multinomial(torch.tensor([-1.0, 2.0]), 1))
attempt(lambda: torch.multinomial(torch.tensor([1.0, 2.0]), 3))
attempt(lambda: torch.empty(2).uniform_(3, 1))
attempt(lambda: torch.empty(2).normal_(0, -1))
attempt(lambda: torch.empty(2).exponential_(-1))
raises(lambda: torch.randn(2, dtype=torch.int64))
attempt(lambda: torch.randperm(-1))
attempt(lambda: torch.normal(0.0, -1.0, (2,)))

# ---- autograd: hooks in order
x = torch.ones(2, requires_grad=True)
log = []
y = x * 2
y.register_hook(lambda g: log.append(("y1", g.tolist())))
y.register_hook(lambda g: g * 3)
y.register_hook(lambda g: log.append(("y2", g.tolist())))
y.retain_grad()
x.register_hook(lambda g: log.append(("x", g.tolist())))
x.register_post_accumulate_grad_hook(lambda p: log.append(("post", p.grad.tolist())))
y.grad_fn.register_prehook(lambda g: log.append(("pre", g[0].tolist())))
y.grad_fn.register_hook(lambda i, o: log.append(("node", i[0].tolist(), o[0].tolist())))
y.sum().backward()
print(log, x.grad, y.grad)
h = x.register_hook(lambda g: g * 0)
h.remove()
h.remove()
attempt(lambda: y.register_post_accumulate_grad_hook(print))
attempt(lambda: torch.ones(1).register_hook(print))
attempt(lambda: torch.ones(1).retain_grad())
attempt(lambda: x.detach().register_post_accumulate_grad_hook(print))


def bad(g):
    return torch.ones(5)


x2 = torch.ones(2, requires_grad=True)
z = x2 * 1
z.register_hook(bad)
attempt(lambda: z.sum().backward())
z = x2 * 1
z.register_hook(lambda g: "a")
attempt(lambda: z.sum().backward())
z = x2 * 1
z.register_hook(lambda g: g.double())
attempt(lambda: z.sum().backward())

# ---- autograd: grad mode in generators and threads
import threading


@torch.no_grad()
def gen():
    print(torch.is_grad_enabled())
    yield 1
    print(torch.is_grad_enabled())
    yield 2


for _ in gen():
    print(torch.is_grad_enabled())


def plain():
    with torch.no_grad():
        yield torch.is_grad_enabled()
        yield torch.is_grad_enabled()


for v in plain():
    print(v, torch.is_grad_enabled())
torch.set_grad_enabled(False)
t = threading.Thread(target=lambda: print("thread", torch.is_grad_enabled()))
t.start()
t.join()
torch.set_grad_enabled(True)


@torch.inference_mode()
def f(x):
    return x * 2


y = f(torch.ones(1, requires_grad=True))
print(y.is_inference(), y.requires_grad, torch.is_inference_mode_enabled())
attempt(lambda: y.requires_grad_())
attempt(lambda: y.add_(1))
attempt(lambda: y * torch.ones(1, requires_grad=True))
attempt(lambda: (y + torch.ones(1, requires_grad=True)).requires_grad)
attempt(lambda: y._version)


@torch.enable_grad
def g():
    return torch.is_grad_enabled()


with torch.no_grad():
    print(g(), torch.is_grad_enabled())


@torch.no_grad
class C:
    pass


# ---- autograd: Function
class Sq(torch.autograd.Function):
    @staticmethod
    def forward(x, n):
        return x**n, torch.ones(1)

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, n = inputs
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)
        ctx.n = n
        ctx.mark_non_differentiable(output[1])
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx, g, _):
        (x,) = ctx.saved_tensors
        return g * ctx.n * x ** (ctx.n - 1), None

    @staticmethod
    def jvp(ctx, t, _):
        (x,) = ctx.saved_tensors
        return t * ctx.n * x ** (ctx.n - 1), None

    @staticmethod
    def vmap(info, in_dims, x, n):
        print("vmap", info.batch_size, info.randomness, in_dims)
        return (x**n, torch.ones(1)), (0, None)


x = torch.tensor([1.0, 2.0], requires_grad=True)
y, o = Sq.apply(x, 3)
print(y, o.requires_grad, y.grad_fn.name(), type(y.grad_fn).__name__)
print(torch.autograd.grad(y.sum(), x, create_graph=True))
attempt(lambda: torch.func.vmap(lambda a: Sq.apply(a, 2)[0])(x.detach()))
attempt(lambda: torch.func.jvp(lambda a: Sq.apply(a, 2)[0], (x.detach(),), (torch.ones(2),)))
attempt(lambda: torch.func.grad(lambda a: Sq.apply(a, 2)[0].sum())(x.detach()))
attempt(lambda: torch.func.hessian(lambda a: Sq.apply(a, 3)[0].sum())(x.detach()))


class Gen(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x.sin()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0].cos()


attempt(lambda: torch.func.vmap(Gen.apply)(x.detach()))
attempt(lambda: torch.func.vmap(torch.func.grad(lambda a: Gen.apply(a)))(x.detach()))
attempt(lambda: torch.func.jacrev(Gen.apply)(x.detach()))
attempt(lambda: torch.func.jacfwd(Gen.apply)(x.detach()))


class Wrong(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g, g


attempt(lambda: Wrong.apply(x).sum().backward())


class Shape(Wrong):
    @staticmethod
    def backward(ctx, g):
        return torch.ones(3)


attempt(lambda: Shape.apply(x).sum().backward())


class NoBack(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2


attempt(lambda: NoBack.apply(x).sum().backward())


class Dirty(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x.add_(1)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, g):
        return g * 2


y = x * 1
z = Dirty.apply(y)
print(z is y, y, z._version)
attempt(lambda: torch.autograd.grad(torch.autograd.grad(z.sum(), x, create_graph=True)[0].sum(), x))
attempt(lambda: Dirty.apply(x))
attempt(lambda: Wrong()(x))
attempt(lambda: Wrong.forward(None, x))

# ---- autograd: saved tensors and anomaly
log = []
with torch.autograd.graph.saved_tensors_hooks(
    lambda t: (log.append(("pack", tuple(t.shape))), t)[1], lambda t: (log.append("unpack"), t)[1]
):
    x = torch.ones(3, requires_grad=True)
    y = (x * x).exp()
y.sum().backward()
print(log, x.grad)
with torch.autograd.graph.save_on_cpu():
    y = x.exp()
y.sum().backward()
print(x.grad)
with torch.autograd.graph.disable_saved_tensors_hooks("no hooks"):
    attempt(lambda: torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t).__enter__())
with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: 3):
    y = x.exp()
attempt(lambda: y.sum().backward())
with torch.autograd.detect_anomaly():
    attempt(lambda: (torch.zeros(1, requires_grad=True).sqrt() * 0).sum().backward())
with torch.autograd.set_detect_anomaly(True, check_nan=False):
    z = torch.zeros(1, requires_grad=True)
    (z.sqrt() * 0).sum().backward()
    print(z.grad, torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled())
with torch.autograd.graph.allow_mutation_on_saved_tensors():
    a = torch.ones(2, requires_grad=True)
    b = a.clone()
    c = b.sin()
    b.mul_(2)
    c.sum().backward()
    print(a.grad)

# ---- autograd: checks
from torch.autograd import gradcheck, gradgradcheck

x = torch.rand(3, dtype=torch.float64, requires_grad=True)
print(
    gradcheck(torch.sin, x),
    gradgradcheck(torch.exp, x),
    gradcheck(lambda a: a.prod(), (x,)),
    gradcheck(torch.sin, x, check_forward_ad=True, check_batched_grad=True),
)


class Bad(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 3


raises(lambda: gradcheck(Bad.apply, x))
print(gradcheck(Bad.apply, x, raise_exception=False))
try:
    gradcheck(Bad.apply, x)
except Exception as e:
    print(str(e)[:200])
with warnings.catch_warnings(record=True) as w:
    warnings.simplefilter("always")
    try:
        gradcheck(torch.sin, torch.rand(2, requires_grad=True))
    except Exception as e:
        print(type(e).__name__)
    print([str(i.message)[:80] for i in w][:1])
attempt(lambda: gradcheck(torch.sin, torch.rand(2, dtype=torch.float64)))

# ---- autograd: forward mode
import torch.autograd.forward_ad as fwAD

with fwAD.dual_level():
    d = fwAD.make_dual(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 0.0]))
    y = d * d + d.sin()
    print(fwAD.unpack_dual(y), fwAD.unpack_dual(torch.ones(1)), d)
    attempt(lambda: fwAD.make_dual(torch.ones(2), torch.ones(3)))
    attempt(lambda: fwAD.make_dual(torch.ones(2), torch.ones(2, dtype=torch.float64)))
    attempt(lambda: fwAD.make_dual(torch.ones(2, dtype=torch.int64), torch.ones(2, dtype=torch.int64)))
attempt(lambda: fwAD.make_dual(torch.ones(2), torch.ones(2)))
print(fwAD.unpack_dual(torch.ones(1)) if False else 0)
x = torch.tensor(2.0, requires_grad=True)
(g1,) = torch.autograd.grad(x**4, x, create_graph=True)
(g2,) = torch.autograd.grad(g1, x, create_graph=True)
(g3,) = torch.autograd.grad(g2, x, create_graph=True)
print(g1, g2, g3, torch.autograd.grad(g3, x))
from torch.autograd import functional as AF

f = lambda a: (a**3).sum()
v = torch.tensor([1.0, 2.0])
print(
    AF.jacobian(lambda a: a**2, v),
    AF.hessian(f, v),
    AF.vjp(f, v),
    AF.jvp(f, v, torch.ones(2)),
    AF.hvp(f, v, torch.ones(2)),
    AF.vhp(f, v, torch.ones(2)),
    AF.jacobian(lambda a: a**2, v, vectorize=True, strategy="forward-mode"),
    AF.hessian(f, v, create_graph=True),
)
attempt(lambda: AF.hessian(lambda a: a, v))
attempt(lambda: AF.vjp(lambda a: a, v))
attempt(lambda: AF.jacobian(lambda a: torch.ones(1), v, strict=True))

# ---- autograd: complex
z = torch.tensor([1 + 2j, 3 - 1j], requires_grad=True)
for f in (
    lambda z: z.abs(),
    lambda z: (z * z.conj()).real,
    lambda z: z.angle(),
    lambda z: (z**2).imag,
    lambda z: torch.view_as_real(z),
    lambda z: z.exp().abs(),
    lambda z: z.sqrt().real,
    lambda z: z.log().real,
):
    z.grad = None
    f(z).sum().backward()
    print(z.grad)
attempt(lambda: (z * 2).sum().backward())
attempt(lambda: z.sum().backward(torch.tensor(1 + 0j)))

# ---- autograd: kinks
F = torch.nn.functional


def at(f, *v, d=torch.float64):
    x = torch.tensor(v, dtype=d, requires_grad=True)
    try:
        f(x).sum().backward()
        print([round(g, 6) + 0.0 for g in x.grad.tolist()])
    except Exception as e:
        print(said(e)) if False else print(str(e)[:100])


for f in (
    torch.abs,
    torch.relu,
    F.relu6,
    F.hardtanh,
    F.hardsigmoid,
    F.hardswish,
    F.elu,
    F.celu,
    F.selu,
    F.leaky_relu,
    F.softshrink,
    F.hardshrink,
    F.tanhshrink,
    F.softsign,
    F.softplus,
    F.logsigmoid,
    F.silu,
    F.mish,
    F.gelu,
    lambda x: F.threshold(x, 0, 1),
    lambda x: F.prelu(x, torch.tensor([0.25], dtype=x.dtype)),
    F.glu,
    torch.sign,
    torch.floor,
    torch.frac,
    lambda x: x.clamp(0, 1),
    lambda x: x.clamp(min=0),
    lambda x: torch.maximum(x, torch.zeros_like(x)),
    lambda x: torch.fmax(x, torch.zeros_like(x)),
    lambda x: x.norm(),
    lambda x: x.norm(1),
    lambda x: x.norm(3),
    lambda x: x.norm(float("inf")),
    lambda x: x.max(),
    lambda x: x.min(),
    lambda x: x.amax(),
    lambda x: x.max(0).values,
    lambda x: x.median(),
    lambda x: x.sort().values[:2],
    lambda x: x.prod(),
    lambda x: x.cumprod(0),
    lambda x: x.cummax(0).values,
    lambda x: x.std(),
    lambda x: x.var(),
    lambda x: F.normalize(x, dim=0),
    lambda x: x.logsumexp(0),
    lambda x: x.sqrt(),
    lambda x: x.pow(0),
    lambda x: x.pow(0.5),
    lambda x: x**x,
    lambda x: 0**x,
    lambda x: x.reciprocal(),
    lambda x: torch.atan2(x, x),
    lambda x: torch.hypot(x, torch.ones_like(x)),
    lambda x: torch.xlogy(x, x),
    lambda x: torch.special.entr(x),
    lambda x: torch.sinc(x),
    lambda x: F.cosine_similarity(x, x, dim=0),
    lambda x: F.l1_loss(x, torch.zeros_like(x)),
    lambda x: F.smooth_l1_loss(x, torch.zeros_like(x)),
    lambda x: F.huber_loss(x, torch.zeros_like(x)),
    lambda x: torch.cdist(x[None], x[None]),
    lambda x: torch.pdist(x[:, None]),
    lambda x: F.pairwise_distance(x[None], x[None]),
    lambda x: x.nan_to_num(),
    lambda x: x % 1,
    lambda x: torch.fmod(x, 1.0),
    lambda x: torch.heaviside(x, x),
    lambda x: torch.copysign(x, x),
    lambda x: x.round(),
    lambda x: torch.dist(x, x),
    lambda x: x.renorm(2, 0, 1.0) if x.ndim > 1 else x,
    lambda x: F.margin_ranking_loss(x, x, torch.ones_like(x)),
    lambda x: F.hinge_embedding_loss(x, torch.ones_like(x)),
    lambda x: F.max_pool1d(x[None, None], 2),
    lambda x: x.unique().sum() if False else x,
    lambda x: x.quantile(0.5),
    lambda x: x.kthvalue(1).values,
    lambda x: x.mode().values,
    lambda x: torch.logit(x.clamp(0, 1)),
    lambda x: torch.acos(x.clamp(-1, 1)),
    lambda x: x.aminmax().max,
    lambda x: torch.logaddexp(x, x),
    lambda x: torch.where(x > 0, x, x * 0),
    lambda x: x.masked_fill(x == 0, 2),
):
    at(f, 0.0, 0.0, 1.0, -1.0)
    at(f, -3.0, 6.0, 0.0, 0.0)

# ---- save and load: odd things
import collections
import copy
import io
import os
import pathlib
import pickle
import tempfile
import zipfile


def trip(x, **k):
    f = io.BytesIO()
    torch.save(x, f)
    f.seek(0)
    return torch.load(f, **k)


base = torch.arange(10.0)
d = trip(
    {
        "a": base[2:5],
        "b": base[::2],
        "c": base.view(2, 5).t(),
        "n": None,
        "t": (1, 2.5, "x", True, b"y"),
        "s": {1, 2},
        "o": collections.OrderedDict(z=1),
        "sz": torch.Size([1, 2]),
        "dt": torch.float16,
        "dev": torch.device("cpu"),
        "c2": 1 + 2j,
        "p": torch.nn.Parameter(torch.ones(2)),
        "e": torch.empty(0, 3),
        "z": torch.tensor(3),
        "q": base.requires_grad_(False),
        "l": [1, [2, [3]]],
        "dd": collections.defaultdict(list, a=[1]),
        "cn": collections.Counter("ab"),
        "ly": torch.strided,
        "by": bytearray(b"q"),
    },
    weights_only=False,
)
print(
    {
        k: (v if not isinstance(v, torch.Tensor) else (v, v.stride(), v.storage_offset(), v.requires_grad))
        for k, v in d.items()
    }
)
d["a"].zero_()
print(d["b"], d["q"])
for v in (
    torch.ones(2, requires_grad=True),
    torch.nn.Parameter(torch.ones(1)),
    torch.ones(2, dtype=torch.bfloat16),
    torch.tensor([True]),
    torch.tensor([1j]),
    torch.ones(2, dtype=torch.float8_e5m2),
    torch.tensor([1], dtype=torch.uint16),
):
    y = trip(v)
    print(type(y).__name__, y, y.requires_grad, y.is_leaf)
attempt(lambda: trip(torch.ones(1, requires_grad=True) * 2))


class Sub(torch.Tensor):
    pass


x = torch.ones(2).as_subclass(Sub)
x.note = "hi"
y = trip(x, weights_only=False)
print(type(y).__name__, y.note)


class Mine:
    def __init__(self):
        self.a = 1


attempt(lambda: type(trip(Mine(), weights_only=False)).__name__)
raises(lambda: trip(Mine()))
with torch.serialization.safe_globals([Mine]):
    print(trip(Mine()).a)
torch.serialization.add_safe_globals([Mine])
print(len(torch.serialization.get_safe_globals()) > 0, trip(Mine()).a)
torch.serialization.clear_safe_globals()
try:
    trip(lambda: 1, weights_only=False)
except Exception as e:
    print(type(e).__name__)
g = torch.Generator().manual_seed(1)
attempt(lambda: trip(g.get_state()).shape)
m = torch.nn.Linear(2, 2)
o = torch.optim.Adam(m.parameters())
m(torch.ones(1, 2)).sum().backward()
o.step()
m2 = torch.nn.Linear(2, 2)
o2 = torch.optim.Adam(m2.parameters())
print(
    m2.load_state_dict(trip(m.state_dict())),
    o2.load_state_dict(trip(o.state_dict())),
    torch.equal(m2.weight, m.weight),
    o2.state_dict()["state"][0]["step"],
)
attempt(lambda: m2.load_state_dict({"weight": torch.ones(3, 3)}))
attempt(lambda: m2.load_state_dict({"weight": torch.ones(2, 2), "x": 1}, strict=False))
raises(lambda: trip(m))
print(trip(m, weights_only=False))

# ---- save and load: map_location, mmap, files
import io
import os
import pathlib
import tempfile

t = tempfile.mkdtemp()
p = os.path.join(t, "x.pt")
torch.save({"a": torch.arange(3)}, p)
for loc in (
    "cpu",
    torch.device("cpu"),
    {"cuda:0": "cpu"},
    lambda storage, loc: storage,
    lambda s, l: None,
    {"cpu": "cpu"},
    None,
):
    print(torch.load(p, map_location=loc))
raises(lambda: torch.load(p, map_location="nothing"))
print(torch.load(p, mmap=True), torch.load(pathlib.Path(p)), torch.load(open(p, "rb")))
attempt(lambda: torch.load(open(p, "rb"), mmap=True))
raises(lambda: torch.load(os.path.join(t, "none.pt")))
attempt(lambda: torch.save(1))
raises(lambda: torch.load(p, weights_only=True, pickle_module=__import__("pickle")))
raw = open(p, "rb").read()
for n in (0, 1, 10, 100, len(raw) // 2, len(raw) - 1):
    try:
        print(torch.load(io.BytesIO(raw[:n])))
    except Exception as e:
        print(type(e).__name__)
torch.save(torch.ones(2), p, _use_new_zipfile_serialization=False)
print(torch.load(p))
import pickle
import zipfile


class Evil:
    def __reduce__(self):
        return (os.system, ("echo hacked",))


f = io.BytesIO()
torch.save(Evil(), f)
f.seek(0)
raises(lambda: torch.load(f))


class Evil2:
    def __reduce__(self):
        return (eval, ("1+1",))


f = io.BytesIO()
torch.save({"a": Evil2()}, f)
f.seek(0)
try:
    torch.load(f)
except Exception as e:
    print(type(e).__name__, "weights_only" in str(e), "eval" in str(e))


class Buf:
    def __init__(self):
        self.b = b""

    def write(self, x):
        self.b += bytes(x)
        return len(x)


Buf.flush = lambda self: None
b = Buf()
torch.save(torch.ones(1), b)
print(torch.load(io.BytesIO(b.b)))
attempt(lambda: torch.save(torch.ones(1), "/nonexistent/dir/x.pt"))
print(
    torch.serialization.get_default_load_endianness(),
    torch.is_storage(torch.ones(1).untyped_storage()),
    torch.ones(2).untyped_storage().nbytes(),
)
x = torch.arange(4.0)
s = x.untyped_storage()
print(len(s), s.tolist()[:4], s[0], s.device, torch.tensor([], dtype=torch.float32).set_(s).tolist())

# ---- pickle and copy
import copy
import pickle

x = torch.arange(3.0, requires_grad=True)
print(
    pickle.loads(pickle.dumps(x)),
    copy.copy(x),
    copy.deepcopy(x),
    copy.copy(x) is x,
    copy.deepcopy([x, x])[0] is copy.deepcopy([x, x])[1],
)
l = copy.deepcopy([x, x])
print(l[0] is l[1])
attempt(lambda: copy.deepcopy(x * 2))
attempt(lambda: pickle.loads(pickle.dumps(x * 2)))
for o in (
    torch.float32,
    torch.device("cpu"),
    torch.Size([2]),
    torch.strided,
    torch.channels_last,
    torch.ones(2).max(0),
    torch.nn.ReLU(),
    torch.relu,
    torch.nn.functional.relu,
    torch.Tensor.add,
):
    attempt(lambda: pickle.loads(pickle.dumps(o)) == o)
x.grad = torch.ones(3)
print(copy.deepcopy(x).grad, pickle.loads(pickle.dumps(x)).grad)
p = torch.nn.Parameter(torch.ones(2), requires_grad=False)
q = copy.deepcopy(p)
print(type(q).__name__, q.requires_grad)

# ---- environment: without a GPU
print(
    torch.cuda.is_available(),
    torch.cuda.device_count(),
    torch.cuda.is_initialized(),
    torch.backends.mps.is_available(),
    torch.backends.mps.is_built(),
    torch.xpu.is_available(),
    torch.xpu.device_count(),
    torch.mtia.is_available() if hasattr(torch, "mtia") else None,
)
print(
    torch.backends.cudnn.enabled,
    torch.backends.cudnn.benchmark,
    torch.backends.cudnn.deterministic,
    torch.backends.cudnn.is_available(),
    torch.backends.cudnn.version(),
    torch.backends.cuda.matmul.allow_tf32,
    torch.backends.quantized.engine in ("none", "x86", "onednn"),
)
torch.backends.cudnn.benchmark = torch.backends.cudnn.deterministic = torch.backends.cuda.matmul.allow_tf32 = False
print(
    torch.version.cuda,
    torch.version.hip,
    torch.version.debug,
    isinstance(torch.__version__, str),
    torch.__version__ >= "1.10",
    torch.__version__ > (1, 8),
    isinstance(torch.__config__.show(), str),
    torch.get_num_threads() > 0,
    torch.are_deterministic_algorithms_enabled(),
    torch.is_deterministic_algorithms_warn_only_enabled(),
)
print(
    torch.is_autocast_enabled(),
    torch.get_autocast_dtype("cpu"),
    torch.compiled_with_cxx11_abi(),
    torch.typename(torch.ones(1)),
    torch.is_tensor(1),
    torch.is_storage(1),
    torch.is_complex(torch.ones(1)),
    torch.numel(torch.ones(2, 3)),
    torch.overrides.is_tensor_like(1),
)
with torch.autocast("cpu", dtype=torch.bfloat16):
    print(
        (torch.ones(2, 2) @ torch.ones(2, 2)).dtype,
        torch.is_autocast_enabled("cpu"),
        torch.nn.functional.softmax(torch.ones(2, dtype=torch.bfloat16), 0).dtype,
    )
torch.use_deterministic_algorithms(True)
print(torch.are_deterministic_algorithms_enabled())
torch.use_deterministic_algorithms(False)
attempt(lambda: torch.nothing_at_all)
attempt(lambda: torch.nn.NothingAtAll)
attempt(lambda: torch.ones(1).nothing_at_all())
attempt(lambda: torch.ops.aten.nothing if hasattr(torch, "ops") and False else 0)

for f in (
    lambda: torch.ones(1, device="cuda"),
    lambda: torch.ones(1).cuda(),
    lambda: torch.cuda.current_device(),
    lambda: torch.cuda.get_device_name(),
    lambda: torch.cuda.synchronize(),
    lambda: torch.cuda.memory_allocated(),
    lambda: torch.cuda.empty_cache(),
    lambda: torch.cuda.manual_seed(1),
    lambda: torch.cuda.get_device_capability(),
    lambda: torch.cuda.get_device_properties(0),
    lambda: torch.cuda.current_stream(),
    lambda: torch.cuda.is_bf16_supported(),
    lambda: torch.cuda.mem_get_info(),
    lambda: torch.xpu.current_device(),
    lambda: torch.ones(1, device="xpu"),
    lambda: torch.ones(1).to("cuda"),
    lambda: torch.nn.Linear(1, 1).cuda(),
    lambda: torch.device("cuda").index,
):
    raises(f)

# ---- torch.func: nested
F = torch.func
f = lambda x: (x.sin() * x).sum()
x = torch.tensor([0.5, 1.0])
print(
    F.grad(f)(x),
    F.hessian(f)(x),
    F.jacrev(F.jacfwd(torch.sin))(x).shape,
    F.vmap(F.grad(lambda a: a**3))(x),
    F.vmap(F.vmap(torch.mul, (None, 0)), (0, None))(x, x),
    F.grad(F.grad(lambda a: a**3))(torch.tensor(2.0)),
    F.grad_and_value(f)(x),
    F.vjp(torch.sin, x)[1](torch.ones(2)),
    F.jvp(torch.sin, (x,), (torch.ones(2),)),
    F.linearize(torch.sin, x)[1](torch.ones(2)),
)
m = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Tanh(), torch.nn.Dropout(0.0))
ps = dict(m.named_parameters())
loss = lambda ps, x: F.functional_call(m, ps, (x,)).sum()
print(
    {k: v.shape for k, v in F.grad(loss)(ps, x).items()},
    {k: v.shape for k, v in F.vmap(F.grad(loss), (None, 0))(ps, torch.ones(3, 2)).items()},
)
s, b = F.stack_module_state([torch.nn.Linear(2, 1) for _ in range(3)])
print({k: v.shape for k, v in s.items()})
for bad in (
    lambda: F.grad(torch.sin)(x),
    lambda: F.grad(lambda a: a.long().sum())(torch.tensor([1])),
    lambda: F.vmap(torch.add, (0, 0))(torch.ones(2), torch.ones(3)),
    lambda: F.vmap(torch.sin, 1)(torch.ones(2)),
    lambda: F.vmap(lambda a: a.item())(x),
    lambda: F.vmap(lambda a: a if a > 0 else -a)(x),
    lambda: F.vmap(lambda a: torch.rand(2))(x),
    lambda: F.vmap(lambda a: 3)(x),
    lambda: F.vjp(torch.sin, x)[1](torch.ones(3)),
    lambda: F.jvp(torch.sin, (x,), (torch.ones(3),)),
    lambda: F.jvp(torch.sin, x, x),
    lambda: F.grad(lambda a: 2.0)(x),
    lambda: F.grad(f, argnums=1)(x),
    lambda: F.vmap(torch.sin)(3),
    lambda: F.vmap(torch.sin)(torch.tensor(1.0)),
    lambda: F.grad(lambda a: a.sum().item())(x),
    lambda: F.jacrev(lambda a: 1)(x),
    lambda: F.vmap(torch.sin, in_dims=(0, 0))(x),
    lambda: F.vmap(torch.sin, out_dims=5)(x),
    lambda: F.functional_call(m, {"nothing": x}, (x,)),
    lambda: F.vmap(lambda a: a.add_(1))(x.clone()),
    lambda: F.grad(lambda a: a.add_(1).sum())(x.clone()),
):
    attempt(bad)
print(
    F.vmap(lambda a: torch.rand(()), randomness="same")(x).shape,
    F.vmap(torch.nn.functional.dropout, randomness="different")(torch.ones(3, 4)).shape,
    F.vmap(torch.sum, chunk_size=1)(torch.ones(3, 4)),
    F.vmap(lambda d: d["a"] + 1)({"a": x}),
    F.jacrev(lambda a, b: (a * b, a), argnums=(0, 1))(x, x)[0][0].shape,
    F.jacfwd(lambda a: a**2, has_aux=False)(x),
    F.grad(lambda a: (a.sum(), a), has_aux=True)(x),
)

# ---- checkpoint
import torch.utils.checkpoint as C

n = [0]


def f(x):
    n[0] += 1
    return torch.nn.functional.dropout(x.sin().exp(), 0.5)


for r in (True, False):
    torch.manual_seed(0)
    x = torch.ones(3, requires_grad=True)
    n[0] = 0
    y = C.checkpoint(f, x, use_reentrant=r)
    y.sum().backward()
    print(y, x.grad, n)
print(
    C.checkpoint_sequential(
        [torch.nn.Linear(2, 2), torch.nn.ReLU()], 2, torch.ones(1, 2, requires_grad=True), use_reentrant=False
    ).shape
)
attempt(lambda: C.checkpoint(lambda x: x, torch.ones(1), use_reentrant=False, nothing=1))
x = torch.ones(2, requires_grad=True)
y = C.checkpoint(torch.exp, x, use_reentrant=False)
print(torch.autograd.grad(torch.autograd.grad(y.sum(), x, create_graph=True)[0].sum(), x))
attempt(lambda: torch.autograd.grad(C.checkpoint(torch.exp, x, use_reentrant=True).sum(), x))

# ---- strides in use
x = torch.rand(2, 3, 4)
q = x.transpose(1, 2)
print(
    (q + 1).stride(),
    (q * q).view(2, 4, 3).shape if (q * q).is_contiguous() else "not",
    (q + 1).flatten().shape,
    (q + 1).contiguous().view(-1).shape,
    (q + 1).reshape(-1).shape,
)
attempt(lambda: (q + 1).view(-1).shape)
h = torch.rand(2, 5, 8).view(2, 5, 2, 4).transpose(1, 2)
y = torch.softmax(h @ h.mT, -1) @ h
print(y.stride(), y.transpose(1, 2).reshape(2, 5, 8).stride(), y.transpose(1, 2).contiguous().view(2, 5, 8).shape)
attempt(lambda: y.transpose(1, 2).view(2, 5, 8).shape)
y = torch.nn.functional.scaled_dot_product_attention(h, h, h)
print(y.stride(), y.transpose(1, 2).is_contiguous())
z = (h + h).transpose(1, 2)
print(z.is_contiguous(), z.view(2, 5, 8).shape)
print(
    torch.nn.functional.dropout(h, 0.5).stride(),
    h.masked_fill(h > 0.5, 0).stride(),
    (h / 2).tril().stride(),
    torch.where(h > 0, h, h).stride(),
    h.float().stride(),
    h.clamp_(0, 1).stride(),
)
a = torch.ones(3, 4).t()
b = a + 1
b += 1
print(b.stride(), b._version, b.data_ptr() != a.data_ptr(), b.storage_offset(), b._is_view())
c = b[1:]
c.zero_()
print(b, c.stride())
b.resize_(2, 2)
print(b, b.stride())
d = (a * 2).requires_grad_()
e = d.exp()
e.sum().backward()
print(d.grad.stride(), d.is_leaf, e.grad_fn.name())
w = torch.nn.Linear(4, 3).weight.t()
print((w * 2).stride(), (w * 2).grad_fn.name(), (w + w).t().is_contiguous())
p = torch.nn.Parameter(torch.rand(3, 4).t())
o = torch.optim.Adam([p])
(p**2).sum().backward()
o.step()
print(p.stride(), p.grad.stride(), p.is_leaf)
s = torch.rand(3, 3).t() + 1
t = s.clone()
u = torch.empty_like(s)
v = s.detach()
print(
    t.stride(),
    u.stride(),
    v.stride(),
    s.T.is_contiguous(),
    s.new_ones(2, 2).stride(),
    torch.zeros_like(s, memory_format=torch.contiguous_format).stride(),
)
import copy
import pickle

print(
    copy.deepcopy(s).stride(),
    pickle.loads(pickle.dumps(s)).stride(),
    copy.copy(s).stride(),
    s.numpy().strides,
    torch.from_numpy(s.numpy()).stride(),
    s.tolist() == s.contiguous().tolist(),
)
print(
    torch.func.grad(lambda a: (a.t() * 2).sum())(s).shape,
    torch.func.vmap(lambda a: a.t() + 1)(torch.rand(2, 3, 4)).shape,
    torch.utils.checkpoint.checkpoint(lambda a: (a.t() + 1).exp(), s, use_reentrant=False).stride(),
)
for i in range(3):
    s = s.t() * 1.5
    print(s.stride(), s.is_contiguous())
m = s.as_strided((2, 2), (1, 2))
print((m + 1).stride(), (m + 1).is_contiguous(), torch.equal(m + 1, m.contiguous() + 1))
with torch.no_grad():
    s.add_(1)
    s.t().mul_(2)
print(
    s.stride(),
    s.view(torch.int32).stride(),
    s.unsqueeze(0).stride(),
    s[None].stride(),
    s.chunk(3)[0].stride(),
    s.unbind()[0].stride(),
    s.diagonal().stride(),
    s.expand(2, 3, 3).stride(),
    s.set_(torch.ones(2, 2)).stride(),
)
