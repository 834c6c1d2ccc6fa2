# Programs of tests/torch/test_scripts.py: each block runs by itself, under this library and PyTorch.

# ---- attributes
x = torch.arange(6.0).reshape(2, 3)
print(x.shape, x.size(), x.size(1), x.ndim, x.dim(), x.numel(), x.nelement(), len(x), x.dtype)
print(x.device, x.layout, x.is_cuda, x.is_sparse, x.is_quantized, x.is_meta, x.itemsize, x.nbytes)
print(x.stride(), x.stride(0), x.storage_offset(), x.is_contiguous(), x.element_size())
print(x.T.shape, x.mT.shape, x.H.shape, x.is_floating_point(), x.is_complex(), x.is_signed())
print(x.requires_grad, x.grad, x.grad_fn, x.is_leaf, x.output_nr, x._version, x.type(), x.get_device())
print(x.is_shared(), x.is_pinned(), x.is_inference(), x.is_conj(), x.is_neg(), x.data.shape)
attempt(lambda: x.nothing)
raises(lambda: setattr(x, "shape", 3))
attempt(lambda: torch.ones(2).imag)
attempt(lambda: x.size(2))
attempt(lambda: len(torch.tensor(1.0)))
attempt(lambda: torch.arange(24).reshape(2, 3, 4).T.shape)

# ---- Size
s = torch.Size([2, 3, 4])
print(s, s[0], s[1:], s.numel(), s + (1,), s * 2, s == (2, 3, 4), isinstance(s, tuple), hash(s) == hash((2, 3, 4)))
print(torch.Size(), torch.Size((1,)), list(s), s.index(3), s.count(2), type(s[:1]), (1,) + tuple(s))
attempt(lambda: torch.Size([1.5]))
attempt(lambda: s[5])

# ---- dtype, device, layout, memory_format
print(torch.float32, torch.float, torch.half, torch.bool, torch.cfloat, torch.float32 is torch.float)
print(torch.float16.itemsize, torch.int8.is_signed, torch.complex64.is_complex, torch.complex64.to_real())
print(torch.float64.to_complex(), torch.bfloat16.is_floating_point, repr(torch.float8_e4m3fn))
print(
    torch.device("cpu"),
    repr(torch.device("cuda:1")),
    torch.device("cuda", 1).index,
    torch.device("cpu") == torch.device("cpu"),
)
print(
    torch.device("cuda:0").type,
    torch.device(torch.device("cpu")),
    hash(torch.device("cpu")) == hash(torch.device("cpu")),
)
print(torch.strided, torch.contiguous_format, torch.channels_last, torch.preserve_format)
raises(lambda: torch.device("nothing"))
attempt(lambda: torch.ones(1, dtype=torch.float32.to_complex()).dtype)

# ---- dtypes that few have
print(torch.complex32, torch.complex32.itemsize, torch.complex32.is_complex, torch.chalf is torch.complex32)
print(torch.complex32.to_real(), torch.float16.to_complex())
for name in ("qint8", "quint8", "qint32", "bits8", "uint1", "int4", "float4_e2m1fn_x2"):
    print(getattr(torch, name, None))

# ---- finfo and iinfo
for d in (
    torch.float32,
    torch.float64,
    torch.float16,
    torch.bfloat16,
    torch.complex64,
    torch.float8_e4m3fn,
    torch.float8_e5m2,
):
    f = torch.finfo(d)
    print(f, f.bits, f.eps, f.max, f.min, f.tiny, f.resolution, f.smallest_normal, f.dtype)
for d in (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.uint16):
    print(torch.iinfo(d), torch.iinfo(d).bits, torch.iinfo(d).max, torch.iinfo(d).min)
print(torch.finfo())
raises(lambda: torch.finfo(torch.int32))
raises(lambda: torch.iinfo(torch.float32))

