"""PyTorch's messages without the sentences that send its users to its issue tracker.

This library's messages are PyTorch's but for these: nobody can help its users there. Tests that compare
messages pass the reference's through `without_tracker` first.
"""

from __future__ import annotations

import re

SENTENCES = (
    r", please (file an issue|shout over) at https://github\.com/pytorch/\w+/issues\S* (?=\.)",
    r" Please file an issue at https://github\.com/pytorch/\w+/issues\S* (if a [\w ]+|to report this bug)\.",
    r" (If this is necessary for your usage, please|Please) file an issue with functorch\.?$",
    r" Please file an issue at https://github\.com/pytorch/\w+/issues if you need this feature\.",
    r" If (error|said operator) is [\w ]+, please file a bug report( instead)?\.",
    r" Please open a feature request on GitHub\.",
    r" +\(Could this error message be improved\? +If so, please report an enhancement request to PyTorch\.\)",
    r" Otherwise please open an issue with details on your use case\.",
    r" Open an issue on github if you need non-string keys\.",
    r"; see github\.com/pytorch/pytorch/issues/\d+ for more information",
    r" Please open an issue if you need to perform in-place operations on the input to a pack hook\.",
    r" See: https://github\.com/pytorch/pytorch/issues/\d+ for more background \nabout fast mode\.",
    r" Please open an issue if you are unable to replicate your use case: https://\S+\.",
)
FEEDBACK = r"\nFor feedback regarding this ([\w ]+), feel free to comment on this issue: https://\S+\."


def without_tracker(text: str) -> str:
    for sentence in SENTENCES:
        text = re.sub(sentence, "", text)
    return re.sub(FEEDBACK, r"\nThis is the \1.", text)
