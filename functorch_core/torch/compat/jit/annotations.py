"""torch.jit.annotations: the types that annotations of scripted code name."""

from typing import Any, Dict, List, Optional, Tuple, Union  # noqa: F401

BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = BroadcastingList4 = BroadcastingList5 = List