# ---- defaults
torch.set_default_dtype(torch.float64)
print(
    torch.tensor(1.5).dtype, torch.ones(2).dtype, torch.tensor(1j).dtype, torch.arange(3) / 2, torch.get_default_dtype()
)
torch.set_default_dtype(torch.float32)
torch.set_default_device("cpu")
print(torch.ones(1).device, torch.get_default_device())
torch.set_default_device(None)
with torch.device("cpu"):
    print(torch.zeros(1).device)
attempt(lambda: torch.set_default_dtype(torch.int32))
print(torch.tensor(1).dtype, torch.tensor([True]).dtype, torch.tensor([1, 2.5]).dtype, torch.tensor(3j).dtype)

# ---- printing: options
x = torch.tensor([[1.23456789, 1e-3], [123456.0, -7.0]])
print(x)
torch.set_printoptions(precision=2)
print(x)
torch.set_printoptions(sci_mode=True)
print(x)
torch.set_printoptions(profile="full", sci_mode=False)
print(torch.arange(1200)[:20])
torch.set_printoptions(profile="default")
print(torch.arange(3000.0))
torch.set_printoptions(threshold=10, edgeitems=2, linewidth=40)
print(torch.arange(400).reshape(20, 20))
torch.set_printoptions(profile="default")
print(torch.tensor([1e10, 1.0]), torch.tensor([float("nan"), float("inf"), -1]), torch.tensor([]), torch.zeros(0, 3))

# ---- printing: dtypes
for d in (
    torch.float16,
    torch.bfloat16,
    torch.float64,
    torch.int8,
    torch.uint8,
    torch.int64,
    torch.bool,
    torch.complex64,
    torch.complex128,
    torch.int32,
    torch.uint16,
    torch.float8_e5m2,
):
    print(torch.tensor([0, 1, 2]).to(d))
    print(torch.tensor(1).to(d))
print(torch.tensor([1 + 2.5j, -3e-5j]), torch.tensor([[True, False]]), torch.tensor(2.0), torch.tensor([1.5]))
print(torch.nn.Parameter(torch.ones(2)), torch.ones(2, requires_grad=True), repr(torch.ones(1)), str(torch.ones(1)))
print(
    f"{torch.tensor(3.14159):.2f} {torch.tensor(5)}", "%.3f" % torch.tensor(2.5), [torch.ones(1)], {"a": torch.ones(1)}
)
attempt(lambda: f"{torch.ones(2):.2f}")

# ---- generators
g = torch.Generator()
print(g.initial_seed(), g.device)
g.manual_seed(7)
a = torch.rand(3, generator=g)
state = g.get_state()
b = torch.rand(3, generator=g)
g.set_state(state)
print(a, torch.equal(b, torch.rand(3, generator=g)), state.dtype, state.shape)
torch.manual_seed(3)
print(
    torch.initial_seed(),
    torch.randn(3),
    torch.randint(10, (4,)),
    torch.randperm(5),
    torch.bernoulli(torch.full((4,), 0.5)),
)
with torch.random.fork_rng():
    torch.rand(10)
print(torch.rand(2), torch.normal(0.0, torch.ones(2)), torch.multinomial(torch.tensor([0.1, 0.2, 0.7]), 2))
print(torch.empty(3).uniform_(1, 2), torch.empty(3).exponential_(), torch.nn.init.trunc_normal_(torch.empty(3)))
raises(lambda: torch.rand(2, generator=5))
attempt(lambda: torch.manual_seed("a"))

