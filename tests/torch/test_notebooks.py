"""What notebooks show of modules and graphs, and that an interrupted cell leaves a model that can be trained on."""

from __future__ import annotations

import signal
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest

from functorch_core import torch
from tests.nn.test_docs import torch_is_ours

nn = torch.nn
TEXT = "{http://www.w3.org/2000/svg}text"


class Outline(HTMLParser):
    """(how many <details> are around, text) of each part, and whether every element is closed."""

    def __init__(self, html: str):
        super().__init__()
        self.open, self.found = [], []
        self.feed(html)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.found.append((self.open.count("details"), data))


def test_a_module_is_a_tree():
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.Sequential(nn.BatchNorm2d(4), nn.ReLU()))
    model[0].weight.requires_grad_(False)
    found = Outline(model._repr_html_()).found
    assert (1, "Sequential") in found and (1, "() ") in found and (1, "48 parameters") in found
    assert (2, "Conv2d") in found and (2, "(1, 4, kernel_size=(3, 3), stride=(1, 1)) ") in found
    assert (2, "weight: float32[4, 1, 3, 3] ") in found and (2, "frozen") in found
    assert (3, "running_mean: float32[4] ") in found and (3, "buffer") in found
    assert (2, "ReLU") in found  # has nothing to open
    assert model._repr_html_().count("<details open>") == 2


def test_counts_are_of_parameters_that_are_shared_once():
    layer = nn.Linear(3, 3)
    assert (1, "12 parameters") in Outline(nn.Sequential(layer, layer)._repr_html_()).found


def test_trees_of_unusual_modules():
    found = Outline(nn.Sequential(nn.LazyLinear(3))._repr_html_()).found
    assert any("not known yet" in text for _, text in found)

    class Odd(nn.Module):
        def extra_repr(self):
            return "a < b &\n c"

    assert (0, "(a < b & c)") in Outline(Odd()._repr_html_()).found

    class Own(nn.Linear):
        def __repr__(self):
            return "mine"

    assert Own(2, 2)._repr_html_() is None  # its own text is shown
    with torch_is_ours():  # where classes say that they are torch's
        import torch as shimmed

        assert shimmed.nn.Linear.__module__.startswith("torch.")
        assert "<details" in shimmed.nn.Linear(2, 2)._repr_html_()


def test_a_traced_module_is_a_picture():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(3, 2)

        def forward(self, x, y):
            return torch.relu(self.layer(x)) + y.sum()

    from functorch_core.torch import fx

    traced = fx.symbolic_trace(Net())
    root = ElementTree.fromstring(traced.graph._repr_svg_())
    boxes = "x,y,layer = layer: Linear,relu = relu,sum_1 = sum,add = add,output"
    assert [t.text for t in root.iter(TEXT)] == boxes.split(",")
    assert len(list(root.iter("{http://www.w3.org/2000/svg}line"))) == 6
    assert traced.graph._repr_svg_() in traced._repr_html_() and "<details" in traced._repr_html_()
    from functorch_core.torch.fx.passes.shape_prop import ShapeProp

    ShapeProp(traced).propagate(torch.ones(4, 3), torch.ones(2))
    assert "layer = layer: Linear [4, 2]" in traced.graph._repr_svg_()


# ---- interrupted cells ---------------------------------------------------------------------------


def train(model, optimizer, steps, interrupted_in=None):
    """Steps of training; the signal of a notebook's stop button arrives in one of them, between two operations."""
    x = torch.arange(12.0).reshape(4, 3) / 10
    for step in range(steps):
        optimizer.zero_grad()
        loss = (model(x) ** 2).mean()
        if step == interrupted_in:
            signal.raise_signal(signal.SIGINT)
        loss.backward()
        optimizer.step()


def test_an_interrupted_cell_leaves_a_model_that_is_trained_on():
    found = []
    for interrupted in (False, True):
        torch.manual_seed(0)
        model = nn.Linear(3, 2)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
        if interrupted:
            with pytest.raises(KeyboardInterrupt):
                train(model, optimizer, 5, interrupted_in=3)
            train(model, optimizer, 4)
        else:
            train(model, optimizer, 7)
        found.append([p.detach().numpy() for p in model.parameters()])
    for ours, theirs in zip(*found):
        np.testing.assert_array_equal(ours, theirs)
