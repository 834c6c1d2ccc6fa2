"""torch.nested against PyTorch's: values, shapes, kinds of errors, gradients; attention against the examples'."""

import copy
import io
import pickle

import pytest

from functorch_core import torch as ours
from functorch_core.torch.compat.nested import tensor as nested_module

theirs = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore")

# n: (2, j1, 2) of layout torch.jagged, whose ragged dimension is j.
JAGGED = """n; n.shape; n.size(0); n.numel(); n.stride(); n.dtype; n.layout; n.ndim; n.requires_grad; n.is_leaf
    n.is_contiguous(); n.is_nested; n + 1; n + n; n + torch.tensor([1., 2.]); n + torch.ones(1, 1, 2)
    n + torch.ones(3); n * torch.tensor([[[1.]], [[2.]]]); n * torch.ones(2, 1, 2); n > 3; F.relu(n - 3); -n
    1 - n; n ** 2; torch.where(n > 3, n, 0.); n.clamp(1, 3); n.lerp(n + 1, 0.5); n.sin(); n.sum(); n.sum(1)
    n.sum(2); n.sum(-1, keepdim=True); n.sum(1, keepdim=True); n.sum(0); n.sum((1, 2)); n.sum((0, 1))
    n.sum((0, 1), keepdim=True); n.sum((0, 1, 2)); n.mean(); n.mean(1); n.mean(1, keepdim=True); n.mean(-1)
    n.mean((0, 1)); n.max(); n.max(1); n.max(2); n.min(1); n.amax(1); n.amin(dim=1); n.amax(2); n.argmax(1)
    n.argmin(1); n.prod(1); (n > 3).any(); (n > 3).all(1); (n > 3).any(2); n.long().amax(1); n.long().sum(1)
    n.var(1); n.cumsum(1); n.softmax(2); n.softmax(1); F.log_softmax(n, -1); n.softmax(0); n.transpose(1, 2)
    n.transpose(1, 2).shape; n.transpose(1, 2).is_contiguous(); n.transpose(0, 1);; n.unsqueeze(-1)
    n.unsqueeze(1); n.unsqueeze(1).shape; n.unsqueeze(2); n.unsqueeze(0); n.unsqueeze(-1).squeeze(-1)
    n.squeeze(); n.view(2, -1, 1, 2); n.view(2, j, 2, 1); n.view(3, -1, 2); n.reshape(2, -1); n.flatten(1)
    n.unflatten(-1, (2, 1)).shape; n.unflatten(-1, (2, 1)).flatten(2); n.permute(0, 2, 1).shape
    n.permute(0, 2, 1); n.unsqueeze(-1).expand(-1, -1, -1, 3).shape; n.chunk(2, -1); n.chunk(2, 0)
    n.chunk(2, 1); n.split(1, -1); n.split([1, 1], 2); torch.cat([n, n], -1); torch.cat([n, n], 1)
    torch.cat([n, n], 0); torch.stack([n, n]); torch.stack([n, n], -1); n[0]; n[-1]; n[1, 0]; n[..., 0]; n[2]
    n[:, 1:]; n[:, 0]; n[:1]; n[n > 3]; n.narrow(2, 0, 1); n.narrow(1, 0, 1); n.select(0, 1); n.select(2, 1)
    F.linear(n, torch.ones(3, 2)); n @ torch.ones(2, 3); F.linear(n.transpose(1, 2), torch.ones(3, 2))
    n @ n.transpose(1, 2); n.transpose(1, 2) @ n; torch.bmm(n, torch.arange(12.).reshape(2, 2, 3))
    torch.ones(3, 2) @ n.transpose(1, 2); F.layer_norm(n, (2,)); F.rms_norm(n, (2,))
    F.layer_norm(n.transpose(1, 2), (2,)); F.dropout(n, 0.); F.gelu(n)
    F.embedding(n.long()[..., 0] % 3, torch.arange(6.).reshape(3, 2)); n.clone(); n.detach().requires_grad
    n.to(torch.float64); n.double().dtype; n.half(); n.int(); torch.zeros_like(n); torch.full_like(n, 3.)
    torch.ones_like(n, dtype=torch.int64); torch.randn_like(n).shape; n.clone().fill_(2.); n.clone().zero_()
    n.clone().add_(1); torch.zeros_like(n).copy_(n); n.clone().mul_(n); n.masked_fill(n > 3, 0.)
    n.transpose(1, 2).contiguous().shape; torch.nested.to_padded_tensor(n, -1., (2, 4, 2))
    torch.nested.to_padded_tensor(n, -1., (2, 2, 2)); n.values(); n.offsets(); n.lengths(); n.unbind()
    n.unbind(1); list(n); n._max_seqlen; n._min_seqlen; n.tolist(); n.numpy(); bool(n); len(n)
    make_of(n.values() * 2, n.offsets()) + n
    n + nested([torch.ones(2, 2), torch.ones(3, 2)], layout=torch.jagged)
    nested([torch.ones(2, 2), torch.ones(3, 3)], layout=torch.jagged); nested([], layout=torch.jagged)
    nested([torch.ones(2, 1, 2), torch.ones(2, 3, 2)], layout=torch.jagged).sum(2); nested([1, 2])
    nested([[1, 2], [3]], layout=torch.jagged); nested([[1, 2], [3]], dtype=torch.float64, layout=torch.jagged)
    nested([torch.ones(2), torch.ones(2, dtype=torch.int64)], layout=torch.jagged)
    nested(torch.ones(2, 2), layout=torch.jagged); nested([torch.ones(2)], layout=torch.sparse_coo)
    nested([torch.ones(0, 2), torch.ones(2, 2)], layout=torch.jagged).sum(1)
    torch.nested.as_nested_tensor(torch.ones(2, 2, 3), layout=torch.jagged); torch.nested.as_nested_tensor(n)
    torch.nested.as_nested_tensor(n, layout=torch.jagged); torch.nested.as_nested_tensor(torch.ones(2))
    make_of(n.values()); make_of(torch.ones(5, 2), lengths=torch.tensor([2, 3])).offsets()
    make_of(torch.ones(2, 5), n.offsets(), jagged_dim=2)
    make_of(torch.arange(8.), torch.tensor([0, 3, 8]), torch.tensor([2, 3]))
    make_of(torch.arange(8.), torch.tensor([0, 3, 8]), torch.tensor([2, 3])).is_contiguous()
    make_of(n.values(), n.offsets(), None, 0)
    narrow(torch.arange(12.).reshape(2, 6), 1, torch.tensor([0, 2]), torch.tensor([2, 3]), layout=torch.jagged)
    narrow(torch.arange(12.).reshape(2, 6), 1, 0, torch.tensor([2, 3]), layout=torch.jagged)
    narrow(torch.arange(12.).reshape(2, 6), 1, 0, 2, layout=torch.strided); narrow(torch.ones(2, 6), 0, 0, 1)
    torch.nested.masked_select(torch.arange(6.).reshape(2, 3), torch.arange(6).reshape(2, 3) % 2 == 0)
    j == j; j == 3; j >= 0; j >= 2; j > 1; j < 2; j != 4; j > 5; int(j); 2 * j == j; torch.zeros(2, j)"""

