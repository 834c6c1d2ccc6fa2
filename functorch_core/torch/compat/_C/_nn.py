"""torch._C._nn: torch.nn.functional under the names that PyTorch's pickles use."""

from ....nn import functional
from ....nn.modules._names import parse_to as _parse_to
from ..._missing import getter as _getter
from ..library import aten

_missing_or_error = _getter(__name__)


def __getattr__(name: str):
    if name in aten.LOSSES:
        return aten.loss_of(name, 0)  # reducing nothing by default
    found = getattr(functional, "logsigmoid" if name == "log_sigmoid" else name, None)
    return _missing_or_error(name) if found is None else found
