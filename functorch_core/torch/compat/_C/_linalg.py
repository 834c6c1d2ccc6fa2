"""torch._C._linalg: torch.linalg under the names that PyTorch's pickles use."""

from ...namespaces import linalg


def __getattr__(name: str):
    return getattr(linalg, name.removeprefix("linalg_"))
