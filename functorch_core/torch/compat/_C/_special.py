"""torch._C._special: torch.special under the names that PyTorch's pickles use."""

from ...namespaces import special


def __getattr__(name: str):
    return getattr(special, name.removeprefix("special_"))
