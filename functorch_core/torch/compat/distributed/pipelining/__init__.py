"""torch.distributed.pipelining: layers divided over processes, through which parts of a batch go one after the other.

Huang et al.: GPipe (2019); Narayanan et al.: Efficient Large-Scale Language Model Training on GPU Clusters (2021).
"""

from .... import _missing
from ._IR import Pipe, SplitPoint, pipe_split, pipeline
from .schedules import (
    Schedule1F1B,
    ScheduleDualPipeV,
    ScheduleGPipe,
    ScheduleInterleaved1F1B,
    ScheduleInterleavedZeroBubble,
    ScheduleLoopedBFS,
    ScheduleZBVZeroBubble,
)
from .stage import PipelineStage, build_stage

__getattr__ = _missing.getter(__name__, ("_IR", "_utils", "microbatch", "schedules", "stage"))