# n: examples of (2, 2) and (3, 2), m: of (2, 2) and (2, 3), of layout torch.strided.
STRIDED = """n; n.shape; n.size(0); n.size(1); n.size(2); n.numel(); n.dim(); n.is_contiguous(); n.layout
    n.is_nested; n.stride(); n._nested_tensor_size(); m + m; n + m; n + 1; n * torch.ones(2); (n - 2).relu()
    n > 1; n.sum(-1); n.sum(-1, keepdim=True); n.softmax(-1); n.softmax(1); F.linear(n, torch.ones(3, 2))
    torch.matmul(n, n.transpose(1, 2)); torch.matmul(n, torch.ones(2, 2))
    torch.bmm(n, nested([torch.ones(2, 1), torch.ones(2, 1)]))
    F.layer_norm(n, (2,), torch.ones(2), torch.zeros(2)); n.transpose(1, 2); n.reshape(2, -1, 1, 2)
    n.view(2, -1, 2, 1); n[0]; n[1, 2]; n.select(1, 0); n.select(0, 1); n.chunk(2, -1); n.split([1, 1], -1)
    torch.cat([n, n]); n.unsqueeze(1); n.unsqueeze(-1).squeeze(-1); n.to_padded_tensor(0.)
    torch.nested.to_padded_tensor(m, 9.); m.clone(); torch.nested.to_padded_tensor(m, 9., (3, 4, 5))
    torch.zeros_like(n); torch.ones_like(n); n.clone().fill_(1); n.clone().add_(1); F.dropout(n, 0.)
    F.embedding(nested([[0, 1], [2]]), torch.arange(6.).reshape(3, 2)); n.unbind(); n.to(torch.float64)
    n.half().dtype; n.masked_fill(n > 1, 0); n.abs(); n.cos(); n / (n + 1); -n; n.clone().mul_(2)
    torch.zeros_like(n).copy_(n); F.gelu(n); F.silu(n); n.tanh(); nested([])
    nested([torch.ones(2), torch.ones(3, 1)]); torch.nested.as_nested_tensor(torch.arange(6.).reshape(2, 3))
    nested([[1, 2], [3]], dtype=torch.float16)"""


