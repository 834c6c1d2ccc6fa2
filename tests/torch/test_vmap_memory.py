"""Results of vmap that are views of its inputs share their memory, as PyTorch's do."""

import pytest

from .agree import agree

VIEWS = {
    "itself": (lambda vmap: vmap(lambda a: a)),
    "view": (lambda vmap: vmap(lambda a: a.view(4, 3))),
    "transposed": (lambda vmap: vmap(lambda a: a.t())),
    "diagonal": (lambda vmap: vmap(lambda a: a.diagonal())),
    "parts": (lambda vmap: vmap(lambda a: a.split(2))),
    "unbound": (lambda vmap: vmap(lambda a: a.unbind(1), in_dims=2)),
    "steps": (lambda vmap: vmap(lambda a: a[::2, 1:], out_dims=2)),
    "in dim": (lambda vmap: vmap(lambda a: a, in_dims=1)),
    "out dim": (lambda vmap: vmap(lambda a: a, out_dims=1)),
    "flattened": (lambda vmap: vmap(lambda a: a.flatten())),
    "flattened copy": (lambda vmap: vmap(lambda a: a.flatten(), in_dims=1)),
    "expanded": (lambda vmap: vmap(lambda a: a.t()[1:].unsqueeze(0).expand(2, 3, 3))),
    "nested": (lambda vmap: vmap(vmap(lambda a: a[1:]))),
    "nested, moved": (lambda vmap: vmap(vmap(lambda a: a, out_dims=1))),
    "several": (lambda vmap: vmap(lambda a: (a, a[0], a.detach()))),
    "in chunks": (lambda vmap: vmap(lambda a: a[1:], chunk_size=1)),
    "computed": (lambda vmap: vmap(lambda a: (a + 1)[1:])),
}


@pytest.mark.parametrize("name", VIEWS)
def test_writing_to_results(name):
    def program(torch):
        x = torch.arange(24.0).reshape(2, 3, 4)
        found = VIEWS[name](torch.func.vmap)(x)
        outs = found if isinstance(found, tuple) else (found,)
        seen = [[list(y.shape), list(y.stride()), y.storage_offset()] for y in outs]
        for y in outs:
            y.mul_(2)
        return (seen if name not in ("in chunks", "computed") else 0), x, outs

    agree(program)


def test_what_no_example_changes_is_expanded():
    def program(torch):
        x, b = torch.ones(2, 3), torch.arange(3.0)
        y = torch.func.vmap(lambda a: b[1:])(x)
        b.mul_(2)
        return list(y.stride()), y

    agree(program)
    agree(lambda torch: torch.func.vmap(lambda a: torch.zeros(3))(torch.ones(2, 3)).add_(1))


def test_gradients_through_writes():
    def program(torch):
        x = torch.arange(6.0).reshape(2, 3).requires_grad_()
        z = x * 1
        y = torch.func.vmap(lambda a: a[1:])(z)
        y.mul_(3)
        z.sum().backward()
        return x.grad, z, y

    def written_base(torch):
        x = torch.arange(6.0).reshape(2, 3)
        y = torch.func.vmap(lambda a: a[1:])(x)
        x.mul_(2)
        return y, y + 1, y.sum()

    def leaf(torch):
        x = torch.arange(6.0).reshape(2, 3).requires_grad_()
        torch.func.vmap(lambda a: a[1:])(x).add_(1)

    agree(program)
    agree(written_base)
    agree(leaf, messages=True)


def test_a_view_that_became_a_leaf():
    def views(torch):
        base = torch.arange(6.0)
        x = base.reshape(2, 3).requires_grad_()
        y = x[:, 1:]
        base.mul_(2)
        return x.requires_grad, x.is_leaf, y.requires_grad, y

    def refused(torch):
        torch.arange(6.0).reshape(2, 3).requires_grad_()[:, 1:].add_(1)

    agree(views)
    agree(refused, messages=True)


OTHER_NUMBERS = {
    "real": (lambda torch: torch.vmap(torch.real)),
    "imag": (lambda torch: torch.vmap(torch.imag, 1, 1)),
    "part of imag": (lambda torch: torch.vmap(lambda a: a.t().imag[1:], 2, 1)),
    "view_as_real": (lambda torch: torch.vmap(torch.view_as_real, 2)),
    "nested": (lambda torch: torch.vmap(torch.vmap(lambda a: a.real))),
    "of scalars": (lambda torch: lambda x: torch.vmap(torch.real)(x[0, 0])),
}