# ---- type promotion
i, f, h, b, c = (
    torch.tensor([1]),
    torch.tensor([1.0]),
    torch.tensor([1.0], dtype=torch.half),
    torch.tensor([True]),
    torch.tensor([1j]),
)
zi, zf, zd = torch.tensor(1), torch.tensor(1.0), torch.tensor(1.0, dtype=torch.float64)
for a, b2 in (
    (i, f),
    (i, zf),
    (i, 1.5),
    (h, f),
    (h, zd),
    (h, 1.5),
    (b, i),
    (b, 1),
    (b, 1.5),
    (i, c),
    (f, 1j),
    (i, 1j),
    (zi, zf),
    (zi, True),
    (torch.tensor([1], dtype=torch.uint8), torch.tensor([1], dtype=torch.int8)),
    (torch.tensor([1], dtype=torch.uint8), 300),
    (zd, zf),
    (zd, i),
):
    print(torch.result_type(a, b2), (a + b2).dtype, (a * b2).dtype)
print(
    (i / 2).dtype,
    (i // 2).dtype,
    (b + b).dtype,
    i.sum().dtype,
    b.sum().dtype,
    h.sum().dtype,
    (i**2).dtype,
    (i**-1.0).dtype,
)
print(
    torch.promote_types(torch.int32, torch.float16),
    torch.promote_types(torch.uint8, torch.int8),
    torch.promote_types(torch.bfloat16, torch.half),
)
print(
    [
        torch.can_cast(a, b)
        for a, b in (
            (torch.double, torch.float),
            (torch.float, torch.int),
            (torch.int, torch.bool),
            (torch.cfloat, torch.float),
            (torch.bool, torch.int),
        )
    ]
)
attempt(lambda: i.add_(1.5))
attempt(lambda: b.sub_(b))
attempt(lambda: torch.add(i, 1.5, out=torch.empty(1, dtype=torch.int64)))
attempt(lambda: torch.promote_types(torch.uint16, torch.int32))
attempt(lambda: i.mean())
attempt(lambda: -b)

# ---- indexing: reading
x = torch.arange(24).reshape(2, 3, 4)
print(x[0, 1], x[..., 0], x[:, None].shape, x[1, :, ::2], x[-1, -1, -1], x[None, ..., None].shape)
print(x[[0, 1], [1, 2]], x[:, [0, 2]].shape, x[torch.tensor([[0], [1]]), 1].shape, x[x > 20], x[x[:, 0, 0] > 5].shape)
print(
    x[0][[True, False, True]].shape,
    x[:, torch.tensor([0, 1]), 1:3].shape,
    x[[0], :, [1]].shape,
    x[True].shape,
    x[False].shape,
)
print(x[()].shape, x[torch.tensor(1)].shape, x[:, 5:].shape, x[1:0].shape, x[..., [3]].shape)
for bad in (
    lambda: x[5],
    lambda: x[0, 0, 0, 0],
    lambda: x[1.5],
    lambda: x["a"],
    lambda: x[..., ...] if False else x[::-1],
    lambda: x[[0, 1], [0, 1, 2]],
    lambda: x[torch.ones(3, dtype=torch.bool)],
    lambda: x[[7]],
    lambda: x[torch.tensor([1.0])],
    lambda: torch.tensor(1)[0],
):
    attempt(bad)

# ---- indexing: writing
x = torch.zeros(3, 4)
x[0] = 1
x[:, 1] = torch.tensor([1.0, 2.0, 3.0])
x[1, 2:] = 5
x[[0, 2], [3, 3]] = torch.tensor([7.0, 8.0])
x[x == 0] = -1
x[..., -1] += 10
x[None, 0] = x[1]
x[torch.tensor([True, False, True]), 0] = 9
print(x)
x[:] = x.t().reshape(3, 4)
x[1:2, ::2] = torch.tensor([[100.0]])
print(x)
for bad in (
    lambda: x.__setitem__(9, 1),
    lambda: x.__setitem__(0, torch.ones(3)),
    lambda: x.__setitem__((0, 0), torch.ones(2)),
    lambda: x.__setitem__([0, 1], torch.ones(3, 4)),
    lambda: x.__setitem__("a", 1),
    lambda: x.__setitem__(x > 0, torch.ones(1000)),
):
    attempt(bad)
i = torch.zeros(3, dtype=torch.int64)
i[0] = 2.7
i[1] = True
print(i)
attempt(lambda: i.__setitem__(0, 1j))

# ---- views share memory
x = torch.arange(12.0).reshape(3, 4)
views = [
    x[1],
    x.t(),
    x.view(4, 3),
    x[:, 1:3],
    x.diagonal(),
    x.unfold(1, 2, 2),
    x.unsqueeze(0),
    x.narrow(0, 1, 2),
    x.split(2)[1],
    x.as_strided((2, 2), (1, 5), 1),
    x.view(torch.int32),
]
for v in views:
    print(
        tuple(v.shape),
        v.stride(),
        v.storage_offset(),
        v._is_view(),
        v.is_contiguous(),
        v.data_ptr() - x.data_ptr(),
        v._base is x,
    )
x.mul_(2)
print([v.reshape(-1)[-1].item() for v in views[:-1]])
views[1][0, 2] = 99
views[4].zero_()
print(x, views[0])
print(
    x.reshape(4, 3).data_ptr() == x.data_ptr(),
    x.t().reshape(12).data_ptr() == x.data_ptr(),
    x.contiguous() is x,
    x.flatten()._base is x,
)
attempt(lambda: x.t().view(12))
attempt(lambda: x.view(5, 5))
attempt(lambda: x.view(-1, 5))
attempt(lambda: x.expand(3, 5))
attempt(lambda: x.expand(2, 3, 4).mul_(2))

# ---- as_strided, set_, resize_
x = torch.arange(10.0)
y = x.as_strided((3, 3), (3, 1), 1)
print(y, y.storage_offset())
y.fill_(0)
print(x)
attempt(lambda: x.as_strided((5, 5), (5, 1)))
attempt(lambda: x.as_strided((2,), (-1,)))
z = torch.ones(2)
z.set_(x)
print(z.data_ptr() == x.data_ptr(), z.shape)
z.set_(x.untyped_storage(), 2, (2, 2), (2, 1)) if False else z.set_(x.storage(), 2, (2, 2), (2, 1))
print(z, z.stride(), z.storage_offset())
w = torch.arange(6.0)
w.resize_(2, 2)
print(w, w.untyped_storage().nbytes())
w.resize_(3)
print(w)
print(w.resize_as_(torch.ones(2, 1)).shape, torch.zeros(0).resize_(2).shape)
attempt(lambda: torch.ones(2, requires_grad=True).resize_(3))

# ---- channels_last
x = torch.arange(24.0).reshape(1, 2, 3, 4).to(memory_format=torch.channels_last)
print(x.stride(), x.is_contiguous(), x.is_contiguous(memory_format=torch.channels_last), x[0, 1, 2, 3])
print(x.clone().stride(), x.contiguous().stride(), torch.empty_like(x).stride(), x.permute(0, 2, 3, 1).is_contiguous())
print(torch.nn.Conv2d(2, 2, 3).to(memory_format=torch.channels_last).weight.stride())
print(torch.empty(2, 3, 4, 5, memory_format=torch.channels_last).stride(), x.float().stride(), x.double().stride())
attempt(lambda: torch.ones(2).to(memory_format=torch.channels_last))
attempt(lambda: torch.ones(2, 2).contiguous(memory_format=torch.channels_last))

# ---- out=
x, y = torch.arange(3.0), torch.ones(3)
out = torch.empty(3)
print(torch.add(x, y, out=out) is out, out, out._version)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    small = torch.empty(2)
    torch.mul(x, y, out=small)
    print(small, [w.category.__name__ for w in caught])
values, index = torch.empty(0), torch.empty(0, dtype=torch.int64)
print(tuple(torch.max(torch.tensor([[1.0, 3.0], [2.0, 0.0]]), 1, out=(values, index))))
print(torch.add(x.int(), 1, out=torch.empty(3)).dtype)
attempt(lambda: torch.add(x, 1, out=torch.empty(3, dtype=torch.int32)))
attempt(lambda: torch.add(x.requires_grad_(), 1, out=out))
print(torch.stack([y, y], out=torch.empty(2, 3)).shape, torch.arange(3, out=torch.empty(3, dtype=torch.int64)))
view = torch.zeros(2, 3)
torch.add(y, 1, out=view[1])
print(view)

# ---- data and detach
x = torch.ones(3, requires_grad=True)
d = x.detach()
d.mul_(5)
print(x, d.data_ptr() == x.data_ptr(), d.requires_grad, x._version)
x.data = torch.zeros(3)
print(x, x.requires_grad, d)
x.data.fill_(2)
print(x, x.data._version)
y = (x * 2).detach_()
print(y.requires_grad, y.is_leaf)
attempt(lambda: setattr(x, "data", 5))

# ---- the NumPy bridge
import numpy as np

x = torch.arange(3.0)
print(
    x.numpy(),
    x.numpy().dtype,
    np.asarray(x),
    np.array(x.t()),
    torch.from_numpy(np.arange(3)),
    torch.from_numpy(np.float32(2) * np.ones(2, np.float32)),
)
print(
    x.tolist(),
    torch.tensor(2.5).item(),
    torch.tensor([[1, 2]]).tolist(),
    torch.tensor(True).item(),
    torch.tensor(1j).item(),
    torch.ones(2, dtype=torch.half).tolist(),
)
print(
    torch.as_tensor(np.ones(2)).dtype,
    torch.tensor(np.int64(3)),
    torch.tensor(np.array(2.0)),
    torch.asarray([1, 2]),
    x * np.float64(2),
    np.sin(x),
)
print(
    torch.tensor(np.arange(3)[::-1].copy()),
    np.ones(3) * 2 + torch.ones(3).numpy(),
    torch.ones(2) + np.ones(2, np.float32),
)
for bad in (
    lambda: torch.ones(1, requires_grad=True).numpy(),
    lambda: torch.ones(1, dtype=torch.bfloat16).numpy(),
    lambda: torch.ones(2).item(),
    lambda: torch.from_numpy([1]),
    lambda: torch.from_numpy(np.array(["a"])),
    lambda: torch.tensor("a"),
    lambda: torch.tensor([[1], [1, 2]]),
    lambda: torch.tensor([None]),
):
    attempt(bad)
print(
    torch.from_dlpack(x.clone()),
    torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(x.clone())),
    x.__dlpack_device__()[1],
    np.from_dlpack(x.clone()),
)