def rounded(x):
    return [rounded(y) for y in x] if isinstance(x, list) else round(x, 5)


def described(x):
    """What a result is, whichever library's."""
    if isinstance(x, (ours.Tensor, theirs.Tensor)):
        if x.is_nested:
            symbols = [n if isinstance(n, int) else "j" for n in x.shape] if "jagged" in str(x.layout) else None
            return "nested", symbols, str(x.layout), [described(y) for y in x.unbind()]
        return str(x.dtype), tuple(x.shape), rounded(x.tolist())
    if isinstance(x, (tuple, list)) and not str(type(x)).endswith("Size'>"):
        return [described(y) for y in x]
    return x if isinstance(x, (int, float, bool, type(None))) else "".join(c for c in str(x) if not c.isdigit())


def outcome(torch, call: str, strided: bool):
    nested, parts = torch.nested.nested_tensor, [torch.arange(4.0).reshape(2, 2), torch.arange(6.0).reshape(3, 2)]
    space = {"torch": torch, "F": torch.nn.functional, "nested": nested, "narrow": torch.nested.narrow}
    space["make_of"] = torch.nested.nested_tensor_from_jagged
    if strided:
        space |= {"n": nested(parts), "m": nested([parts[0], parts[1].reshape(2, 3)])}
    else:
        n = torch.nested.nested_tensor_from_jagged(torch.arange(10.0).reshape(5, 2), torch.tensor([0, 2, 5]))
        space |= {"n": n, "j": n.shape[1]}
    try:
        return described(eval(call, space))
    except Exception as error:
        return type(error)


OTHER_ERRORS = {"int(j)", "torch.zeros(2, j)"}  # PyTorch's tell of its internals


@pytest.mark.parametrize("strided", [False, True])
def test_calls_give_what_pytorchs_give(strided):
    calls = [c.strip() for line in (STRIDED if strided else JAGGED).splitlines() for c in line.split("; ") if c.strip()]
    wrong = {}
    for call in calls:
        mine, wanted = outcome(ours, call, strided), outcome(theirs, call, strided)
        if call in OTHER_ERRORS:
            assert isinstance(mine, type) and isinstance(wanted, type)
        elif mine != wanted:
            wrong[call] = mine, wanted
    assert not wrong


# Where PyTorch 2.13 gives an error, or pads to another size than the longest and so leaves out elements.
BEYOND = {
    "2 / (n + 1)": lambda x: 2 / (x + 1),
    "F.log_softmax(n, 1)": lambda x: x.log_softmax(0),
    "n.transpose(1, 2).softmax(2)": lambda x: x.T.softmax(1),
    "n.view(2, 1, -1, 2)": lambda x: x[None],
    "n[:, :, 0]": lambda x: x[:, 0],
    "n[:, :, None]": lambda x: x[:, None],
    "n.to_padded_tensor(0.)": lambda x: theirs.nn.functional.pad(x, (0, 0, 0, 3 - len(x))),
    "n.transpose(1, 2).sum(2)": lambda x: x.sum(0),
    "n.unsqueeze(1).sum(2)": lambda x: x.sum(0, keepdim=True),
    "n.unsqueeze(1).amax(2, keepdim=True)": lambda x: x[None].amax(1, keepdim=True),
    "n.transpose(1, 2).to_padded_tensor(0.)": lambda x: theirs.nn.functional.pad(x.T, (0, 3 - len(x))),
    "torch.matmul(n.transpose(1, 2), n)": lambda x: x.T @ x,
}


@pytest.mark.parametrize("call", BEYOND)
def test_calls_give_what_those_of_each_example_give(call):
    examples = [theirs.arange(4.0).reshape(2, 2), theirs.arange(4.0, 10.0).reshape(3, 2)]
    n = ours.nested.nested_tensor_from_jagged(ours.arange(10.0).reshape(5, 2), ours.tensor([0, 2, 5]))
    found = eval(call, {"torch": ours, "F": ours.nn.functional, "n": n}).unbind()
    assert described(found) == described([BEYOND[call](x) for x in examples])


def network(torch):
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Embedding(10, 8),
        torch.nn.LayerNorm(8),
        torch.nn.Linear(8, 16),
        torch.nn.GELU(),
        torch.nn.Linear(16, 4),
    )


WORDS = [1, 2, 3], [4, 5, 6, 7, 8]


