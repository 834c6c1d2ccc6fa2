"""torch.utils.checkpoint: compute again in backward instead of keeping."""

from __future__ import annotations

import contextlib
import enum
import weakref
from collections.abc import Callable, Sequence

from ....core.warn import warn
from ... import get_rng_state, set_rng_state
from ...dispatch.autocast import autocast, get_autocast_dtype, is_autocast_cache_enabled, is_autocast_enabled
from ...dispatch.overrides import TorchFunctionMode
from ...levels.function import Function
from ...tape.backward import backward
from ...tape.modes import enable_grad, grad_mode, is_grad_enabled
from ...tape.passes import current_pass
from ...tape.saved import saved_tensors_hooks
from ...tensors.base import Tensor
from ...tensors.pytree import tree_leaves
from ..library.ops import OpOverload, OpOverloadPacket
from ..settings import get_device_module

NO_GRAD_INPUT = "None of the inputs have requires_grad=True. Gradients will be None"
USE_REENTRANT = (
    "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. "
    "Starting in PyTorch 2.9, calling checkpoint without use_reentrant will raise an "
    "exception. use_reentrant=False is recommended, but if you need to preserve the "
    "current default behavior, you can pass use_reentrant=True. Refer to docs for "
    "more details on the differences between the two variants."
)
UNPACK_TWICE = (
    "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already "
    "unpacked once. If you are calling ctx.saved_tensors in backward, make sure to do "
    "so only once."
)
DIFFERENT = (
    "torch.utils.checkpoint: A different number of tensors was saved during the original "
    "forward and recomputation.\nNumber of tensors saved during forward: {forward}\n"
    "Number of tensors saved during recomputation: {again}.{hint}"
)
MORE = (
    "torch.utils.checkpoint: trying to save more tensors during recomputation than during the original forward pass.\n"
)
LOGGED = (
    "Detected non-determinism while running activation checkpointing\n\nYou are seeing this error because you passed "
    "`debug=True` to checkpoint and tensors to be saved during the original forward and differ between those saved "
    "during recomputation. This can happen if different operators were ran in the original forward and in the "
    "recomputation.\n\nOperations executed during the original forward:\n\n{forward}\n\n"
    "Operations executed during recomputation:\n\n{again}\n"
)
METADATA = (
    "torch.utils.checkpoint: Recomputed values for the following tensors have different "
    "metadata than during the forward pass.\n{details}"
)

_settings = {"debug": None, "early_stop": True}


class CheckpointError(RuntimeError):
    """The recomputation did not do what forward did.

    >>> from torch.utils.checkpoint import CheckpointError
    >>> issubclass(CheckpointError, RuntimeError)
    True
    """


def noop_context_fn():
    """Two contexts that do nothing: for forward and for the recomputation.

    >>> from torch.utils.checkpoint import checkpoint, noop_context_fn
    >>> checkpoint(torch.sin, torch.zeros(2), use_reentrant=False, context_fn=noop_context_fn)
    tensor([0., 0.])
    """
    return contextlib.nullcontext(), contextlib.nullcontext()


def checkpoint(
    function: Callable,
    *args,
    use_reentrant: bool | None = None,
    context_fn: Callable = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    preserve_rng_state: bool = True,
    **kwargs,
):
    """function(*args, **kwargs), of which backward keeps nothing but the arguments: what it needs
    is computed again then (with the same random numbers if `preserve_rng_state`).

    `use_reentrant=False` (recommended) works with everything autograd does; `True` needs an input
    that requires grad, and `.backward()`.

    >>> x = torch.ones(2, requires_grad=True)
    >>> torch.utils.checkpoint.checkpoint(torch.sin, x, use_reentrant=False).sum().backward()
    """
    if use_reentrant is None:
        warn(USE_REENTRANT)
        use_reentrant = True
    if not use_reentrant:
        debug = debug if _settings["debug"] is None else _settings["debug"]
        return _saving_nothing(
            function, args, kwargs, preserve_rng_state, context_fn, determinism_check, early_stop, debug
        )
    if context_fn is not noop_context_fn or debug:
        raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    return CheckpointFunction.apply(function, preserve_rng_state, *args)


class Randomness:
    """The state of the random generators, to be restored for a while.

    >>> from torch.utils.checkpoint import Randomness
    >>> kept = Randomness(True)
    >>> first = torch.rand(2)
    >>> with kept.again():
    ...   torch.equal(first, torch.rand(2))
    True
    """

    def __init__(self, preserve: bool):
        self.state = _rng_state() if preserve else None

    @contextlib.contextmanager
    def again(self):
        """Context: the numbers drawn after this object was made come once more."""
        if self.state is None:
            yield
            return
        now = _rng_state()
        _set_rng_state(self.state)
        try:
            yield
        finally:
            _set_rng_state(now)