# ---- truth, numbers, iteration
x = torch.tensor([3])
print(
    bool(x),
    int(x),
    float(x),
    complex(x),
    x.__index__(),
    [10, 20, 30, 40][x],
    list(range(5))[torch.tensor(2)],
    [*torch.arange(3)],
    3 in x,
    4 in x,
)
print(
    torch.tensor(2) == 2,
    (torch.ones(2) == torch.ones(2)).all(),
    round(float(torch.tensor(2.6))),
    divmod(torch.tensor(7), 2) if False else 7,
    abs(torch.tensor(-1)),
    ~torch.tensor(1),
    +x,
    -x,
)
for bad in (
    lambda: bool(torch.ones(2)),
    lambda: bool(torch.ones(0)),
    lambda: int(torch.ones(2)),
    lambda: iter(torch.tensor(1)).__next__(),
    lambda: [1][torch.tensor(0.0)],
    lambda: hash(x) and 5,
    lambda: x + "a",
    lambda: x @ x.reshape(1, 1, 1) if False else torch.ones(2, 3) @ torch.ones(2, 3),
    lambda: x + None,
    lambda: torch.ones(2) + torch.ones(3),
    lambda: x < "a",
):
    attempt(bad)
print(
    x.__radd__(1),
    2 ** torch.tensor([1.0, 2.0]),
    1 / torch.tensor([2.0]),
    5 % torch.tensor([3]),
    7 // torch.tensor([2]),
    1 - x,
    [1.0] * torch.tensor([2.0]) if False else 1,
)

