"""torch._guards: what is being compiled; here nothing is traced through fake tensors."""

from __future__ import annotations

from ... import _missing

__getattr__ = _missing.getter(__name__)


def active_fake_mode() -> None:
    """The mode of fake tensors that is on: none is."""


def detect_fake_mode(inputs=None) -> None:
    """The mode of fake tensors among values, or that is on: none is."""
