"""torch.distributed.launcher: torchrun as a function."""

from .... import _missing
from .api import LaunchConfig, elastic_launch, launch_agent

__all__ = ["LaunchConfig", "elastic_launch", "launch_agent"]

__getattr__ = _missing.getter(__name__, ("api",))