def _rng_state():
    return get_rng_state()


def _set_rng_state(saved):
    set_rng_state(saved)


def get_device_states(*args) -> tuple[list[int], list]:
    """The indices of the devices of the tensors in args, except the CPU, and the states of their generators.

    >>> from torch.utils.checkpoint import get_device_states
    >>> get_device_states(torch.ones(2))
    ([], [])
    """
    tensors = [x for x in tree_leaves(args) if isinstance(x, Tensor) and x.device.type not in ("cpu", "meta")]
    found = dict.fromkeys((x.device.type, x.get_device()) for x in tensors)
    return [i for _, i in found], [get_device_module(kind).get_rng_state(i) for kind, i in found]


def set_device_states(devices: Sequence[int], states: Sequence, *, device_type: str | None = None):
    """Let the generators of devices go on from states, as get_device_states returns them.

    >>> from torch.utils.checkpoint import get_device_states, set_device_states
    >>> set_device_states(*get_device_states(torch.ones(2)))
    """
    kind = DefaultDeviceType.get_device_type() if device_type is None else device_type
    if kind == "meta":
        return
    for index, state in zip(devices, states):
        get_device_module(kind).set_rng_state(state, index)


# ---- reentrant: a Function whose backward runs another backward pass -----------------------------


def check_backward_validity(inputs: Sequence):
    """Warn if no input requires grad.

    >>> from torch.utils.checkpoint import check_backward_validity
    >>> check_backward_validity((torch.ones(2, requires_grad=True),))
    """
    if not any(getattr(x, "requires_grad", False) for x in inputs):
        warn(NO_GRAD_INPUT)


def detach_variable(inputs: tuple) -> tuple:
    """The inputs as leaves.

    >>> from torch.utils.checkpoint import detach_variable
    >>> x = torch.ones(2, requires_grad=True) * 2
    >>> detach_variable((x, 3))
    (tensor([2., 2.], requires_grad=True), 3)
    """
    if not isinstance(inputs, tuple):
        raise RuntimeError(f"Only tuple of tensors is supported. Got Unsupported input type: {type(inputs).__name__}")
    return tuple([x.detach().requires_grad_(x.requires_grad) if hasattr(x, "_edge") else x for x in inputs])


class CheckpointFunction(Function):
    """forward without a tape; backward computes again with one, and goes back through it.

    >>> from torch.utils.checkpoint import CheckpointFunction
    >>> issubclass(CheckpointFunction, torch.autograd.Function)
    True
    """

    @staticmethod
    def forward(ctx, run_function, preserve_rng_state, *args):
        """Call run_function without recording."""
        check_backward_validity(args)
        ctx.run_function, ctx.randomness = run_function, Randomness(preserve_rng_state)
        ctx.others = [None if hasattr(x, "_edge") else x for x in args]
        ctx.places = [i for i, x in enumerate(args) if hasattr(x, "_edge")]
        ctx.save_for_backward(*[args[i] for i in ctx.places])
        return run_function(*args)

    @staticmethod
    def backward(ctx, *grads):
        """Call it again, recording, and run a backward pass over that."""
        if current_pass().wanted is not None:
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible "
                "with .grad() or passing an `inputs` parameter to .backward(). To "
                "resolve this error, you can either set use_reentrant=False, or "
                "call .backward() without passing the `inputs` argument."
            )
        inputs = list(ctx.others)
        for i, x in zip(ctx.places, ctx.saved_tensors):
            inputs[i] = x
        inputs = detach_variable(tuple(inputs))
        with ctx.randomness.again(), enable_grad():
            outputs = ctx.run_function(*inputs)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        pairs = [(y, g) for y, g in zip(outputs, grads) if getattr(y, "requires_grad", False)]
        if not pairs:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        backward([y for y, _ in pairs], [g for _, g in pairs])
        return (None, None, *[x._grad if hasattr(x, "_edge") else None for x in inputs])


# ---- not reentrant: what is saved is a note where to find it -------------------------------------


class _Note:
    """A saved tensor that is not kept: number `index` of its checkpoint."""

    __slots__ = ("index",)

    def __init__(self, index: int):
        self.index = index


class _Stop(Exception):
    """Everything that backward needs has been computed again."""


