"""torch._vendor.packaging.version: versions that compare by numbers."""

from ....torch_version import TorchVersion

Version = parse = TorchVersion
