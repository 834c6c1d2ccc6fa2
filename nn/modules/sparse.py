"""Embeddings."""

from __future__ import annotations

from ...torch.tape.modes import no_grad
from .. import functional as F
from .. import init
from ..parameter import Parameter
from .linear import new_parameter
from .module import Module


class _Table(Module):
    """What Embedding and EmbeddingBag share: rows of weights, one of which may stay 0."""

    def _make_weight(self, weight, trained: bool, where: dict):
        shape = (self.num_embeddings, self.embedding_dim)
        if weight is None:
            self.weight = Parameter(new_parameter(*shape, **where), requires_grad=trained)
            self.reset_parameters()
            return
        if tuple(weight.shape) != shape:
            raise AssertionError("Shape of weight does not match num_embeddings and embedding_dim")
        self.weight = Parameter(weight, requires_grad=trained)

    def _set_padding_idx(self, padding_idx: int | None, name: str):
        n = self.num_embeddings
        if padding_idx is not None:
            if not -n <= padding_idx < n and padding_idx != 0:
                raise AssertionError(f"{name} must be within num_embeddings")
            padding_idx += n if padding_idx < 0 else 0
        self.padding_idx = padding_idx

    def reset_parameters(self):
        """Draw the weight from the standard normal distribution; the padding row is 0."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)

    def _unusual(self) -> list[str]:
        """The arguments that repr shows where they are not the defaults."""
        shown = [] if self.max_norm is None else [f"max_norm={self.max_norm}"]
        shown += [] if self.norm_type == 2 else [f"norm_type={self.norm_type}"]
        return shown + (
            [f"scale_grad_by_freq={self.scale_grad_by_freq}"] if self.scale_grad_by_freq is not False else []
        )


def _check_matrix(embeddings):
    if embeddings.dim() != 2:
        raise AssertionError("Embeddings parameter is expected to be 2-dimensional")


class Embedding(_Table):
    """Rows of a table (num_embeddings, embedding_dim) for integers of any shape.

    The result is (*, embedding_dim) for an int32 or int64 input (*). IndexError for an index outside of the table
    (where it is known later, when something is read), RuntimeError for other dtypes.

    >>> nn.Embedding(10, 3)(torch.tensor([[1, 2, 4, 5], [4, 3, 2, 9]])).shape
    torch.Size([2, 4, 3])
    """

    num_embeddings: int
    embedding_dim: int
    padding_idx: int | None
    max_norm: float | None
    norm_type: float
    scale_grad_by_freq: bool
    freeze: bool
    sparse: bool

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight=None,
        _freeze: bool = False,
        device=None,
        dtype=None,
    ):
        super().__init__()
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self._set_padding_idx(padding_idx, "Padding_idx")
        self.max_norm, self.norm_type = max_norm, norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self._make_weight(_weight, not _freeze, {"device": device, "dtype": dtype})
        self.sparse = sparse

    def forward(self, input):
        return F.embedding(
            input, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse
        )

    def extra_repr(self):
        shown = [f"{self.num_embeddings}, {self.embedding_dim}"]
        shown += [] if self.padding_idx is None else [f"padding_idx={self.padding_idx}"]
        shown += self._unusual()
        return ", ".join(shown + ([] if self.sparse is False else ["sparse=True"]))

    @classmethod
    def from_pretrained(
        cls,
        embeddings,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ):
        """An embedding of a given table, which is not trained if `freeze`."""
        _check_matrix(embeddings)
        rows, columns = embeddings.shape
        return cls(
            num_embeddings=rows,
            embedding_dim=columns,
            _weight=embeddings,
            _freeze=freeze,
            padding_idx=padding_idx,
            max_norm=max_norm,
            norm_type=norm_type,
            scale_grad_by_freq=scale_grad_by_freq,
            sparse=sparse,
        )


class EmbeddingBag(_Table):
    """Sums, means or maxima of bags of rows of a table (num_embeddings, embedding_dim).

    Indices (B, N) give (B, embedding_dim); a vector of them needs `offsets`, where the bags begin, ValueError
    without. RuntimeError for an index that is out of bounds.

    >>> bag = nn.EmbeddingBag(5, 2, mode='sum')
    >>> bag(torch.tensor([1, 2, 4]), torch.tensor([0, 2])).shape
    torch.Size([2, 2])
    """

    num_embeddings: int
    embedding_dim: int
    max_norm: float | None
    norm_type: float
    scale_grad_by_freq: bool
    mode: str
    sparse: bool
    include_last_offset: bool
    padding_idx: int | None

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight=None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device=None,
        dtype=None,
    ):
        super().__init__()
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.max_norm, self.norm_type = max_norm, norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self._set_padding_idx(padding_idx, "padding_idx")
        self._make_weight(_weight, True, {"device": device, "dtype": dtype})
        self.mode, self.sparse, self.include_last_offset = mode, sparse, include_last_offset

    def forward(self, input, offsets=None, per_sample_weights=None):
        """Bags are the rows of a 2-d input, or begin at the offsets of a 1-d one."""
        return F.embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            self.sparse,
            per_sample_weights,
            self.include_last_offset,
            self.padding_idx,
        )

    def extra_repr(self):
        shown = [f"{self.num_embeddings}, {self.embedding_dim}", *self._unusual()]
        shown += [f"mode={self.mode!r}"]
        return ", ".join(shown + ([] if self.padding_idx is None else [f"padding_idx={self.padding_idx}"]))

    @classmethod
    def from_pretrained(
        cls,
        embeddings,
        freeze: bool = True,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ):
        """An embedding bag of a given table, which is not trained if `freeze`."""
        _check_matrix(embeddings)
        rows, columns = embeddings.shape
        bag = cls(
            num_embeddings=rows,
            embedding_dim=columns,
            _weight=embeddings,
            max_norm=max_norm,
            norm_type=norm_type,
            scale_grad_by_freq=scale_grad_by_freq,
            mode=mode,
            sparse=sparse,
            include_last_offset=include_last_offset,
            padding_idx=padding_idx,
        )
        bag.weight.requires_grad = not freeze
        return bag


__all__ = ["Embedding", "EmbeddingBag"]
