"""What SummaryWriter writes, as the protocol buffers of the package tensorboard."""

from __future__ import annotations

import io
import json
import math
import os
import wave

import numpy as np
from google.protobuf import text_format
from PIL import Image, ImageDraw, ImageFont
from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.plugins.custom_scalar import layout_pb2
from tensorboard.plugins.hparams.api_pb2 import DataType, Experiment, HParamInfo, MetricInfo, MetricName
from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData, SessionEndInfo, SessionStartInfo
from tensorboard.plugins.mesh import metadata as mesh_metadata
from tensorboard.plugins.mesh.plugin_data_pb2 import MeshPluginData
from tensorboard.plugins.pr_curve.plugin_data_pb2 import PrCurvePluginData
from tensorboard.plugins.projector.projector_config_pb2 import EmbeddingInfo, ProjectorConfig
from tensorboard.plugins.text.plugin_data_pb2 import TextPluginData

TINY = 1e-12


def numbers(x) -> np.ndarray:
    """A tensor, array, number or list of numbers as an array."""
    return x.detach().cpu().numpy() if hasattr(x, "detach") else np.asarray(x)


# ---- numbers -------------------------------------------------------------------------------------


def scalar(tag: str, x: float, double_precision: bool) -> Summary:
    """One number as a tensor."""
    if double_precision:
        tensor = TensorProto(dtype="DT_DOUBLE", double_val=[x])
    else:
        tensor = TensorProto(dtype="DT_FLOAT", float_val=[x])
    return _of_plugin(tag, "scalars", b"", tensor)


# dtype -> the name and the field that TensorBoard has for it.
FIELDS = {
    "float32": ("DT_FLOAT", "float_val"),
    "float64": ("DT_DOUBLE", "double_val"),
    "int8": ("DT_INT8", "int_val"),
    "uint8": ("DT_UINT8", "uint32_val"),
    "int16": ("DT_INT16", "int_val"),
    "int32": ("DT_INT32", "int_val"),
    "int64": ("DT_INT64", "int64_val"),
    "bool": ("DT_BOOL", "bool_val"),
    "float16": ("DT_HALF", "half_val"),
    "bfloat16": ("DT_BFLOAT16", "half_val"),
    "complex64": ("DT_COMPLEX64", "scomplex_val"),
    "complex128": ("DT_COMPLEX128", "dcomplex_val"),
}


def tensor(tag: str, x) -> Summary:
    """All numbers of a tensor; 16-bit ones by their bits, complex ones as pairs."""
    kind = str(x.dtype).rpartition(".")[2]
    if kind not in FIELDS:
        raise ValueError(f"{tag} has unsupported tensor dtype {x.dtype}")
    dtype, field = FIELDS[kind]
    array = np.ascontiguousarray(numbers(x)) if kind != "bfloat16" else x.detach().cpu().float().numpy()
    data = array.reshape(-1)
    if field == "half_val":
        data = data.view(np.uint16) if kind == "float16" else (data.view(np.uint32) >> 16)
    elif field.endswith("complex_val"):
        data = data.view(data.real.dtype)
    shape = TensorShapeProto(dim=[TensorShapeProto.Dim(size=size) for size in array.shape])
    proto = TensorProto(dtype=dtype, tensor_shape=shape, **{field: data.tolist()})
    return _of_plugin(tag, "tensor", b"", proto)


# ---- histograms ----------------------------------------------------------------------------------


def _exponential_edges() -> np.ndarray:
    """Edges that grow by a tenth from 1e-12 to 1e20, on both sides of 0."""
    steps = int(np.ceil(np.log(1e20 / TINY) / np.log(1.1)))
    positive = np.multiply.accumulate([TINY, *[1.1] * (steps - 1)])
    return np.concatenate([-positive[::-1], [0.0], positive])


