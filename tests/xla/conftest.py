import pytest


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    """An empty cache folder for each test."""
    monkeypatch.setenv("FUNCTORCH_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("FUNCTORCH_CACHE", raising=False)
    return tmp_path / "cache"
