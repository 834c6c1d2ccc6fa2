"""How many threads the user wants computations to take."""

from __future__ import annotations

import os


def threads_wanted() -> int | None:
    """What OMP_NUM_THREADS says; None if it says nothing."""
    first = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return int(first) if first.isdigit() and int(first) > 0 else None


def tell_xla() -> None:
    """Let XLA, before its client is made, have a pool of so many threads."""
    wanted = threads_wanted()
    if wanted is not None and not {"NPROC", "PJRT_NPROC"} & os.environ.keys():
        os.environ["NPROC"] = str(wanted)
