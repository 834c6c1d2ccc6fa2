"""torch.distributed.pipelining._utils: what is known of a pipeline."""

from __future__ import annotations

import dataclasses

from ...fx.graph import Graph
from .stage import PipeliningMetadataError  # noqa: F401


@dataclasses.dataclass
class PipeInfo:
    """A module's stages: the graph, and how many there are."""

    graph: Graph
    num_stages: int
    has_loss_and_backward: bool = False
