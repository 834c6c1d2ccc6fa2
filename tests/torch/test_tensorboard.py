"""SummaryWriter writes the events that PyTorch's writes: both files are read by the package tensorboard."""

from __future__ import annotations

import importlib
import sys
from types import SimpleNamespace

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
    boxes = library.tensor([[2.0, 3.0, 12.0, 9.0], [5.0, 1.0, 25.0, 14.0]])
    writer.add_image_with_boxes("framed", numbers(library, 3, 16, 20), boxes, 4)
    writer.add_image_with_boxes("larger", numbers(library, 16, 20), boxes, rescale=2, dataformats="HW", labels="one")
    writer.add_image_with_boxes("labelled", numbers(library, 3, 30, 40), boxes, labels=["a cat", "yÄx"], rescale=1.5)


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


def scalars(writer, library):
    writer.add_scalar("one", library.tensor([2.5]), 3)
    writer.add_scalar("new", 1.5, 1, new_style=True)
    writer.add_scalar("double", 1 / 3, 1, new_style=True, double_precision=True)
    for step in (0, 1):
        writer.add_scalars("group/of", {"a": step, "b": 2.0}, step)
    for kind in "float32 float64 int8 uint8 int16 int32 int64 bool complex64 complex128".split():
        writer.add_tensor(kind, (numbers(library, 2, 3) * 4).to(getattr(library, kind)), 1)


def layouts(writer, library):
    writer.add_custom_scalars({"a": {"x": ["Multiline", ["p/q", "p/r"]], "y": ["Margin", ["s", "t", "u"]]}, "b": {}})
    writer.add_custom_scalars_multilinechart(["p", "q"], title="Lines")
    writer.add_custom_scalars_marginchart(["p", "q", "r"], category="c")
    with pytest.raises(AssertionError, match="Expected 3 tags, got 2"):
        writer.add_custom_scalars_marginchart(["p", "q"])


def meshes(writer, library):
    vertices, colors = numbers(library, 1, 4, 3), library.tensor([[[0, 9, 255]] * 4])
    writer.add_mesh("points", vertices, global_step=1)
    config = {"material": {"cls": "PointsMaterial", "size": 2}, "camera": {"fov": 75}}
    writer.add_mesh("body", vertices, colors, library.tensor([[[0, 1, 2], [1, 2, 3]]]), config, 2)


WRITTEN = [scalars, histograms, pictures, figures, sounds_and_text, curves, hyperparameters, layouts, meshes]


@pytest.mark.parametrize("write", WRITTEN)
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


@pytest.mark.filterwarnings("ignore:Setting the dtype on a NumPy array")  # by TensorBoard; NumPy 2.5 says so
def test_tensors_of_16_bits_are_read_by_tensorboard(tmp_path):
    """PyTorch writes the bits of float32 for them, which TensorBoard cannot read."""
    from tensorboard.util.tensor_util import make_ndarray

    x = numbers(torch, 2, 3) * 4
    [(_, value)] = written(torch, tmp_path, lambda w, _: w.add_tensor("x", x.half()))
    np.testing.assert_array_equal(make_ndarray(value.tensor), x.half().numpy())


def embeddings(writer, library):
    points, pictures = numbers(library, 3, 2), numbers(library, 3, 3, 4, 5)
    writer.add_embedding(points, ["a", "b", 3], pictures, 1, "first/of them")
    writer.add_embedding(points, [["a", 1], ["b", 2], ["c", 3]], metadata_header=["name", "number"])
    writer.add_embedding(points.numpy(), label_img=pictures[:, :1], global_step=2)
    with pytest.raises(AssertionError, match="labels should equal"):
        writer.add_embedding(points, ["a"], tag="wrong")
    with pytest.raises(AssertionError, match="len of header"):
        writer.add_embedding(points, ["abc"] * 3, tag="wrong too", metadata_header=["x", "y"])


def test_the_files_of_embeddings_are_those_of_pytorch(tmp_path):
    from PIL import Image

    found = []
    for library in (torch, reference):
        written(library, tmp_path, embeddings)
        folder = tmp_path / library.__name__
        files = [f for f in folder.rglob("*.*") if "wrong" not in str(f) and f.suffix in (".tsv", ".pbtxt", ".png")]
        read = {".png": lambda f: np.asarray(Image.open(f)).tolist()}
        found.append({str(f.relative_to(folder)): read.get(f.suffix, lambda f: f.read_bytes())(f) for f in files})
    assert found[0] == found[1] and len(found[0]) == 8


def test_videos_are_animated(tmp_path):
    import io

    from PIL import Image

    films = np.zeros((3, 2, 3, 4, 6), np.uint8)
    films[1, 1, 0] = 255  # the second film is red in the second frame
    [(step, value)] = written(torch, tmp_path, lambda w, _: w.add_video("film", torch.tensor(films), 7, fps=5))
    assert (step, value.tag) == (7, "film")
    # Three films are in a row of four, as PyTorch arranges them for the package moviepy.
    assert (value.image.height, value.image.width, value.image.colorspace) == (4, 24, 3)
    picture = Image.open(io.BytesIO(value.image.encoded_image_string))
    assert picture.n_frames == 2 and picture.info["duration"] == 200
    picture.seek(1)
    frame = np.asarray(picture.convert("RGB"))
    assert (frame[:, 6:12] == (255, 0, 0)).all() and (frame[:, :6] == 0).all() and (frame[:, 12:] == 0).all()


# ---- graphs of modules ---------------------------------------------------------------------------


