"""torch.utils.tensorboard: numbers, histograms, pictures, sounds, text and more for TensorBoard, if it is installed."""

from __future__ import annotations

try:
    from tensorboard.compat.proto.event_pb2 import Event as _Event
    from tensorboard.compat.proto.event_pb2 import TaggedRunMetadata as _TaggedRunMetadata
    from tensorboard.compat.proto.summary_pb2 import Summary as _Summary
    from tensorboard.summary.writer.event_file_writer import EventFileWriter as _EventFileWriter
except ImportError as _error:
    raise ModuleNotFoundError(
        "torch.utils.tensorboard needs the package tensorboard: pip install tensorboard", name="tensorboard"
    ) from _error

import importlib as _importlib
import os as _os
import socket as _socket
import time as _time

import numpy as _np


def _made(what: str, *args, module: str = "_summaries"):
    """What is written; the kinds of summaries are loaded when the first but a scalar is."""
    return getattr(_importlib.import_module(f".{module}", __package__), what)(*args)


def _number(x) -> float:
    """The one number that x is; AssertionError for more."""
    try:
        return float(x)
    except (TypeError, ValueError):
        shape = _np.shape(x.detach().cpu().numpy() if hasattr(x, "detach") else x)
        if _np.prod(shape) == 1 or not shape:
            raise
        text = "Tensor should contain one element (0 dimensions).             Was given size: {} and {} dimensions."
        raise AssertionError(text.format(int(_np.prod(shape)), len([n for n in shape if n != 1]))) from None


