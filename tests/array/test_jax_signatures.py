"""What has JAX's name has JAX's signature: against the table in jax_signatures.txt."""

from __future__ import annotations

import importlib
import inspect
import math
from pathlib import Path

import pytest

import functorch_core as fc

TABLE = Path(__file__).parent / "jax_signatures.txt"


class Row:
    """A name, the signature JAX has for it, and the differences that are on purpose."""

    def __init__(self, line: str):
        self.name, theirs = line.split(" = ", 1)
        self.theirs, _, parameters = theirs.partition("(")
        self.signature = inspect.signature(eval(f"lambda {parameters[:-1]}: None", {"inf": math.inf}))
        self.without, self.with_, self.optional, self.has = set(), set(), set(), set()

    def allow(self, line: str):
        kind, _, rest = line.strip().partition(" ")
        names, reason = rest.split(": ", 1)
        assert reason
        {"without": self.without, "with": self.with_, "optional": self.optional, "has": self.has}[kind].update(
            names.split(", ")
        )

    def found(self):
        """What the name is here."""
        out, path = fc, "functorch_core"
        for part in self.name.split(".")[1:]:
            path = f"{path}.{part}"
            out = getattr(out, part, None) or importlib.import_module(path)
        return out


def read() -> tuple[list[Row], set[str]]:
    """(the rows, what is left out everywhere)."""
    rows, everywhere = [], set()
    for line in TABLE.read_text().partition("# ---- names of JAX's")[0].splitlines():
        if line.startswith("    "):
            rows[-1].allow(line)
        elif line.startswith("without "):
            everywhere.update(line.removeprefix("without ").split(": ")[0].split(", "))
        elif line and not line.startswith("#"):
            rows.append(Row(line))
    return rows, everywhere


ROWS, EVERYWHERE = read()


def shown(parameter) -> tuple:
    """What is compared of a parameter; sequences and numbers by what they are equal to."""
    default = parameter.default
    if default is parameter.empty:
        return parameter.name, parameter.kind, "required"
    return parameter.name, parameter.kind, tuple(default) if isinstance(default, list) else default


def equal(here, there, optional) -> bool:
    """Whether two parameters are the same, but for a default that is JAX's own."""
    (name, kind, default), (wanted_name, wanted_kind, wanted) = shown(here), shown(there)
    if (name, kind) != (wanted_name, wanted_kind):
        return False
    if wanted is ... or name in optional:
        return default != "required"
    return default == wanted and type(default) is type(wanted)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_signature(row):
    here = inspect.signature(row.found()).parameters
    there = row.signature.parameters
    unknown = (row.without - there.keys()) | (row.with_ - here.keys()) | (row.optional - here.keys())
    assert not unknown, f"the table allows for {unknown}, which is not there"
    left_out = row.without | (EVERYWHERE - row.has)
    assert not left_out & here.keys(), "the table leaves out what is there"
    mine = [p for p in here.values() if p.name not in row.with_]
    theirs = [p for p in there.values() if p.name not in left_out]
    assert len(mine) == len(theirs) and all(equal(a, b, row.optional) for a, b in zip(mine, theirs)), (
        f"{row.name}{inspect.signature(row.found())}\n{row.theirs}{row.signature}"
    )


def test_what_is_not_there():
    """The names of JAX's that are listed as missing are missing, each line with a reason below it."""
    lines = TABLE.read_text().partition("# ---- names of JAX's")[2].splitlines()
    missing = [i for i, line in enumerate(lines) if line.startswith("not ")]
    assert missing
    for i in missing:
        space, names = lines[i].removeprefix("not ").split(": ")
        assert lines[i + 1].startswith("    ")
        here = fc
        for part in space.split(".")[1:]:
            here = getattr(here, part)
        assert not [name for name in names.split(", ") if hasattr(here, name)]


def test_the_table_can_be_read():
    assert len(ROWS) > 200 and "0.10.2" in TABLE.read_text()


def test_arrays_may_come_by_name():
    x = fc.asarray([1.0, -2.0])
    assert fc.relu(x=x).tolist() == [1.0, 0.0]
    assert bool(fc.allclose(x, b=x)) and bool(fc.allclose(b=x, a=x, rtol=0.0))
    assert fc.random.normal(key=fc.random.key(0), shape=(2,)).shape == (2,)
    assert fc.cumsum(a=x, axis=0).tolist() == [1.0, -1.0]
    assert fc.xlogy(x=0.0, y=0.0).item() == 0.0
    for wrong, words in [
        (lambda: fc.relu(x, x=x), "multiple values"),
        (lambda: fc.relu(y=x), "y"),
        (lambda: fc.allclose(b=x), "b"),
    ]:
        with pytest.raises(TypeError, match=words):
            wrong()
