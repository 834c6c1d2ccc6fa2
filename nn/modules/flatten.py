"""Joining and splitting dimensions."""

from __future__ import annotations

from ._described import Described


class Flatten(Described):
    """The dimensions from start_dim to end_dim as one.

    IndexError for a dimension that is not there, RuntimeError for an end before the start.

    >>> nn.Flatten()(torch.zeros(32, 1, 5, 5)).shape
    torch.Size([32, 25])
    """

    start_dim: int
    end_dim: int

    _shown = "start_dim={start_dim}, end_dim={end_dim}"

    def __init__(self, start_dim: int = 1, end_dim: int = -1):
        super().__init__(start_dim=start_dim, end_dim=end_dim)

    def forward(self, input):
        return input.flatten(self.start_dim, self.end_dim)


class Unflatten(Described):
    """One dimension as several.

    RuntimeError if the product of the sizes, one of which may be -1, is not the dimension's.

    >>> nn.Unflatten(1, (2, 3))(torch.ones(4, 6)).shape
    torch.Size([4, 2, 3])
    """

    dim: int

    _shown = "dim={dim}, unflattened_size={unflattened_size}"

    def __init__(self, dim, unflattened_size):
        if not isinstance(unflattened_size, (tuple, list)):
            raise TypeError(
                f"unflattened_size must be a tuple of ints, but found type {type(unflattened_size).__name__}"
            )
        for i, size in enumerate(unflattened_size):
            if not isinstance(size, int):
                raise TypeError(
                    "unflattened_size must be tuple of ints, but found element of type "
                    f"{type(size).__name__} at pos {i}"
                )
        super().__init__(dim=dim, unflattened_size=unflattened_size)

    def forward(self, input):
        return input.unflatten(self.dim, self.unflattened_size)


__all__ = ["Flatten", "Unflatten"]
