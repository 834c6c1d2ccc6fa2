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
