"""Runs examples from docstrings, under PyTorch or, by `python -m functorch_core`, under this library.

Arguments: a JSON file of examples by name, a folder. Each example has a folder of its own in there, and `results.json`
says what it printed and by what error it ended.
"""

import contextlib
import io
import json
import os
import sys
from pathlib import Path

import numpy as np
import torch


def given(name: str) -> dict:
    """The names that an example uses and does not make."""
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU())
    x = torch.ones(4, 8)

    def code(*_) -> None:
        model(x).sum().backward()

    made = {
        "torch": torch,
        "np": np,
        "N": 6,
        "code_to_profile": code,
        "code_to_profile_0": code,
        "code_to_profile_1": code,
        "code_to_profile_2": code,
        "code_iteration_to_profile": code,
        "my_func": code,
    }
    if "writer." in name:
        from torch.utils.tensorboard import SummaryWriter

        made["writer"] = SummaryWriter("given")
    return made


def run(name: str, code: str, folder: Path) -> dict:
    """What an example prints, and the name of its error."""
    folder.mkdir(parents=True)
    os.chdir(folder)
    torch.manual_seed(0)
    np.random.seed(0)
    printed, error, names = io.StringIO(), None, given(name)
    with contextlib.redirect_stdout(printed):
        try:
            exec(compile(code, name, "exec"), names)  # the text of a docstring
        except Exception as e:
            error = f"{type(e).__name__}: {e}"
    for value in names.values():
        if type(value).__name__ == "SummaryWriter":
            value.close()
    return {"printed": printed.getvalue(), "error": error}


if __name__ == "__main__":
    examples, folder = json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2])
    results = {name: run(name, code, folder / str(i)) for i, (name, code) in enumerate(examples.items())}
    (folder / "results.json").write_text(json.dumps(results))
    os._exit(0)  # PyTorch crashes at its end, where handlers of events are still registered