def histogram(tag: str, values, bins, max_bins: int | None) -> Summary:
    """How many values lie in each bin; of the bins from the first to the last that is not empty."""
    values = numbers(values).reshape(-1).astype(np.float64)
    if not values.size:
        raise ValueError("The input has no element.")
    counts, edges = np.histogram(values, bins=_exponential_edges() if bins == "tensorflow" else bins)
    if max_bins is not None and len(counts) > max_bins:
        step = len(counts) // max_bins
        starts = np.arange(0, len(counts), step)
        counts, edges = np.add.reduceat(counts, starts), np.append(edges[:-1][starts], edges[-1])
    full = np.flatnonzero(counts)
    if not full.size:
        raise ValueError("The histogram is empty: no value lies in its bins.")
    first, last = full[0], full[-1]
    limits, shown = edges[first : last + 2], np.append(0, counts[first : last + 1])  # an empty bin before the first
    return histogram_raw(tag, values.min(), values.max(), len(values), values.sum(), values.dot(values), limits, shown)


def histogram_raw(tag: str, least, most, num, total, sum_squares, bucket_limits, bucket_counts) -> Summary:
    """A histogram of which everything is known."""
    proto = HistogramProto(
        min=least,
        max=most,
        num=num,
        sum=total,
        sum_squares=sum_squares,
        bucket_limit=np.asarray(bucket_limits).tolist(),
        bucket=np.asarray(bucket_counts).tolist(),
    )
    return Summary(value=[Summary.Value(tag=tag, histo=proto)])


# ---- pictures, sounds, text ----------------------------------------------------------------------


def image(tag: str, tensor, dataformats: str) -> Summary:
    """A picture; of a batch (NCHW) one picture of all, in rows of eight. Floats are of 0 to 1, uint8 of 0 to 255."""
    return Summary(value=[Summary.Value(tag=tag, image=_png(_bytes_of(tensor, dataformats)))])


def _bytes_of(tensor, dataformats: str) -> np.ndarray:
    """The picture (H, W, C) in uint8."""
    array = numbers(tensor)
    if array.ndim != len(dataformats):
        raise AssertionError(
            "size of input tensor and input format are different. "
            f"tensor shape: {array.shape}, input_format: {dataformats}"
        )
    array = as_height_width_channels(array, dataformats.upper())
    return array if array.dtype == np.uint8 else np.clip(array.astype(np.float32) * 255, 0, 255).astype(np.uint8)


def image_with_boxes(tag: str, tensor, boxes, rescale: float, dataformats: str, labels: list[str] | None) -> Summary:
    """A picture with red frames (left, top, right, bottom), made larger or smaller afterwards; labels stand below the
    frames' bottoms, on red."""
    picture = Image.fromarray(_bytes_of(tensor, dataformats))
    pen = ImageDraw.Draw(picture)
    for i, (x0, y0, x1, y1) in enumerate(numbers(boxes).tolist()):
        pen.line([x0, y0, x0, y1, x1, y1, x1, y0, x0, y0], fill="red", width=2)
        if labels is not None:
            _draw_label(pen, labels[i], x0, y1)
    size = int(picture.width * rescale), int(picture.height * rescale)
    resized = picture.resize(size, Image.Resampling.LANCZOS)
    png = _png(np.asarray(resized))
    png.height, png.width = picture.height, picture.width  # PyTorch tells the size before
    return Summary(value=[Summary.Value(tag=tag, image=png)])


def _draw_label(pen: ImageDraw.ImageDraw, label: str, left: float, bottom: float):
    """A label in black on red, whose lower left corner is given."""
    font = ImageFont.load_default()
    x0, y0, x1, y1 = font.getbbox(label)
    width, height = x1 - x0, y1 - y0
    margin = math.ceil(0.05 * height)
    pen.rectangle([left, bottom - height - 2 * margin, left + width, bottom], fill="red")
    pen.text((left + margin, bottom - height - margin), label, fill="black", font=font)


def as_height_width_channels(array: np.ndarray, dataformats: str) -> np.ndarray:
    """The picture (H, W, C), grey ones in three channels."""
    if "N" in dataformats:
        batch = array.transpose([dataformats.index(d) for d in "NHWC"])
        array = _grid(batch, min(len(batch), 8))
    elif "C" in dataformats:
        array = array.transpose([dataformats.index(d) for d in "HWC"])
    else:
        array = array.transpose([dataformats.index(d) for d in "HW"])[..., None]
    return np.repeat(array, 3, axis=2) if array.shape[2] == 1 else array


