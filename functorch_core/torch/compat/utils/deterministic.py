"""torch.utils.deterministic: one switch, which can be assigned."""

import sys
import types

from .. import settings


class _Module(types.ModuleType):
    @property
    def fill_uninitialized_memory(self) -> bool:
        """Whether empty tensors are filled while deterministic algorithms are on."""
        return settings.get_fill_uninitialized_memory()

    @fill_uninitialized_memory.setter
    def fill_uninitialized_memory(self, mode: bool):
        settings.set_fill_uninitialized_memory(mode)


sys.modules[__name__].__class__ = _Module