class Region:
    """One call of checkpoint: how to run it again, and notes of what it would have saved.

    What is computed again lasts for one backward pass, each of them taken once.

    >>> from torch.utils.checkpoint import Region
    >>> Region(print, early_stop=True, check="default").saved
    []
    """

    def __init__(self, run: Callable, early_stop: bool, check: str):
        self.run, self.early_stop, self.check = run, early_stop, check
        self.saved: list[dict] = []  # shape, dtype and device of what forward saved
        self.done = False  # whether forward has returned: a function that differentiates inside of it asks before
        self.again: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()  # pass -> index -> tensor

    def pack(self, tensor) -> _Note:
        """Save a note instead of the tensor."""
        self.saved.append(_described(tensor))
        return _Note(len(self.saved) - 1)

    def unpack(self, note: _Note):
        """The tensor of a note; the first one asked for computes all."""
        running = current_pass()
        if running is None:
            return self.compute()[note.index]
        found = self.again.get(running)
        if found is None:
            found = self.again[running] = self.compute()
        if note.index not in found:
            raise CheckpointError(UNPACK_TWICE)
        return found.pop(note.index)

    def compute(self) -> dict:
        """Run again: what is saved then, in the order of the first run."""
        found: dict = {}

        def pack(tensor):
            tensor = tensor.detach() if tensor.requires_grad else tensor
            if len(found) < len(self.saved):
                found[len(found)] = tensor
            elif not self.early_stop and self.done:
                raise CheckpointError(MORE)
            if self.early_stop and len(found) == len(self.saved):
                raise _Stop
            return tensor

        with saved_tensors_hooks(pack, lambda tensor: tensor), grad_mode(True), contextlib.suppress(_Stop):
            self.run()
        if len(found) < len(self.saved):
            raise CheckpointError(DIFFERENT.format(forward=len(self.saved), again=len(found), hint=""))
        if self.check == "default":
            self._compare(found)
        return found

    def _compare(self, found: dict):
        """CheckpointError if something else is saved than in forward."""
        pairs = [(i, now, _described(found[i])) for i, now in enumerate(self.saved)]
        details = [
            f"tensor at position {i}:\nsaved metadata: {then}\nrecomputed metadata: {now}\n"
            for i, then, now in pairs
            if then != now
        ]
        if details:
            raise CheckpointError(METADATA.format(details="".join(details)))


def _described(tensor) -> dict:
    return {"shape": tensor.shape, "dtype": tensor.dtype, "device": tensor.device}


def _saving_nothing(function, args, kwargs, preserve: bool, context_fn, check: str, early_stop: bool, debug: bool):
    if check not in ("default", "none"):
        raise ValueError(f"determinism_check should be one of ['default', 'none'] but got {check}")
    if debug:
        if context_fn is not noop_context_fn:
            raise ValueError("debug=True is incompatible with non-default context_fn")
        forward_context, again_context = _Log(), _Log()
    else:
        forward_context, again_context = context_fn()
    if not is_grad_enabled():
        with forward_context:
            return function(*args, **kwargs)
    randomness = Randomness(preserve)
    casts = _autocast_again()

    def run_again():
        with randomness.again(), casts(), again_context:
            function(*args, **kwargs)

    region = Region(run_again, _settings["early_stop"] and early_stop, check)
    unpack = _explained(region.unpack, forward_context, again_context) if debug else region.unpack
    with saved_tensors_hooks(region.pack, unpack), forward_context:
        made = function(*args, **kwargs)
    region.done = True
    return made


class _Log(TorchFunctionMode):
    """Context: notes the functions that are called."""

    def __init__(self):
        super().__init__()
        self.lines: list[str] = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        made = func(*args, **(kwargs or {}))
        text = ", ".join(_named(x) for x in args)
        self.lines.append(f"{_named(made)} = {getattr(func, '__name__', func)}({text})")
        return made


def _named(x) -> str:
    return f"{x.dtype}{list(x.shape)}".removeprefix("torch.") if hasattr(x, "_edge") else repr(x)


def _explained(unpack: Callable, forward: _Log, again: _Log) -> Callable:
    """The unpack hook, whose error has the functions that forward and the recomputation called."""

    def explained(note):
        try:
            return unpack(note)
        except CheckpointError as error:
            first, second = ("\n".join(log.lines) for log in (forward, again))
            raise CheckpointError(LOGGED.format(forward=first, again=second)) from error

    return explained


def _autocast_again():
    """A maker of contexts in which autocast is as it is now."""
    now = [
        {
            "device_type": device,
            "dtype": get_autocast_dtype(device),
            "enabled": is_autocast_enabled(device),
            "cache_enabled": is_autocast_cache_enabled(),
        }
        for device in ("cuda", "cpu")
    ]

    @contextlib.contextmanager
    def again():
        needed = [settings for settings in now if settings["enabled"] or is_autocast_enabled(settings["device_type"])]
        with contextlib.ExitStack() as stack:
            for settings in needed:
                stack.enter_context(autocast(**settings))
            yield

    return again


# ---- several at once, and settings ---------------------------------------------------------------


