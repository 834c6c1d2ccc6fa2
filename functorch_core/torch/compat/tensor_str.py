"""torch._tensor_str: the text of tensors, for packages that write a repr of their own."""

from ..tensors import printing as _printing
from ..tensors.printing import get_printoptions, printoptions, set_printoptions

__all__ = ["PRINT_OPTS", "get_printoptions", "printoptions", "set_printoptions"]
PRINT_OPTS = _printing._options


def _tensor_str(self, indent: int) -> str:
    """The numbers and brackets, without the `tensor(` around them."""
    tensor = self.detach().resolve_conj()
    return _printing.format_contents(tensor.numpy(force=True), dtype_name=str(self.dtype), indent=indent)


def _add_suffixes(tensor_str: str, suffixes, indent: int, force_newline: bool = False) -> str:
    """The text with `, dtype=...` and the like behind it, and a closing bracket."""
    return _printing._append_suffixes(tensor_str, suffixes, indent, force_newline)