# ---- in-place forms
x = torch.tensor([1.0, 4.0, 9.0])
y = x
x += 1
x *= 2
x -= 1
x /= 2
x **= 2
print(x, y is x, x._version)
i = torch.tensor([5, 6])
i //= 2
i %= 2
i |= 4
i <<= 1
print(i)
attempt(lambda: i.div_(2))
attempt(lambda: i.sqrt_())
attempt(lambda: x.add_(torch.ones(2, 3)))
attempt(lambda: torch.ones(1).expand(3).add_(1))
print(
    x.copy_(torch.arange(3)),
    x.fill_(7),
    x.zero_(),
    x.clamp_(1, 2),
    x.t_() is x,
    x.unsqueeze_(0).shape,
    x.squeeze_().shape,
)
print(
    torch.ones(2, 3).transpose_(0, 1).stride(),
    torch.arange(4).masked_fill_(torch.tensor([True, False, True, False]), 9),
    torch.zeros(3).index_fill_(0, torch.tensor([1]), 2),
)
a, b = torch.zeros(3), torch.ones(3)
a.swap_ if False else None
print(
    torch.zeros(2, 3).index_add_(1, torch.tensor([0, 0]), torch.ones(2, 2)),
    torch.zeros(3).scatter_(0, torch.tensor([2]), 5.0),
    torch.zeros(2).put_(torch.tensor([1]), torch.tensor([3.0])),
)