def checkpoint_sequential(functions, segments: int, input, use_reentrant: bool | None = None, **kwargs):
    """Apply functions (or a Sequential) one after the other, in `segments` checkpoints; the last
    segment is not one.

    >>> from torch.utils.checkpoint import checkpoint_sequential
    >>> net = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
    >>> checkpoint_sequential(net, 2, torch.ones(4, 2, requires_grad=True), use_reentrant=False).sum().backward()
    >>> net[0].weight.grad.shape
    torch.Size([3, 2])
    """
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    if use_reentrant is None:
        warn(USE_REENTRANT)
        use_reentrant = True
    functions = list(functions.children()) if hasattr(functions, "children") else list(functions)

    def chain(part):
        def run(x):
            for f in part:
                x = f(x)
            return x

        return run

    size = len(functions) // segments
    for k in range(segments - 1):
        input = checkpoint(
            chain(functions[k * size : (k + 1) * size]), input, use_reentrant=use_reentrant, preserve_rng_state=preserve
        )
    return chain(functions[(segments - 1) * size :])(input)


@contextlib.contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None):
    """Context: whether errors of checkpoints have the functions that were called, whatever their `debug` says.

    >>> from torch.utils.checkpoint import checkpoint, set_checkpoint_debug_enabled
    >>> with set_checkpoint_debug_enabled(True):
    ...   checkpoint(torch.sin, torch.zeros(2), use_reentrant=False)
    tensor([0., 0.])
    """
    before, _settings["debug"] = _settings["debug"], enabled
    try:
        yield
    finally:
        _settings["debug"] = before


@contextlib.contextmanager
def set_checkpoint_early_stop(enable: bool):
    """Context: whether a recomputation stops as soon as backward has what it needs.

    >>> from torch.utils.checkpoint import checkpoint, set_checkpoint_early_stop
    >>> with set_checkpoint_early_stop(False):
    ...   checkpoint(torch.sin, torch.zeros(2), use_reentrant=False)
    tensor([0., 0.])
    """
    before, _settings["early_stop"] = _settings["early_stop"], enable
    try:
        yield
    finally:
        _settings["early_stop"] = before


class CheckpointPolicy(enum.Enum):
    """What a selective checkpoint does with an operation's result.

    >>> from torch.utils.checkpoint import CheckpointPolicy
    >>> CheckpointPolicy.MUST_SAVE.name
    'MUST_SAVE'
    """

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4


class SelectiveCheckpointContext:
    """What a policy function of a selective checkpoint is told.

    >>> from torch.utils.checkpoint import SelectiveCheckpointContext
    >>> SelectiveCheckpointContext(is_recompute=False).is_recompute
    False
    """

    def __init__(self, *, is_recompute: bool, **kwargs):
        self.is_recompute = is_recompute
        self.__dict__.update(kwargs)


def create_selective_checkpoint_contexts(policy_fn_or_list, allow_cache_entry_mutation=False):
    """Two contexts for `context_fn`. The policy is not asked: everything is computed again, which
    gives the same results.

    >>> import functools
    >>> from torch.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts
    >>> save_products = functools.partial(create_selective_checkpoint_contexts, [torch.ops.aten.mm.default])
    >>> x = torch.ones(2, 2, requires_grad=True)
    >>> checkpoint(lambda x: (x @ x).sin(), x, use_reentrant=False, context_fn=save_products).sum().backward()
    >>> x.grad.shape
    torch.Size([2, 2])
    """
    if not callable(policy_fn_or_list) and not isinstance(policy_fn_or_list, list):
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    for op in policy_fn_or_list if isinstance(policy_fn_or_list, list) else ():
        if not isinstance(op, OpOverload):
            raise ValueError(
                NO_OVERLOAD.format(op=op, type=type(op), more=PACKET if isinstance(op, OpOverloadPacket) else "")
            )
    return noop_context_fn()


NO_OVERLOAD = "Expected op in `op_list` to be an OpOverload but got: {op} of type {type}. {more}"
PACKET = (
    "Please update the OpOverloadPacket to a specific OpOverload.For example, if you have `torch.ops.aten.mm`, change "
    "it to `torch.ops.aten.mm.default`."
)


class DefaultDeviceType:
    """The device whose random state reentrant checkpoints keep, beside the CPU's.

    >>> from torch.utils.checkpoint import DefaultDeviceType
    >>> isinstance(DefaultDeviceType.get_device_type(), str)
    True
    """

    _default_device_type = "cuda"

    @staticmethod
    def set_device_type(device: str = "cuda"):
        """Set it."""
        DefaultDeviceType._default_device_type = device

    @staticmethod
    def get_device_type() -> str:
        """Get it."""
        return DefaultDeviceType._default_device_type
