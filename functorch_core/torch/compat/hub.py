"""torch.hub: models from GitHub. Nothing is downloaded here; what is on disk can be loaded."""

from __future__ import annotations

import errno
import hashlib
import importlib.util
import os as _os
import re as _re
import shutil
import sys
from urllib.error import URLError
from urllib.parse import urlparse
from urllib.request import url2pathname

from .._missing import missing as _missing
from .serialization import load as torch_load

_NO_NETWORK = "this library downloads nothing (but file:// URLs); fetch the file and use torch.load"
_dir: str | None = None
HASH_REGEX = _re.compile(r"-([a-f0-9]*)\.")  # in the names of files that are checked

help = _missing("torch.hub.help", _NO_NETWORK)
list = _missing("torch.hub.list", _NO_NETWORK)


def _get_torch_home() -> str:
    """$TORCH_HOME, or torch in the folder of caches."""
    cache = _os.environ.get("XDG_CACHE_HOME", "~/.cache")
    return _os.path.expanduser(_os.environ.get("TORCH_HOME", _os.path.join(cache, "torch")))


def get_dir() -> str:
    """The folder of downloaded models: $TORCH_HOME/hub.

    >>> torch.hub.get_dir().endswith("hub")
    True
    """
    return _dir or _os.path.join(_get_torch_home(), "hub")


def set_dir(d):
    """Change the folder.

    >>> before = torch.hub.get_dir()
    >>> torch.hub.set_dir("/tmp/models")
    >>> torch.hub.get_dir()
    '/tmp/models'
    >>> torch.hub.set_dir(before)
    """
    global _dir
    _dir = _os.path.expanduser(d)


class _Bar:
    """Where tqdm is not installed: counts without showing."""

    def __init__(self, iterable=None, total=None, disable=False, **kwargs):
        self.iterable, self.total, self.n = iterable, total, 0

    def __iter__(self):
        return iter(self.iterable)

    def update(self, n: float = 1):
        """Count."""
        self.n += n

    def set_description(self, *args, **kwargs):
        """No effect."""

    def close(self):
        """No effect."""

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        return None


def _progress_bar() -> type:
    try:
        return importlib.import_module("tqdm").tqdm
    except ImportError:
        return _Bar


def __getattr__(name: str):
    if name == "tqdm":  # torchvision and others take it from here
        return _progress_bar()
    raise AttributeError(f"module 'torch.hub' has no attribute {name!r}")


def download_url_to_file(url: str, dst: str, hash_prefix: str | None = None, progress: bool = True):
    """Copy what a file:// URL names; RuntimeError if its SHA256 does not begin with hash_prefix.

    >>> import os, pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...   source = pathlib.Path(folder, "a.bin")
    ...   _ = source.write_bytes(b"12")
    ...   torch.hub.download_url_to_file(source.as_uri(), os.path.join(folder, "b.bin"), progress=False)
    ...   os.path.getsize(os.path.join(folder, "b.bin"))
    2
    """
    parts = urlparse(url)
    if parts.scheme != "file":
        raise NotImplementedError(f"torch.hub.download_url_to_file: {_NO_NETWORK}")
    source = url2pathname(parts.path)
    if not _os.path.exists(source):
        raise URLError(FileNotFoundError(errno.ENOENT, _os.strerror(errno.ENOENT), source))
    with open(source, "rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if hash_prefix is not None and not found.startswith(hash_prefix):
        raise RuntimeError(f'invalid hash value (expected "{hash_prefix}", got "{found}")')
    shutil.copyfile(source, _os.path.expanduser(dst))


def load_state_dict_from_url(
    url, model_dir=None, map_location=None, progress=True, check_hash=False, file_name=None, weights_only=False
):
    """The state dict in the file of a file:// URL, or that was downloaded before; else NotImplementedError.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...   torch.save({"weight": torch.ones(2)}, f"{folder}/model.pth")
    ...   state = torch.hub.load_state_dict_from_url(pathlib.Path(folder, "model.pth").as_uri(), folder, progress=False)
    >>> state
    {'weight': tensor([1., 1.])}
    """
    folder = model_dir or _os.path.join(get_dir(), "checkpoints")
    name = file_name or _os.path.basename(urlparse(url).path)
    path = _os.path.join(folder, name)
    if not _os.path.exists(path):
        if urlparse(url).scheme != "file":
            raise NotImplementedError(
                f"torch.hub.load_state_dict_from_url: {_NO_NETWORK}; it would be read from {path}"
            )
        _os.makedirs(folder, exist_ok=True)
        print(f'Downloading: "{url}" to {path}', file=sys.stderr)
        found = HASH_REGEX.search(name) if check_hash else None
        download_url_to_file(url, path, found.group(1) if found else None, progress)
    return torch_load(path, map_location=map_location, weights_only=weights_only)


# ---- models of a folder --------------------------------------------------------------------------


def _hubconf(source: str, folder: str, function: str):
    """The module hubconf.py of a folder."""
    if source not in ("github", "local"):
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    if source == "github":
        raise NotImplementedError(f"torch.hub.{function}(source='github'): {_NO_NETWORK}")
    spec = importlib.util.spec_from_file_location("hubconf", _os.path.join(folder, "hubconf.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _entry(module, name: str):
    """A callable of hubconf.py, whose dependencies are there."""
    missing = [x for x in getattr(module, "dependencies", ()) if importlib.util.find_spec(x) is None]
    if missing:
        raise RuntimeError(f"Missing dependencies: {', '.join(missing)}")
    found = getattr(module, name, None)
    if not callable(found):
        raise RuntimeError(f"Cannot find callable {name} in hubconf")
    return found


def load(
    repo_or_dir,
    model,
    *args,
    source="github",
    trust_repo=None,
    force_reload=False,
    verbose=True,
    skip_validation=False,
    **kwargs,
):
    """A model from the hubconf.py of a local folder (source='local').

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...   with open(os.path.join(folder, "hubconf.py"), "w") as file:
    ...     _ = file.write("def double(): return lambda x: 2 * x")
    ...   model = torch.hub.load(folder, "double", source="local")
    >>> model(torch.ones(2))
    tensor([2., 2.])
    """
    sys.path.insert(0, repo_or_dir)
    try:
        return _entry(_hubconf(source.lower(), repo_or_dir, "load"), model)(*args, **kwargs)
    finally:
        sys.path.remove(repo_or_dir)
