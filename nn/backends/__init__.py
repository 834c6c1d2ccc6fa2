"""torch.nn.backends: kept for old pickles."""

from . import thnn
