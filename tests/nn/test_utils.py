"""nn.utils, nn.attention, nn.grad and nn.parallel against PyTorch."""

import copy
import importlib

import pytest

from functorch_core import torch
from tests.nn.both import agree, failing, warned


def part(t, name):
    """A module of torch.nn, as a program imports it."""
    return importlib.import_module(f"{t.nn.__name__}.{name}")


# ---- gradients and vectors -----------------------------------------------------------------------


def test_clipping():
    def program(t):
        m, u = t.nn.Linear(3, 4), t.nn.utils
        m(t.randn(5, 3)).pow(2).sum().backward()
        out = [
            u.get_total_norm([p.grad for p in m.parameters()], 1.0),
            u.clip_grad_norm_(m.parameters(), 0.5),
            m.weight.grad.clone(),
            u.clip_grad_norm_(m.parameters(), 1.0, float("inf")),
            u.clip_grad_norm_(m.weight, 99.0),
            u.clip_grad_norm_([t.ones(1)], 1.0),
        ]
        u.clip_grad_value_(m.parameters(), 0.05)
        out += [m.weight.grad.clone(), warned(u.clip_grad_norm, m.parameters(), 1.0)]
        m.weight.grad[0, 0] = float("inf")
        return out + [failing(u.clip_grad_norm_, m.parameters(), 1.0, 2.0, True)]

    agree(program)


def test_vectors():
    def program(t):
        m, u = t.nn.Linear(3, 4), t.nn.utils
        vector = u.parameters_to_vector(m.parameters())
        u.vector_to_parameters(vector * 2, m.parameters())
        m(t.ones(1, 3)).sum().backward()
        return [vector, m.state_dict(), m.weight.grad, failing(u.vector_to_parameters, 3, [])]

    agree(program)


def test_skip_init_draws_nothing():
    def program(t):
        m = t.nn.utils.skip_init(t.nn.Linear, 3, 4, bias=False)
        return [m, t.rand(2), failing(t.nn.utils.skip_init, t.nn.ReLU)]

    agree(program)


def test_fusion():
    def program(t):
        nn, u = t.nn, t.nn.utils
        c, b = nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3)
        b(c(t.randn(4, 2, 5, 5)))
        not_yet = failing(u.fuse_conv_bn_eval, c, b)
        c.eval()
        b.eval()
        x = t.randn(1, 2, 5, 5)
        linear, norm = nn.Linear(2, 3).eval(), nn.BatchNorm1d(3).eval()
        return [
            u.fuse_conv_bn_eval(c, b)(x),
            b(c(x)),
            not_yet,
            u.fuse_linear_bn_eval(linear, norm),
            u.fuse_linear_bn_eval(linear, norm).weight,
            failing(u.fuse_linear_bn_eval, nn.Linear(2, 2).eval(), norm),
        ]

    agree(program)


def test_which_parts_of_fused_layers_require_gradients():
    def program(t):
        nn, u = t.nn, t.nn.utils
        pairs = [(u.fuse_conv_bn_eval, lambda bias: nn.Conv2d(1, 1, 1, bias=bias), nn.BatchNorm2d(1).eval())]
        pairs += [(u.fuse_linear_bn_eval, lambda bias: nn.Linear(2, 1, bias=bias), nn.BatchNorm1d(1).eval())]
        fused = [fuse(layer(bias).eval(), norm) for fuse, layer, norm in pairs for bias in (True, False)]
        fused += [fuse(layer(True).eval().requires_grad_(False), norm) for fuse, layer, norm in pairs]
        return [(f.weight.requires_grad, f.bias.requires_grad) for f in fused]

    agree(program)


# ---- parametrizations ----------------------------------------------------------------------------


