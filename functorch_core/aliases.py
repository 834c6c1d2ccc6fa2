"""Importing one module under several names: the same object, never a copy.

The files of `functorch_core.torch` lie in rooms (tensors, tape, ..., compat); users import its modules
under PyTorch's names. `HOMES` says where a module of PyTorch's lives.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types
from collections.abc import Callable


class AliasLoader(importlib.abc.Loader):
    """Loads a name by importing the module that it stands for."""

    def __init__(self, name: str):
        self.name = name

    def create_module(self, spec):
        """The module itself, already executed."""
        module = importlib.import_module(self.name)
        self.spec = module.__spec__
        return module

    def exec_module(self, module):
        """Nothing to execute; the import system has replaced the spec, which relative imports
        need.

        What a package has imported gets its other name here: if it were imported under that, it would be set in the
        package, perhaps over a function that has the name of its file (torch.nn.utils.weight_norm).
        """
        alias = module.__spec__.name
        module.__spec__ = self.spec
        for name in [n for n in sys.modules if n.startswith(f"{self.name}.")]:
            sys.modules.setdefault(alias + name.removeprefix(self.name), sys.modules[name])

    def get_code(self, name):
        """The module's code, for `python -m`."""
        spec = importlib.util.find_spec(self.name)
        return spec.loader.get_code(self.name)


class AliasFinder(importlib.abc.MetaPathFinder):
    """Finds names that `target_of` translates to the name of another module."""

    def __init__(self, target_of: Callable[[str], str | None]):
        self.target_of = target_of

    def find_spec(self, fullname, path=None, target=None):
        """A spec for an alias, None for every other name."""
        name = self.target_of(fullname)
        known = fullname in sys.modules
        found = None if name is None else _spec_of(name)
        if name is None or found is None:
            return None
        if not known:  # its package has imported it: importlib would take that spec, and execute the file once more
            sys.modules.pop(fullname, None)
        spec = importlib.machinery.ModuleSpec(fullname, AliasLoader(name), origin=name)
        if found.submodule_search_locations is not None:
            spec.submodule_search_locations = []  # a package; others can be run by `python -m`
        return spec


def _spec_of(name: str) -> importlib.machinery.ModuleSpec | None:
    try:
        return importlib.util.find_spec(name)
    except (ModuleNotFoundError, ValueError):
        return None


def exists(name: str) -> bool:
    """Whether a module of that name can be imported."""
    return _spec_of(name) is not None


def after_loading(loader, function: Callable[[types.ModuleType], None]):
    """Let a loader call function(module) when it has executed one."""
    execute = loader.exec_module

    def exec_module(module):
        execute(module)
        function(module)

    loader.exec_module = exec_module


# ---- where PyTorch's modules live ----------------------------------------------------------------

TORCH = "functorch_core.torch"
# Room -> the modules in it that PyTorch has, by PyTorch's name: all of that name, or `name=file`.
ROOMS = {
    "namespaces": "autograd fft func functional linalg signal sparse special",
    "tensors": "utils._pytree=pytree",
    "tape": "autograd.anomaly_mode=anomaly_mode autograd.grad_mode=grad_mode autograd.graph=graph",
    "levels": "autograd.forward_ad=forward_ad autograd.function=function",
    "dispatch": "_tensor=members amp.autocast_mode=autocast",
    "operators": "autograd.gradcheck=func.gradcheck random=random.seeds return_types",
    "compat": """_C _dynamo.test_case=_dynamo.case _inductor.test_case=private.inductor.case
        __config__ __future__ _dynamo _subclasses _tensor_str=tensor_str amp compiler
        distributed distributions futures fx hub jit library masked monitor multiprocessing nested onnx overrides
        profiler quasirandom serialization storage testing torch_version types utils version
        _library=library.custom_ops _ops=library.ops
        _utils=serialization.rebuilders
        classes=library.classes ops=library.ops
        _VF=private.VF _export=private.export _functorch=private.functorch _inductor=private.inductor
        _logging=private.logging _prims_common=private.prims_common _refs=private.refs
        _guards=private.guards _utils_internal=private.utils_internal
        _vendor=private.vendor _vmap_internals=private.vmap_internals
        accelerator=devices.accelerator backends=devices.backends cpu=devices.cpu cuda=devices.cuda
        cpu.amp=devices.cpu_amp mps=devices.mps mtia=devices.mtia xpu=devices.xpu
        autograd.functional=autograd.functional
        autograd.profiler=autograd.profiler autograd.profiler_legacy=autograd.profiler_legacy
        autograd.profiler_util=autograd.profiler_util""",
}
# torch.nn is functorch_core.nn, under the name that `import functorch_core.torch as torch` suggests.
HOMES = {"utils.data": "functorch_core.data", "nn": "functorch_core.nn", "optim": "functorch_core.optim"}
for _room, _names in ROOMS.items():
    for _name in _names.split():
        _name, _, _file = _name.partition("=")
        HOMES[_name] = f"{TORCH}.{_room}.{_file or _name}"
