"""torch._C._nn: torch.nn.functional under the names that PyTorch's pickles use."""

from ....nn import functional
from ....nn.modules._names import parse_to as _parse_to


def __getattr__(name: str):
    return getattr(functional, "logsigmoid" if name == "log_sigmoid" else name)
