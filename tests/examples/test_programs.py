"""The example programs, shortened, under this library and under real PyTorch: the same losses."""

import pytest

from .compare import OURS, PROGRAMS, PYTORCH, deviation, losses, run

SHORT = {
    "resnet": "--steps 8 --width 8 --batch 16",
    "lstm_lm": "--steps 10 --width 32 --window 12 --vocabulary 300",
    "vae": "--steps 12 --hidden 64",
    "dcgan": "--steps 5 --width 8 --batch 32",
    "vit": "--steps 7 --width 32 --layers 1",
    "gnn": "--steps 12 --nodes 300",
    "dqn": "--steps 12 --width 32",
}


# In float32 their rounding errors grow, in PyTorch alone as well (docs/performance.md).
DOUBLE = {"resnet"}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_losses_are_pytorchs(name, tmp_path):
    pytest.importorskip("torch")
    args, double = [*SHORT[name].split(), "--every", "1"], name in DOUBLE
    ours = run(OURS, name, *args, double=double, FUNCTORCH_CACHE_DIR=str(tmp_path))
    assert len(losses(ours)) >= 3
    theirs = run(PYTORCH, name, *args, double=double)
    assert deviation(ours, theirs) < (2e-6 if double else 1e-4)  # 2e-6: the digits printed
