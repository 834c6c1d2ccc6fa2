"""What the tape saves: what hooks are given and may give back, and what nodes show of it."""

import gc
import weakref

import pytest

from functorch_core import torch as ours

from .agree import agree

FUNCTIONS = {
    "mul": lambda torch, x, b: x * b,
    "square": lambda torch, x, b: x * x,
    "exp": lambda torch, x, b: x.exp(),
    "sin of a result": lambda torch, x, b: (x * 1.5).sin(),
    "softmax": lambda torch, x, b: x.softmax(0),
    "sigmoid twice": lambda torch, x, b: x.sigmoid().sigmoid(),
    "pow": lambda torch, x, b: x**2,
    "div": lambda torch, x, b: x / b,
    "in place": lambda torch, x, b: (x * 1).exp_(),
    "index": lambda torch, x, b: x[torch.tensor([0, 1])],
    "where": lambda torch, x, b: torch.where(x > 1, x, b),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_hooks_are_given_what_is_saved_as_it_is(name):
    def program(torch):
        x, b, seen = torch.arange(1.0, 4, requires_grad=True), torch.ones(3) * 2, []

        def pack(t):
            made = None if t.grad_fn is None else t.grad_fn.name()
            seen.append([t is x, t is b, t.requires_grad, t.is_leaf, made, list(t.shape)])
            return t

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
            y = FUNCTIONS[name](torch, x, b)
        y.sum().backward()
        return seen, x.grad

    agree(program)


def test_hooks_of_a_function_are_given_its_tensors():
    def program(torch):
        class Twice(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                y = x * 2
                ctx.save_for_backward(x, y)
                return y

            @staticmethod
            def backward(ctx, grad):
                x, y = ctx.saved_tensors
                return grad * x * y

        x, seen = torch.arange(1.0, 4, requires_grad=True), []
        pack = lambda t: (seen.append([t is x, t.requires_grad, t.grad_fn is None]), t)[1]  # noqa: E731
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
            y = Twice.apply(x)
        y.sum().backward()
        raw = Twice.apply(x).grad_fn._raw_saved_tensors
        z = Twice.apply(x)
        z.grad_fn._raw_saved_tensors[0].register_hooks(lambda t: t, lambda t: t + 1)
        return seen, x.grad, [type(r).__name__ for r in raw], torch.autograd.grad(z.sum(), x)

    agree(program)


@pytest.mark.parametrize("given", ["scalar", "double", "none", "number", "two"])
def test_what_unpack_may_return(given):
    def program(torch):
        x = torch.arange(1.0, 4, requires_grad=True)
        unpack = {
            "scalar": lambda t: torch.ones(1),
            "double": lambda t: t.detach().double(),
            "none": lambda t: None,
            "number": lambda t: 3,
            "two": lambda t: torch.ones(2),
        }[given]
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t, unpack):
            y = x.sin().sum()
        y.backward()
        return x.grad

    agree(program)


def test_packing_may_not_write_and_records_nothing():
    def writing(torch):
        x = torch.ones(3, requires_grad=True)
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t.mul_(2), lambda t: t):
            (x * 1).sin()

    def computing(torch):
        x, made = torch.ones(3, requires_grad=True), []
        with torch.autograd.graph.saved_tensors_hooks(lambda t: made.append(t * 2) or t, lambda t: t):
            x.sin()
        return [t.requires_grad for t in made]

    agree(writing, messages=True)
    agree(computing)


def test_nodes_show_the_tensors_they_saved():
    def program(torch):
        x, w = torch.arange(1.0, 4, requires_grad=True), torch.ones(3, requires_grad=True)
        y = x * w
        z, s = y.exp(), y.sin()
        half = x * torch.ones(3)
        saved = z.grad_fn._saved_result
        return [
            y.grad_fn._saved_self is x,
            y.grad_fn._saved_other is w,
            s.grad_fn._saved_self is y,
            torch.equal(saved, z),
            saved.grad_fn is z.grad_fn,
            half.grad_fn._saved_self is None,
            [sorted(n for n in dir(v.grad_fn) if n.startswith(("_saved_", "_raw_saved_"))) for v in (y, z)],
        ]

    agree(program)


def test_a_shown_tensor_that_was_written_to():
    def program(torch):
        x = torch.ones(3, requires_grad=True)
        y = x * 2
        z = y.sin()
        y.add_(1)
        return z.grad_fn._saved_self

    agree(program)


def test_raw_saved_tensors_take_hooks():
    def program(torch):
        x, log = torch.arange(1.0, 4, requires_grad=True), []
        y = x * x
        raw = y.grad_fn._raw_saved_self
        raw.register_hooks(lambda t: (log.append(t.requires_grad), t)[1], lambda t: (log.append("unpack"), t * 2)[1])
        z = x.exp()
        z.grad_fn._raw_saved_result.register_hooks(lambda t: t, lambda t: t * 3)
        shown = z.grad_fn._saved_result
        (y.sum() + z.sum()).backward()
        return type(raw).__name__, log, x.grad, shown

    agree(program)


@pytest.mark.parametrize("case", ["twice", "freed", "writing"])
def test_errors_of_raw_saved_tensors(case):
    def program(torch):
        x = torch.ones(3, requires_grad=True)
        y = x * x
        raw = y.grad_fn._raw_saved_self
        if case == "twice":
            raw.register_hooks(lambda t: t, lambda t: t)
        if case == "freed":
            y.sum().backward()
        raw.register_hooks((lambda t: t.mul_(2)) if case == "writing" else (lambda t: t), lambda t: t)

    agree(program, messages=True)


def test_results_saved_on_the_cpu_do_not_keep_their_nodes_alive():
    x = ours.ones(3, requires_grad=True)
    gc.collect()
    gc.disable()
    try:
        with ours.autograd.graph.save_on_cpu():
            y = x.exp()
        node = weakref.ref(y.grad_fn)
        del y
        assert node() is None
    finally:
        gc.enable()


@pytest.mark.filterwarnings("ignore:torch.asarray")
def test_asarray_of_a_tensor():
    def program(torch):
        x, plain = torch.ones(3, requires_grad=True), torch.ones(3)
        found = [
            torch.asarray(x) is x,
            torch.asarray(x * 2).requires_grad,
            torch.asarray(x, copy=True).grad_fn.name(),
            torch.asarray(x, copy=True, requires_grad=True).is_leaf,
            torch.asarray(x, dtype=torch.float64).grad_fn.name(),
            torch.asarray(x, dtype=torch.float64, requires_grad=True).is_leaf,
            torch.asarray(x, dtype=torch.float64, requires_grad=False).requires_grad,
            torch.asarray(x * 2, requires_grad=False).requires_grad,
            torch.asarray(x, copy=False) is x,
        ]
        wanting = torch.asarray(plain, requires_grad=True)
        found += [wanting is plain, plain.requires_grad]
        refusing = torch.asarray(x, requires_grad=False)
        return [*found, refusing is x, x.requires_grad]

    agree(program)
    agree(lambda torch: torch.asarray(torch.ones(3), dtype=torch.float64, copy=False), messages=True)
    agree(lambda torch: torch.asarray(torch.ones(3, dtype=torch.int64), requires_grad=True))


def test_hooks_that_are_entered_in_a_backward_pass_end_with_it():
    def program(torch):
        taken = []
        inner = torch.autograd.graph.saved_tensors_hooks(lambda t: taken.append(1) or t, lambda t: t)
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: inner.__enter__() or t):
            y = torch.ones(2, requires_grad=True).sin().sum()
        y.backward()
        torch.ones(2, requires_grad=True).sin()
        return taken

    agree(program)
