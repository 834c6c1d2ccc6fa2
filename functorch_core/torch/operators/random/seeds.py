"""torch.random: generators and seeds. The numbers are those of PyTorch's CPU generator."""

from __future__ import annotations

import contextlib
import threading

import numpy as np

from ....names import pickles_name_torch
from ...tensors import types as _types
from ...tensors.base import Tensor, from_array
from . import Mt19937Generator

__all__ = ["set_rng_state", "get_rng_state", "manual_seed", "seed", "initial_seed", "fork_rng", "thread_safe_generator"]


class Generator:
    """A stream of random numbers.

    >>> g = torch.Generator().manual_seed(0)
    >>> torch.rand(2, generator=g)
    tensor([0.4963, 0.7682])
    """

    __module__ = "torch._C"

    def __init__(self, device="cpu"):
        self.device = _types.device(device)
        if self.device.type not in ("cpu", "cuda"):
            raise RuntimeError(f"Device type {self.device.type} is not supported for torch.Generator() api.")
        self.bits = Mt19937Generator()

    def __repr__(self):
        return f"<torch._C.Generator object at {id(self):#x}>"

    def __reduce__(self):
        if pickles_name_torch():  # as PyTorch does: seed, offset (of GPU generators), state
            return Generator, (self.device,), (self.initial_seed(), None, self.get_state())
        return _restored, (str(self.device), bytes(self.bits.get_state()))

    def __setstate__(self, state):
        self.set_state(state[2])

    def manual_seed(self, seed: int) -> Generator:
        """Start from a seed; returns the generator."""
        if not hasattr(seed, "__index__"):
            raise RuntimeError(f"manual_seed expected a long, but got {type(seed).__name__}")
        try:
            self.bits.manual_seed(seed)
        except ValueError:
            raise ValueError("Overflow when unpacking long long") from None
        return self

    def seed(self) -> int:
        """Start from a seed that nobody can know; returns it."""
        return self.bits.seed()

    def initial_seed(self) -> int:
        """The seed it started from."""
        return self.bits.initial_seed()

    def get_state(self) -> Tensor:
        """The state as a tensor of bytes."""
        return from_array(self.bits.get_state())

    def set_state(self, new_state: Tensor) -> Generator:
        """Go on from a state."""
        if not isinstance(new_state, Tensor):
            raise TypeError(f"expected a torch.ByteTensor, but got {type(new_state).__name__}")
        if new_state.dtype is not _types.by_name["uint8"]:
            raise TypeError("RNG state must be a torch.ByteTensor")
        self.bits.set_state(np.array(new_state._array()))
        return self

    def clone_state(self) -> Generator:
        """Another generator that goes on from the same state."""
        return Generator(self.device).set_state(self.get_state())

    graphsafe_get_state, graphsafe_set_state = clone_state, lambda self, other: self.set_state(other.get_state())


def _restored(device: str, state: bytes) -> Generator:
    generator = Generator(device)
    generator.bits.set_state(np.frombuffer(state, np.uint8))
    return generator


default_generator = Generator()
default_generator.seed()  # another in each process; a Generator that is made starts from the same


class _Drawing(threading.local):
    """What draws in this thread in place of the default generator, if something does; see keys."""

    bits: Mt19937Generator | None = None


drawing = _Drawing()


def bits_of(generator) -> Mt19937Generator:
    """What draws for a `generator=` argument; None is the default one."""
    if generator is None:
        return drawing.bits or default_generator.bits
    if not isinstance(generator, Generator):
        raise TypeError(f"argument 'generator' must be torch.Generator, not {type(generator).__name__}")
    return generator.bits


def manual_seed(seed) -> Generator:
    """Start the default generator from a seed.

    >>> _ = torch.manual_seed(0)
    """
    return default_generator.manual_seed(int(seed))


def seed() -> int:
    """Start the default generator from a seed that nobody can know; returns it.

    >>> seed = torch.seed()
    >>> torch.initial_seed() == seed
    True
    """
    return default_generator.seed()


def initial_seed() -> int:
    """The seed the default generator started from.

    >>> _ = torch.manual_seed(7)
    >>> torch.initial_seed()
    7
    """
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The state of the default generator.

    >>> state = torch.get_rng_state()
    >>> x = torch.rand(2)
    >>> torch.set_rng_state(state)
    >>> bool((torch.rand(2) == x).all())
    True

    >>> state = torch.random.get_rng_state()
    """
    return default_generator.get_state()


def set_rng_state(new_state: Tensor):
    """Let the default generator go on from a state.

    >>> state = torch.get_rng_state()
    >>> x = torch.rand(2)
    >>> torch.set_rng_state(state)
    >>> bool((torch.rand(2) == x).all())
    True
    """
    default_generator.set_state(new_state)


@contextlib.contextmanager
def fork_rng(devices=None, enabled=True, _caller="fork_rng", _devices_kw="devices", device_type="cuda"):
    """Context: at its end the default generator is as it was at its beginning.

    >>> with torch.random.fork_rng():
    ...   x = torch.rand(2)
    """
    if not enabled:
        yield
        return
    saved = get_rng_state()
    try:
        yield
    finally:
        set_rng_state(saved)


def thread_safe_generator():
    """The generator of a data loader's worker thread: None.

    >>> torch.random.thread_safe_generator() is None
    True
    """
    return None
