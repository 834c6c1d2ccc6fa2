"""Memory formats of the weights of convolutions."""

from __future__ import annotations

from ..modules.conv import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d


def _convert(module, memory_format, kinds: tuple):
    for part in module.modules():
        if isinstance(part, kinds):
            part.weight.data = part.weight.detach().clone(memory_format=memory_format)
    return module


def convert_conv2d_weight_memory_format(module, memory_format):
    """Give the weights of all 2-d convolutions a memory format; returns the module.

    >>> net = nn.utils.convert_conv2d_weight_memory_format(nn.Conv2d(2, 2, 3), torch.channels_last)
    >>> net.weight.stride()
    (18, 1, 6, 2)
    """
    return _convert(module, memory_format, (Conv2d, ConvTranspose2d))


def convert_conv3d_weight_memory_format(module, memory_format):
    """Give the weights of all 3-d convolutions a memory format; returns the module.

    >>> net = nn.utils.convert_conv3d_weight_memory_format(nn.Conv3d(2, 2, 3), torch.channels_last_3d)
    >>> net.weight.stride()
    (54, 1, 18, 6, 2)
    """
    return _convert(module, memory_format, (Conv3d, ConvTranspose3d))


__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]