@pytest.mark.parametrize("name", OTHER_NUMBERS)
def test_parts_of_complex_numbers(name):
    def program(torch):
        x = torch.complex(torch.arange(24.0), -torch.arange(24.0)).reshape(2, 3, 4)
        y = OTHER_NUMBERS[name](torch)(x)
        seen = list(y.shape), list(y.stride()), y.storage_offset(), y._base is x or y._base is x._base
        y.mul_(2)
        return seen, x, y

    agree(program)


def test_pairs_as_complex_numbers():
    def program(torch):
        x = torch.arange(24.0).reshape(3, 4, 2)
        y = torch.vmap(torch.view_as_complex, 1)(x)
        y.mul_(2)
        return x, y, list(y.stride())

    agree(program)
    agree(lambda torch: torch.vmap(torch.view_as_complex, 1)(torch.ones(2, 3)))


# ---- strides of one example ----------------------------------------------------------------------

EXAMPLES = {
    "in front": lambda torch, x: (x, 0),
    "between": lambda torch, x: (x, 1),
    "last": lambda torch, x: (x, 2),
    "moved": lambda torch, x: (x.movedim(1, 0), 0),
    "part": lambda torch, x: (x[:, 1:], 1),
}
SEEN = {
    "itself": lambda a: a,
    "transposed": lambda a: a.t(),
    "part": lambda a: a[1:],
    "column": lambda a: a[:, 0],
    "unsqueezed": lambda a: a.unsqueeze(-1),
}


@pytest.mark.parametrize("seen", SEEN)
@pytest.mark.parametrize("name", EXAMPLES)
def test_strides_of_an_example(name, seen):
    def program(torch):
        x, dim = EXAMPLES[name](torch, torch.arange(24.0).reshape(2, 3, 4))
        told = []

        def f(a):
            y = SEEN[seen](a)
            told.append((list(y.stride()), y.storage_offset(), y.is_contiguous()))
            y.reshape(-1).mul_(2)  # a copy where the strides do not allow a view
            y.contiguous().mul_(3)
            return a

        torch.vmap(f, dim)(x)
        return told, x

    agree(program)


REFUSED = {
    "view": lambda torch, x: torch.vmap(lambda a: a.view(8), 1)(x),
    "transposed": lambda torch, x: torch.vmap(lambda a: a.t().view(-1))(x),
    "other memory": lambda torch, x: torch.vmap(lambda a: a.as_strided((2, 2), (23, 1), 1))(x),
    "lengths": lambda torch, x: torch.vmap(lambda a: a.as_strided((2, 2), (1,), 1))(x),
    "is_contiguous": lambda torch, x: torch.vmap(lambda a: a.is_contiguous(memory_format=torch.channels_last))(x),
    "contiguous": lambda torch, x: torch.vmap(lambda a: a.contiguous(memory_format=torch.channels_last))(x),
    "clone": lambda torch, x: torch.vmap(lambda a: a.clone(memory_format=torch.channels_last))(x),
    "data": lambda torch, x: torch.vmap(lambda a: a.data)(x),
    "data set": lambda torch, x: torch.vmap(lambda a: setattr(a, "data", x[0]))(x),
    "nonzero": lambda torch, x: torch.vmap(torch.nonzero)(x),
    "where": lambda torch, x: torch.vmap(lambda a: torch.where(a))(x),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    messages = name not in ("view", "transposed")
    agree(lambda torch: REFUSED[name](torch, torch.arange(24.0).reshape(2, 3, 4)), messages=messages)


def test_as_strided_of_an_example():
    def program(torch):
        x = torch.arange(24.0).reshape(2, 3, 4)
        y = torch.vmap(lambda a: a.as_strided((2, 2), (12, 1), 1), 1)(x)
        y.mul_(2)
        return x, y, list(y.stride()), torch.vmap(lambda a: a[1].as_strided((2, 2), (1, 2)))(x)

    agree(program)


def test_all_and_any_of_a_batch():
    def program(torch):
        x = torch.tensor([[True, False], [True, True]])
        ops = torch._is_all_true, torch._is_any_true
        return [torch.vmap(op)(y) for op in ops for y in (x, x[1:], ~x)]

    agree(program)
