# Programs of tests/torch/test_scripts.py: complex numbers of two halves.

# ---- making them
print(torch.tensor([1 + 2j, 3.5], dtype=torch.chalf), torch.tensor([1, 2], dtype=torch.complex32))
print(torch.zeros(2, dtype=torch.chalf), torch.ones(1, 2, dtype=torch.chalf), torch.tensor([], dtype=torch.chalf))
print(torch.full((2,), 70000.0, dtype=torch.chalf), torch.full((2,), 1e-5j, dtype=torch.chalf))
print(torch.zeros(1200, dtype=torch.chalf), torch.full_like(torch.zeros(2), 1j, dtype=torch.chalf))
h = torch.tensor([1.0, -2.5], dtype=torch.half)
print(torch.complex(h, h), torch.complex(h[0], h), h.chalf(), h.to(torch.chalf))
print(torch.view_as_complex(torch.ones(3, 2, dtype=torch.half)), h.view(torch.chalf))
print(torch.tensor([1e-7, 65519.0, 65520.0, 1.00048828126, float("nan")]).chalf())
print(torch.frombuffer(bytearray(b"\x00\x3c\x00\x40"), dtype=torch.chalf), torch.scalar_tensor(1j, dtype=torch.chalf))
attempt(lambda: torch.complex(h, h.float()))
attempt(lambda: torch.tensor([1 + 2j]).numpy().dtype)
attempt(lambda: torch.tensor([1 + 2j]).chalf().numpy())
attempt(lambda: torch.tensor(1 + 2j).chalf().half().item())
attempt(lambda: torch.randint(3, (2,), dtype=torch.chalf))

# ---- what is asked of them
x = torch.tensor([[1 + 2j, 3 - 1j], [0.25j, -7]], dtype=torch.chalf)
print(x.dtype, x.itemsize, x.nbytes, x.is_complex(), x.is_floating_point(), x.type(), x.stride())
print(x.tolist(), x[0, 0].item(), complex(x[0, 1]), bool(x[0, 0]), f"{x[0, 0]:.1f}", x.real, x.imag)
print(torch.finfo(torch.chalf), torch.chalf.to_real(), torch.chalf.to_complex(), torch.bfloat16.to_complex())
print(x.untyped_storage().tolist(), x.view(torch.int32), x.view(torch.half), torch.view_as_real(x))
print(torch.result_type(x, 1.5), torch.can_cast(torch.chalf, torch.half), torch.chalf.is_signed)
print(x.type("torch.ComplexFloatTensor").dtype, x.cfloat().type("torch.ComplexHalfTensor").dtype)
attempt(lambda: torch.int8.to_complex())
attempt(lambda: torch.iinfo(torch.chalf))
attempt(lambda: float(x[0, 0]))

# ---- computing with them
x = torch.tensor([[1 + 2j, 3 - 1j], [0.25j, -7]], dtype=torch.chalf)
y = torch.tensor([[1.1, 0.3j], [2 - 1j, 6e4 + 6e4j]]).chalf()
print(x + y, x - y, x * y, -x, abs(x), x.sgn(), x.conj(), x.conj_physical(), x == y, x != y)
print(x + 1, 2.5 * x, x * 1j, 1 - x, torch.add(x, y, alpha=2), torch.sub(x, y, alpha=0.5), y * y)
print(x.isfinite(), y.isnan(), x.bool(), x.any(), x.all(), x.isreal(), x.isinf())
print(torch.cat([x, y]), torch.stack([x, y]), x[0], x[:, 1], x[x == x], x.T, x.mH, x.repeat(1, 2))
print(torch.where(x == y, x, y), torch.where(x != y, 1j, x), x.masked_fill(x == 3 - 1j, 5j), x.diag())
print(x.cfloat(), x.cdouble(), x.half(), x.float(), x.bfloat16(), x.int(), x.to(torch.bool))

