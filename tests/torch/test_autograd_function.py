"""Custom Functions against PyTorch: plain, in forward mode, and under func transforms."""

import pytest

from .agree import agree, ours, reference
from .test_autograd import data


def classes(torch):
    """The Functions of these tests, for one library."""

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 2 * x * g

    class Exp(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor):
            y = (x * factor).exp()
            ctx.save_for_backward(y)
            ctx.factor = factor
            return y

        @staticmethod
        def backward(ctx, g):
            (y,) = ctx.saved_tensors
            return g * y * ctx.factor, None

    class Mul(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x, y):
            return x * y, x + y

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx, g, h):
            x, y = ctx.saved_tensors
            return g * y + h, g * x + h

        @staticmethod
        def jvp(ctx, dx, dy):
            x, y = ctx.saved_tensors
            return dx * y + x * dy, dx + dy

    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x**3, 3 * x**2

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(inputs[0], output[1])
            ctx.mark_non_differentiable(output[1])

        @staticmethod
        def backward(ctx, g, unused):
            return Times.apply(g, ctx.saved_tensors[1], ctx.saved_tensors[0])

        @staticmethod
        def vmap(info, in_dims, x):
            assert info.batch_size == x.shape[in_dims[0]] and info.randomness == "error"
            return Cube.apply(x), (in_dims[0], in_dims[0])

    class Times(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(g, slope, x):
            return g * slope

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, h):
            g, slope, x = ctx.saved_tensors
            return h * slope, None, h * g * 6 * x

    return Square, Exp, Mul, Cube


# ---- plain ---------------------------------------------------------------------------------------


def test_input_saved():
    def program(torch):
        Square = classes(torch)[0]
        x = data(torch, 3)
        y = Square.apply(x)
        (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        return y, g, torch.autograd.grad(g.sum(), x), y.grad_fn.name()

    agree(program)


def test_output_saved_and_other_arguments():
    def program(torch):
        Exp = classes(torch)[1]
        x = data(torch, 3)
        y = Exp.apply(x, 2.0)
        (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        return y, g, torch.autograd.grad(g.sum(), x), y.grad_fn.factor

    agree(program)


def test_several_outputs_missing_gradients():
    def program(torch):
        Mul = classes(torch)[2]
        x, y = data(torch, 3), data(torch, 3, seed=1)
        a, b = Mul.apply(x, y)
        b.sum().backward()
        return x.grad, y.grad, a.grad_fn is b.grad_fn

    agree(program)


def test_materialize_grads_off():
    def program(torch):
        seen = []

        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.set_materialize_grads(False)
                return x * 2, x * 3

            @staticmethod
            def backward(ctx, a, b):
                seen.append((a is None, b is None))
                return b

        x = data(torch, 3)
        F.apply(x)[1].sum().backward()
        return seen, x.grad

    agree(program)


def test_dirty_inputs():
    def program(torch):
        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.mark_dirty(x)
                return x.mul_(2)

            @staticmethod
            def backward(ctx, g):
                return g * 2

        x = data(torch, 3)
        h = x * 1
        y = Double.apply(h)
        y.sum().backward()
        seen = [y is h, y._version, x.grad]
        try:
            Double.apply(x)
        except RuntimeError as error:
            seen.append(str(error))
        return seen

    agree(program)


def test_non_differentiable_and_other_outputs():
    def program(torch):
        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                values, index = x.sort()
                ctx.mark_non_differentiable(index)
                ctx.save_for_backward(index)
                return values, index, "text", None, x

            @staticmethod
            def backward(ctx, *grads):
                return torch.zeros(3).index_add(0, ctx.saved_tensors[0], grads[0])

        x = data(torch, 3)
        values, index, text, none, same = F.apply(x)
        (values * torch.arange(3.0)).sum().backward()
        return x.grad, index.requires_grad, text, none, same is x, same.requires_grad

    agree(program)


def test_needs_input_grad():
    def program(torch):
        seen = []

        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, y, n):
                seen.append(ctx.needs_input_grad)
                return x * y

            @staticmethod
            def backward(ctx, g):
                seen.append(ctx.needs_input_grad)
                return g, None, None

        F.apply(data(torch, 3), torch.ones(3), 5).sum().backward()
        return seen

    agree(program)


def test_once_differentiable():
    def program(torch):
        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x

            @staticmethod
            @torch.autograd.function.once_differentiable
            def backward(ctx, g):
                return 2 * g * ctx.saved_tensors[0]

        x = data(torch, 3)
        (g,) = torch.autograd.grad((F.apply(x) ** 2).sum(), x, create_graph=True)
        g.sum().backward()

    agree(program, messages=True)


def _wrong(torch, backward, saved=None):
    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, n):
            if saved is not None:
                ctx.save_for_backward(saved)
            return x * 2

    if backward is not None:
        F.backward = staticmethod(backward)
    F.apply(torch.ones(3, requires_grad=True), 2).sum().backward()