# ---- saving: corners
import io
import os
import tempfile


def through(obj, **kwargs):
    f = io.BytesIO()
    torch.save(obj, f)
    f.seek(0)
    return torch.load(f, **kwargs)


x = torch.arange(6.0)
a, b = through([x, x[2:]])
b[0] = 100
print(a, b, b.storage_offset(), b.stride())
print(through({"t": x.reshape(2, 3).t(), "n": None, "l": [1, (2.5, "s")], "b": True, "c": 1j}))
print(
    through(torch.nn.Linear(2, 2).state_dict()).keys(),
    through(torch.nn.Parameter(x)).requires_grad,
    through(torch.ones(2, requires_grad=True)).requires_grad,
)
print(
    through(
        (
            torch.tensor([1], dtype=torch.bfloat16),
            torch.tensor(True),
            torch.tensor([1j]),
            torch.zeros(0, 3),
            torch.tensor([1], dtype=torch.uint16),
        )
    )
)
print(through(torch.Size([1, 2])), through(torch.float16), through(torch.device("cpu")))
print(
    through(x, map_location="cpu").device,
    through(x, map_location=torch.device("cpu")).device,
    through(x, map_location=lambda s, l: s).device,
    through(x, map_location={"cuda:0": "cpu"}).shape,
)


class Mine:
    pass


raises(lambda: through(Mine()))
with torch.serialization.safe_globals([Mine]):
    print(type(through(Mine())).__name__)
print(type(through(Mine(), weights_only=False)).__name__)
raises(lambda: torch.load(io.BytesIO(b"nonsense")))
raises(lambda: torch.load(io.BytesIO(b"")))
attempt(lambda: torch.load("/nonexistent/file.pt"))
raises(lambda: torch.save(x, "/nonexistent/file.pt"))
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "x.pt")
    torch.save(x, path)
    print(torch.load(path, mmap=True), sorted(os.listdir(folder)))
    torch.save(x, path, _use_new_zipfile_serialization=False)
    print(torch.load(path))

# ---- saving: optimizers and modules
import io

