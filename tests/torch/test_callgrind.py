"""Instructions counted by valgrind: the containers against PyTorch's, the process by a stand-in and by valgrind."""

import os
import shutil
import stat

import pytest
from functorch_core.torch.utils import benchmark as ours
from torch.utils import benchmark as theirs

from functorch_core import torch

NAMES = """/usr/src/Objects/dictobject.c:lookdict_unicode [/usr/bin/python]
???:0x00000a [/usr/bin/python]
build/../torch/csrc/x.cpp:f(int) [/l/libtorch.so]
/home/me/miniconda3/envs/a/lib/python3.7/site-packages/torch/foo.py:x
/tmp/build/80754af9/python_1234/work/Objects/abstract.c:PyNumber_Add [/x/python3.8]
/root/work/pytorch/build/aten/src/ATen/x.cpp:at::f [/x/libtorch_cpu.so]
Objects/tuple.c:a
/tmp/python-build.20260509073455.222/Python-3.11.7/Python/ceval.c:_PyEval_EvalFrameDefault
/tmp/python-build.20260509073455.222/Python-3.11.7/Include/internal/pycore_frame.h:frame_dealloc""".splitlines()


def text(x) -> str:
    """The repr without what the object is called."""
    return "\n".join(line for line in repr(x).splitlines() if " object at 0x" not in line)


def counts(lib, n=9, inclusive=False, factor=7):
    names = [*NAMES, *(f"x.c:f{i}" for i in range(n - 9))]
    rows = [lib.FunctionCount(1000 - factor * i * i, name) for i, name in enumerate(names)]
    return lib.FunctionCounts(tuple(rows), inclusive=inclusive)


def measured(lib, factor=7):
    task = lib.Timer("y = x + 1", "x = 1\nz = 2", label="l", description="d", num_threads=2)._task_spec
    few, many, inclusive = counts(lib, 9, factor=factor), counts(lib, 40, factor=factor), counts(lib, 40, True)
    return lib.CallgrindStats(task, 10, True, inclusive, few, inclusive, many, None)


@pytest.mark.parametrize(
    "asked",
    [
        lambda lib: counts(lib),
        lambda lib: counts(lib, 40),
        lambda lib: counts(lib, 18, True),
        lambda lib: counts(lib, 40)[::2],
        lambda lib: counts(lib) - counts(lib)[2:4],
        lambda lib: counts(lib) + counts(lib, 20, factor=2),
        lambda lib: counts(lib, 40).transform(lambda name: name.split(":")[0]),
        lambda lib: counts(lib).filter(lambda name: "torch" in name),
        lambda lib: counts(lib).denoise(),
        lambda lib: (counts(lib).sum(), len(counts(lib)), [tuple(row) for row in counts(lib)]),
        lambda lib: measured(lib),
        lambda lib: measured(lib).stats(inclusive=True),
        lambda lib: (measured(lib).counts(), measured(lib).counts(denoise=True)),
        lambda lib: measured(lib).as_standardized().stats(),
        lambda lib: measured(lib).delta(measured(lib, 3)),
    ],
)
def test_containers_are_pytorchs(asked):
    assert text(asked(ours)) == text(asked(theirs))


def test_inclusive_and_exclusive_are_not_mixed():
    for lib in (ours, theirs):
        with pytest.raises(AssertionError, match="Cannot merge"):
            counts(lib) + counts(lib, inclusive=True)


def test_globals_are_wrapped_and_valgrind_is_there(monkeypatch):
    if shutil.which("valgrind"):
        for lib in (ours, theirs):
            with pytest.raises(ValueError, match="CopyIfCallgrind"):
                lib.Timer("x", globals={"x": 1}).collect_callgrind()
    monkeypatch.setenv("PATH", "")
    with pytest.raises(OSError, match="Missing: valgrind, callgrind_annotate"):
        ours.Timer("1").collect_callgrind()
    with pytest.raises(NotImplementedError, match="Python only"):
        ours.Timer("1", language="c++")


# Runs the program that it is given, and writes as many files of counts as it asks for.
VALGRIND = """#!/bin/sh
while [ "${1#--}" != "$1" ]; do case $1 in --callgrind-out-file=*) out=${1#*=};; esac; shift; done
"$@" || exit 1
for n in 1 2 3; do echo $n > $out.$n; done
"""
ANNOTATE = """#!/bin/sh
case "$*" in *inclusive=yes*) scale=100;; *) scale=1;; esac
for file in "$@"; do :; done
n=$(cat $file)
echo "-- Ir"; echo "1,234 PROGRAM TOTALS"; echo "$((n * scale))  Objects/longobject.c:long_add [/x/python]"
"""


def test_the_process_that_is_watched(tmp_path, monkeypatch):
    for name, script in (("valgrind", VALGRIND), ("callgrind_annotate", ANNOTATE)):
        (tmp_path / name).write_text(script)
        (tmp_path / name).chmod(stat.S_IRWXU)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    marker = tmp_path / "ran"
    first = f"open('{tmp_path}/first', 'w').close()"
    given = {"x": ours.CopyIfCallgrind(torch.ones(3), setup=first), "path": ours.CopyIfCallgrind(str(marker))}
    timer = ours.Timer("y = torch.exp(x)\nwith open(path, 'a') as file: file.write('.')", globals=given)
    assert timer.timeit(1).number_per_run == 1  # here the values themselves
    marker.unlink()
    first, second = timer.collect_callgrind(number=2, repeats=2, retain_out_file=True)
    assert len(marker.read_text()) == 100 + 2 * 2 and (tmp_path / "first").exists()
    assert [s.counts() for s in (first, second)] == [2, 3] and first.baseline_exclusive_stats.sum() == 1
    assert [tuple(row) for row in first.stats(True)] == [(200, "Objects/longobject.c:long_add [/x/python]")]
    assert first.stmt_callgrind_out == "2\n" and first.task_spec == timer._task_spec
    failing = ours.Timer("raise KeyError('mine')")
    with pytest.raises(OSError, match="KeyError: 'mine'"):
        failing.collect_callgrind()


@pytest.mark.slow
@pytest.mark.skipif(
    not os.environ.get("FUNCTORCH_VALGRIND") or shutil.which("valgrind") is None,
    reason="takes 12 s, with FUNCTORCH_VALGRIND=1 and where valgrind is installed",
)
def test_instructions_of_a_loop():
    first, second = ours.Timer("for _ in range(1000): pass").collect_callgrind(10, repeats=2)
    assert first.counts() == pytest.approx(second.counts(), rel=0.02)
    assert 10 * 1000 * 5 < first.counts() < 10 * 1000 * 200  # instructions of an empty step of Python's loop
    assert first.baseline_exclusive_stats.sum() < first.counts() / 50
    assert any("PyLong_FromLong" in name for _, name in first.stats())
