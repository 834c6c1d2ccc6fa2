"""Whole modules that hold functions: saved by either library, read by the other."""

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]

PROGRAM = """
import pickle, sys
import torch, torch.nn as nn, torch.nn.functional as F

what, path = sys.argv[1:3]
FUNCTIONS = [
    F.relu, F.gelu, F.softmax, F.silu, F.linear, F.conv2d, F.mse_loss, F.layer_norm, F.logsigmoid,
    F.threshold, F.embedding_bag, F.scaled_dot_product_attention,
    torch.relu, torch.tanh, torch.cat, torch.zeros, torch.relu_, torch.einsum, torch.split,
    torch.linalg.norm, torch.linalg.inv, torch.fft.fft, torch.func.vmap, torch.save,
    torch.manual_seed, torch.autograd.grad, torch.autograd.gradcheck, torch.Tensor.relu,
    torch.Tensor.backward, nn.utils.clip_grad_norm_, nn.init.kaiming_normal_]


class Held(nn.Module):
    pass


def make():
    held = Held()
    held.functions = FUNCTIONS
    held.layers = nn.ModuleList([
        nn.TransformerEncoderLayer(8, 2, 16, activation=F.gelu, batch_first=True),
        nn.TransformerEncoderLayer(8, 2, 16, activation="relu", batch_first=True)])
    return held.eval()


if what == "save":
    torch.manual_seed(0)
    held = make()
    for protocol in (2, 4):
        torch.save(held, f"{path}{protocol}", pickle_protocol=protocol)
    with open(f"{path}plain", "wb") as file:
        pickle.dump(held.functions, file)
else:
    for protocol in (2, 4):
        held = torch.load(f"{path}{protocol}", weights_only=False)
        wrong = [f for f, g in zip(held.functions, FUNCTIONS) if f is not g and f != g]
        assert not wrong, wrong
        outputs = [layer(torch.ones(1, 2, 8)) for layer in held.layers]
        print(protocol, [f"{out.abs().sum().item():.3f}" for out in outputs])
    with open(f"{path}plain", "rb") as file:
        wrong = [(f, g) for f, g in zip(pickle.load(file), FUNCTIONS) if f != g]
        assert not wrong, wrong
"""

LAUNCHERS = {"ours": ["-m", "functorch_core"], "PyTorch": []}


def run(library: str, folder, *args: str) -> str:
    script = folder / "program.py"
    script.write_text(PROGRAM)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, *LAUNCHERS[library], str(script), *args],
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_both_read_what_both_wrote(tmp_path):
    pytest.importorskip("torch")
    printed = set()
    for writer in LAUNCHERS:
        path = str(tmp_path / writer)
        run(writer, tmp_path, "save", path)
        printed |= {run(reader, tmp_path, "load", path) for reader in LAUNCHERS}
    assert len(printed) == 1


NAMES = """torch.relu torch.add torch.einsum torch.zeros torch.manual_seed torch.is_tensor
    torch.nn.functional.relu torch.nn.functional.gelu torch.nn.functional.linear
    torch.nn.functional.cross_entropy torch.nn.functional.logsigmoid torch.linalg.norm
    torch.linalg.inv torch.fft.fft torch.func.vmap torch.func.grad torch.autograd.backward
    torch.set_default_dtype torch.set_printoptions torch.nn.init.kaiming_normal_""".split()


def test_functions_say_where_pytorch_has_them():
    pytest.importorskip("torch")
    code = f"import torch\nfor name in {NAMES!r}:\n    f = eval(name)\n    print(name, f.__module__, f.__qualname__)"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    outputs = {
        subprocess.run(
            [sys.executable, *launcher, "-c", code], capture_output=True, text=True, env=environment, check=True
        ).stdout
        for launcher in LAUNCHERS.values()
    }
    assert len(outputs) == 1


def test_without_the_shim(tmp_path):
    import pickle

    from functorch_core import torch

    functions = [torch.nn.functional.relu, torch.relu, torch.linalg.norm, torch.Tensor.relu]
    torch.save(functions, tmp_path / "functions.pt")
    assert torch.load(tmp_path / "functions.pt", weights_only=False) == functions
    assert pickle.loads(pickle.dumps(functions)) == functions
