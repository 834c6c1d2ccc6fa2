"""torch.utils.module_tracker: in which modules a program is."""

from __future__ import annotations

import weakref

from ...tape.graph import register_multi_grad_hook
from ...tape.passes import current_id
from ...tensors.base import Tensor
from ...tensors.pytree import tree_leaves


class ModuleTracker:
    """Context: `parents` are the names of the modules whose forward, or backward pass, is running,
    and "Global"; `is_bw` is whether it is a backward pass.

    >>> class Model(torch.nn.Sequential):
    ...     pass
    >>> model = Model(torch.nn.Identity())
    >>> with torch.utils.module_tracker.ModuleTracker() as tracker:
    ...     _ = model[0].register_forward_pre_hook(lambda *args: print(sorted(tracker.parents)))
    ...     _ = model(torch.ones(1))
    ['Global', 'Model', 'Model.0']
    """

    def __init__(self):
        self.parents = {"Global"}
        self._names: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()
        self._handles: list = []

    @property
    def is_bw(self) -> bool:
        """Whether a backward pass is running."""
        return current_id() != -1

    def __enter__(self):
        from ....nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook

        self._handles = [register_module_forward_pre_hook(self._enters), register_module_forward_hook(self._leaves)]
        return self

    def __exit__(self, *exc):
        for handle in self._handles:
            handle.remove()
        self.parents = {"Global"}

    def name(self, module) -> str:
        """Its name: those of modules inside begin with that of the outermost one, its class's."""
        if module not in self._names:
            root = type(module).__name__
            for path, inner in module.named_modules():
                self._names.setdefault(inner, f"{root}.{path}" if path else root)
        return self._names[module]

    def changes(self):
        """Called before `parents` change."""

    def _set(self, name: str, inside: bool):
        self.changes()
        (self.parents.add if inside else self.parents.discard)(name)

    def _enters(self, module, args):
        name = self.name(module)
        self._set(name, True)
        self._when_differentiated(args, name, False)

    def _leaves(self, module, args, output):
        name = self.name(module)
        self._when_differentiated(output, name, True)
        self._set(name, False)

    def _when_differentiated(self, tree, name: str, inside: bool):
        """Change when the gradients of the tensors in a tree are there."""
        tensors = [x for x in tree_leaves(tree) if isinstance(x, Tensor) and x.requires_grad]
        if tensors:
            self._handles.append(register_multi_grad_hook(tensors, lambda grads: self._set(name, inside)))
