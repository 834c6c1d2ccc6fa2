"""jax.sharding: how arrays lie on several devices."""

from __future__ import annotations

from .xla import Mesh, NamedSharding, PartitionSpec, SingleDeviceSharding

Sharding = NamedSharding | SingleDeviceSharding  # what x.sharding is, for isinstance

__all__ = ["Mesh", "NamedSharding", "PartitionSpec", "Sharding", "SingleDeviceSharding"]
