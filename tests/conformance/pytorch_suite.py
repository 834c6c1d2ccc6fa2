"""PyTorch's own test files under both libraries: which of the tests that PyTorch passes pass here.

    python -m tests.conformance.pytorch_suite /path/to/pytorch/test test_view_ops.py test_indexing.py -k "not cuda"

The files come with PyTorch's sources (Debian: `apt-get source pytorch`), their utilities,
torch.testing._internal, with the wheel; both are instruments, no part of this project. Each file runs
in a process of its own, under real PyTorch and then under the shim, for at most --limit seconds; tests
that one of the two did not come to are not counted. On the CPU. With --oracle FOLDER what PyTorch passes is
kept there, and only that is run under the shim; with --failed the tests that a file of --failures names.
"""

from __future__ import annotations

import argparse
import collections
import importlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import types
from pathlib import Path

ROOT = Path(__file__).parents[2]
ONLY_CPU = {"PYTORCH_TESTING_DEVICE_ONLY_FOR": "cpu", "CUDA_VISIBLE_DEVICES": ""}
RESULTS = "PYTORCH_SUITE_RESULTS"  # where the process of a test file writes its results
ONLY = "PYTORCH_SUITE_ONLY"  # a file with the tests that the process is to run; all without it
LIMIT = 100  # seconds for a test


# ---- inside of that process: this file is a plugin of pytest -------------------------------------


def pytest_configure():
    """Let the test files find their neighbours, and what later wheels call otherwise."""
    if str(ROOT) in sys.path:  # `import optim.test_lrscheduler`: theirs is a folder beside the file
        sys.path.remove(str(ROOT))
    utilities = "torch.testing._internal"
    _provide(f"{utilities}.common_cuda", tf32_is_not_fp32=lambda module: lambda: False)
    _provide(f"{utilities}.common_mkldnn", bf32_on_and_off=lambda module: lambda *args: lambda test: test)
    try:
        importlib.import_module("torch.utils._cxx_pytree")
    except ImportError:  # it is made of optree
        sys.modules["torch.utils._cxx_pytree"] = importlib.import_module("torch.utils._pytree")
    try:
        importlib.import_module("torch._custom_op.functional")
    except ImportError:  # which later wheels do not have
        for name in ("torch._custom_op", "torch._custom_op.functional"):
            sys.modules.setdefault(name, types.ModuleType(name))
        sys.modules["torch._custom_op.functional"].register_functional_op = None
    _provide(f"{utilities}.common_nn", new_module_tests=lambda module: module.get_new_module_tests())


def _provide(name: str, **makers):
    module = importlib.import_module(name)
    for member, make in makers.items():
        if not hasattr(module, member):
            setattr(module, member, make(module))


def _name(nodeid: str) -> str:
    """A test's name, whatever folder pytest takes for the root."""
    return nodeid.rpartition("/")[2]


def pytest_collection_modifyitems(items):
    """Leave the tests that were asked for."""
    if only := os.environ.get(ONLY):
        asked = set(Path(only).read_text().splitlines())
        items[:] = [item for item in items if _name(item.nodeid) in asked]


def pytest_runtest_setup(item):
    """A test that hangs fails after LIMIT seconds; the others have their turn."""

    def stop(signum, frame):
        raise TimeoutError(f"{LIMIT} s")

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(LIMIT)


def pytest_runtest_teardown(item):
    """No alarm outside of a test."""
    signal.alarm(0)


def pytest_runtest_logreport(report):
    """Write down the outcome of a test at once, so that it is kept when the process is stopped."""
    if report.when == "call" or report.outcome != "passed":
        lines = report.longreprtext.strip().splitlines() if report.failed else []
        errors = [line[1:].strip() for line in lines if line.startswith("E  ")]
        record = {"test": _name(report.nodeid), "outcome": report.outcome, "error": (errors or [""])[0]}
        with open(os.environ[RESULTS], "a") as out:
            out.write(json.dumps(record) + "\n")


# ---- outside -------------------------------------------------------------------------------------


