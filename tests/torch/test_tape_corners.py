"""Corners of the tape that PyTorch's own test_autograd.py goes into, against PyTorch."""

import collections
import copy

import pytest

from functorch_core import torch as ours
from tests.nn.both import agree, failing


def test_edges_as_inputs_and_outputs():
    def program(t):
        edge = t.autograd.graph.get_gradient_edge
        x, y = t.arange(2.0, requires_grad=True).clone(), t.ones(2, requires_grad=True).clone()
        out = x.clone()
        t.autograd.backward(out.sum(), inputs=(edge(x), edge(y)))
        z = t.tensor([1.0, 2.0], requires_grad=True)
        s = z.sin().sum()
        (scalar,) = t.autograd.grad(edge(s), (z,))
        errors = [
            failing(t.autograd.grad, edge(z.sin()), (z,)),
            failing(t.autograd.grad, edge(z.sin().sum()), (z,), grad_outputs=t.ones(4)),
            failing(t.autograd.grad, out.sum(), (x, edge(y)), allow_unused=True, materialize_grads=True),
        ]
        return scalar, errors

    agree(program)


def test_batched_cotangents_of_another_shape():
    def program(t):
        x = t.randn(2, 2, requires_grad=True)
        kind, text = failing(t.autograd.grad, x.clone(), (x,), (t.ones(2, 2),), is_grads_batched=True)
        return kind, text.partition(":")[0]

    agree(program)


def test_graphs_that_save_nothing_are_passed_twice():
    def program(t):
        x = t.arange(3.0, requires_grad=True)
        parts = x.unbind()
        for y in parts:
            y.backward()
        product = x * x
        product.sum().backward()
        return x.grad, failing(product.sum().backward)[0]

    agree(program)


def test_callbacks_after_the_pass():
    def program(t):
        seen = []
        queue = t.autograd.Variable._execution_engine.queue_callback

        def last():
            seen.append(("last", x.grad is not None))

        def first(grad):
            seen.append("hook")
            queue(lambda: (seen.append("callback"), queue(last)))

        x = t.ones(2, requires_grad=True)
        y = x * 2
        y.register_hook(first)
        y.sum().backward()
        return seen, failing(queue, last)[0]

    agree(program)


def test_hooks_at_nodes_that_are_accumulated_to():
    def program(t):
        seen = []
        a = t.tensor(1.0, requires_grad=True)
        b = a.clone()
        b.grad_fn.register_prehook(lambda gs: seen.append(2))
        b.register_hook(lambda g: seen.append(1))
        b.sum().backward(inputs=(b,))
        c = t.ones(2, requires_grad=True)
        c.register_post_accumulate_grad_hook(lambda x: x.grad)
        return seen, b.grad, failing(c.sum().backward)

    agree(program)


def test_private_names_of_the_tape():
    def program(t):
        x, y = t.ones(1, requires_grad=True), t.ones(1, requires_grad=True)
        functions, seen = t._C._functions, []
        boom = functions.DelayedError("Boom!", 1)(x)
        x.register_hook(seen.append)
        functions.UndefinedGrad()(x * 2).sum().backward()
        meta = (x * t.ones(3, 1)).grad_fn._input_metadata[0]
        ref = t._C._WeakTensorRef(y)
        kept = ref.expired()
        del y
        return [
            failing(boom.backward),
            isinstance((x * 2).grad_fn.next_functions[0][0], functions.AccumulateGrad),
            [g is None for g in seen],
            list(meta.shape),
            kept,
            ref.expired(),
            failing(t.autograd.SavedTensor),
            failing((x * 2).grad_fn),
            t._C._current_graph_task_id(),
            t._C._autograd._saved_tensors_hooks_is_enabled(),
            t.autograd.forward_ad._current_level,
            t.autograd.forward_ad._is_fwd_grad_enabled(),
        ]

    agree(program)


def test_versions_can_be_set():
    def program(t):
        x, base = t.ones(3), t.ones(2, 2)
        x.add_(1)
        view = base[0]
        view.add_(1)
        t._C._autograd._unsafe_set_version_counter([x, view], [7, 9])
        return x._version, view._version, base._version

    agree(program)


