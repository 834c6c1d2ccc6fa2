"""Copies of a module for several devices."""

from __future__ import annotations


def replicate(network, devices, detach: bool = False) -> list:
    """Modules with the parameters of one, as many as there are devices.

    >>> from torch.nn.parallel import replicate
    >>> layer = nn.Linear(2, 1)
    >>> [copy.weight is layer.weight for copy in replicate(layer, [0, 1])]
    [True, True]
    """
    return [_replica(network, detach) for _ in devices]


def _replica(module, detach: bool):
    replica = module._replicate_for_data_parallel()
    for holder, members in ((replica._parameters, module._parameters), (replica._buffers, module._buffers)):
        for name, member in members.items():
            holder[name] = member.detach() if detach and member is not None else member
    for name, child in module._modules.items():
        replica._modules[name] = None if child is None else _replica(child, detach)
    return replica


__all__ = ["replicate"]