_PUBLIC = {home: name for name, home in HOMES.items()}
OUTSIDE = tuple([home for home in HOMES.values() if not home.startswith(TORCH)])  # folders beside that of the package
NOT_INSTALLED = (
    "{name}: {home} is not there. A checkout has it beside the package, where Python finds it once the checkout is "
    "installed: run `pip install -e .` in it (a path to it, as in PYTHONPATH, is not enough)"
)
# Former names of modules, which packages still import.
HOMES |= {"distributed._tensor": f"{TORCH}.compat.distributed.tensor", "_custom_ops": f"{TORCH}.compat.library"}


def home_of(name: str) -> str | None:
    """The module in which functorch_core.torch.NAME lives, None if it is nowhere else."""
    if not name.startswith(TORCH + "."):
        return None
    return _translated(name.removeprefix(TORCH + "."), HOMES)


def public_name(module: str) -> str:
    """The name under which users import a module of the PyTorch face: functorch_core.torch.fx."""
    found = _translated(module, _PUBLIC) if module.startswith(TORCH + ".") else None
    return module if found is None else f"{TORCH}.{found}"


def _translated(name: str, table: dict[str, str]) -> str | None:
    """The name with the longest prefix that the table has replaced."""
    prefix = name
    while prefix:
        if prefix in table:
            return table[prefix] + name[len(prefix) :]
        prefix = prefix.rpartition(".")[0]
    return None


class _TorchFinder(AliasFinder):
    """Finds PyTorch's modules where they live, and lets them say their public name."""

    def find_spec(self, fullname, path=None, target=None):
        """A spec for an alias, or for a module that has one."""
        public = public_name(fullname)
        if public == fullname:
            spec, home = super().find_spec(fullname, path, target), home_of(fullname)
            if spec is None and home in OUTSIDE:
                raise ModuleNotFoundError(NOT_INSTALLED.format(name=fullname, home=home), name=fullname)
            return spec
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            after_loading(spec.loader, _tell_public_name)
        return spec


def _tell_public_name(module: types.ModuleType):
    """Let a module and what it defines say the name under which users know them."""
    own = module.__name__
    public = public_name(own)
    if sys.modules.setdefault(public, module) is module:
        retitle(vars(module), own, public)
        module.__name__ = public


def retitle(contents: dict, old: str, new: str, record: list | None = None):
    """Let classes and functions of one module name another; `record` gets them with what they said."""
    for thing in list(contents.values()):
        if isinstance(thing, (type, types.FunctionType)) and thing.__module__ == old:
            if record is not None:
                record.append((thing, old, thing.__qualname__))
            thing.__module__ = new
            if isinstance(thing, type):
                retitle(vars(thing), old, new, record)


def place_behind() -> int:
    """The place in sys.meta_path behind the shim's finder, wherever that is (pytest puts one of its own first)."""
    return max((i + 1 for i, finder in enumerate(sys.meta_path) if isinstance(finder, AliasFinder)), default=0)


inner = _TorchFinder(home_of)
