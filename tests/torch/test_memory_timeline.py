"""Memory in profiles against PyTorch's: what is taken and freed, when, and for what."""

import base64
import gzip
import json
import warnings

import pytest
import torch as real

from functorch_core import torch

OPTIONS = {"record_shapes": True, "profile_memory": True, "with_stack": True}


def training(lib):
    """The profile of two steps of training."""
    model = lib.nn.Sequential(lib.nn.Linear(12, 4), lib.nn.ReLU(), lib.nn.Linear(4, 3))
    optimizer = lib.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    x, y = lib.ones(5, 12), lib.tensor([0, 1, 2, 0, 1])
    with lib.profiler.profile(activities=[lib.profiler.ProfilerActivity.CPU], **OPTIONS) as profile:
        for _ in range(2):
            lib.nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
            optimizer.zero_grad()
    return profile


def exported(profile, path: str):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # PyTorch's is deprecated
        profile.export_memory_timeline(path, device="cpu")
    with (gzip.open if path.endswith(".gz") else open)(path, "rt") as file:
        return json.load(file)


def by_category(events: list, actions: tuple) -> dict:
    """The bytes of each category that actions are about."""
    found: dict[int, int] = {}
    for _, action, nbytes, category in events:
        if action in actions:
            found[category] = found.get(category, 0) + nbytes
    return {category: nbytes for category, nbytes in found.items() if nbytes}


def test_timeline_of_training_is_pytorchs(tmp_path):
    ours, theirs = (exported(training(lib), f"{tmp_path}/{lib.__name__}.raw.json.gz") for lib in (torch, real))
    preexisting, created, all_actions = (1,), (2,), (1, 2, 3, 4)
    assert by_category(ours, preexisting) == by_category(theirs, preexisting)  # parameters, inputs
    assert by_category(ours, all_actions) == by_category(theirs, all_actions)  # and what the optimizer keeps
    gradients = 5
    assert by_category(ours, created)[gradients] == by_category(theirs, created)[gradients] == 2 * 4 * 67
    assert {1, 4, 5, 6} <= set(by_category(ours, created)) & set(by_category(theirs, created))


def test_sums_are_pytorchs_layout(tmp_path):
    (times, sizes), (_, expected) = (
        exported(training(lib), f"{tmp_path}/{lib.__name__}.json") for lib in (torch, real)
    )
    assert len(times) == len(sizes) and times == sorted(times)
    assert sizes[0] == expected[0] and sizes[-1] == expected[-1]
    assert all(n >= 0 for row in sizes for n in row)


def test_picture(tmp_path):
    pytest.importorskip("matplotlib")
    profile = training(torch)
    profile.export_memory_timeline(str(tmp_path / "memory.html"))
    picture = (tmp_path / "memory.html").read_text().split("base64,")[1].split("'")[0]
    assert base64.b64decode(picture).startswith(b"\x89PNG")


@pytest.mark.parametrize("missing", OPTIONS)
def test_what_a_timeline_needs(missing, tmp_path):
    for lib in (torch, real):
        options = {"activities": [lib.profiler.ProfilerActivity.CPU], **OPTIONS, missing: False}
        with lib.profiler.profile(**options) as profile:
            lib.ones(2)
        with pytest.raises(ValueError, match="required for memory profiling"):
            exported(profile, str(tmp_path / "memory.json"))


FREED = """
x = torch.ones(1000)
y = x + x
del x
with torch.profiler.record_function("part"):
    z = torch.nn.functional.softmax(y.view(10, 100), 1)
    del y
z.mul_(z)
z = z.exp()
"""


def memory_of(lib) -> list[tuple[str, int]]:
    with lib.profiler.profile(activities=[lib.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
        exec(FREED, {"torch": lib})
    outer = [e for e in profile.events() if e.cpu_parent is None]
    return [(e.name, e.cpu_memory_usage) for e in outer if e.cpu_memory_usage or e.name == "part"]


def test_memory_that_is_freed():
    assert memory_of(torch) == memory_of(real)
    assert ("[memory]", -4000) in memory_of(torch)


def test_views_share_memory_and_a_profile_ends(tmp_path):
    with torch.profiler.profile(**OPTIONS) as profile:
        x = torch.ones(8)
        y = x.detach()
        del x
    events = exported(profile, str(tmp_path / "a.raw.json.gz"))
    assert [(action, nbytes) for _, action, nbytes, _ in events] == [(2, 32)]
    del y  # nobody looks any more
    assert exported(profile, str(tmp_path / "a.raw.json.gz")) == events