torch.manual_seed(0)
m = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
o = torch.optim.Adam(m.parameters(), lr=0.1)
m(torch.randn(4, 2)).sum().backward()
o.step()
f = io.BytesIO()
torch.save({"model": m.state_dict(), "optimizer": o.state_dict()}, f)
f.seek(0)
loaded = torch.load(f)
print(
    loaded["optimizer"]["param_groups"][0]["lr"],
    sorted(loaded["optimizer"]["state"][0]),
    loaded["optimizer"]["state"][0]["step"],
)
n = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
print(
    n.load_state_dict(loaded["model"]),
    all(torch.equal(a, b) for a, b in zip(m.state_dict().values(), n.state_dict().values())),
)
attempt(lambda: torch.nn.Linear(2, 2).load_state_dict(loaded["model"]))
attempt(lambda: torch.nn.Linear(2, 2).load_state_dict({"weight": torch.ones(3, 3), "bias": torch.ones(2)}))

# ---- copies
import copy
import pickle

x = torch.arange(4.0)
x.note = "kept"
y = copy.deepcopy(x)
print(y, y.note, y.data_ptr() == x.data_ptr(), copy.copy(x).data_ptr() == x.data_ptr())
a, b = copy.deepcopy([x, x[1:]])
a[1] = 50
print(b)
z = pickle.loads(pickle.dumps(x))
print(z, z.note, pickle.loads(pickle.dumps(torch.float32)) is torch.float32)
p = torch.nn.Parameter(torch.ones(2))
print(copy.deepcopy(p), type(copy.deepcopy(p)).__name__, copy.deepcopy(torch.nn.Linear(1, 1)).weight.requires_grad)

# ---- creation
print(
    torch.zeros(2),
    torch.ones(1, 2),
    torch.full((2,), 3),
    torch.full((2,), 3.0),
    torch.eye(2),
    torch.arange(1, 2, 0.3),
    torch.linspace(0, 1, 3),
    torch.logspace(0, 2, 3),
)
print(
    torch.empty(0),
    torch.tensor([]),
    torch.tensor(()),
    torch.zeros(()),
    torch.zeros(2, dtype=torch.bool),
    torch.arange(5, dtype=torch.float16),
    torch.tril_indices(2, 2),
)
print(
    torch.Tensor([1, 2]),
    torch.Tensor(2, 3).shape,
    torch.FloatTensor([1]),
    torch.LongTensor([1]),
    torch.Tensor().shape,
    torch.IntTensor(2).dtype,
)
x = torch.ones(2, 3, dtype=torch.float64)
print(
    x.new_zeros(2).dtype,
    x.new_tensor([1]),
    x.new_full((1,), 2),
    torch.zeros_like(x).dtype,
    torch.empty_like(x, dtype=torch.int8).dtype,
    x.new(2).shape,
    torch.rand_like(x).dtype,
)
print(
    torch.complex(torch.ones(1), torch.ones(1)),
    torch.polar(torch.ones(1), torch.zeros(1)),
    torch.heaviside(torch.tensor([-1.0, 0.0, 1.0]), torch.tensor([0.5])),
    torch.vander(torch.tensor([1, 2, 3])),
)
for bad in (
    lambda: torch.zeros(-1),
    lambda: torch.ones("a"),
    lambda: torch.arange(0, 1, 0),
    lambda: torch.eye(-1),
    lambda: torch.full((2,)),
    lambda: torch.zeros(2, dtype="float"),
    lambda: torch.linspace(0, 1),
    lambda: torch.tensor(),
    lambda: torch.Tensor(1.5),
):
    raises(bad)

