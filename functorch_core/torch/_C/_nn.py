"""torch._C._nn: torch.nn.functional under the names that PyTorch's pickles use."""
from ...nn import functional


def __getattr__(name: str):
    return getattr(functional, "logsigmoid" if name == "log_sigmoid" else name)
