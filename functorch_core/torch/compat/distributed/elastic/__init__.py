"""torch.distributed.elastic: what starts, watches and restarts the processes of a program."""

from .... import _missing

__getattr__ = _missing.getter(
    __name__, ("agent", "events", "metrics", "multiprocessing", "rendezvous", "timer", "utils")
)
