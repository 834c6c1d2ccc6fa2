"""SummaryWriter writes the events that PyTorch's writes: both files are read by the package tensorboard."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

from functorch_core import torch

from .agree import reference

pytest.importorskip("tensorboard", reason="the extra `conformance` has it")


def written(library, folder, write) -> list:
    """(step, value) of all events that write(writer, library) writes."""
    from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
    from tensorboard.compat.proto.event_pb2 import Event

    module = importlib.import_module(f"{library.__name__}.utils.tensorboard")
    with module.SummaryWriter(str(folder / library.__name__)) as writer:
        write(writer, library)
    files = sorted((folder / library.__name__).rglob("*tfevents*"))
    events = [Event.FromString(raw) for file in files for raw in RawEventFileLoader(str(file)).Load()]
    return [(event.step, value) for event in events for value in event.summary.value]


def numbers(library, *shape):
    return library.tensor(np.random.default_rng(0).random(shape, np.float32))


def histograms(writer, library):
    x = numbers(library, 100) * 6 - 3
    writer.add_histogram("exponential", x, 1)
    writer.add_histogram("auto", np.array([1, 2, 2, 5]), 2, bins="auto")
    writer.add_histogram("fewer", x, 3, bins=40, max_bins=10)
    writer.add_histogram("one", np.zeros(1), 4)
    writer.add_histogram_raw("raw", 0, 1, 4, 2, 1.5, [0.5, 1.0], [2, 2])


def pictures(writer, library):
    writer.add_image("colours", numbers(library, 3, 8, 6), 1)
    writer.add_image("grey", numbers(library, 1, 8, 6))
    writer.add_image("plain", numbers(library, 8, 6), dataformats="HW")
    writer.add_image("bytes", (numbers(library, 8, 6, 3) * 255).to(library.uint8), dataformats="HWC")
    writer.add_images("ten", numbers(library, 10, 3, 4, 5), 2)
    writer.add_images("three", numbers(library, 3, 1, 4, 5))


def figures(writer, library):
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    figure = pyplot.figure(figsize=(1, 1))
    figure.gca().plot([1, 2])
    writer.add_figure("figure", figure)
    assert not pyplot.get_fignums()


def sounds_and_text(writer, library):
    writer.add_audio("sound", numbers(library, 1, 100) * 4 - 2, 1, sample_rate=8000)
    writer.add_text("text", "**bold**", 3)


def curves(writer, library):
    scores = numbers(library, 200)
    writer.add_pr_curve("curve", (scores > numbers(library, 400)[200:]).int(), scores, 1)
    weights = np.array([1.0, 2.0, 3.0])
    writer.add_pr_curve("few", library.tensor([0, 1, 1]), library.tensor([0.1, 0.8, 1.0]), 2, 20, weights)
    writer.add_pr_curve_raw("raw", [1], [1], [1], [0], [0.5], [0.5], 3, num_thresholds=1)


def hyperparameters(writer, library):
    writer.add_hparams({"rate": 0.1}, {"accuracy": 0.5}, run_name="run")
    writer.add_hparams({"name": "x"}, {"a": 1}, {"name": ["x", "y"]}, run_name="second")


@pytest.mark.parametrize("write", [histograms, pictures, figures, sounds_and_text, curves, hyperparameters])
def test_the_events_are_those_of_pytorch(write, tmp_path):
    ours, theirs = (written(library, tmp_path, write) for library in (torch, reference))
    assert [value.tag for _, value in ours] == [value.tag for _, value in theirs]
    assert ours == theirs and ours


def test_wrong_arguments_raise_as_in_pytorch(tmp_path):
    for library in (torch, reference):
        module = importlib.import_module(f"{library.__name__}.utils.tensorboard")
        with module.SummaryWriter(str(tmp_path)) as writer:
            with pytest.raises(ValueError, match="no element"):
                writer.add_histogram("empty", np.zeros(0))
            with pytest.raises(ValueError, match="len"):
                writer.add_histogram_raw("raw", 0, 1, 4, 2, 1.5, [0.5, 1.0], [2])
            with pytest.raises(AssertionError, match="different"):
                writer.add_image("flat", numbers(library, 8, 6))
            with pytest.raises(TypeError, match="dictionary"):
                writer.add_hparams([], {})
            with pytest.raises(ValueError, match="int, float, str, bool"):
                writer.add_hparams({"a": [1]}, {})