def models(library) -> dict:
    nn = library.nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.pool = nn.Conv2d(1, 4, 3), nn.MaxPool2d(2)
            self.body = nn.Sequential(nn.Linear(36, 8), nn.ReLU(inplace=True), nn.Dropout(0.5), nn.Linear(8, 2))

        def forward(self, x, scale):
            x = self.pool(self.conv(x)).flatten(1)
            return library.softmax(self.body(x) * scale + x.sum(1, keepdim=True), 1), x.tanh()

    return {
        "layers": (nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.GELU(), nn.LayerNorm(4)), library.ones(2, 3)),
        "net": (Net(), (library.ones(2, 1, 8, 8), library.ones(2))),
    }


def edges(definition) -> set:
    """What a graph says: of each operator where it is, its shape, and what of that its operands are. Numbers, lists of
    them and names of values are left out: PyTorch has nodes for numbers, and names by its compiler."""
    nodes = {node.name: node for node in definition.node}

    def told(node) -> tuple:
        shape = tuple(d.size for s in node.attr["_output_shapes"].list.shape for d in s.dim)
        return node.name.rpartition("/")[0], node.op, shape, node.attr["attr"].s if node.op == "prim::GetAttr" else b""

    def operands(node) -> list:
        return [nodes[name] for name in node.input if name in nodes and not hidden(nodes[name])]

    def hidden(node) -> bool:
        return node.op in ("prim::Constant", "prim::ListConstruct", "prim::NumToTensor", "prim::TupleConstruct")

    shown = [node for node in definition.node if not hidden(node) and not node.name.startswith("output")]
    return {
        (told(node), () if node.op == "prim::GetAttr" else tuple(sorted(told(x) for x in operands(node))))
        for node in shown
    }


@pytest.mark.filterwarnings("ignore:.torch.jit.trace:DeprecationWarning")
@pytest.mark.parametrize("name", ["layers", "net"])
def test_graphs_of_modules_are_those_of_pytorch(name, tmp_path):
    from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.graph_pb2 import GraphDef

    graphs, runs = [], []
    for library in (torch, reference):
        module, given = models(library)[name]
        written(library, tmp_path, lambda writer, _, m=module, x=given: writer.add_graph(m, x))
        assert module.training
        [file] = (tmp_path / library.__name__).rglob("*tfevents*")
        events = [Event.FromString(raw) for raw in RawEventFileLoader(str(file)).Load()]
        graphs += [GraphDef.FromString(e.graph_def) for e in events if e.graph_def]
        runs += [e.tagged_run_metadata for e in events if e.tagged_run_metadata.tag]
    assert edges(graphs[0]) == edges(graphs[1])
    assert any(node.name.startswith("output/output.1") for node in graphs[0].node)
    assert runs[0] == runs[1] and graphs[0].versions == graphs[1].versions


def test_a_graph_that_cannot_be_run(tmp_path, capsys):
    with torch.utils.tensorboard.SummaryWriter(str(tmp_path)) as writer:
        with pytest.raises(RuntimeError, match="mat1 and mat2"):
            writer.add_graph(torch.nn.Linear(3, 4), torch.ones(2, 2))
    assert "No graph saved" in capsys.readouterr().out
    assert torch.ones(2).exp()[0] > 2  # nobody watches any more


# ---- graphs of ONNX files ------------------------------------------------------------------------


class Attribute:
    """As the package onnx reads one: its fields with their values."""

    def __init__(self, *values):
        self.values = values

    def ListFields(self):
        return [(None, value) for value in self.values]


def onnx_file(path):
    """What the package onnx would read, which is in no extra."""

    def variable(name, *shape):
        dims = [SimpleNamespace(dim_value=size) for size in shape]
        kind = SimpleNamespace(elem_type=1, shape=SimpleNamespace(dim=dims))
        return SimpleNamespace(name=name, type=SimpleNamespace(tensor_type=kind))

    def operator(kind, given, made, *attributes):
        return SimpleNamespace(name=kind, op_type=kind, input=given, output=made, attribute=attributes)

    nodes = [
        operator("MatMul", ["x", "w"], ["h"]),
        operator("Split", ["h"], ["p", "q"], Attribute("axis", 1, 2), Attribute("num_outputs", 2)),
        operator("Add", ["p", "q"], ["y"]),
    ]
    given = [variable("x", 2, 3), variable("w", 3, 4)]
    return SimpleNamespace(graph=SimpleNamespace(input=given, output=[variable("y", 2, 2)], node=nodes))


def test_graphs_of_onnx_files_are_those_of_pytorch(tmp_path, monkeypatch):
    from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
    from tensorboard.compat.proto.event_pb2 import Event

    monkeypatch.setitem(sys.modules, "onnx", SimpleNamespace(load=onnx_file))
    found = []
    for library in (torch, reference):
        written(library, tmp_path, lambda writer, _: writer.add_onnx_graph("model.onnx"))
        [file] = (tmp_path / library.__name__).rglob("*tfevents*")
        events = [Event.FromString(raw) for raw in RawEventFileLoader(str(file)).Load()]
        found.append([event.graph_def for event in events if event.graph_def])
    assert found[0] == found[1] and len(found[0]) == 1


def test_onnx_files_need_their_package(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with torch.utils.tensorboard.SummaryWriter(str(tmp_path)) as writer:
        with pytest.raises(ModuleNotFoundError, match="add_onnx_graph .* pip install onnx"):
            writer.add_onnx_graph("model.onnx")
