"""What optimizers keep of a parameter: how it lies in memory, and which dtypes go together."""

import pytest

from tests.nn.both import agree, failing

OPTIMIZERS = [
    ("Adam", {"amsgrad": True}),
    ("AdamW", {}),
    ("SGD", {"momentum": 0.9}),
    ("SGD", {"momentum": 0.9, "dampening": 0.5}),
    ("Adamax", {}),
    ("NAdam", {}),
    ("RAdam", {}),
    ("Adagrad", {}),
    ("Adadelta", {}),
    ("ASGD", {}),
    ("RMSprop", {"momentum": 0.9, "centered": True}),
    ("RMSprop", {"momentum": 0.9}),
    ("Rprop", {}),
    ("Adafactor", {}),
    ("Muon", {}),
]
LAYOUTS = {
    "turned": lambda t: t.randn(3, 2).t(),
    "permuted": lambda t: t.randn(2, 3, 4).permute(2, 0, 1),
    "channels last": lambda t: t.randn(2, 2, 3, 3).contiguous(memory_format=t.channels_last),
    "with gaps": lambda t: t.randn(4, 6)[:, ::2],
    "as it is": lambda t: t.randn(2, 3),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name,kwargs", OPTIMIZERS, ids=str)
def test_states_lie_in_memory_as_the_parameter_does(name, kwargs, layout):
    """Or as its gradient, where they are made of that."""
    if name == "Muon" and layout in ("permuted", "channels last"):
        pytest.skip("Muon takes matrices")

    def program(t):
        found = []
        for gradient in (t.ones_like, lambda q: t.ones(q.shape)):
            q = t.nn.Parameter(LAYOUTS[layout](t))
            optimizer = getattr(t.optim, name)([q], lr=0.1, **kwargs)
            for _ in range(2):
                q.grad = gradient(q)
                optimizer.step()
                found.append({k: [x.stride(), x] for k, x in optimizer.state[q].items() if k != "step"})
            found += [q.stride(), q]
        return found

    agree(program)


def test_states_of_a_differentiable_step_lie_as_the_parameter_does():
    def program(t):
        q = t.ones(3, 2, requires_grad=True).t().clone()
        q.retain_grad()
        optimizer = t.optim.SGD([t.nn.Parameter(t.ones(1))], lr=0.1, momentum=0.9, differentiable=True)
        optimizer.param_groups[0]["params"] = [q]
        q.grad = t.ones_like(q)
        optimizer.step()
        return [optimizer.state[q]["momentum_buffer"].stride()]

    agree(program)


DTYPES = [("float32", "float64"), ("float64", "float32"), ("float32", "bfloat16"), ("bfloat16", "float32")]


@pytest.mark.parametrize("before,after", DTYPES)
@pytest.mark.parametrize("name,kwargs", OPTIMIZERS, ids=str)
def test_averages_take_gradients_of_their_dtype(name, kwargs, before, after):
    """A parameter that is converted after its first step has a state of another dtype."""

    def program(t):
        before_, after_ = getattr(t, before), getattr(t, after)
        q = t.nn.Parameter(t.ones(2, 2, dtype=before_))
        optimizer = getattr(t.optim, name)([q], lr=0.1, **kwargs)
        q.grad = t.ones_like(q)
        optimizer.step()
        q.data = q.data.to(after_)
        q.grad = t.ones_like(q)
        failed = failing(optimizer.step)
        if failed != "no error":
            return [failed[0], failed[1].split(":")[0].startswith("expected dtype")]
        return [str(x.dtype) for x in (q, *optimizer.state[q].values()) if isinstance(x, t.Tensor)]

    agree(program)