def test_register_and_remove():
    def program(t):
        nn, P = t.nn, t.nn.utils.parametrize

        class Symmetric(nn.Module):
            def forward(self, x):
                return x.triu() + x.triu(1).mT

        class Double(nn.Module):
            def forward(self, x):
                return 2 * x

            def right_inverse(self, x):
                return x / 2

        class Wrong(nn.Module):
            def forward(self, x):
                return x[0]

        m = nn.Linear(3, 3)
        P.register_parametrization(m, "weight", Symmetric())
        P.register_parametrization(m, "weight", Double())
        m(t.ones(1, 3)).sum().backward()
        out = [
            m,
            m.weight,
            m.parametrizations.weight.original.grad,
            m.state_dict(),
            P.is_parametrized(m, "bias"),
            P.type_before_parametrizations(m) is nn.Linear,
            type(m).__name__,
            failing(copy.copy, m),
        ]
        with P.cached():
            out += [m.weight is m.weight]
        c = copy.deepcopy(m)
        out += [
            c,
            c.weight,
            failing(setattr, m, "weight", t.ones(3, 3)),
            failing(P.register_parametrization, m, "weight", Wrong()),
            failing(P.register_parametrization, nn.Linear(2, 2), "weight", Wrong()),
            failing(P.register_parametrization, m, "x", Wrong())[0],
        ]
        P.remove_parametrizations(m, "weight")
        plain = P.register_parametrization(nn.Linear(2, 2), "weight", Double())
        P.remove_parametrizations(plain, "weight", leave_parametrized=False)
        d = P.register_parametrization(nn.Linear(2, 2), "bias", Double())
        d.bias = t.ones(2)
        e = P.transfer_parametrizations_and_params(d, nn.Linear(2, 2))
        return out + [m, m.weight, plain.weight, d.bias, d.state_dict(), e.state_dict(), type(m).__name__]

    agree(program)


def test_weight_norm():
    def program(t):
        m = t.nn.utils.parametrizations.weight_norm(t.nn.Conv2d(2, 3, 3))
        old = t.nn.utils.weight_norm(t.nn.Linear(3, 4), dim=None)
        y, z = m(t.randn(1, 2, 5, 5)), old(t.randn(2, 3))
        (y.sum() + z.sum()).backward()
        out = [
            y,
            z,
            m,
            m.state_dict(),
            old.state_dict(),
            old.weight_g.grad,
            m.parametrizations.weight.original0.grad,
            failing(t.nn.utils.weight_norm, old),
        ]
        out += [
            m.load_state_dict({"bias": t.ones(3), "weight_g": t.ones(3, 1, 1, 1), "weight_v": t.ones(3, 2, 3, 3)}),
            m.weight,
        ]
        t.nn.utils.remove_weight_norm(old)
        return out + [old.state_dict(), failing(t.nn.utils.remove_weight_norm, old)]

    agree(program)


def test_spectral_norm():
    def program(t):
        nn, u = t.nn, t.nn.utils
        m = u.parametrizations.spectral_norm(nn.ConvTranspose2d(2, 3, 3))
        y = m(m(t.randn(1, 2, 5, 5))[:, :2])
        y.sum().backward()
        out = [y, m, m.state_dict(), m.parametrizations.weight.original.grad, m.eval()(t.ones(1, 2, 3, 3))]
        out += [u.parametrizations.spectral_norm(nn.LayerNorm(3)).weight]
        old = u.spectral_norm(nn.Linear(3, 4))
        z = old(t.randn(2, 3)) + old(t.randn(2, 3))
        z.sum().backward()
        other = u.spectral_norm(nn.Linear(3, 4))
        other.load_state_dict(old.state_dict())
        out += [z, old.weight_orig.grad, old.state_dict(), other.state_dict(), old.state_dict()._metadata]
        u.remove_spectral_norm(old)
        return out + [old.state_dict(), failing(u.remove_spectral_norm, old), len(old._state_dict_hooks)]

    agree(program)


