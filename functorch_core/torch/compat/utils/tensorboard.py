"""torch.utils.tensorboard: scalars, histograms and text for TensorBoard, if it is installed."""

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


class SummaryWriter:
    """Writes scalars to an event file."""

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

    def _add(self, summary, step, walltime):
        event = _Event(wall_time=walltime or _time.time(), summary=summary)
        if step is not None:
            event.step = int(step)
        self._writer().add_event(event)

    def __getattr__(self, name):
        if name.startswith("add_"):
            raise NotImplementedError(
                f"torch.utils.tensorboard.SummaryWriter.{name} is not implemented; add_scalar and add_scalars are"
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