WRONG = {
    "too few": lambda ctx, g: g,
    "for a number": lambda ctx, g: (g, g),
    "shape": lambda ctx, g: (g[:2], None),
    "type": lambda ctx, g: (1, None),
    "none": None,
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_backward(name):
    agree(lambda torch: _wrong(torch, WRONG[name]), messages=True)


def test_saving_what_is_no_tensor():
    agree(lambda torch: _wrong(torch, lambda ctx, g: (g, None), saved=1), messages=True)


def test_broadcast_gradient_is_summed():
    def program(torch):
        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * torch.ones(4, 3)

            @staticmethod
            def backward(ctx, g):
                return g

        x = data(torch, 1, 3)
        F.apply(x).sum().backward()
        return x.grad

    agree(program)


def test_saved_tensor_changed_in_between():
    def program(torch):
        Square = classes(torch)[0]
        x = data(torch, 3) * 1
        y = Square.apply(x)
        with torch.no_grad():
            x.add_(1)
        y.sum().backward()

    agree(program)


def test_saved_tensors_are_freed():
    def program(torch):
        y = classes(torch)[0].apply(data(torch, 3))
        y.sum().backward()
        return y.grad_fn.saved_tensors

    agree(program, messages=True)


def test_undefined_gradients_become_zeros():
    def program(torch):
        seen = []

        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, g):
                seen.append(g)
                return None

        x = data(torch, 3)
        F.apply(F.apply(x)).sum().backward()
        return seen, x.grad

    agree(program)


def test_no_grad_makes_no_node():
    def program(torch):
        Square = classes(torch)[0]
        with torch.no_grad():
            y = Square.apply(data(torch, 3))
        return y, y.requires_grad, Square.apply(torch.ones(2)).requires_grad

    agree(program)


def test_defaults_of_forward():
    def program(torch):
        class F(torch.autograd.Function):
            @staticmethod
            def forward(x, power=3):
                return x**power

            @staticmethod
            def setup_context(ctx, inputs, output):
                ctx.power = inputs[1]
                ctx.save_for_backward(inputs[0])

            @staticmethod
            def backward(ctx, g):
                return g * ctx.power * ctx.saved_tensors[0] ** (ctx.power - 1), None

        x = data(torch, 3)
        F.apply(x).sum().backward()
        return x.grad

    agree(program)


def test_gradcheck_of_a_function():
    x = ours.rand(4, dtype=ours.float64, requires_grad=True)
    assert ours.autograd.gradcheck(classes(ours)[0].apply, (x,))
    assert ours.autograd.gradgradcheck(classes(ours)[0].apply, (x,))


# ---- forward mode and func -----------------------------------------------------------------------


def test_jvp_staticmethod():
    def program(torch):
        Mul = classes(torch)[2]
        fw = torch.autograd.forward_ad
        x, y = data(torch, 3, grad=False), data(torch, 3, grad=False, seed=1)
        with fw.dual_level():
            outs = [fw.unpack_dual(o)[:] for o in Mul.apply(fw.make_dual(x, y), y)]
        return outs, torch.func.jvp(lambda a, b: Mul.apply(a, b)[0], (x, y), (y, x))

    agree(program)


