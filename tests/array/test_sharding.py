"""four_devices.py, whose tests want four devices: run once in a process that has them, told one by one."""

import ast
import os
import subprocess
import sys
import xml.etree.ElementTree as xml
from pathlib import Path

import pytest

CASES = Path(__file__).with_name("four_devices.py")
NAMES = [
    f.name
    for f in ast.parse(CASES.read_text(encoding="utf-8")).body
    if isinstance(f, ast.FunctionDef) and f.name.startswith("test_")
]


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """Of each test function: the failures of its cases."""
    report = tmp_path_factory.mktemp("four") / "report.xml"
    command = [sys.executable, "-m", "pytest", "-q", str(CASES), f"--junitxml={report}", "-p", "no:cacheprovider"]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_XDIST")}
    done = subprocess.run(
        command, env={**environment, "FUNCTORCH_CPU_DEVICES": "4"}, capture_output=True, text=True, timeout=600
    )
    assert report.exists(), done.stdout + done.stderr
    found: dict[str, list[str]] = {}
    for case in xml.parse(report).iter("testcase"):
        failures = [f.text for kind in ("failure", "error") for f in case.iter(kind)]
        found.setdefault(case.get("name").partition("[")[0], []).extend(failures)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_on_four_devices(outcomes, name):
    assert name in outcomes, "it did not run"
    assert not outcomes[name], "\n".join(outcomes[name])