def gradients_nested(torch):
    """Those of a small network of examples of several lengths, and of what the examples were made of."""
    net = network(torch)
    words = torch.nested.nested_tensor([torch.tensor(w) for w in WORDS], layout=torch.jagged)
    weights = [torch.linspace(0, 1, len(w)).requires_grad_() for w in WORDS]
    scale = torch.nested.as_nested_tensor(weights, layout=torch.jagged)
    scale = torch.nested.nested_tensor_from_jagged(scale.values(), words.offsets())
    out = net(words) * scale.unsqueeze(-1)
    loss = out.softmax(1).amax(1).sum() + out.mean(1).pow(2).sum() + (out.transpose(1, 2) @ out).sum()
    loss.backward()
    return [loss.item(), *(x.grad.tolist() for x in (*net.parameters(), *weights))]


def gradients_of_each(torch):
    """The same, example by example."""
    net = network(torch)
    weights = [torch.linspace(0, 1, len(w)).requires_grad_() for w in WORDS]
    loss = 0.0
    for w, weight in zip(WORDS, weights):
        out = net(torch.tensor(w)) * weight.unsqueeze(-1)
        loss = loss + out.softmax(0).amax(0).sum() + out.mean(0).pow(2).sum() + (out.T @ out).sum()
    loss.backward()
    return [loss.item(), *(x.grad.tolist() for x in (*net.parameters(), *weights))]


def test_gradients():
    for mine, wanted in zip(gradients_nested(ours), gradients_of_each(theirs), strict=True):
        assert ours.tensor(mine).allclose(ours.tensor(wanted), rtol=1e-4, atol=1e-5)


def test_gradients_of_a_leaf():
    for layout in (ours.jagged, ours.strided):
        x = ours.nested.nested_tensor([ours.ones(2), ours.ones(3)], layout=layout, requires_grad=True)
        seen = []
        x.register_hook(seen.append)
        (x * x).to_padded_tensor(0.0).sum().backward()
        assert x.is_leaf and [g.tolist() for g in x.grad.unbind()] == [[2.0, 2.0], [2.0, 2.0, 2.0]]
        assert seen[0].is_nested and seen[0].layout is layout
        (g,) = ours.autograd.grad((3 * x).to_padded_tensor(0.0).sum(), x)
        assert [y.tolist() for y in g.unbind()] == [[3.0, 3.0], [3.0, 3.0, 3.0]]
        with pytest.raises(RuntimeError, match="scalar outputs"):
            (x * 2).backward()
        (x * 2).backward(ours.ones_like(x))
        assert x.grad.unbind()[1].tolist() == [4.0, 4.0, 4.0]


@pytest.mark.parametrize("causal", [False, True])
def test_attention_is_that_of_each_example(causal):
    ours.manual_seed(0)
    queries, keys = (ours.tensor([0, *ends]) for ends in ([3, 8], [4, 5]))
    q = ours.nested.nested_tensor_from_jagged(ours.randn(8, 8), queries)
    k, v = (ours.nested.nested_tensor_from_jagged(ours.randn(5, 8), keys) for _ in range(2))
    heads = [x.unflatten(-1, (2, 4)).transpose(1, 2) for x in (q, k, v)]
    attention = ours.nn.functional.scaled_dot_product_attention
    found = attention(*heads, is_causal=causal)
    assert found.shape[2] == q.shape[1]
    for mine, *example in zip(found.unbind(), *(x.unbind() for x in heads)):
        assert mine.allclose(attention(*example, is_causal=causal), atol=1e-6)
    strided = [ours.nested.nested_tensor([y.contiguous() for y in x.unbind()]) for x in heads]
    for mine, other in zip(attention(*strided, is_causal=causal).unbind(), found.unbind()):
        assert mine.allclose(other, atol=1e-6)


