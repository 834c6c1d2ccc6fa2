"""torch.utils.tensorboard: numbers, histograms, pictures, sounds, text and more for TensorBoard, if it is installed."""

from __future__ import annotations

try:
    from tensorboard.compat.proto.event_pb2 import Event as _Event
    from tensorboard.compat.proto.summary_pb2 import Summary as _Summary
    from tensorboard.summary.writer.event_file_writer import EventFileWriter as _EventFileWriter
except ImportError as _error:
    raise ModuleNotFoundError(
        "torch.utils.tensorboard needs the package tensorboard: pip install tensorboard", name="tensorboard"
    ) from _error

import os as _os
import time as _time

import numpy as _np


def _made(what: str, *args):
    """What is written; the kinds of summaries are loaded when the first but a scalar is."""
    from . import _summaries

    return getattr(_summaries, what)(*args)


class SummaryWriter:
    """Writes an event file for TensorBoard."""

    def __init__(self, log_dir=None, comment="", purge_step=None, max_queue=10, flush_secs=120, filename_suffix=""):
        stamp = _time.strftime("%b%d_%H-%M-%S")
        self.log_dir = log_dir or _os.path.join("runs", stamp + comment)
        self._options = max_queue, flush_secs, filename_suffix
        self._file = None
        self._writer()

    def _writer(self):
        """What writes the file; after close() another file."""
        if self._file is None:
            self._file = _EventFileWriter(str(self.log_dir), *self._options)
        return self._file

    def add_scalar(self, tag, scalar_value, global_step=None, walltime=None, new_style=False, double_precision=False):
        """One number at a step."""
        value = float(scalar_value)
        self._add(_Summary(value=[_Summary.Value(tag=tag, simple_value=value)]), global_step, walltime)

    def add_scalars(self, main_tag, tag_scalar_dict, global_step=None, walltime=None):
        """Several numbers at a step, as main_tag/name."""
        for name, value in tag_scalar_dict.items():
            self.add_scalar(f"{main_tag}/{name}", value, global_step, walltime)

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

    def close(self):
        """Write what is waiting and close the file; what is added later goes into another one."""
        if self._file is not None:
            self._file.close()
        self._file = None

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()
