"""Several modules called with an input each."""

from __future__ import annotations


def parallel_apply(modules, inputs, kwargs_tup=None, devices=None) -> list:
    """module(*input, **kwargs) of each; inputs that are no tuples are single arguments.

    >>> from torch.nn.parallel import parallel_apply
    >>> parallel_apply([nn.ReLU(), nn.Identity()], [torch.tensor(-1.), torch.tensor(-2.)])
    [tensor(0.), tensor(-2.)]
    """
    if len(modules) != len(inputs):
        raise AssertionError(f"The number of modules {len(modules)} is not equal to the number of inputs {len(inputs)}")
    kwargs_tup = [{}] * len(modules) if kwargs_tup is None else kwargs_tup
    inputs = [x if isinstance(x, (tuple, list)) else (x,) for x in inputs]
    return [module(*args, **kwargs) for module, args, kwargs in zip(modules, inputs, kwargs_tup)]


__all__ = ["parallel_apply"]
