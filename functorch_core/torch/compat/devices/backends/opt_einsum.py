"""torch.backends.opt_einsum: the order of contractions in torch.einsum."""

from ._flags import answer as _answer
from ._flags import context_of as _context_of

enabled, strategy = True, "auto"
flags = _context_of(globals(), "enabled strategy")
is_available = _answer(True, "Whether opt_einsum is installed: it is a dependency.", "opt_einsum.is_available")


def get_opt_einsum():
    """The module.

    >>> torch.backends.opt_einsum.get_opt_einsum().__name__
    'opt_einsum'
    """
    import opt_einsum

    return opt_einsum
