"""torch._dynamo.test_case: PyTorch's TestCase, where its test utilities can be imported: under the shim.

A file of that name would be taken by pytest, which rewrites test_*.py itself, wherever they are imported.
"""

import importlib as _importlib

from .... import names as _names
from ..._missing import missing as _missing


def __getattr__(name: str):
    if name not in ("TestCase", "run_tests"):
        raise AttributeError(f"module 'torch._dynamo.test_case' has no attribute '{name}'")
    if not _names.shim_is_installed:  # `torch` would be PyTorch itself
        return _missing(f"torch._dynamo.test_case.{name}")
    return getattr(_importlib.import_module("torch.testing._internal.common_utils"), name)