TRANSFORMS = {
    "grad": lambda f, torch, x, y: torch.func.grad(lambda x: f(x, y).sum())(x),
    "grad of grad": lambda f, torch, x, y: torch.func.grad(
        lambda x: torch.func.grad(lambda x: (f(x, y) ** 2).sum())(x).sum()
    )(x),
    "vmap": lambda f, torch, x, y: torch.func.vmap(f)(x, y),
    "vmap of one": lambda f, torch, x, y: torch.func.vmap(f, (None, 0))(x, y),
    "vmap of grad": lambda f, torch, x, y: torch.func.vmap(torch.func.grad(lambda x, y: f(x, y).sum()), (0, 0))(x, y),
    "per example": lambda f, torch, x, y: torch.func.vmap(torch.func.grad(lambda x, y: f(x, y).sum()), (None, 0))(
        x[0], y
    ),
    "jacrev": lambda f, torch, x, y: torch.func.jacrev(f)(x[0], y[0]),
    "vmap of jacrev": lambda f, torch, x, y: torch.func.vmap(torch.func.jacrev(f))(x, y),
}


@pytest.mark.parametrize("which", ["Mul", "Cube"])
@pytest.mark.parametrize("name", TRANSFORMS)
def test_under_func(name, which):
    def program(torch):
        _, _, Mul, Cube = classes(torch)
        f = {"Mul": lambda x, y: Mul.apply(x, y)[0] * Mul.apply(x, y)[1], "Cube": lambda x, y: Cube.apply(x)[0] * y}[
            which
        ]
        return TRANSFORMS[name](f, torch, data(torch, 2, 3, grad=False), data(torch, 2, 3, grad=False, seed=1))

    agree(program, rtol=1e-4, atol=1e-5)


def _saving_its_output(torch, by_rule: bool):
    class Exp(torch.autograd.Function):
        generate_vmap_rule = by_rule

        @staticmethod
        def forward(x):
            return x.exp(), x * x.exp()

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*output)
            ctx.save_for_forward(*output)

        @staticmethod
        def backward(ctx, g, h):
            y, z = ctx.saved_tensors
            return g * y + h * (y + z)

        @staticmethod
        def jvp(ctx, t):
            y, z = ctx.saved_tensors
            return t * y, t * (y + z)

    if not by_rule:
        Exp.vmap = staticmethod(lambda info, dims, x: (Exp.apply(x), (dims[0], dims[0])))
    return Exp


SECOND = {
    "hessian": lambda torch, f, x: torch.func.hessian(f)(x),
    "jvp of grad": lambda torch, f, x: torch.func.jvp(torch.func.grad(f), (x,), (x,))[1],
    "linearize of grad": lambda torch, f, x: torch.func.linearize(torch.func.grad(f), x)[1](x),
    "jvp of vjp": lambda torch, f, x: torch.func.jvp(lambda x: torch.func.vjp(f, x)[1](x[0])[0], (x,), (x,))[1],
    "grad of grad": lambda torch, f, x: torch.func.grad(lambda x: torch.func.grad(f)(x).sum())(x),
    "vmap of hessian": lambda torch, f, x: torch.func.vmap(torch.func.hessian(f))(torch.stack([x, x + 1])),
    "by forward mode": lambda torch, f, x: torch.autograd.functional.hessian(
        f, x, vectorize=True, outer_jacobian_strategy="forward-mode"
    ),
}


@pytest.mark.parametrize("by_rule", [False, True], ids=["own rule", "generated rule"])
@pytest.mark.parametrize("name", SECOND)
def test_second_derivatives_of_a_function_that_saves_its_output(name, by_rule):
    """The saved output depends on what the levels below differentiate by."""

    def program(torch):
        Exp = _saving_its_output(torch, by_rule)
        x = data(torch, 3, grad=False)
        return SECOND[name](torch, lambda x: (Exp.apply(x)[0] + 2 * Exp.apply(x)[1]).sum(), x)

    agree(program, rtol=1e-4, atol=1e-5)


def test_vmap_then_backward():
    def program(torch):
        Mul = classes(torch)[2]
        x, w = data(torch, 4, 3), data(torch, 3, seed=1)
        torch.func.vmap(lambda x: Mul.apply(x, w)[0])(x).sum().backward()
        return x.grad, w.grad

    agree(program)


def _needs_setup(torch):
    return torch.func.vmap(classes(torch)[0].apply)(torch.ones(2))


