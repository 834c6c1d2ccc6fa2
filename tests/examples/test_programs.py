"""The example programs, shortened, under this library and under real PyTorch: the same losses."""
import pytest

from .compare import OURS, PROGRAMS, PYTORCH, deviation, losses, run

SHORT = {
    "resnet": "--steps 3 --width 8 --batch 16",
    "lstm_lm": "--steps 10 --width 32 --window 12 --vocabulary 300",
    "vae": "--steps 12 --hidden 64",
    "dcgan": "--steps 5 --width 8 --batch 32",
    "vit": "--steps 7 --width 32 --layers 1",
    "gnn": "--steps 12 --nodes 300",
    "dqn": "--steps 12 --width 32",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_losses_are_pytorchs(name, tmp_path):
    pytest.importorskip("torch")
    args = [*SHORT[name].split(), "--every", "1"]
    ours = run(OURS, name, *args, FUNCTORCH_CACHE_DIR=str(tmp_path))
    assert len(losses(ours)) >= 3
    assert deviation(ours, run(PYTORCH, name, *args)) < 1e-4
