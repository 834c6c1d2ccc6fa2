"""Attributes of Tensor that are views: x.T and its kin, x.real and x.imag."""

from __future__ import annotations

from ....core.warn import warn
from ...dispatch.op import PLAIN, composite
from ...dispatch.view_op import view_op
from ...tensors.active import active
from ...tensors.base import Tensor
from ...views.cells import make_view
from ...views.lenses import Lens
from ...views.seen import see_again
from .views import imag, real, transpose

NOT_A_MATRIX = "tensor.{name} is only supported on {what}. Got {n}-D tensor."
REVERSED = (
    "The use of `x.T` on tensors of dimension other than 2 to reverse their "
    "shape is deprecated and it will throw an error in a future release. "
    "Consider `x.mT` to transpose batches of matrices or "
    "`x.permute(*torch.arange(x.ndim - 1, -1, -1))` to reverse the dimensions of "
    "a tensor."
)


def adjoint_of(tensor: Tensor, name: str = "mH") -> Tensor:
    """The last two dimensions exchanged, conjugated; errors say `name`."""
    transposed = transposed_of(tensor, name)
    return transposed.conj() if tensor.is_complex() else transposed


def transposed_of(tensor: Tensor, name: str = "mT") -> Tensor:
    """The last two dimensions exchanged; errors say `name`."""
    if tensor.ndim < 2:
        what = "matrices or batches of matrices"
        raise RuntimeError(NOT_A_MATRIX.format(name=name, what=what, n=tensor.ndim))
    return transpose(tensor, -2, -1)


@view_op(method=False, function=False)
def _reversed(input):
    """The dimensions reversed."""
    return make_view(input, Lens("permute", (tuple(reversed(range(input.ndim))),)))


class Transposes:
    """Transposes, and the parts of complex numbers."""

    @property
    def T(self) -> Tensor:
        """The dimensions reversed.

        >>> torch.tensor([[1, 2], [3, 4]]).T
        tensor([[1, 3],
                [2, 4]])
        """
        if active.plain and self.__class__ in PLAIN:  # 0.2 us less than by the method
            a = self._value.aval
            known = _reversed.seen.get(a)
            made = None if known is None or a.ndim != 2 else see_again(known, self)
            if made is not None:
                return made
        if len((self._value if self._level is None else self._level).aval.shape) != 2:
            warn(REVERSED)
        if self._device is not None:
            return self.permute(*reversed(range(self.ndim)))
        return (_reversed.method if active.plain and self.__class__ in PLAIN else _reversed.fun)(self)

    @property
    def mT(self) -> Tensor:
        """The last two dimensions exchanged.

        >>> torch.zeros(2, 3, 4).mT.shape
        torch.Size([2, 4, 3])
        """
        if active.plain and self.__class__ in PLAIN:
            known = transpose.seen.get((self._value.aval, -2, -1))
            made = None if known is None else see_again(known, self)
            if made is not None:
                return made
        return transposed_of(self)

    @property
    def H(self) -> Tensor:
        """The conjugate transpose of a matrix.

        >>> torch.tensor([[1j, 2.]]).H
        tensor([[0.-1.j],
                [2.-0.j]])
        """
        if self.ndim not in (0, 2):
            what = "matrices (2-D tensors)"
            raise RuntimeError(NOT_A_MATRIX.format(name="H", what=what, n=self.ndim))
        return adjoint_of(self) if self.ndim else (self.conj() if self.is_complex() else self)

    @property
    def mH(self) -> Tensor:
        """The last two dimensions exchanged, conjugated.

        >>> torch.tensor([[1 + 2j, 3]]).mH
        tensor([[1.-2.j],
                [3.-0.j]])
        """
        return adjoint_of(self)

    @property
    def real(self) -> Tensor:
        """The real part.

        >>> torch.tensor([1 + 2j]).real
        tensor([1.])
        """
        return real(self)

    @real.setter
    def real(self, x):
        real(self).copy_(x)

    @property
    def imag(self) -> Tensor:
        """The imaginary part.

        >>> torch.tensor([1 + 2j]).imag
        tensor([2.])
        """
        return imag(self)

    @imag.setter
    def imag(self, x):
        imag(self).copy_(x)


@composite
def adjoint(input):
    """The last two dimensions exchanged, conjugated.

    >>> torch.adjoint(torch.tensor([[1j, 2.]]))
    tensor([[0.-1.j],
            [2.-0.j]])
    """
    return adjoint_of(input, "adjoint()") if input.ndim >= 2 else adjoint_of(input)