# ---- methods: argument forms
x = torch.arange(6.0).reshape(2, 3)
print(
    x.sum(dim=1, keepdim=True),
    x.sum(axis=0),
    x.sum((0, 1)),
    x.mean(-1),
    x.max(dim=1),
    x.argmax(),
    x.view(size=(3, 2)).shape if False else x.view(3, 2).shape,
)
print(
    x.permute(1, 0).shape,
    x.permute((1, 0)).shape,
    x.permute(dims=(1, 0)).shape,
    x.reshape((3, 2)).shape,
    x.reshape(-1).shape,
    x.transpose(dim0=0, dim1=1).shape,
    x.expand(-1, 3).shape,
    x.repeat(1, 2).shape,
)
print(
    torch.sum(input=x, dim=0),
    torch.add(x, 1, alpha=2)[0],
    torch.clamp(x, max=2)[1],
    x.clamp(min=torch.tensor(1.0))[0],
    torch.where(x > 2, x, 0.0)[0],
    x.type(torch.int32).dtype,
    x.to("cpu", torch.float64).dtype,
    x.to(torch.ones(1, dtype=torch.half)).dtype,
)
print(
    x.max(dim=0).values,
    x.max(0)[1],
    x.sort(descending=True).indices,
    torch.topk(x, 2),
    x.min(1, keepdim=True).values.shape,
    x.unique(return_counts=True),
    torch.split(x, [1, 2], dim=1)[1].shape,
    x.chunk(2, -1)[0].shape,
)
named = x.max(0)
print(type(named).__name__, isinstance(named, tuple), len(named))
for bad in (
    lambda: x.sum(dim=5),
    lambda: x.sum(dim=(0, 0)),
    lambda: x.sum(nothing=1),
    lambda: torch.add(x),
    lambda: x.permute(0),
    lambda: torch.cat([x, x.t()]),
    lambda: torch.stack([x, x[0]]),
    lambda: x.reshape(4),
    lambda: torch.cat([]),
    lambda: torch.mm(x, x),
    lambda: torch.bmm(x, x),
    lambda: x.max(0, 1, 2, 3),
):
    raises(bad)

# ---- errors that programs print
x = torch.ones(2, 3)
for bad in (
    lambda: torch.mm(x, x),
    lambda: x @ x,
    lambda: x + torch.ones(4),
    lambda: x.view(7),
    lambda: torch.cat([x, torch.ones(3, 2)]),
    lambda: x.sum(3),
    lambda: x[:, 4],
    lambda: x.squeeze(5),
    lambda: x.transpose(0, 3),
    lambda: torch.nn.Linear(4, 2)(x),
    lambda: torch.nn.Conv2d(1, 1, 3)(x),
    lambda: torch.nn.functional.cross_entropy(x, torch.tensor([5, 0])),
    lambda: torch.nn.Embedding(2, 2)(torch.tensor([2])),
    lambda: torch.gather(x, 0, torch.tensor([[5]])),
    lambda: torch.stack([x, torch.ones(1)]),
    lambda: x.expand(4, 3),
    lambda: torch.bmm(x, x),
    lambda: x.reshape(5, -1),
    lambda: torch.randint(0, (2,)),
    lambda: torch.multinomial(torch.zeros(3), 1),
    lambda: torch.linalg.inv(torch.zeros(2, 2)),
    lambda: torch.linalg.cholesky(-torch.eye(2)),
    lambda: torch.einsum("ij,jk", x, x),
    lambda: x.split(0),
    lambda: x.chunk(0),
    lambda: torch.arange(3).sqrt_(),
    lambda: x.long().softmax(1),
    lambda: torch.ones(2, dtype=torch.int64) @ torch.ones(2),
    lambda: torch.nn.functional.one_hot(torch.tensor([-1])),
):
    attempt(bad)

# ---- storage
x = torch.arange(6.0)
s = x.untyped_storage()
print(
    type(s).__name__,
    s.nbytes(),
    len(s),
    s.data_ptr() == x.data_ptr(),
    x[2:].untyped_storage().data_ptr() == s.data_ptr(),
    s.device,
)
t = x.storage() if hasattr(x, "storage") else None
print(len(t), t[1], t.dtype, t.size())
print(
    x.is_set_to(x.view(6)) if hasattr(x, "is_set_to") else None,
    x.untyped_storage()._cdata == x[1:].untyped_storage()._cdata if False else True,
)