def _grid(batch: np.ndarray, columns: int) -> np.ndarray:
    """Pictures (N, H, W, C) as one, in rows of so many."""
    n, height, width, channels = batch.shape
    rows = -(-n // columns)
    padded = np.concatenate([batch, np.zeros((rows * columns - n, height, width, channels), batch.dtype)])
    grid = padded.reshape(rows, columns, height, width, channels).swapaxes(1, 2)
    return grid.reshape(rows * height, columns * width, channels)


def _png(array: np.ndarray) -> Summary.Image:
    height, width, channels = array.shape
    file = io.BytesIO()
    Image.fromarray(array).save(file, format="PNG")
    return Summary.Image(height=height, width=width, colorspace=channels, encoded_image_string=file.getvalue())


def pixels_of(figure) -> np.ndarray:
    """A matplotlib figure drawn, as (C, H, W)."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3].transpose(2, 0, 1)


def audio(tag: str, sound, sample_rate: int) -> Summary:
    """A sound of one channel, numbers of -1 to 1, as a wave of 16 bits."""
    array = numbers(sound).squeeze()
    if abs(array).max() > 1:
        print("warning: audio amplitude out of range, auto clipped.")  # PyTorch prints it, too
        array = np.clip(array, -1, 1)
    if array.ndim != 1:
        raise AssertionError("input tensor should be 1 dimensional.")
    file = io.BytesIO()
    with wave.open(file, "wb") as writer:
        writer.setnchannels(1)
        writer.setsampwidth(2)
        writer.setframerate(sample_rate)
        writer.writeframes((array * np.iinfo(np.int16).max).astype("<i2").tobytes())
    proto = Summary.Audio(
        sample_rate=sample_rate,
        num_channels=1,
        length_frames=len(array),
        encoded_audio_string=file.getvalue(),
        content_type="audio/wav",
    )
    return Summary(value=[Summary.Value(tag=tag, audio=proto)])


def text(tag: str, string: str) -> Summary:
    """A text, which TensorBoard shows as Markdown."""
    tensor = TensorProto(
        dtype="DT_STRING",
        string_val=[string.encode("utf-8")],
        tensor_shape=TensorShapeProto(dim=[TensorShapeProto.Dim(size=1)]),
    )
    return _of_plugin(f"{tag}/text_summary", "text", TextPluginData(version=0).SerializeToString(), tensor)


def video(tag: str, tensor, fps: float) -> Summary:
    """Films (N, T, C, H, W) side by side, as an animated GIF; floats are of 0 to 1, uint8 of 0 to 255."""
    array = numbers(tensor)
    scaled = array if array.dtype == np.uint8 else np.clip(array.astype(np.float32) * 255, 0, 255).astype(np.uint8)
    frames = _side_by_side(scaled)
    first, *others = [Image.fromarray(frame if frame.shape[2] == 3 else frame[..., 0]) for frame in frames]
    file = io.BytesIO()
    first.save(file, format="GIF", save_all=True, append_images=others, duration=1000 / fps, loop=0)
    _, height, width, channels = frames.shape
    proto = Summary.Image(height=height, width=width, colorspace=channels, encoded_image_string=file.getvalue())
    return Summary(value=[Summary.Value(tag=tag, image=proto)])


def _side_by_side(films: np.ndarray) -> np.ndarray:
    """(T, H, W, C) of films (N, T, C, H, W): in a grid whose sides are powers of 2."""
    n, t, c, h, w = films.shape
    size = 1 << (n - 1).bit_length()
    rows = 1 << ((n.bit_length() - 1) // 2)
    films = np.concatenate([films, np.zeros((size - n, t, c, h, w), films.dtype)])
    grid = films.reshape(rows, size // rows, t, c, h, w).transpose(2, 0, 4, 1, 5, 3)
    return grid.reshape(t, rows * h, size // rows * w, c)


# ---- layouts, meshes -----------------------------------------------------------------------------


def custom_scalars(layout: dict) -> Summary:
    """How TensorBoard is to group scalars: {category: {title: ["Multiline" or "Margin", tags]}}."""
    categories = [
        layout_pb2.Category(title=title, chart=[_chart(name, *what) for name, what in charts.items()])
        for title, charts in layout.items()
    ]
    content = layout_pb2.Layout(category=categories).SerializeToString()
    tensor = TensorProto(dtype="DT_STRING", string_val=[content], tensor_shape=TensorShapeProto())
    return _of_plugin("custom_scalars__config__", "custom_scalars", b"", tensor)


def _chart(title: str, kind: str, tags: list[str]) -> layout_pb2.Chart:
    if kind != "Margin":
        return layout_pb2.Chart(title=title, multiline=layout_pb2.MultilineChartContent(tag=tags))
    if len(tags) != 3:
        raise AssertionError("len(tags) != 3")
    value, lower, upper = tags
    series = layout_pb2.MarginChartContent.Series(value=value, lower=lower, upper=upper)
    return layout_pb2.Chart(title=title, margin=layout_pb2.MarginChartContent(series=[series]))


def mesh(tag: str, vertices, colors, faces, config: dict | None) -> Summary:
    """Points in space, with colors and with triangles between them."""
    kinds = {MeshPluginData.VERTEX: vertices, MeshPluginData.FACE: faces, MeshPluginData.COLOR: colors}
    given = {kind: numbers(x) for kind, x in kinds.items() if x is not None}
    components = mesh_metadata.get_components_bitmask(list(given))
    values = []
    for kind, x in given.items():
        shape = TensorShapeProto(dim=[TensorShapeProto.Dim(size=size) for size in x.shape])
        tensor = TensorProto(dtype="DT_FLOAT", float_val=x.reshape(-1).tolist(), tensor_shape=shape)
        metadata = mesh_metadata.create_summary_metadata(
            tag, None, kind, components, x.shape, None, json_config=json.dumps(config or {}, sort_keys=True)
        )
        name = mesh_metadata.get_instance_name(tag, kind)
        values.append(Summary.Value(tag=name, tensor=tensor, metadata=metadata))
    return Summary(value=values)


# ---- embeddings ----------------------------------------------------------------------------------


def embedding(log_dir: str, folder: str, name: str, rows, labels, pictures, header) -> EmbeddingInfo:
    """Write points, their labels and pictures into a folder; where TensorBoard finds them."""
    rows, path = numbers(rows), os.path.join(log_dir, folder)
    for what, found in (("labels", labels), ("images", pictures)):
        if found is not None and len(found) != len(rows):
            raise AssertionError(f"#{what} should equal with #data points")
    if rows.ndim != 2:
        raise AssertionError("mat should be 2D, where mat.size(0) is the number of data points")
    if os.path.isdir(path):
        print("warning: Embedding dir exists, did you set global_step for add_embedding()?")
    os.makedirs(path, exist_ok=True)
    info = EmbeddingInfo(tensor_name=name, tensor_path=f"{folder}/tensors.tsv")
    if labels is not None:
        info.metadata_path = f"{folder}/metadata.tsv"
        _write_lines(os.path.join(path, "metadata.tsv"), _label_lines(labels, header))
    if pictures is not None:
        array = numbers(pictures)
        info.sprite.image_path = f"{folder}/sprite.png"
        info.sprite.single_image_dim.extend([array.shape[3], array.shape[2]])
        _sprite(array).save(os.path.join(path, "sprite.png"))
    _write_lines(os.path.join(path, "tensors.tsv"), ["\t".join([str(x.item()) for x in row]) for row in rows])
    return info


def write_projector(log_dir: str, embeddings: list[EmbeddingInfo]):
    """Tell TensorBoard's projector of all embeddings."""
    with open(os.path.join(log_dir, "projector_config.pbtxt"), "w", encoding="utf-8") as file:
        file.write(text_format.MessageToString(ProjectorConfig(embeddings=embeddings)))


def _write_lines(path: str, lines: list[str]):
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{line}\n" for line in lines)


def _label_lines(labels, header) -> list[str]:
    if not header:
        return [str(label) for label in labels]
    if len(header) != len(labels[0]):
        raise AssertionError("len of header must be equal to the number of columns in metadata")
    return ["\t".join([str(x) for x in line]) for line in (header, *labels)]


def _sprite(pictures: np.ndarray) -> Image.Image:
    """All pictures (N, C, H, W) in one, as many in a row as in a column."""
    columns = math.ceil(len(pictures) ** 0.5)
    grid = _grid(pictures.transpose(0, 2, 3, 1), columns)
    grid = np.repeat(grid, 3, axis=2) if grid.shape[2] == 1 else grid
    square = np.zeros((grid.shape[1], grid.shape[1], 3))
    square[: grid.shape[0]] = grid
    return Image.fromarray((square * 255).clip(0, 255).astype(np.uint8))


# ---- precision and recall ------------------------------------------------------------------------


def pr_curve(tag: str, labels, predictions, num_thresholds: int, weights) -> Summary:
    """True and false positives and negatives, precision and recall, at thresholds of 0 to 1."""
    labels, predictions = numbers(labels).reshape(-1).astype(bool), numbers(predictions).reshape(-1)
    n = min(num_thresholds, 127)
    weights = np.ones(len(labels)) if weights is None else numbers(weights).reshape(-1)
    above = np.floor(predictions * (n - 1)).astype(np.int64)  # the last threshold that a prediction reaches

    def reached(chosen: np.ndarray) -> np.ndarray:
        return np.bincount(above[chosen], weights[chosen], minlength=n)[:n][::-1].cumsum()[::-1]

    true, false = reached(labels), reached(~labels)
    counts = [true, false, false[0] - false, true[0] - true]
    precision, recall = true / np.maximum(TINY, true + false), true / np.maximum(TINY, true[0])
    return pr_curve_raw(tag, *counts, precision, recall, n)


def pr_curve_raw(
    tag: str, true_positives, false_positives, true_negatives, false_negatives, precision, recall, num_thresholds: int
) -> Summary:
    """A curve of which everything is known."""
    n = min(num_thresholds, 127)
    columns = [true_positives, false_positives, true_negatives, false_negatives, precision, recall]
    data = np.stack([numbers(column) for column in columns]).astype(np.float32)
    shape = TensorShapeProto(dim=[TensorShapeProto.Dim(size=size) for size in data.shape])
    tensor = TensorProto(dtype="DT_FLOAT", float_val=data.reshape(-1).tolist(), tensor_shape=shape)
    content = PrCurvePluginData(version=0, num_thresholds=n).SerializeToString()
    return _of_plugin(tag, "pr_curves", content, tensor)


def _of_plugin(tag: str, name: str, content: bytes, tensor: TensorProto | None = None) -> Summary:
    metadata = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name=name, content=content))
    return Summary(value=[Summary.Value(tag=tag, metadata=metadata, tensor=tensor)])


