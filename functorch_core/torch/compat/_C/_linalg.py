"""torch._C._linalg: torch.linalg under the names that PyTorch's pickles use."""

from ..._missing import getter as _getter
from ...namespaces import linalg

_missing_or_error = _getter(__name__)


def __getattr__(name: str):
    found = getattr(linalg, name.removeprefix("linalg_"), None)
    return _missing_or_error(name) if found is None else found