def test_strict_products():
    def program(t):
        f, x = t.autograd.functional, t.rand(4, requires_grad=True)
        v = t.ones(4)
        twice = (t.ones(4), t.ones(4))
        square, linear = (lambda a: (a * a).sum()), (lambda a: 3 * a.sum())
        calls = [(f.vjp, lambda a: a.clone(), x, twice), (f.jvp, lambda a: a.clone(), x, twice)]
        errors = [failing(g, *args) for g, *args in calls]
        for g in (f.vjp, f.jvp):
            errors += [failing(g, lambda a: a.clone(), x, v, strict=True, create_graph=True)]
            errors += [failing(g, lambda a: a.long().float().requires_grad_().clone(), x, v, strict=True)]
        errors += [failing(f.jacobian, lambda a: a.clone(), x, strict=True, create_graph=True)]
        errors += [failing(f.jacobian, lambda a: a.clone(), x, strict=True, vectorize=True)]
        errors += [failing(f.hessian, linear, x, strict=True)]
        for g in (f.vhp, f.hvp):
            errors += [failing(g, linear, x, v, strict=True)]
        bases = f._construct_standard_basis_for((t.ones(2), t.ones(())), (2, 1))
        return errors, bases, f.vhp(square, x.detach(), v, strict=True)[1]

    agree(program)


def test_vmap_by_its_former_name():
    def program(t):
        with pytest.warns(FutureWarning):
            old = t._vmap_internals.vmap(t.dot)(t.ones(2, 3), t.ones(2, 3))
        return old, t._vmap_internals._vmap(t.sum)(t.ones(2, 3))

    agree(program)


def test_tangents_of_dual_numbers():
    fw = ours.autograd.forward_ad
    with fw.dual_level():
        dual = fw.make_dual(ours.ones(2), ours.ones(2))
        with pytest.raises(RuntimeError, match="has a forward gradient at the same level"):
            fw.make_dual(ours.ones(2), dual)
        assert fw._current_level == 0


def test_views_keep_their_history_when_their_data_is_written():
    def program(t):
        x = t.arange(6.0).reshape(2, 3).requires_grad_()
        view = x.t()
        out = view.sum() * 2
        view.data.add_(1)
        view.data.mul_(2)
        (kept,) = t.autograd.grad(out, view)
        inner = t.randn(4, 3, dtype=t.float64, requires_grad=True).transpose(0, 1)
        return kept, x.detach(), t.autograd.gradcheck(lambda v: t.nn.functional.pdist(v, 1.5), (inner,))

    agree(program)


def test_hooks_that_return_too_few():
    def program(t):
        def hook(given, *more):
            return given[:-1]

        y = t.ones(1, requires_grad=True).sin()
        with y.grad_fn.register_hook(hook):
            first = failing(y.sum().backward)
        y = t.ones(1, requires_grad=True).sin()
        y.grad_fn.register_prehook(hook)
        return first, failing(y.sum().backward)

    agree(program)


@pytest.mark.parametrize("primal", ["plain", "conj", "neg", "transposed", "part"])
@pytest.mark.parametrize("tangent", ["plain", "conj", "neg", "transposed", "part"])
def test_tangents_lie_in_memory_as_their_primals(primal, tangent):
    def program(torch):
        kinds = {
            "plain": lambda x: x,
            "conj": lambda x: x.conj(),
            "neg": lambda x: x._neg_view(),
            "transposed": lambda x: x.t(),
            "part": lambda x: torch.cat([x, x])[:3],
        }
        x, t = (kinds[k](torch.arange(9.0).reshape(3, 3) * (1 + 2j)) for k in (primal, tangent))
        ad = torch.autograd.forward_ad
        with ad.dual_level():
            dual = ad.make_dual(x, t)
            found = ad.unpack_dual(dual).tangent
            parts = [ad.unpack_dual(f(dual)).tangent.clone() for f in (torch.real, torch.imag, lambda y: y[1:])]
            return found is t, list(found.stride()), found.resolve_conj().resolve_neg(), parts

    agree(program)


@pytest.mark.parametrize("name", ["unsafe_split", "unsafe_chunk", "unsafe_split_with_sizes"])
def test_parts_without_a_common_version(name):
    def program(torch):
        a = torch.arange(9.0).reshape(3, 3).requires_grad_()
        s1, s2, s3 = getattr(torch, name)(a * 2, {"unsafe_split": 1, "unsafe_chunk": 3}.get(name, (1, 1, 1)))
        s1.mul_(s2)
        (s1 * s3).sum().backward()
        return a.grad, s1, s2

    agree(program)


@pytest.mark.parametrize("times", [2, 3, 8, 9, 30])
@pytest.mark.parametrize("size", [3, 100_000])
def test_leaves_that_are_used_many_times(times, size):
    def program(torch):
        seen = []
        w, b = torch.linspace(0.5, 1.5, size).requires_grad_(), torch.zeros((), requires_grad=True)
        w.register_hook(lambda g: seen.append(g.sum()))
        x = torch.linspace(-1.0, 2.0, size)  # whose sums are not what is left of large terms
        for i in range(times):
            x = x * w / 1.01 + (b if i % 3 else b.double().to(torch.float32))
        x[1:].sum().backward(retain_graph=True)
        (again,) = torch.autograd.grad(x.sum(), w, retain_graph=True)
        (first,) = torch.autograd.grad(x.sum(), w, create_graph=True)
        (twice,) = torch.autograd.grad(first.sum(), w, retain_graph=True)
        x.sum().backward()
        return w.grad, b.grad, again, twice, seen

    agree(program)


