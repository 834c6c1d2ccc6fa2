"""torch.distributed.nn.functional: collectives that give new tensors and are differentiable.

A collective is a linear map of the tensors of all processes; its backward pass is the transposed one, in which all
processes have to take part. They compose with torch.func's transforms: those of a batch go in one message.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ....levels.function import Function
from ....tensors.base import Tensor
from .. import collectives as c
from ..group import ReduceOp, get_rank, get_world_size

NOT_LINEAR = "the gradient of {name} with {op}: only SUM and AVG are linear"


class _Linear(Function):
    """forward(*tensors), a linear map, whose backward pass is its transpose, backward(*grads); each gives a tensor or a
    tuple of them, and takes tensors of more dimensions behind theirs."""

    @staticmethod
    def forward(forward: Callable, backward: Callable, *tensors: Tensor):
        """The result."""
        return forward(*tensors)

    @staticmethod
    def setup_context(ctx, inputs, output):
        """What the other passes need."""
        ctx.maps = inputs[:2]

    @staticmethod
    def backward(ctx, *grads):
        """The gradients of the tensors."""
        forward, backward = ctx.maps
        found = _linear(backward, forward, *grads)
        return None, None, *(found if isinstance(found, tuple) else (found,))

    @staticmethod
    def jvp(ctx, forward_, backward_, *tangents):
        """The tangent of the result."""
        forward, backward = ctx.maps
        getattr(forward, "check", lambda: None)()
        return _linear(forward, backward, *tangents)

    @staticmethod
    def vmap(info, in_dims, forward: Callable, backward: Callable, *tensors: Tensor):
        """All examples in one message, in a last dimension."""
        moved = [
            x.unsqueeze(-1).expand(*x.shape, info.batch_size) if dim is None else x.movedim(dim, -1)
            for x, dim in zip(tensors, in_dims[2:])
        ]
        found = _linear(forward, backward, *[x.contiguous() for x in moved])
        dims = tuple(x.ndim - 1 for x in found) if isinstance(found, tuple) else found.ndim - 1
        return found, dims


def _linear(forward: Callable, backward: Callable, *tensors: Tensor):
    """forward(*tensors), differentiable by its transpose."""
    return _Linear.apply(forward, backward, *tensors)


def _combining(name: str, op, forward: Callable) -> Callable:
    """A map that is linear for some ops only: its derivatives raise for others."""
    forward.check = lambda: _linear_op(name, op)
    return forward


def _linear_op(name: str, op):
    if op not in (ReduceOp.SUM, ReduceOp.AVG):
        raise NotImplementedError(NOT_LINEAR.format(name=name, op=op))
    return op


# ---- the maps, without a tape --------------------------------------------------------------------


def _summed(x: Tensor, op, group) -> Tensor:
    """What op makes of the tensors of all."""
    out = x.detach().clone()
    c.all_reduce(out, op, group)
    return out


def _sent(x: Tensor, src: int, group) -> Tensor:
    """The tensor of the process `src`."""
    out = x.detach().clone()
    c.broadcast(out, src, group)
    return out


def _rows(x: Tensor, group) -> tuple[Tensor, ...]:
    """The tensors of all processes."""
    places = [x.new_empty(x.shape) for _ in range(get_world_size(group))]
    c.all_gather(places, x.detach(), group)
    return tuple(places)


def _row_of_sum(parts: Sequence[Tensor], op, group) -> Tensor:
    """The sum (or what op says) of the k-th parts of all, in process k."""
    out = parts[0].new_empty(parts[get_rank(group)].shape)
    c.reduce_scatter(out, [p.detach() for p in parts], op, group)
    return out


def _exchanged(parts: Sequence[Tensor], places: Sequence[Tensor], group) -> tuple[Tensor, ...]:
    """Part k goes to process k; what came, of the shapes of `places`."""
    made = [parts[0].new_empty((*p.shape, *parts[0].shape[p.ndim :])) for p in places]
    c.all_to_all(made, [p.detach().contiguous() for p in parts], group)
    return tuple(made)


def _collected(x: Tensor, dst: int, group) -> tuple[Tensor, ...]:
    """The tensors of all in the process `dst`, zeros in the others."""
    found = _rows(x, group)
    return found if c.default().global_rank == dst else tuple(f.zero_() for f in found)


def _only_at(x: Tensor, dst: int, op, group) -> Tensor:
    """What op makes of the tensors of all in the process `dst`, zeros in the others."""
    out = _summed(x, op, group)
    return out if c.default().global_rank == dst else out.zero_()


def _dealt(parts: Sequence[Tensor], src: int, group) -> Tensor:
    """Part k of the process `src` in process k."""
    out = parts[0].new_empty(parts[0].shape)
    c.scatter(out, [p.detach() for p in parts] if c.default().global_rank == src else None, src, group)
    return out


# ---- PyTorch's names -----------------------------------------------------------------------------


def broadcast(tensor, src, group=None):
    """The tensor of the process `src`, to which the sum of all gradients goes.

    >>> import torch.distributed.nn
    >>> torch.distributed.nn.broadcast(torch.ones(2, requires_grad=True), src=0).detach()
    tensor([1., 1.])
    """
    return _linear(lambda x: _sent(x, src, group), lambda g: _only_at(g, src, ReduceOp.SUM, group), tensor)


def gather(tensor, dst=0, group=None):
    """The tensors of all, a tuple, in the process `dst`; zeros in the others.

    >>> import torch.distributed.nn
    >>> torch.distributed.nn.gather(torch.ones(2, requires_grad=True), dst=0)[0].detach()
    tensor([1., 1.])
    """
    return _linear(lambda x: _collected(x, dst, group), lambda *g: _dealt(g, dst, group), tensor)


def scatter(tensors, src=0, group=None):
    """The tensor for this process among those of the process `src`.

    >>> import torch.distributed.nn
    >>> torch.distributed.nn.scatter([torch.ones(2, requires_grad=True)], src=0).detach()
    tensor([1., 1.])
    """
    return _linear(lambda *x: _dealt(x, src, group), lambda g: _collected(g, src, group), *tensors)


def reduce(tensor, dst, op=ReduceOp.SUM, group=None):
    """The sum of the tensors of all in the process `dst`; zeros in the others.

    >>> import torch.distributed.nn
    >>> torch.distributed.nn.reduce(torch.ones(2, requires_grad=True), dst=0).detach()
    tensor([1., 1.])
    """
    forward = _combining("reduce", op, lambda x: _only_at(x, dst, op, group))
    return _linear(forward, lambda g: _averaged(_sent(g, dst, group), op, group), tensor)


def _averaged(x: Tensor, op, group) -> Tensor:
    return x / get_world_size(group) if _linear_op("reduce", op) == ReduceOp.AVG else x


def reduce_scatter(output, input_list, op=ReduceOp.SUM, group=None):
    """The sum of the k-th tensors of all, in process k.

    >>> import torch.distributed.nn
    >>> torch.distributed.nn.reduce_scatter(torch.zeros(2), [torch.ones(2, requires_grad=True)]).detach()
    tensor([1., 1.])
    """

    def backward(g):
        return tuple(_averaged(row, op, group) for row in _rows(g, group))

    forward = _combining("reduce_scatter", op, lambda *x: _row_of_sum(x, op, group))
    return _linear(forward, backward, *input_list)


def all_gather(tensor, group=None):
    """The tensors of all, a tuple.

    >>> import torch.distributed.nn
    >>> x = torch.ones(2, requires_grad=True)
    >>> torch.distributed.nn.all_gather(x)[0].sum().backward()
    >>> x.grad
    tensor([1., 1.])
    """
    return _linear(lambda x: _rows(x, group), lambda *g: _row_of_sum(g, ReduceOp.SUM, group), tensor)


def all_to_all(output_tensor_list, input_tensor_list, group=None):
    """A tuple of what the processes send to this one: tensor k of the inputs goes to process k.

    >>> import torch.distributed.nn
    >>> x = torch.ones(2, requires_grad=True)
    >>> torch.distributed.nn.all_to_all([torch.zeros(2)], [x])[0].detach()
    tensor([1., 1.])
    """
    ins, outs = list(input_tensor_list), list(output_tensor_list)
    return _linear(lambda *x: _exchanged(x, outs, group), lambda *g: _exchanged(g, ins, group), *ins)


def all_to_all_single(output, input, output_split_sizes=None, input_split_sizes=None, group=None):
    """Part k of the input, along the first dimension, goes to process k; the parts are equal, or of these sizes.

    >>> import torch.distributed.nn
    >>> x = torch.ones(2, requires_grad=True)
    >>> torch.distributed.nn.all_to_all_single(torch.zeros(2), x).detach()
    tensor([1., 1.])
    """

    def along(x, like, outs, ins):
        made = x.new_empty((*like.shape, *x.shape[like.ndim :]))
        c.all_to_all_single(made, x.detach().contiguous(), outs, ins, group)
        return made

    sizes = output_split_sizes, input_split_sizes
    return _linear(lambda x: along(x, output, *sizes), lambda g: along(g, input, *sizes[::-1]), input)


def all_reduce(tensor, op=ReduceOp.SUM, group=None):
    """The sum of the tensors of all, or what op says.

    >>> import torch.distributed.nn
    >>> x = torch.ones(2, requires_grad=True)
    >>> torch.distributed.nn.all_reduce(x).sum().backward()
    >>> x.grad
    tensor([1., 1.])
    """
    forward = _combining("all_reduce", op, lambda x: _summed(x, op, group))
    return _linear(forward, lambda g: _summed(g, _linear_op("all_reduce", op), group), tensor)
