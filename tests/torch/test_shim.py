"""`import torch` under the shim, in processes of their own."""

import atexit
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import textwrap

import pytest

ROOT = pathlib.Path(__file__).parents[2]
# Byte code is kept between the processes: without it each takes a second longer.
ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": str(ROOT),
    "PYTHONDONTWRITEBYTECODE": "",
    "PYTHONPYCACHEPREFIX": tempfile.mkdtemp(prefix="functorch-bytecode-"),
}
atexit.register(shutil.rmtree, ENVIRONMENT["PYTHONPYCACHEPREFIX"], ignore_errors=True)


def run(*args, code: str | None = None, shimmed: bool = True, cwd=None, **options):
    """The finished process of `python -m functorch_core ARGS`, or of plain Python."""
    args = [*args] if code is None else ["-c", textwrap.dedent(code), *args]
    launcher = ["-m", "functorch_core"] if shimmed else []
    return subprocess.run(
        [sys.executable, "-W", "error", *launcher, *args],
        text=True,
        timeout=120,
        capture_output=True,
        cwd=cwd,
        env={**ENVIRONMENT, **options},
    )


def printed(*args, **options) -> list[str]:
    """The lines a successful process prints."""
    done = run(*args, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


# ---- ways to start a program ---------------------------------------------------------------------


def test_script_with_arguments(tmp_path):
    (tmp_path / "beside.py").write_text("value = 3\n")
    script = tmp_path / "script.py"
    script.write_text(
        "import sys, torch, beside\nprint(__name__, __file__, sys.argv, beside.value, torch.__version__)\n"
    )
    assert printed(str(script), "--epochs", "3") == [f"__main__ {script} ['{script}', '--epochs', '3'] 3 2.7.0+xla"]


def test_module_code_and_pytest(tmp_path):
    (tmp_path / "program.py").write_text("import sys, torch\nprint(sys.argv[1:], torch.ones(2))\n")
    assert printed("-m", "program", "a", cwd=tmp_path) == ["['a'] tensor([1., 1.])"]
    assert printed("a", "b", code="import sys, torch; print(sys.argv)") == ["['-c', 'a', 'b']"]
    (tmp_path / "test_it.py").write_text(
        "import torch\ndef test_it():\n    assert torch.__version__.endswith('+xla')\n"
    )
    assert "1 passed" in printed("-m", "pytest", "-q", "-p", "no:cacheprovider", cwd=tmp_path)[-1]


def test_folder_with_main(tmp_path):
    (tmp_path / "__main__.py").write_text("import torch\nprint(torch.zeros(1))\n")
    assert printed(str(tmp_path)) == ["tensor([0.])"]


ANNOTATED = """import dataclasses, sys
@dataclasses.dataclass
class Config:
    epochs: int = 3
def train(rate: float): pass
print([f.type for f in dataclasses.fields(Config)], train.__annotations__, sys.argv[1:])
"""


@pytest.mark.parametrize("way", ["script", "-c", "-", "folder", "-m"])
def test_the_program_inherits_no_future_statement(way, tmp_path):
    (tmp_path / "annotated").mkdir()
    script, folder = tmp_path / "annotated.py", tmp_path / "annotated" / "__main__.py"
    for file in (script, folder):
        file.write_text(ANNOTATED)
    args = {
        "script": [script],
        "-c": ["-c", ANNOTATED],
        "-": ["-"],
        "folder": [folder.parent],
        "-m": ["-m", "annotated"],
    }
    options = {"input": ANNOTATED, "text": True, "capture_output": True, "cwd": tmp_path, "env": ENVIRONMENT}
    ours, theirs = (
        subprocess.run([sys.executable, *launcher, *args[way], "--x"], check=True, **options).stdout
        for launcher in (["-m", "functorch_core"], [])
    )
    assert ours == theirs == "[<class 'int'>] {'rate': <class 'float'>} ['--x']\n"


@pytest.mark.parametrize(
    "code, status", [("import sys; sys.exit(7)", 7), ("1 / 0", 1), ("raise SystemExit('no')", 1), ("pass", 0)]
)
def test_exit_status(code, status):
    assert run(code=code).returncode == status


def test_command_line_errors(tmp_path):
    missing = run(str(tmp_path / "no.py"))
    assert missing.returncode == 2 and "can't open file" in missing.stderr
    assert run("-m").returncode != 0
    assert "usage" in run().stdout and "usage" in run("--help").stdout


def test_traceback_ends_at_the_users_line(tmp_path):
    script = tmp_path / "bad.py"
    script.write_text("import torch\n\n\ntorch.ones(3) @ torch.ones(4)\n")
    done = run(str(script))
    assert "line 4" in done.stderr and "RuntimeError: inconsistent tensor size" in done.stderr
    assert "op.py" not in done.stderr
    assert "op.py" in run(str(script), FUNCTORCH_TRACEBACK="1").stderr


# ---- the same objects under both names -----------------------------------------------------------


def test_names_are_the_same_modules():
    printed(
        code="""
        import torch, torch.nn as nn, torch.nn.functional as F
        import torch.optim.lr_scheduler as schedules
        from torch.utils.data import DataLoader
        import torch.utils.data.dataloader, torch.nn.modules.linear, torch.autograd.functional
        import functorch_core, functorch_core.nn.functional, functorch_core.torch.utils.data
        import sys
        assert torch is functorch_core.torch and nn is functorch_core.nn is torch.nn
        assert F is functorch_core.nn.functional is sys.modules["torch.nn.functional"]
        assert torch.utils.data is functorch_core.data is functorch_core.torch.utils.data
        assert DataLoader is functorch_core.data.DataLoader
        assert torch.nn.modules.linear.Linear is nn.Linear
        assert schedules is functorch_core.optim.lr_scheduler
        from torch import Tensor, nn as nn2
        assert Tensor is torch.Tensor and nn2 is nn
        assert all(m.__spec__ is None or m.__spec__.name.startswith("functorch_core")
                   for n, m in sys.modules.items() if n == "torch" or n.startswith("torch."))
    """
    )


def test_modules_that_torch_does_not_have():
    printed(
        code="""
        import importlib.util, torch
        for name in ("torch.nonsense", "torch.nn.nonsense"):
            assert importlib.util.find_spec(name) is None
            try:
                __import__(name)
            except ModuleNotFoundError:
                pass
            else:
                raise AssertionError(name)
    """
    )


def test_metadata():
    assert printed(
        code="""
        import importlib.metadata as m
        print(m.version("torch"), "torch" in {d.metadata["Name"] for d in m.distributions()},
              m.version("numpy") > "2")
    """
    ) == ["2.7.0+xla True True"]


def test_classes_name_torch_as_their_module():
    printed(
        code="""
        import torch, torch.utils.data, torch.distributed, torch.multiprocessing
        things = [torch.Tensor, torch.Size, torch.nn.Linear, torch.nn.Parameter, torch.optim.Adam,
                  torch.utils.data.DataLoader, torch.optim.lr_scheduler.StepLR, torch.save,
                  torch.nn.functional.cross_entropy, torch.autograd.Function, torch.autocast,
                  torch.distributed.ProcessGroup, torch.func.vmap, torch.testing.assert_close,
                  torch.multiprocessing.spawn]
        wrong = [t for t in things if t.__module__.split(".")[0] != "torch"]
        assert not wrong, wrong
        assert torch.nn.Linear.__module__ == "torch.nn.modules.linear"
        assert repr(torch.Tensor) == "<class 'torch.Tensor'>"
    """
    )


def test_install_and_uninstall():
    printed(
        shimmed=False,
        code="""
        import sys, functorch_core.torch as before
        from functorch_core import shim
        assert "torch" not in sys.modules and not shim.is_installed()
        shim.install()
        shim.install()
        import torch
        assert torch is before and shim.is_installed()
        assert before.serialization.save.__module__ == "torch.serialization"
        shim.uninstall()
        assert not shim.is_installed() and "torch.nn" not in sys.modules
        assert before.serialization.save.__module__ == "functorch_core.torch.serialization"
        assert before.Tensor.__module__ == "torch"
    """,
    )


def test_another_torch_is_refused(tmp_path):
    (tmp_path / "torch.py").write_text("")
    printed(
        shimmed=False,
        cwd=tmp_path,
        code="""
        import torch
        from functorch_core import shim
        try:
            shim.install()
        except RuntimeError as error:
            assert "already imported" in str(error) and "torch.py" in str(error)
        else:
            raise AssertionError
    """,
    )


# ---- pickles and processes -----------------------------------------------------------------------


def test_pickles_name_torch():
    printed(
        code="""
        import pickle, pickletools, torch, torch.nn as nn
        data = pickle.dumps([nn.Linear(2, 3), torch.ones(2), torch.float32, torch.Size([1]),
                             torch.device("cpu"), nn.functional.cross_entropy])
        strings = [a for _, a, _ in pickletools.genops(data) if isinstance(a, str)]
        assert "torch.nn.modules.linear" in strings and "torch._utils" in strings
        assert not [s for s in strings if s.startswith("functorch_core")], strings
        layer, ones, *rest = pickle.loads(data)
        assert type(layer) is nn.Linear and ones.tolist() == [1, 1] and rest[0] is torch.float32
    """
    )


PLAIN_PICKLES = """
    import pickle, sys
    import torch
    path, mode = sys.argv[1:3]
    if mode == "write":
        base = torch.arange(6.).reshape(2, 3)
        things = {"base": base, "row": base[1], "parameter": torch.nn.Parameter(torch.ones(2)),
                  "layer": torch.nn.Linear(2, 2), "half": torch.ones(2, dtype=torch.bfloat16)}
        pickle.dump(things, open(path, "wb"))
    else:
        things = pickle.load(open(path, "rb"))
        things["base"][1, 0] = 9
        print(things["row"].tolist(), things["parameter"].requires_grad,
              things["layer"](torch.ones(1, 2)).shape, things["half"].dtype)
"""


@pytest.mark.parametrize("writer, reader", [(True, True), (True, False), (False, True)])
def test_plain_pickles_both_ways(tmp_path, writer, reader):
    pytest.importorskip("torch")
    path, code = str(tmp_path / "x.pickle"), textwrap.dedent(PLAIN_PICKLES)
    for shimmed, mode in ((writer, "write"), (reader, "read")):
        options = () if shimmed else ("-W", "ignore")
        launcher = ["-m", "functorch_core"] if shimmed else []
        done = subprocess.run(
            [sys.executable, *options, *launcher, "-c", code, path, mode],
            capture_output=True,
            text=True,
            env=ENVIRONMENT,
        )
        assert done.returncode == 0, done.stderr
    # Plain pickles do not keep tensors that share memory together.
    assert done.stdout.split("\n")[0] == "[3.0, 4.0, 5.0] True torch.Size([1, 2]) torch.bfloat16"


SPAWNED = """
import multiprocessing, sys
import torch

class Sample:
    def __init__(self, x):
        self.x = x

def work(i, queue):
    queue.put((torch.__version__, Sample(torch.full((2,), float(i)))))

if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    queue = context.Queue()
    process = context.Process(target=work, args=(3, queue))
    process.start()
    version, sample = queue.get(timeout=60)
    process.join()
    print(version, sample.x, process.exitcode)
"""


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_started_processes_have_the_shim(tmp_path, method):
    script = tmp_path / "script.py"
    script.write_text(SPAWNED)
    assert printed(str(script), method) == ["2.7.0+xla tensor([3., 3.]) 0"]


def test_torch_multiprocessing_spawn(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent("""
        import torch.multiprocessing as mp

        def work(i, text):
            if text == "fail":
                raise ValueError(f"process {i}")
            print(text, i, flush=True)

        if __name__ == "__main__":
            mp.spawn(work, args=("hello",), nprocs=1)
            try:
                mp.spawn(work, args=("fail",), nprocs=1)
            except mp.ProcessRaisedException as error:
                print("ValueError: process 0" in str(error), error.error_index)
    """)
    )
    assert printed(str(script)) == ["hello 0", "True 0"]


# ---- notebooks -----------------------------------------------------------------------------------


def test_ipython_extension():
    printed(
        shimmed=False,
        code="""
        import functorch_core, sys

        class Shell:
            shown = []
            def showtraceback(self, *args, **kwargs):
                self.shown.append(sys.exc_info()[1])

        shell = Shell()
        functorch_core.load_ipython_extension(shell)
        import torch
        assert torch is functorch_core.torch
        try:
            torch.ones(3) @ torch.ones(4)
        except RuntimeError:
            shell.showtraceback()
        assert any("hidden" in note for note in shell.shown[0].__notes__)
    """,
    )


def test_safetensors_torch_interface(tmp_path):
    pytest.importorskip("safetensors")
    done = run(
        str(tmp_path / "x.safetensors"),
        code="""
        import sys, torch
        from safetensors.torch import load_file, save_file
        tensors = {"a": torch.arange(6.).reshape(2, 3), "b": torch.ones(2, dtype=torch.int64),
                   "c": torch.ones(3, dtype=torch.bfloat16)}
        save_file(tensors, sys.argv[1])
        loaded = load_file(sys.argv[1])
        assert all(torch.equal(loaded[k], v) and loaded[k].dtype is v.dtype
                   for k, v in tensors.items())
        print("equal")
    """,
    )
    assert done.stdout.strip() == "equal", done.stderr


def test_modules_have_their_names_behind_another_finder():
    """As under pytest, whose finder comes before the shim's."""
    done = run(
        code="""
        import sys
        from importlib.machinery import PathFinder

        class Other:
            def find_spec(self, name, path=None, target=None):
                return PathFinder.find_spec(name, path) if name.rpartition(".")[2].startswith("test_") else None

        sys.meta_path.insert(0, Other())
        import torch
        import torch._dynamo.test_case
        from torch.autograd.gradcheck import GradcheckError
        assert callable(torch.autograd.gradcheck) and torch.autograd.gradcheck.__module__ == "torch.autograd.gradcheck"
        """
    )
    assert done.returncode == 0, done.stderr


def test_a_module_that_its_package_imports_is_loaded_once():
    """torch.ops lies in torch.library, which imports it: asked for first it came from a second copy of the file."""
    asked = """
        import sys
        import {name}
        first = {name}.ops
        import {name}.library
        assert {name}.library.ops is first is sys.modules["functorch_core.torch.compat.library.ops"]
        from {name}._ops import OpOverload
        assert isinstance(first.aten.sin.default, OpOverload)
        """
    for name in ("torch", "functorch_core.torch"):
        done = run(code=asked.format(name=name))
        assert done.returncode == 0, done.stderr


# ---- programs that a program starts --------------------------------------------------------------

STARTS = """
    import subprocess, sys
    for code in sys.argv[1:]:
        command = [sys.executable, "-W", "error", "-c", code]
        print(subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip())
"""


def test_programs_that_a_script_starts_have_the_shim():
    version = "import torch; print(torch.__version__, torch.__name__)"
    first_a_part = "import torch.nn.functional as F; from torch import ones; print(F.relu(-ones(2)), torch.__version__)"
    asked = "import importlib.metadata as m; print(m.version('torch'))"
    not_needed = "import sys; print('torch' in sys.modules, 'functorch_core' in sys.modules)"
    again = "import os, sys; os.execv(sys.executable, [sys.executable, '-c', 'import torch; print(torch.__version__)'])"
    first_a_part = first_a_part.replace("torch.__version__", "F.__name__")
    assert printed(version, first_a_part, asked, not_needed, again, code=STARTS) == [
        "2.7.0+xla torch",
        "tensor([0., 0.]) torch.nn.functional",
        "2.7.0+xla",
        "False False",
        "2.7.0+xla",
    ]


def test_programs_that_a_script_starts_keep_their_own_sitecustomize(tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.was_customized = True\n")
    path = os.pathsep.join([str(ROOT), str(tmp_path)])
    code = "import sys, torch; print(sys.was_customized, torch.__version__)"
    assert printed(code, code=STARTS, PYTHONPATH=path) == ["True 2.7.0+xla"]


def test_programs_that_a_script_starts_can_be_left_alone():
    code = "import os; print('subprocesses' in os.environ.get('PYTHONPATH', ''))"
    assert printed(code, code=STARTS) == ["True"]
    assert printed(code, code=STARTS, FUNCTORCH_SUBPROCESSES="0") == ["False"]