def _product(t):
    x, y = t.tensor([1.0, 2.0], requires_grad=True), t.tensor([3.0, 4.0], requires_grad=True)
    return x, y, (x * y).sum()


def test_leaves_frozen_after_the_forward_pass():
    def program(t):
        seen, found = [], []
        x, y, out = _product(t)  # as a discriminator is frozen while its generator is trained
        x.register_hook(lambda g: seen.append(("hook", g.tolist())))
        x.register_post_accumulate_grad_hook(lambda p: seen.append(("post", p.grad is None)))
        x.requires_grad_(False)
        out.backward(retain_graph=True)
        found += [x.grad is None, y.grad]
        out.backward(inputs=[y], retain_graph=True)
        (by_y,) = t.autograd.grad(out, [y], retain_graph=True)
        errors = [failing(out.backward, inputs=[x]), failing(t.autograd.grad, out, [x])]
        x.requires_grad_(True)
        out.backward()
        found += [by_y, x.grad, y.grad]

        x, y, out = _product(t)
        edge, x.grad = t.autograd.graph.get_gradient_edge(x), t.ones(2)
        x.requires_grad = False
        (by_edge,) = t.autograd.grad(out, [edge], retain_graph=True)
        out.backward(inputs=[edge, y])
        edge.node(t.ones(2))
        found += [by_edge, x.grad, y.grad]

        x, y, out = _product(t)
        x.detach_()
        out.backward()
        found += [x.grad is None, y.grad]
        return seen, found, errors


