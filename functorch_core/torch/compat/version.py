"""torch.version: which PyTorch this library stands for, and what it is built with."""

__version__ = "2.7.0+xla"
debug = False
cuda = hip = rocm = xpu = None
git_version = "unknown"