def test_attention_modules():
    """In training and without gradients; PyTorch's have nested tensors of layout torch.strided without gradients."""
    rows = [[[0.1 * (i + j) for j in range(8)] for i in range(n)] for n in (5, 3)]
    for kind in ("MultiheadAttention", "TransformerEncoderLayer"):
        found = []
        for torch in (theirs, ours):
            torch.manual_seed(0)
            module = getattr(torch.nn, kind)(8, 2, batch_first=True).eval()
            x = torch.nested.nested_tensor([torch.tensor(r).sin() for r in rows])
            with torch.no_grad():
                out = module(x, x, x) if kind == "MultiheadAttention" else (module(x), None)
            found.append([[y.tolist() for y in out[0].unbind()], out[1] if out[1] is None else out[1].tolist()])
        for mine, wanted in zip(found[1][0], found[0][0], strict=True):
            assert ours.tensor(mine).allclose(ours.tensor(wanted), atol=1e-5)
        if found[0][1] is not None:
            assert ours.tensor(found[1][1]).allclose(ours.tensor(found[0][1]), atol=1e-5)
        x = ours.nested.nested_tensor([ours.tensor(r) for r in rows], layout=ours.jagged)
        given = (x, x, x) if kind == "MultiheadAttention" else (x,)
        out = module(*given) if kind != "MultiheadAttention" else module(*given)[0]
        assert out.requires_grad and out.shape == x.shape
        for mine, example in zip(out.unbind(), x.unbind()):
            alone = module(*[example[None]] * len(given))
            assert mine.allclose((alone if kind != "MultiheadAttention" else alone[0])[0], atol=1e-5)
    encoder = ours.nn.TransformerEncoder(module, 2)
    for layout in (ours.strided, ours.jagged):
        x = ours.nested.nested_tensor([ours.tensor(r) for r in rows], layout=layout)
        for mine, example in zip(encoder(x).unbind(), x.unbind()):
            assert mine.allclose(encoder(example[None])[0], atol=1e-5)
    with pytest.raises(AssertionError, match="takes no masks"):
        ours.nn.MultiheadAttention(8, 2, batch_first=True)(x, x, x, attn_mask=ours.zeros(5, 5))
    with pytest.raises(AssertionError, match="batch_first=True"):
        ours.nn.MultiheadAttention(8, 2)(x, x, x)


def test_copies_and_pickles():
    for layout in (ours.jagged, ours.strided):
        x = ours.nested.nested_tensor([ours.ones(2), ours.ones(3)], layout=layout, requires_grad=True)
        for other in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
            assert other.requires_grad and other.layout is layout and ours.equal(x.detach(), other.detach())
    assert str(x).startswith("nested_tensor([\n  tensor([1., 1.]),")


def test_a_network_in_a_program_for_each_lengths():
    """Steps under torch.compile, of other lengths each: the same as eager ones."""
    linear = ours.nn.Linear(2, 2)
    step = ours.compile(lambda x: linear(x).relu().sum(1))
    for n in (1, 3, 2):
        x = ours.nested.nested_tensor([ours.ones(n, 2), ours.ones(2, 2)], layout=ours.jagged)
        wanted = ours.stack([linear(y).relu().sum(0) for y in x.unbind()])
        assert step(x).allclose(wanted)


def test_what_takes_no_nested_tensors_says_so():
    x = ours.nested.nested_tensor([ours.ones(2, 2), ours.ones(3, 2)], layout=ours.jagged)
    with pytest.raises(NotImplementedError, match="torch.cumsum of nested tensors of layout torch.jagged"):
        x.cumsum(1)
    with pytest.raises(NotImplementedError, match=r"nested\.values\(\)"):
        ours.optim.SGD([x.requires_grad_()], 0.1).step() or x.backward(x) or ours.linalg.norm(x)
    with pytest.raises(TypeError, match=r"transpose\(\) missing"):
        x.transpose(1)
    with pytest.raises(RuntimeError, match="offsets must not decrease"):
        ours.nested.nested_tensor_from_jagged(ours.ones(3), ours.tensor([0, 5]))
    assert nested_module.NestedInt(3) * 2 != nested_module.NestedInt(3)


@pytest.mark.parametrize("layout", ["jagged", "strided"])
def test_files_are_loaded_as_weights(layout):
    x = ours.nested.nested_tensor([ours.ones(2, 3), ours.zeros(1, 3)], layout=getattr(ours, layout))
    y, buffer = x * 2, io.BytesIO()
    ours.save({"x": x, "y": y, "p": ours.nn.Parameter(x), "again": x}, buffer)
    for weights_only in (True, False):
        buffer.seek(0)
        found = ours.load(buffer, weights_only=weights_only)
        assert found["again"] is found["x"] and found["x"].layout is x.layout and found["p"].requires_grad
        assert [a.tolist() for a in (found["x"] + found["y"]).unbind()] == [a.tolist() for a in (x + y).unbind()]


def test_files_of_damaged_nested_tensors():
    x = ours.nested.nested_tensor([ours.ones(2), ours.ones(1)], layout=ours.jagged)

    class Damaged:
        def __init__(self, *parts):
            self.parts = parts

        def __reduce__(self):
            return x.__reduce_ex__(2)[0], self.parts

    for parts in ((1, False, 2), (ours.ones(3), False, None, None, 1), (ours.ones(3), False), ("x", 2, 3, 4, 5)):
        buffer = io.BytesIO()
        ours.save([Damaged(*parts)], buffer)
        buffer.seek(0)
        with pytest.raises(pickle.UnpicklingError):
            ours.load(buffer)
