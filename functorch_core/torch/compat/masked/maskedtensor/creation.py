"""How masked tensors are made."""

from __future__ import annotations

from .core import MaskedTensor


def masked_tensor(data, mask, requires_grad: bool = False) -> MaskedTensor:
    """A copy of data, a leaf, whose elements are there where the mask is True.

    >>> torch.masked.masked_tensor(torch.tensor([1., 2.]), torch.tensor([True, False]))
    MaskedTensor(
      [  1.0000,       --]
    )
    """
    return MaskedTensor(data, mask, requires_grad)


def as_masked_tensor(data, mask) -> MaskedTensor:
    """data itself, in whose history the result is, with a mask.

    >>> from torch.masked import as_masked_tensor
    >>> as_masked_tensor(torch.tensor([1., 2.]), torch.tensor([True, False])).sum()
    MaskedTensor(  1.0000, True)
    """
    return MaskedTensor._of(data, mask)
