"""torch.hub: models from GitHub. Nothing is downloaded here; what is on disk can be loaded."""

from __future__ import annotations

import importlib.util
import os as _os
import re as _re
import sys
from urllib.parse import urlparse

from .._missing import missing as _missing
from .serialization import load as torch_load

_NO_NETWORK = "this library downloads nothing; fetch the file and use torch.load"
_dir: str | None = None
HASH_REGEX = _re.compile(r"-([a-f0-9]*)\.")  # in the names of files that are checked

download_url_to_file = _missing("torch.hub.download_url_to_file", _NO_NETWORK)
help = _missing("torch.hub.help", _NO_NETWORK)
list = _missing("torch.hub.list", _NO_NETWORK)


def _get_torch_home() -> str:
    """$TORCH_HOME, or torch in the folder of caches."""
    cache = _os.environ.get("XDG_CACHE_HOME", "~/.cache")
    return _os.path.expanduser(_os.environ.get("TORCH_HOME", _os.path.join(cache, "torch")))


def get_dir() -> str:
    """The folder of downloaded models: $TORCH_HOME/hub."""
    return _dir or _os.path.join(_get_torch_home(), "hub")


def set_dir(d):
    """Change the folder."""
    global _dir
    _dir = _os.path.expanduser(d)


def load_state_dict_from_url(
    url, model_dir=None, map_location=None, progress=True, check_hash=False, file_name=None, weights_only=False
):
    """The state dict in the file that was downloaded from a URL before, or NotImplementedError."""
    folder = model_dir or _os.path.join(get_dir(), "checkpoints")
    path = _os.path.join(folder, file_name or _os.path.basename(urlparse(url).path))
    if not _os.path.exists(path):
        raise NotImplementedError(f"torch.hub.load_state_dict_from_url: {_NO_NETWORK}; it would be read from {path}")
    return torch_load(path, map_location=map_location, weights_only=weights_only)


def load(repo_or_dir, model, *args, source="github", **kwargs):
    """A model from the hubconf.py of a local folder (source='local')."""
    if source != "local":
        raise NotImplementedError(f"torch.hub.load(source={source!r}): {_NO_NETWORK}")
    path = _os.path.join(repo_or_dir, "hubconf.py")
    spec = importlib.util.spec_from_file_location("hubconf", path)
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, repo_or_dir)
    try:
        spec.loader.exec_module(module)
        return getattr(module, model)(*args, **kwargs)
    finally:
        sys.path.remove(repo_or_dir)