# ---- half precision becomes them
h, z = torch.tensor([1.5, -2.0]).half(), torch.tensor(0.5).half()
print(h * 1j, h + 1j, 1j - h, z * 1j, z * h * (1 + 1j), h == 1j, torch.where(h > 0, h, 2j))
print(h * torch.tensor(1j), h * torch.tensor([1j]), z * torch.tensor([1j]), torch.tensor(2) * h * 1j)
print(h * torch.tensor(1j).chalf(), h.float() * torch.tensor(1j).chalf(), torch.arange(2) * torch.tensor(1j).chalf())
print((h.bfloat16() * 1j).dtype, (h.float() * 1j).dtype, (h.double() * 1j).dtype, (torch.tensor(2) * 1j).dtype)
print(torch.cat([h, h.chalf()]), torch.cat([h.chalf(), h.float()]), torch.stack([h.chalf(), h.cfloat()]))
torch.set_default_dtype(torch.half)
print(torch.tensor(1j), torch.tensor([1, 2j]), torch.tensor(2) * 1j, torch.full((1,), 1j).dtype, torch.ones(2) * 1j)
torch.set_default_dtype(torch.bfloat16)
attempt(lambda: torch.tensor(1j))
print((torch.tensor(2) * 1j).dtype, torch.full((1,), 1j).dtype)
torch.set_default_dtype(torch.float32)

# ---- writing to them
x = torch.tensor([[1 + 2j, 3 - 1j], [0.25j, -7]], dtype=torch.chalf)
h = torch.ones(2, 2, dtype=torch.half)
x[0, 0] = 5j
x[1] = torch.tensor([1j, 2j])
x.real[0] = h[0]
x.imag += 1
print(x)
torch.view_as_real(x)[..., 1] = 4
x[x == 1 + 4j] = h[0, 0]
x *= 1j
x += h
print(x, x.neg_(), x.fill_(2 - 1j), x.zero_(), x.copy_(torch.tensor([1j, 2.0])))
print(
    torch.add(x, h, out=torch.empty(2, 2, dtype=torch.cfloat)),
    torch.abs(x, out=h),
    x.index_fill_(0, torch.tensor([1]), 3),
)
attempt(lambda: h.mul_(x))
attempt(lambda: h.add_(1j))
attempt(lambda: h.copy_(x))

# ---- random ones
print(torch.rand(3, dtype=torch.chalf), torch.randn(3, dtype=torch.chalf), torch.randn(40, dtype=torch.chalf))
print(torch.empty(3, dtype=torch.chalf).uniform_(-1, 2), torch.empty(17, dtype=torch.chalf).normal_(1, 2))
print(torch.rand_like(torch.ones(2, dtype=torch.chalf)), torch.randn_like(torch.ones(2, dtype=torch.chalf)))

# ---- their gradients
y = torch.tensor([1.5 + 2j, -0.5 - 1j]).chalf()
h = torch.tensor([0.5, 2.0]).half()
for f in (
    lambda a: a.imag,
    abs,
    lambda a: (a * a).imag,
    lambda a: (a * y).imag,
    lambda a: a.cfloat().abs(),
    lambda a: torch.view_as_real(a),
    lambda a: torch.cat([a, 2 * a]).imag,
    lambda a: (a * h).imag,
):
    a = y.clone().requires_grad_()
    f(a).sum().backward()
    print(a.grad, f(a))
for f in (lambda a: (a * 1j).imag, lambda a: torch.complex(a, a).abs(), lambda a: (a * y).abs()):
    a = h.clone().requires_grad_()
    f(a).sum().backward()
    print(a.grad)
print(torch.func.vmap(torch.func.grad(abs))(y), torch.func.vmap(lambda u, v: u * v)(h, y))
print(torch.func.jvp(lambda u: u * u, (y,), (y,)), torch.func.grad(lambda u: (u * u).imag.sum())(y))

# ---- copies and files
import copy
import io

x = torch.tensor([[1 + 2j, 3 - 1j], [0.25j, -7]], dtype=torch.chalf)
for new in (True, False):
    file = io.BytesIO()
    torch.save({"x": x, "transposed": x.T, "row": x[1], "dtype": torch.chalf}, file)
    found = torch.load(io.BytesIO(file.getvalue()), weights_only=new)
    found["x"][1] = 9
    print(found, found["transposed"].stride())
print(
    copy.deepcopy(x.T),
    copy.deepcopy(x).stride(),
    torch.nn.Parameter(x),
    torch.nn.Linear(2, 1).to(torch.chalf).weight.dtype,
)
torch.testing.assert_close(x, x * (1 + 1e-4))
attempt(lambda: torch.testing.assert_close(x, x + 1))
