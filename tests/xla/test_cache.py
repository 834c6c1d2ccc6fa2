"""The disk cache: hits, keys, damage, strangers, size, several processes."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from functorch_core import xla
from functorch_core.xla import cache

from .programs import compile_double, double, python_environment, run_python


def entries(folder):
    return sorted(folder.glob("*.xla"))


def result(program):
    return xla.to_numpy(program([xla.put(np.ones(4, "f"))])[0]).tolist()


def changes(before):
    return {name: count - before[name] for name, count in xla.cache_stats().items()}


def test_second_compile_comes_from_the_disk(own_cache):
    before = xla.cache_stats()
    first, second = compile_double(), compile_double()
    assert (first.from_disk_cache, second.from_disk_cache) == (False, True)
    assert result(first) == result(second) == [2] * 4
    assert changes(before) == {"hits": 1, "misses": 1, "writes": 1, "errors": 0}
    assert len(entries(own_cache)) == 1
    assert own_cache.stat().st_mode & 0o077 == 0


def test_off(own_cache, monkeypatch):
    compile_double(cache=False)
    monkeypatch.setenv("FUNCTORCH_CACHE", "0")
    compile_double()
    assert not compile_double().from_disk_cache
    assert not own_cache.exists()


def test_notes_are_entries_without_content(own_cache, monkeypatch):
    assert not cache.is_noted("ab")
    cache.note("ab")
    assert cache.is_noted("ab") and not cache.is_noted("ac")
    compile_double()
    assert len(entries(own_cache)) == 1  # they are no programs,
    monkeypatch.setenv("FUNCTORCH_CACHE_SIZE_MB", "0")
    cache.shrink()
    assert not list(own_cache.iterdir())  # and go as those do
    monkeypatch.setenv("FUNCTORCH_CACHE", "0")
    cache.note("ad")
    assert not cache.is_noted("ad")


def test_default_folder(monkeypatch):
    monkeypatch.delenv("FUNCTORCH_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", "/some/where")
    assert cache.cache_dir() == Path("/some/where/functorch_core")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache.cache_dir() == Path.home() / ".cache/functorch_core"


def test_what_belongs_to_the_key(monkeypatch):
    text = double()[0]

    def key(text=text, options=None, callbacks=0):
        device = xla.default_device()
        return cache.program_key(text, options=options or {}, callbacks=callbacks, device=device)

    plain = key()
    assert key() == plain
    others = [key(double((5,))[0]), key(options={"a": 1}), key(options={"a": True}), key(callbacks=1)]
    monkeypatch.setenv("XLA_FLAGS", "--xla_something")
    others.append(key())
    monkeypatch.delenv("XLA_FLAGS")
    monkeypatch.setattr(cache, "cpu_description", lambda: "another CPU")
    others.append(key())
    monkeypatch.setattr(cache, "jaxlib_version", "0.0.0")
    others.append(key())
    assert len({plain, *others}) == len(others) + 1


def test_locations_do_not_belong_to_the_key():
    text, inputs, outputs = double()
    located = text.replace(": tensor<4xf32>\n", ": tensor<4xf32> loc(#loc1)\n", 1)
    assert located != text
    keys = []
    for lines in ("", '#loc1 = loc("a.py":1:2)\n', '#loc1 = loc("b.py":7:2)\n#loc2 = loc("x")\n'):
        source = located + lines if lines else text
        program = xla.compile(source, inputs=inputs, outputs=outputs)
        assert program.from_disk_cache == bool(keys)
        keys.append(lines)


# ---- damage --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "damage",
    [
        lambda entry: b"",
        lambda entry: entry[:-1],
        lambda entry: entry[:100],
        lambda entry: entry + b"x",
        lambda entry: entry[:200] + bytes([entry[200] ^ 1]) + entry[201:],
        lambda entry: b"another program's file",
    ],
)
def test_damaged_entries_are_replaced(own_cache, damage):
    compile_double()
    (path,) = entries(own_cache)
    entry = path.read_bytes()
    path.write_bytes(damage(entry))
    before = xla.cache_stats()
    program = compile_double()
    assert not program.from_disk_cache and result(program) == [2] * 4
    assert changes(before) == {"hits": 0, "misses": 1, "writes": 1, "errors": 1}
    assert compile_double().from_disk_cache


def test_the_entry_of_another_program_is_not_run(own_cache):
    compile_double()
    (other,) = entries(own_cache)
    entry = other.read_bytes()
    other.unlink()
    text, inputs, outputs = double()
    text = text.replace("stablehlo.add", "stablehlo.multiply")
    xla.compile(text, inputs=inputs, outputs=outputs)
    (path,) = entries(own_cache)
    path.write_bytes(entry)
    program = xla.compile(text, inputs=inputs, outputs=outputs)
    assert not program.from_disk_cache and result(program) == [1] * 4


def test_an_entry_xla_cannot_read_is_replaced(own_cache):
    compile_double()
    (path,) = entries(own_cache)
    path.write_bytes(cache._pack(b"not an executable", path.stem))
    assert not compile_double().from_disk_cache
    assert compile_double().from_disk_cache


def test_a_folder_that_cannot_be_written(own_cache):
    own_cache.write_text("a file where the folder should be")
    _goes_on_without()


def _goes_on_without():
    before = xla.cache_stats()
    with pytest.warns(UserWarning, match="^FUNCTORCH_CACHE_DIR: expected a folder"):
        assert result(compile_double()) == [2] * 4
    assert result(compile_double()) == [2] * 4  # no further warning, which would be an error
    assert not cache.is_noted("ab")
    cache.discard("ab")
    assert changes(before)["writes"] == 0 and changes(before)["errors"] >= 1


def test_a_folder_of_a_name_that_none_can_have(own_cache, monkeypatch):
    monkeypatch.setenv("FUNCTORCH_CACHE_DIR", str(own_cache / ("a" * 300)))
    _goes_on_without()


@pytest.mark.parametrize("size", ["abc", "nan", "-5"])
def test_a_size_that_is_none(own_cache, monkeypatch, size):
    monkeypatch.setenv("FUNCTORCH_CACHE_SIZE_MB", size)
    with pytest.warns(UserWarning, match="^FUNCTORCH_CACHE_SIZE_MB: expected a number of megabytes"):
        cache.size_limit()
    assert cache.size_limit() == 2048 * 2**20
    compile_double()
    cache.shrink()
    assert entries(own_cache)


def test_no_limit(monkeypatch):
    monkeypatch.setenv("FUNCTORCH_CACHE_SIZE_MB", "inf")
    assert cache.size_limit() == float("inf")


@pytest.mark.parametrize("variable, value", [("CPU_DEVICES", "abc"), ("CPU_DEVICES", "0"), ("TIER", "fast")])
def test_other_variables_are_named_by_their_errors(variable, value):
    code = "try: import functorch_core as fc; fc.asarray(1) + 1; fc.devices()\nexcept ValueError as e: print(e)"
    assert run_python(code, **{f"FUNCTORCH_{variable}": value}).startswith(f"FUNCTORCH_{variable}: ")


def test_another_users_folder_is_not_used(own_cache, monkeypatch):
    compile_double()
    owner = own_cache.stat().st_uid
    monkeypatch.setattr(os, "getuid", lambda: owner + 1)
    monkeypatch.setattr(cache, "_ROOT_UID", owner + 2)
    assert not compile_double().from_disk_cache


# ---- size ----------------------------------------------------------------------------------------


def test_least_recently_used_entries_go(own_cache, monkeypatch):
    for size in range(1, 6):
        compile_double((size,))
    for age, path in enumerate(entries(own_cache)):
        os.utime(path, (1000 - age, 1000 - age))
    newest = entries(own_cache)[0]
    total = sum(path.stat().st_size for path in entries(own_cache))
    monkeypatch.setenv("FUNCTORCH_CACHE_SIZE_MB", str(total / 2 / 2**20))
    cache.shrink()
    left = entries(own_cache)
    assert newest in left and 0 < len(left) < 5
    assert sum(path.stat().st_size for path in left) <= total / 2


def test_reading_an_entry_makes_it_recent(own_cache):
    compile_double()
    (path,) = entries(own_cache)
    os.utime(path, (1000, 1000))
    compile_double()
    assert path.stat().st_mtime > 1e6


# ---- several processes ---------------------------------------------------------------------------

WORKER = """
import numpy as np
from functorch_core import xla
from programs import compile_double
for size in list(range(1, 8)) * 2:
    y = compile_double((size,))([xla.put(np.ones(size, "f"))])[0]
    assert (xla.to_numpy(y) == 2).all()
print(xla.cache_stats())
"""


def test_concurrent_processes(own_cache):
    environment = python_environment()
    workers = [
        subprocess.Popen([sys.executable, "-c", WORKER], env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    outputs = [worker.communicate(timeout=60)[0] for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0, 0]
    assert all("'errors': 0" in output for output in outputs)
    assert len(entries(own_cache)) == 7
    assert sorted(own_cache.iterdir()) == entries(own_cache)  # nothing half written


def test_another_process_finds_the_entry(own_cache):
    compile_double()
    code = "from programs import compile_double; print(compile_double().from_disk_cache)"
    assert run_python(code) == "True\n"
