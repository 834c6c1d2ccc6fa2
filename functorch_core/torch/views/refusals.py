"""What is said of writes that are refused: to what autograd cannot follow, and to elements that are one place."""

from __future__ import annotations

import re

OF_SEVERAL = (
    "Output {i} of {name} is a view and is being modified inplace. This view is the output of "
    "a function that returns multiple views. Such functions do not allow the output views to "
    "be modified inplace. You should replace the inplace operation by an out-of-place one."
)
PARTS_OFF_TAPE = (
    "A view was created in no_grad mode and is being modified inplace with grad mode enabled. This"
    + OF_SEVERAL.partition(" This")[2]
)
IN_NO_GRAD = (
    "A view was created in no_grad mode and is being modified inplace with grad mode enabled. "
    "Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify "
    "your code by moving both the view and the inplace either both inside the no_grad block "
    "(if you don't want the inplace to be tracked) or both outside (if you want the inplace "
    "to be tracked)."
)
IN_INFERENCE = (
    "A view was created in inference mode and is being modified inplace in normal mode. "
    "Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify "
    "your code by moving both the view and the inplace either both inside the inference_mode block "
    "(if you don't want the inplace to be tracked) or both outside (if you want the inplace "
    "to be tracked)."
)
LEAF_INPLACE = "a leaf Variable that requires grad is being used in an in-place operation."
LEAF_VIEW_INPLACE = "a view of a leaf Variable that requires grad is being used in an in-place operation."
INFERENCE_INPLACE = (
    "Inplace update to inference tensor outside InferenceMode is not allowed.You can "
    "make a clone to get a normal tensor before doing inplace update.See "
    "https://github.com/pytorch/rfcs/pull/17 for more details."
)
OVERLAP = (
    "unsupported operation: more than one element of the written-to tensor refers to a single "
    "memory location. Please clone() the tensor before performing the operation."
)


def later(refused: str) -> str:
    """What is said of such a view when its memory has been written to otherwise."""
    return refused.replace(" and is being", " and its base or another view of its base has been", 1)


def of_a_view(refused: str, edge: tuple | None) -> str:
    """What is said of a view, of this history, of one that may not be written to."""
    name = "View" if edge is None else re.sub("Backward[0-9]*$", "", type(edge[0]).__name__)
    if refused.startswith("Output"):
        return re.sub(r"^Output \d+ of \w+", f"Output 0 of {name}", refused)
    return f"Output 0 of {name} is {refused.replace('A view was', 'a view of a view which was', 1)}"