class SummaryWriter:
    """Writes an event file for TensorBoard."""

    def __init__(self, log_dir=None, comment="", purge_step=None, max_queue=10, flush_secs=120, filename_suffix=""):
        stamp = _time.strftime("%b%d_%H-%M-%S")
        self.log_dir = log_dir or _os.path.join("runs", f"{stamp}_{_socket.gethostname()}{comment}")
        self._options = max_queue, flush_secs, filename_suffix
        self._file = None
        self._runs: dict[str, SummaryWriter] = {}  # of add_scalars
        self._embeddings: list = []
        self._writer()

    def _writer(self):
        """What writes the file; after close() another file."""
        if self._file is None:
            self._file = _EventFileWriter(str(self.log_dir), *self._options)
        return self._file

    def add_scalar(self, tag, scalar_value, global_step=None, walltime=None, new_style=False, double_precision=False):
        """One number at a step."""
        if new_style:
            made = _made("scalar", tag, _number(scalar_value), double_precision)
        else:
            made = _Summary(value=[_Summary.Value(tag=tag, simple_value=_number(scalar_value))])
        self._add(made, global_step, walltime)

    def add_scalars(self, main_tag, tag_scalar_dict, global_step=None, walltime=None):
        """Several numbers at a step for one chart: each is written as a run of its own below this one."""
        walltime = walltime or _time.time()
        for name, value in tag_scalar_dict.items():
            folder = f"{self.log_dir}/{main_tag.replace('/', '_')}_{name}"
            if folder not in self._runs:
                self._runs[folder] = SummaryWriter(folder, "", None, *self._options)
            self._runs[folder].add_scalar(main_tag, value, global_step, walltime)

    def add_tensor(self, tag, tensor, global_step=None, walltime=None):
        """All numbers of a tensor."""
        self._add(_made("tensor", tag, tensor), global_step, walltime)

    def add_histogram(self, tag, values, global_step=None, bins="tensorflow", walltime=None, max_bins=None):
        """How many values lie in each bin."""
        self._add(_made("histogram", tag, values, bins, max_bins), global_step, walltime)

    def add_histogram_raw(
        self, tag, min, max, num, sum, sum_squares, bucket_limits, bucket_counts, global_step=None, walltime=None
    ):
        """A histogram of which everything is known."""
        if len(bucket_limits) != len(bucket_counts):
            raise ValueError("len(bucket_limits) != len(bucket_counts), see the document.")
        made = _made("histogram_raw", tag, min, max, num, sum, sum_squares, bucket_limits, bucket_counts)
        self._add(made, global_step, walltime)

    def add_image(self, tag, img_tensor, global_step=None, walltime=None, dataformats="CHW"):
        """A picture; floats are of 0 to 1, uint8 of 0 to 255."""
        self._add(_made("image", tag, img_tensor, dataformats), global_step, walltime)

    def add_images(self, tag, img_tensor, global_step=None, walltime=None, dataformats="NCHW"):
        """Pictures side by side, eight in a row."""
        self._add(_made("image", tag, img_tensor, dataformats), global_step, walltime)

    def add_image_with_boxes(
        self, tag, img_tensor, box_tensor, global_step=None, walltime=None, rescale=1, dataformats="CHW", labels=None
    ):
        """A picture with red frames (N, 4): left, top, right, bottom; with labels, one for each frame."""
        labels = [labels] if isinstance(labels, str) else labels
        if labels is not None and len(labels) != len(box_tensor):  # another number of labels is ignored, as in PyTorch
            labels = None
        made = _made("image_with_boxes", tag, img_tensor, box_tensor, rescale, dataformats, labels)
        self._add(made, global_step, walltime)

    def add_figure(self, tag, figure, global_step=None, close=True, walltime=None):
        """A matplotlib figure, or several, which are closed afterwards."""
        figures = figure if isinstance(figure, list) else [figure]
        pixels = [_made("pixels_of", f) for f in figures]
        if close:
            from matplotlib import pyplot

            for f in figures:
                pyplot.close(f)
        if isinstance(figure, list):
            self.add_images(tag, _np.stack(pixels), global_step, walltime)
        else:
            self.add_image(tag, pixels[0], global_step, walltime)

    def add_audio(self, tag, snd_tensor, global_step=None, sample_rate=44100, walltime=None):
        """A sound of one channel, numbers of -1 to 1."""
        self._add(_made("audio", tag, snd_tensor, sample_rate), global_step, walltime)

    def add_text(self, tag, text_string, global_step=None, walltime=None):
        """A text, which is shown as Markdown."""
        self._add(_made("text", tag, text_string), global_step, walltime)

    def add_pr_curve(self, tag, labels, predictions, global_step=None, num_thresholds=127, weights=None, walltime=None):
        """Precision and recall of predictions of 0 to 1, at thresholds."""
        self._add(_made("pr_curve", tag, labels, predictions, num_thresholds, weights), global_step, walltime)

    def add_pr_curve_raw(
        self,
        tag,
        true_positive_counts,
        false_positive_counts,
        true_negative_counts,
        false_negative_counts,
        precision,
        recall,
        global_step=None,
        num_thresholds=127,
        weights=None,
        walltime=None,
    ):
        """A curve of precision and recall of which everything is known."""
        counts = true_positive_counts, false_positive_counts, true_negative_counts, false_negative_counts
        self._add(_made("pr_curve_raw", tag, *counts, precision, recall, num_thresholds), global_step, walltime)

    def add_video(self, tag, vid_tensor, global_step=None, fps=4, walltime=None):
        """Films (N, T, C, H, W), side by side; floats are of 0 to 1, uint8 of 0 to 255."""
        self._add(_made("video", tag, vid_tensor, fps), global_step, walltime)

    def add_mesh(self, tag, vertices, colors=None, faces=None, config_dict=None, global_step=None, walltime=None):
        """Points in space (N, points, 3), with colors, and triangles of the numbers of points."""
        self._add(_made("mesh", tag, vertices, colors, faces, config_dict), global_step, walltime)

    def add_custom_scalars(self, layout):
        """How scalars are shown together: {category: {title: ["Multiline" or "Margin", tags]}}."""
        self._add(_made("custom_scalars", layout), None, None)

    def add_custom_scalars_multilinechart(self, tags, category="default", title="untitled"):
        """Several scalars in one chart."""
        self.add_custom_scalars({category: {title: ["Multiline", tags]}})

    def add_custom_scalars_marginchart(self, tags, category="default", title="untitled"):
        """A scalar between two others: the tags of the value, its lower and its upper bound."""
        if len(tags) != 3:
            raise AssertionError(f"Expected 3 tags, got {len(tags)}.")
        self.add_custom_scalars({category: {title: ["Margin", tags]}})

    def add_embedding(self, mat, metadata=None, label_img=None, global_step=None, tag="default", metadata_header=None):
        """Points (N, D) for TensorBoard's projector, with labels and pictures (N, C, H, W)."""
        step = str(global_step or 0).zfill(5)
        folder = f"{step}/{tag.replace('%', '%25').replace('/', '%2f').replace(chr(92), '%5c')}"
        info = _made("embedding", self.get_logdir(), folder, f"{tag}:{step}", mat, metadata, label_img, metadata_header)
        self._embeddings.append(info)
        _made("write_projector", self.get_logdir(), self._embeddings)

    def add_graph(self, model, input_to_model=None, verbose=False, use_strict_trace=True):
        """The operators that a module calls for an input, by the modules that they are in."""
        drawn, where = _made("graph", model, input_to_model, verbose, module="_module_graphs")
        event = _Event(wall_time=_time.time(), graph_def=drawn.SerializeToString())
        self._writer().add_event(event)
        run = _TaggedRunMetadata(tag="step1", run_metadata=where.SerializeToString())
        self._writer().add_event(_Event(wall_time=_time.time(), tagged_run_metadata=run))

    def add_onnx_graph(self, prototxt):
        """The graph of an ONNX file; needs the package onnx."""
        drawn = _made("onnx_graph", prototxt, module="_onnx_graphs")
        self._writer().add_event(_Event(wall_time=_time.time(), graph_def=drawn.SerializeToString()))

    def add_hparams(self, hparam_dict, metric_dict, hparam_domain_discrete=None, run_name=None, global_step=None):
        """Hyperparameters and what came of them, as a run of its own below this one."""
        if not isinstance(hparam_dict, dict) or not isinstance(metric_dict, dict):
            raise TypeError("hparam_dict and metric_dict should be dictionary.")
        with SummaryWriter(_os.path.join(self.log_dir, run_name or str(_time.time()))) as run:
            for made in _made("hparams", hparam_dict, metric_dict, hparam_domain_discrete):
                run._add(made, None, None)
            for name, value in metric_dict.items():
                run.add_scalar(name, value, global_step)

    def _add(self, summary, step, walltime):
        event = _Event(wall_time=walltime or _time.time(), summary=summary)
        if step is not None:
            event.step = int(step)
        self._writer().add_event(event)

    def get_logdir(self) -> str:
        """Where the file is."""
        return str(self.log_dir)

    def __getattr__(self, name):
        if name.startswith("add_"):
            raise NotImplementedError(
                f"torch.utils.tensorboard.SummaryWriter.{name} is not implemented by functorch-core"
            )
        raise AttributeError(name)

    def flush(self):
        """Write what is waiting."""
        if self._file is not None:
            self._file.flush()
        for run in self._runs.values():
            run.flush()

    def close(self):
        """Write what is waiting and close the file; what is added later goes into another one."""
        if self._file is not None:
            self._file.close()
        self._file = None
        for run in self._runs.values():
            run.close()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()