# ---- hyperparameters -----------------------------------------------------------------------------


def hparams(values: dict, metrics: dict, domains: dict | None) -> list[Summary]:
    """The experiment, the start of a session with these hyperparameters, and its end."""
    start, infos = SessionStartInfo(), []
    for name, value in values.items():
        value = value.item() if hasattr(value, "item") else value
        kind, field = _kind(value)
        infos.append(HParamInfo(name=name, type=DataType.Value(f"DATA_TYPE_{kind}")))
        infos[-1].domain_discrete.extend((domains or {}).get(name, ()))
        setattr(start.hparams[name], field, value)
    wanted = [MetricInfo(name=MetricName(tag=name)) for name in metrics]
    parts = {
        "experiment": HParamsPluginData(experiment=Experiment(hparam_infos=infos, metric_infos=wanted)),
        "session_start_info": HParamsPluginData(session_start_info=start),
        "session_end_info": HParamsPluginData(session_end_info=SessionEndInfo(status="STATUS_SUCCESS")),
    }
    return [_of_plugin(f"_hparams_/{name}", "hparams", data.SerializeToString()) for name, data in parts.items()]


def _kind(value) -> tuple[str, str]:
    """The type of a hyperparameter, and the field that holds it."""
    if isinstance(value, bool):
        return "BOOL", "bool_value"
    if isinstance(value, (int, float)):
        return "FLOAT64", "number_value"
    if isinstance(value, str):
        return "STRING", "string_value"
    raise ValueError("value should be one of int, float, str, bool, or torch.Tensor")
