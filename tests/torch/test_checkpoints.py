"""torch.distributed.checkpoint in one process: beside PyTorch's files, and saves that fail."""

import pytest
import torch as real
import torch.distributed.checkpoint as theirs
from functorch_core.torch.distributed import checkpoint
from functorch_core.torch.distributed.checkpoint import filesystem
from functorch_core.torch.distributed.checkpoint.state_dict import StateDictOptions, get_state_dict, set_state_dict

from functorch_core import torch

STATE = {"a": [[0.0, 1.0], [2.0, 3.0]], "half": [1.5, -2.0]}


def state(module, empty=False):
    wide = module.tensor(STATE["a"])
    half = module.tensor(STATE["half"], dtype=module.bfloat16)
    found = {"wide": wide, "nested": {"half": half, "n": 3, "list": [1, wide[0].clone()]}, "text": "kept"}
    if empty:
        found = {"wide": wide * 0, "nested": {"half": half * 0, "n": 0, "list": [0, wide[0] * 0]}, "text": ""}
    return found


def same(found):
    assert found["wide"].tolist() == STATE["a"] and found["nested"]["half"].tolist() == STATE["half"]
    assert found["nested"]["n"] == 3 and found["text"] == "kept"
    assert found["nested"]["list"][0] == 1 and found["nested"]["list"][1].tolist() == STATE["a"][0]


@pytest.mark.filterwarnings("ignore")
def test_files_are_exchanged_with_pytorch(tmp_path):
    checkpoint.save(state(torch), checkpoint_id=tmp_path / "ours")
    theirs.save(state(real), checkpoint_id=tmp_path / "theirs")
    for module, dcp, folder in [(torch, checkpoint, "theirs"), (real, theirs, "ours"), (torch, checkpoint, "ours")]:
        found = state(module, empty=True)
        dcp.load(found, checkpoint_id=tmp_path / folder)
        same(found)


def test_a_save_that_fails_leaves_the_last_one(tmp_path, monkeypatch):
    checkpoint.save(state(torch), checkpoint_id=tmp_path)
    saved = filesystem.serialization.save
    left = [2]

    def fail(item, file):
        left[0] -= 1
        if not left[0]:
            raise OSError("the disk is full")
        saved(item, file)

    monkeypatch.setattr(filesystem.serialization, "save", fail)
    with pytest.raises(checkpoint.CheckpointException, match="the disk is full"):
        checkpoint.save({"wide": torch.zeros(2, 2)} | state(torch, empty=True), checkpoint_id=tmp_path)
    monkeypatch.undo()
    found = state(torch, empty=True)
    checkpoint.load(found, checkpoint_id=tmp_path)
    same(found)
    checkpoint.async_save({"wide": torch.ones(2, 2)}, checkpoint_id=tmp_path).result()
    assert len(list(tmp_path.glob("*.distcp"))) == 1  # those of the old checkpoint are gone


def test_what_cannot_be_loaded(tmp_path):
    with pytest.raises(checkpoint.CheckpointException, match="there is no checkpoint here"):
        checkpoint.load({"x": torch.zeros(1)}, checkpoint_id=tmp_path / "nowhere")
    checkpoint.save({"x": torch.zeros(2)}, checkpoint_id=tmp_path)
    with pytest.raises(checkpoint.CheckpointException, match="Size mismatch"):
        checkpoint.load({"x": torch.zeros(3)}, checkpoint_id=tmp_path)
    with pytest.raises(checkpoint.CheckpointException, match="Missing key in checkpoint state_dict: y"):
        checkpoint.load({"y": torch.zeros(2)}, checkpoint_id=tmp_path)
    with pytest.raises(RuntimeError, match="checkpoint_id"):
        checkpoint.save({"x": torch.zeros(2)})
    (tmp_path / ".metadata").write_bytes(b"cos\nsystem\n(S'exit'\ntR.")
    with pytest.raises(checkpoint.CheckpointException, match="no part of a checkpoint"):
        checkpoint.load({"x": torch.zeros(2)}, checkpoint_id=tmp_path)


@pytest.mark.parametrize("flat", [False, True])
def test_states_by_the_names_of_parameters(flat):
    def made():
        model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Linear(2, 1))
        groups = [{"params": model[0].parameters(), "lr": 0.1}, {"params": model[1].parameters()}]
        return model, torch.optim.Adam(groups, lr=0.2)

    options = StateDictOptions(flatten_optimizer_state_dict=flat)
    model, optimizer = made()
    model(torch.ones(2, 3)).sum().backward()
    optimizer.step()
    of_model, of_optimizer = get_state_dict(model, optimizer, options=options)
    key = "state.0.weight.exp_avg" if flat else "0.weight"
    assert key in (of_optimizer if flat else of_optimizer["state"])
    other, fresh = made()
    fresh.param_groups[0]["lr"] = 7.0
    set_state_dict(other, fresh, model_state_dict=of_model, optim_state_dict=of_optimizer, options=options)
    assert torch.equal(other[1].weight, model[1].weight) and [g["lr"] for g in fresh.param_groups] == [0.1, 0.2]
    for p, q in zip(model.parameters(), other.parameters()):
        assert torch.equal(optimizer.state[p]["exp_avg_sq"], fresh.state[q]["exp_avg_sq"])
        assert optimizer.state[p]["step"] == fresh.state[q]["step"] == 1