def outcomes(path: Path, launcher: list[str], args, only=None) -> dict[str, tuple[str, str]]:
    """test -> (outcome, error) of a file; of those it came to within the limit."""
    expression, limit = args.expression, args.limit
    with tempfile.NamedTemporaryFile("r", suffix=".jsonl") as results, tempfile.NamedTemporaryFile("w") as asked:
        command = [sys.executable, "-W", "ignore", *launcher, "-m", "pytest", "-q", "-c", os.devnull, "-W", "ignore"]
        command += ["-p", "no:cacheprovider", "-p", "tests.conformance.pytorch_suite"]
        command += ["--tb=short", "--noconftest", path.name]
        command += ["-k", expression] if expression else []
        environment = {**os.environ, "PYTHONPATH": str(ROOT), RESULTS: results.name, **ONLY_CPU}
        if only is not None:
            asked.write("\n".join(only))
            asked.flush()
            environment[ONLY] = asked.name
        try:
            done = subprocess.run(
                command, cwd=path.parent, env=environment, capture_output=True, text=True, timeout=limit
            )
        except subprocess.TimeoutExpired:
            print(f"{path.name}: stopped after {limit:.0f} s {' '.join(launcher)}", file=sys.stderr)
        else:
            if done.returncode not in (0, 1, 5) or not results.read(1):
                print(done.stdout[-3000:], done.stderr[-3000:], file=sys.stderr)
        results.seek(0)
        records = [json.loads(line) for line in results]
    return {r["test"]: (r["outcome"], r["error"]) for r in records}


def oracle(name: str, args, only) -> dict[str, tuple[str, str]]:
    """What PyTorch's outcomes are, as kept in the folder of --oracle."""
    file = f"{name}-{args.expression}".replace("/", ".").replace(" ", "_")
    kept = Path(args.oracle) / f"{file}.json" if args.oracle else None
    if kept and kept.exists():
        theirs = json.loads(kept.read_text())
    else:
        theirs = outcomes(args.folder / name, [], args)
        if kept and theirs:
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_text(json.dumps(theirs))
    return theirs if only is None else {test: theirs[test] for test in theirs if test in only}


def cause(error: str) -> str:
    """An error without what differs from test to test: numbers, dtypes, names in quotes."""
    error = re.sub(r"\(while .*|\d+(\.\d+)?(e[-+]?\d+)?", "#", error)
    return re.sub(r"torch\.(u?int|b?float|complex|bool)\w*#?", "DTYPE", error)[:150]


def main():
    """Run the files and print a row for each, then the most frequent causes of failures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("files", nargs="+")
    parser.add_argument("-k", dest="expression", default="", help="which tests, as pytest's -k")
    parser.add_argument("--limit", type=float, default=240.0, help="seconds for each file and library")
    parser.add_argument("--causes", type=int, default=20, help="how many causes to print")
    parser.add_argument("--failures", help="a file to write the failing tests and their errors to")
    parser.add_argument("--failed", help="run only the tests that this file, written by --failures, names")
    parser.add_argument("--oracle", help="a folder that keeps PyTorch's outcomes for the next time")
    args = parser.parse_args()
    only = args.failed and {line.partition("\t")[0] for line in Path(args.failed).read_text().splitlines()}
    causes: collections.Counter[str] = collections.Counter()
    failures = []
    print(f"{'file':<32}{'PyTorch':>8}{'here':>8}{'skipped':>9}{'failed':>8}{'share':>8}", flush=True)
    for name in args.files:
        theirs = oracle(name, args, only)
        passing = [test for test, (outcome, _) in theirs.items() if outcome == "passed"]
        ours = outcomes(args.folder / name, ["-m", "functorch_core"], args, passing)
        asked = [test for test in passing if test in ours]
        counts = collections.Counter(ours[test][0] for test in asked)
        share = f"{counts['passed'] / len(asked):.1%}" if asked else "-"
        row = (len(asked), counts["passed"], counts["skipped"], counts["failed"])
        print(f"{name:<32}{row[0]:>8}{row[1]:>8}{row[2]:>9}{row[3]:>8}{share:>8}", flush=True)
        failed = [(test, ours[test][1]) for test in asked if ours[test][0] == "failed"]
        causes.update(cause(error) for _, error in failed)
        failures += [f"{test}\t{error}" for test, error in failed]
    for text, count in causes.most_common(args.causes):
        print(f"{count:>6}  {text}")
    if args.failures:
        Path(args.failures).write_text("\n".join(failures) + "\n")


if __name__ == "__main__":
    main()