def _needs_vmap(torch):
    class F(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

    return torch.func.vmap(F.apply)(torch.ones(2))


def _needs_jvp(torch):
    return torch.func.jvp(lambda x: classes(torch)[3].apply(x)[0], (torch.ones(2),), (torch.ones(2),))


@pytest.mark.parametrize("program", [_needs_setup, _needs_vmap, _needs_jvp])
def test_what_is_missing(program):
    agree(program, messages=True)


@pytest.mark.parametrize(
    "case",
    {
        "one": lambda x: x,
        "four": lambda x: (x, x, 0, 0),
        "a list": lambda x: [x, 0],
        "a tuple of dims for one": lambda x: (x, (None,)),
        "a tuple of dims for a list": lambda x: ([x], (None,)),
        "too few dims": lambda x: ((x, x), (0,)),
        "one dim for two": lambda x: ((x, x * 2), 0),
        "none for two": lambda x: ((x * 1, x * 2), None),
        "lists": lambda x: ([x, x * 2], [0, 1]),
        "from behind": lambda x: (x * 1, -1),
    }.items(),
    ids=lambda case: case[0],
)
def test_what_a_vmap_staticmethod_returns(case):
    _, returned = case

    def program(torch):
        class Made(torch.autograd.Function):
            @staticmethod
            def forward(x):
                return x.clone()

            @staticmethod
            def setup_context(ctx, inputs, output):
                pass

            @staticmethod
            def vmap(info, in_dims, x):
                return returned(x)

        return torch.vmap(Made.apply)(torch.arange(4.0).reshape(2, 2))

    agree(program)
    try:
        program(reference)
    except RuntimeError as wanted:
        with pytest.raises(RuntimeError) as found:
            program(ours)
        said = [" ".join(str(error).split()).replace("functorch_core.", "") for error in (found.value, wanted)]
        assert said[0] == said[1]


def test_tensors_in_containers_under_vmap():
    def program(torch):
        seen = []

        class Sum(torch.autograd.Function):
            @staticmethod
            def forward(x, ys, scale):
                return x + ys[0] * scale, list(ys)

            @staticmethod
            def setup_context(ctx, inputs, output):
                pass

            @staticmethod
            def backward(ctx, *grads):
                raise AssertionError

            @staticmethod
            def vmap(info, in_dims, x, ys, scale):
                seen.append(in_dims)
                y = ys[0].movedim(in_dims[1][0], 0)
                return (x + y * scale, ys), (0, in_dims[1])

        x, y = torch.arange(3.0), torch.arange(6.0).reshape(2, 3)
        found = torch.vmap(Sum.apply, in_dims=(0, [1, None], None))(x[:, None] + x[:2], [y, y[0, :2]], 2.0)
        return found, seen

    agree(program)


CALLS = {
    "one": lambda f, a, b: f(a, b=b),
    "in another order": lambda f, a, b: f(b=b, a=a),
    "all": lambda f, a, b: f(a, c=2.0, b=b),
    "by position": lambda f, a, b: f(a, b, 2.0),
    "a gap": lambda f, a, b: f(a, c=2.0),
    "only the second": lambda f, a, b: f(b=b),
    "twice": lambda f, a, b: f(a, a=a),
    "unknown": lambda f, a, b: f(a, d=b),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("n", [1, 2, 3])
def test_arguments_by_name(call, n):
    def program(torch):
        class Product(torch.autograd.Function):
            @staticmethod
            def forward(ctx, a, b=None, c=3.0):
                ctx.save_for_backward(a, b)
                ctx.c = c
                return a * b * c

            @staticmethod
            def backward(ctx, g):
                a, b = ctx.saved_tensors
                return (g * b * ctx.c, g * a * ctx.c, None)[:n] if n > 1 else (ctx.needs_input_grad,)

        a, b = (torch.tensor([x], requires_grad=True) for x in (2.0, 5.0))
        out = CALLS[call](Product.apply, a, b)
        out.backward()
        return out, a.grad, b.grad

    agree(program, messages=True)


def test_arguments_by_name_that_have_no_place():
    def program(torch):
        class Keywords(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, **options):
                return x * 2

        return Keywords.apply(torch.ones(1), factor=2)

    agree(program, messages=True)
