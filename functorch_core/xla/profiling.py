"""XLA's own profiler: what runs when, with the names of operations, for TensorBoard and Perfetto."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

from jaxlib import _profiler
from jaxlib._profile_data import ProfileData, ProfileEvent, ProfilePlane  # noqa: F401  what profiles are read as

Annotation = _profiler.TraceMe
ProfileOptions: Any = _profiler.ProfileOptions


class Session:
    """A running profile; there is one at a time."""

    def __init__(self, options: Any = None) -> None:
        self._session: Any = _profiler.ProfilerSession(*([] if options is None else [options]))

    def stop(self, folder: str) -> None:
        """End it and write it to a folder, as TensorBoard reads it."""
        self._session.stop_and_export(folder)


def start_server(port: int) -> Any:
    """A server that other processes ask for profiles, as long as it is kept."""
    return _profiler.start_server(port)


def heap_profile(device: Any) -> bytes:
    """Who holds memory of a device's client: a profile for pprof."""
    profile = device._client.heap_profile()
    return profile if profile[:2] == b"\x1f\x8b" else gzip.compress(profile)


def written(folder: str) -> list[Path]:
    """The traces in a folder, the newest last."""
    return sorted(Path(folder).glob("plugins/profile/*/*.xplane.pb"))
