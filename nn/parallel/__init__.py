"""torch.nn.parallel: one module on several devices. There is one device, so modules run as they
are."""
from .data_parallel import DataParallel, data_parallel

__all__ = ["DataParallel", "data_parallel"]
