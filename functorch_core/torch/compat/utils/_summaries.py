"""What SummaryWriter writes, as the protocol buffers of the package tensorboard."""

from __future__ import annotations

import io
import wave

import numpy as np
from PIL import Image
from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.plugins.hparams.api_pb2 import DataType, Experiment, HParamInfo, MetricInfo, MetricName
from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData, SessionEndInfo, SessionStartInfo
from tensorboard.plugins.pr_curve.plugin_data_pb2 import PrCurvePluginData
from tensorboard.plugins.text.plugin_data_pb2 import TextPluginData

TINY = 1e-12


def numbers(x) -> np.ndarray:
    """A tensor, array, number or list of numbers as an array."""
    return x.detach().cpu().numpy() if hasattr(x, "detach") else np.asarray(x)


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
    array = numbers(tensor)
    if array.ndim != len(dataformats):
        raise AssertionError(
            "size of input tensor and input format are different. "
            f"tensor shape: {array.shape}, input_format: {dataformats}"
        )
    array = as_height_width_channels(array, dataformats.upper())
    scaled = array if array.dtype == np.uint8 else np.clip(array.astype(np.float32) * 255, 0, 255).astype(np.uint8)
    return Summary(value=[Summary.Value(tag=tag, image=_png(scaled))])


def as_height_width_channels(array: np.ndarray, dataformats: str) -> np.ndarray:
    """The picture (H, W, C), grey ones in three channels."""
    if "N" in dataformats:
        batch = array.transpose([dataformats.index(d) for d in "NHWC"])
        n, height, width, channels = batch.shape
        columns = min(n, 8)
        rows = -(-n // columns)
        padded = np.concatenate([batch, np.zeros((rows * columns - n, height, width, channels), batch.dtype)])
        grid = padded.reshape(rows, columns, height, width, channels).swapaxes(1, 2)
        array = grid.reshape(rows * height, columns * width, channels)
    elif "C" in dataformats:
        array = array.transpose([dataformats.index(d) for d in "HWC"])
    else:
        array = array.transpose([dataformats.index(d) for d in "HW"])[..., None]
    return np.repeat(array, 3, axis=2) if array.shape[2] == 1 else array


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
    array = np.clip(numbers(sound).squeeze(), -1, 1)
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
