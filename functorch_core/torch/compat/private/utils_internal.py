"""torch._utils_internal: where PyTorch's files lie, which other builds of it change."""

from __future__ import annotations

import os
import tempfile


def get_file_path(*path_components: str) -> str:
    """A path below this library's folder."""
    here = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    return os.path.join(here, *path_components)


def get_file_path_2(*path_components: str) -> str:
    """The components joined."""
    return os.path.join(*path_components)


def get_writable_path(path: str) -> str:
    """The path, or a new temporary folder if it cannot be written."""
    return path if os.access(path, os.W_OK) else tempfile.mkdtemp(suffix=os.path.basename(path))


def prepare_multiprocessing_environment(path: str):
    """No effect."""