@pytest.mark.parametrize("kind", [None, "matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5)], ids=str)
def test_orthogonal(kind, shape):
    def program(t):
        make = t.nn.utils.parametrizations.orthogonal
        m = make(t.nn.Linear(shape[1], shape[0]), orthogonal_map=kind)
        w = m.weight
        (w * w.detach().cumsum(0)).sum().backward()
        plain = failing(make, t.nn.Linear(3, 3), "weight", "cayley", use_trivialization=False)
        return [
            w,
            m.parametrizations.weight.original.grad,
            m,
            m.state_dict(),
            plain,
            failing(make, t.nn.Linear(3, 3), "bias"),
            failing(make, t.nn.Linear(3, 3), "weight", "x"),
        ]

    agree(program)


def test_functional_call():
    def program(t):
        m = t.nn.Linear(2, 1)
        new = {"weight": t.ones(1, 2)}
        call = t.nn.utils.stateless.functional_call
        return [call(m, new, t.ones(1, 2)), m.weight, warned(call, m, new, (t.ones(1, 2),))]

    agree(program)


def test_functional_call_of_tied_weights():
    def program(t):
        class Tied(t.nn.Module):
            def __init__(self):
                super().__init__()
                self.l = t.nn.Linear(2, 2)
                self.w = self.l.weight

            def forward(self, x):
                return self.l(x) + self.w.sum()

        m, w, x = Tied(), t.ones(2, 2), t.ones(1, 2)
        call = importlib.import_module(
            f"{t.nn.__name__[:-3]}.func" if t is not torch else "functorch_core.torch.func"
        ).functional_call
        cases = [
            ({"l.weight": w}, {}),
            ({"w": w}, {}),
            ({"w": w}, {"tie_weights": False}),
            ({"l.weight": w, "l.bias": x[0]}, {"strict": True}),
            ({"w": w}, {"strict": True}),
            ({"q": w}, {}),
            ({"q": w}, {"strict": True}),
            ({"l": w}, {}),
            ({"w": 3}, {}),
            ({"l.weight.x": w}, {}),
            ({"l.q": w}, {}),
            ({"l.weight": w, "w": 2 * w}, {}),
            (3, {}),
        ]
        return [
            *(
                call(m, tensors, x, **kwargs)
                if failing(call, m, tensors, x, **kwargs) == "no error"
                else failing(call, m, tensors, x, **kwargs)
                for tensors, kwargs in cases
            ),
            m(x),
            m.w is m.l.weight,
        ]

    agree(program)


# ---- pruning -------------------------------------------------------------------------------------


def test_pruning():
    def program(t):
        prune, nn = part(t, "utils.prune"), t.nn
        m = nn.Sequential(nn.Linear(6, 5), nn.Linear(5, 4))
        prune.random_unstructured(m[0], "weight", 0.3)
        prune.l1_unstructured(m[0], "weight", 3)
        prune.ln_structured(m[0], "weight", 0.4, 2, 0)
        prune.random_structured(m[1], "weight", 2, 1)
        prune.identity(m[1], "bias")
        y = m(t.randn(2, 6))
        y.sum().backward()
        out = [
            m[0].weight,
            m.state_dict(),
            y,
            m[0].weight_orig.grad,
            prune.is_pruned(m),
            len(list(m[0]._forward_pre_hooks.values())[0]),
        ]
        prune.remove(m[0], "weight")
        out += [m.state_dict(), failing(prune.remove, m[0], "weight")]
        m = nn.Sequential(nn.Linear(6, 5), nn.Linear(5, 4))
        prune.global_unstructured([(m[0], "weight"), (m[1], "weight")], prune.L1Unstructured, amount=0.5)
        prune.custom_from_mask(m[0], "bias", t.tensor([1, 0, 1, 0, 1]))
        out += [m.state_dict(), prune.L1Unstructured(2).prune(t.arange(4.0))]
        return out + [
            failing(*c)
            for c in (
                (prune.l1_unstructured, m[0], "weight", 1.5),
                (prune.l1_unstructured, m[1], "bias", 99),
                (prune.random_structured, m[1], "bias", 1, 0),
                (prune.RandomUnstructured, "x"),
            )
        ]

    agree(program)


# ---- attention -----------------------------------------------------------------------------------


def test_flex_attention():
    def program(t):
        flex = part(t, "attention.flex_attention")
        q, k, v = t.randn(2, 4, 40, 8), t.randn(2, 2, 50, 8), t.randn(2, 2, 50, 6)
        slopes = t.randn(4, 40)

        def window(b, h, i, j):
            return (i >= j) & (i - j < 20)

        mask = flex.create_block_mask(window, None, None, 40, 50, device="cpu", BLOCK_SIZE=16)
        blocks = [
            mask.kv_num_blocks,
            mask.full_kv_num_blocks,
            mask.q_num_blocks,
            mask.to_dense(),
            str(mask),
            mask.sparsity(),
            list(mask.shape),
            mask.numel(),
            mask[0].sparsity(),
        ]
        out = flex.flex_attention(
            q, k, v, lambda s, b, h, i, j: s + (i - j) * 0.1 * slopes[h][i], mask, enable_gqa=True
        )
        both = flex.create_mask(flex.and_masks(window, flex.or_masks(flex.noop_mask, window)), 1, 1, 4, 4, "cpu")
        return [out, blocks, both, failing(flex.flex_attention, q, k, v)]

    agree(program)


def test_flex_attention_has_gradients():
    flex = part(torch, "attention.flex_attention")
    q, k, v = (torch.randn(1, 2, 5, 4, requires_grad=True) for _ in range(3))
    bias = torch.randn(5, 5, requires_grad=True)
    out = flex.flex_attention(q, k, v, lambda s, b, h, i, j: s + bias[i, j])
    out.square().sum().backward()
    other = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=bias)
    grads = torch.autograd.grad(other.square().sum(), (q, k, v, bias))
    for x, g in zip((q, k, v, bias), grads):
        assert torch.allclose(x.grad, g, atol=1e-5)


def test_block_masks_are_adjusted():
    def program(t):
        flex = part(t, "attention.flex_attention")
        mask = flex.create_block_mask(
            flex.and_masks(lambda b, h, i, j: i >= j), None, None, 64, 64, device="cpu", BLOCK_SIZE=16
        )
        small = (
            mask._adjust(32, 40)
            if t is torch
            else flex.create_block_mask(mask.mask_mod, None, None, 32, 40, device="cpu", BLOCK_SIZE=16)
        )
        return [small.shape, small.to_dense(), repr(mask)]

    agree(program)


def test_the_block_mask_that_allows_everything():
    def program(t):
        q, k = t.ones(1, 2, 5, 4), t.ones(1, 2, 7, 4)
        mask = part(t, "attention.flex_attention")._create_empty_block_mask(q, k)
        return [
            mask.kv_num_blocks,
            mask.kv_indices,
            mask.q_indices,
            mask.full_kv_indices,
            mask.to_dense(),
            mask.BLOCK_SIZE,
        ]

    agree(program)


def test_causal_bias_and_kernels():
    def program(t):
        bias, attention = part(t, "attention.bias"), t.nn.attention
        q, k = t.randn(2, 4, 5, 8), t.randn(2, 4, 7, 8)
        attend = t.nn.functional.scaled_dot_product_attention
        with attention.sdpa_kernel(attention.SDPBackend.MATH):
            out = [
                attend(q, k, k, attn_mask=bias.causal_lower_right(5, 7)),
                attend(q, k, k, attn_mask=bias.causal_upper_left(5, 7)),
            ]
        return out + [failing(bias.causal_upper_left, 1), attention.SDPBackend.MATH.name]

    agree(program)


# ---- the rest ------------------------------------------------------------------------------------


def test_gradients_of_convolutions():
    def program(t):
        grad = part(t, "grad")
        x, w, g = t.randn(2, 4, 6, 6), t.randn(4, 2, 3, 3), t.randn(2, 4, 3, 3)
        return [grad.conv2d_input(x.shape, w, g, 2, 1, 1, 2), grad.conv2d_weight(x, w.shape, g, 2, 1, 1, 2)]

    agree(program)


def test_parallel_runs_the_module():
    layer = torch.nn.Linear(2, 1)
    x = torch.ones(3, 2)
    wrapped = torch.nn.parallel.DistributedDataParallel
    with pytest.raises(ValueError, match="Default process group has not been initialized, please make sure to call"):
        wrapped(layer)
    torch.distributed.init_process_group("gloo", init_method="tcp://localhost:0", rank=0, world_size=1)
    try:
        modules = torch.nn.DataParallel(layer), wrapped(layer)
    finally:
        torch.distributed.destroy_process_group()
    for m in modules:
        assert torch.equal(m(x), layer(x))
        assert list(m.state_dict()) == ["module.weight", "module.bias"]
    assert torch.equal(torch.nn.parallel.data_parallel(layer, x), layer(x))
    first, second = torch.nn.parallel.scatter((x, {"k": 3}), [0, 1])
    assert first[0].shape == (2, 2) and second[1] == {"k": 3}
    assert torch.equal(torch.nn.parallel.gather([first, second], 0)[0], x)
    (replica,) = torch.nn.parallel.replicate(layer, [0])
    assert torch.equal(torch.nn.parallel.parallel_apply([replica], [x])[0], layer(x))


def test_amounts_of_pruning():
    def program(t):
        prune = part(t, "utils.prune")
        calls = [(prune._validate_pruning_amount, 3, 2), (prune._validate_pruning_amount_init, -1)]
        calls += [(prune._validate_pruning_amount_init, "x"), (prune._validate_pruning_amount_init, 1.5)]
        return prune._compute_nparams_toprune(0.4, 17), [failing(f, *args) for f, *args in calls]

    agree(program)


def test_packing_nothing():
    def program(t):
        pack = t.nn.utils.rnn.pack_padded_sequence
        return failing(pack, t.randn(0, 0), []), failing(pack, t.randn(0, 1, 10), t.tensor([1]))

    agree(program)
