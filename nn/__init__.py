"""torch.nn: neural networks."""
from . import functional