def test_a_pass_that_fails_leaves_the_gradients_that_were_complete():
    """PyTorch's leaves come before all other nodes that are ready."""

    def program(t):
        class Failing(t.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 1

            @staticmethod
            def backward(ctx, grad):
                raise ValueError("backward")

        def boom(grad):
            raise ValueError("hook")

        def hooked(x):
            x.register_hook(boom)
            return x

        found = []
        for fails in (Failing.apply, lambda x: hooked(x * 2)):
            for order in (1, -1):
                a, b, c = (t.ones(2, requires_grad=True) for _ in range(3))
                parts = [fails(a).sum, (b * 3).sum, (b * c).sum][::order]
                kind, text = failing(lambda parts: sum([part() for part in parts]).backward(), parts)
                found += [kind, text, a.grad, b.grad, c.grad]
        return found

    agree(program)


def test_leaves_that_are_thawed_are_the_same_leaves():
    def program(t):
        seen = []
        x, _, out = _product(t)
        node = t.autograd.graph.get_gradient_edge(x).node
        node.metadata["of"] = "x"
        x.register_hook(lambda g: seen.append("hook"))
        x.register_post_accumulate_grad_hook(lambda p: seen.append("post"))
        x.requires_grad_(False)
        x.requires_grad_(True)
        same = t.autograd.graph.get_gradient_edge(x).node is node
        (by_x,) = t.autograd.grad(out, x, retain_graph=True)
        (out + (x * x).sum()).backward()
        y = t.ones(2, requires_grad=True)
        y.register_hook(lambda g: seen.append("of y"))
        y.detach_().requires_grad_()
        (2 * y).sum().backward()
        return same, node.metadata, by_x, x.grad, y.grad, seen


def test_order_in_which_leaves_are_told():
    def program(t):
        seen = []

        def leaves(n, *shape):
            made = [t.ones(*shape, requires_grad=True) for _ in range(n)]
            for i, x in enumerate(made):
                x.register_post_accumulate_grad_hook(lambda x, i=i: seen.append(i))
            return made

        x, w, b, scale = *leaves(2, 2, 2), *leaves(2, 2)
        y = x * 2
        z = t.nn.functional.layer_norm(t.addmm(b, x.relu(), w), (2,), scale, b)
        (z * y).sum().backward()
        many = leaves(6, 2)
        (t.cat(many).sum() * many[0]).sum().backward()
        return y.grad_fn.next_functions[0][0]._sequence_nr(), seen

    agree(program)


def test_leaves_that_are_none_any_more():
    def program(t):
        x = t.ones(2, requires_grad=True)
        out = (3 * x).sum()
        x.requires_grad_(False)
        x.mul_(t.ones(2, requires_grad=True))
        return x.is_leaf, failing(out.backward)

    agree(program)


def test_modules_that_are_trained_in_turn():
    def program(t):
        d, g, found = t.nn.Linear(2, 1), t.nn.Linear(2, 2), []
        for module in (d, g, d, g):
            for each in (d, g):
                each.requires_grad_(True)
                each.zero_grad()
            out = d(g(t.ones(3, 2))).sum()
            module.requires_grad_(False)
            out.backward()
            found.append([p.grad is None for each in (d, g) for p in each.parameters()])
        return found

    agree(program)


def test_parameters_and_copies_of_inference_tensors():
    def program(t):
        nn, normal = t.nn, t.ones(1)

        class Own(t.Tensor):
            pass

        with t.inference_mode():
            x, layer, of_normal = t.ones(1), nn.Linear(1, 1), nn.Parameter(normal)
            seen = [p.is_inference() for p in (*layer.parameters(), nn.Parameter(x), nn.Buffer(x), of_normal)]
            seen += [copy.deepcopy(y).is_inference() for y in (x, normal)]
        errors = [failing(nn.Parameter, y) for y in (x, x.as_subclass(Own), layer.weight)]
        errors += [failing(nn.Linear(1, 1).load_state_dict, layer.state_dict(), assign=True)]
        errors += [failing(layer.load_state_dict, nn.Linear(1, 1).state_dict())]
        found = [
            nn.Parameter(x, requires_grad=False),
            x.as_subclass(Own),
            copy.deepcopy(x),
            copy.deepcopy(layer).weight,
        ]
        layer.weight.data.fill_(2)
        layer.bias.data.zero_()
        seen += [y.is_inference() for y in found] + [layer(t.ones(1, 1)).item()]
        return seen, [layer.to(t.float64).weight.is_inference(), of_normal._version], [e[:1] for e in errors]

    agree(program)


COLLECTIONS = {
    "values": lambda *xs: dict(enumerate(xs)).values(),
    "keys": lambda *xs: dict.fromkeys(xs).keys(),
    "set": lambda *xs: set(xs[:1]),
    "deque": lambda *xs: collections.deque(xs),
    "generator": lambda *xs: (x for x in xs),
    "user's": lambda *xs: collections.UserList(xs),
    "empty": lambda *xs: {}.values(),
    "text": lambda *xs: "xy",
    "pairs": lambda *xs: dict(enumerate(xs)).items(),
}


@pytest.mark.parametrize("kind", COLLECTIONS)
def test_collections_of_tensors(kind):
    def program(t):
        found, of, grad, backward = [], COLLECTIONS[kind], t.autograd.grad, t.autograd.backward
        calls = [
            lambda x, y, out: grad(out, of(x, y)),
            lambda x, y, out: grad(of(out), x),
            lambda x, y, out: grad(out, x, of(t.ones(()))),
            lambda x, y, out: out.backward(inputs=of(x, y)),
            lambda x, y, out: backward(of(out)),
            lambda x, y, out: backward(out, of(t.ones(()))),
        ]
        for call in calls:
            x, y, out = _product(t)
            given = []
            error = failing(lambda call, *xs: given.append(call(*xs)), call, x, y, out)
            found.append((error, given, x.grad, y.grad))
        return found

    agree(program)


def test_a_leaf_that_nobody_holds_has_its_hook_called():
    """Its sink refers to it weakly: the hook was not called, and `variable` was None."""

    def program(torch):
        found = []

        def loss():
            w = torch.ones(3, requires_grad=True)
            w.register_post_accumulate_grad_hook(lambda p: found.append(p.grad.tolist()))
            return (w * 2).sum()

        out = loss()
        leaf = out.grad_fn.next_functions[0][0].next_functions[0][0].variable
        out.backward()
        return found, leaf.tolist(), leaf.grad.tolist()

    agree(program)


def test_a_subclass_of_parameter_with_further_arguments():
    def program(torch):
        class Point(torch.nn.Parameter):
            def __new__(cls, data=None, manifold=None, requires_grad=True):
                made = torch.Tensor._make_subclass(cls, data, requires_grad)
                made.manifold = manifold
                return made

        point = Point(torch.ones(2), manifold="sphere")
        return point.manifold, isinstance(point, torch.nn.Parameter), point.requires_grad, point.tolist()


def test_nodes_of_one_number():
    def program(t):
        x = t.ones(2, requires_grad=True)
        a, b = x * 2, x * 3
        a.grad_fn._set_sequence_nr(b.grad_fn._sequence_nr())
        (a.exp() + b).sum().backward()
        return x.grad

    agree(program)
