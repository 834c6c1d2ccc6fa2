"""torch.utils.hooks: handles of hooks, and how a module's backward hooks get at its gradients."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence

from ....core.warn import warn
from ...levels.function import Function
from ...tape.modes import state
from ...tensors.base import Tensor


class RemovableHandle:
    """What registering a hook returns: remove() takes the hook away.

    >>> handle = nn.ReLU().register_forward_hook(lambda module, args, output: None)
    >>> isinstance(handle, torch.utils.hooks.RemovableHandle)
    True
    """

    __module__ = "torch.utils.hooks"
    next_id = 0

    def __init__(self, hooks_dict, *, extra_dict=None):
        self.hooks_dict_ref = weakref.ref(hooks_dict)
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1
        extra = [] if extra_dict is None else (extra_dict if isinstance(extra_dict, list) else [extra_dict])
        self.extra_dict_ref = tuple([weakref.ref(d) for d in extra])

    def remove(self):
        """Take the hook away."""
        for ref in (self.hooks_dict_ref, *self.extra_dict_ref):
            hooks = ref()
            if hooks is not None:
                hooks.pop(self.id, None)

    def __getstate__(self):
        return self.hooks_dict_ref(), self.id, tuple([ref() for ref in self.extra_dict_ref])

    def __setstate__(self, state):
        hooks, self.id = state[:2]
        self.hooks_dict_ref = weakref.ref(OrderedDict() if hooks is None else hooks)
        RemovableHandle.next_id = max(RemovableHandle.next_id, self.id + 1)
        extra = (state[2] if len(state) > 2 else None) or ()
        self.extra_dict_ref = tuple([weakref.ref(d) for d in extra])

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.remove()


def unserializable_hook(f: Callable) -> Callable:
    """Mark a hook so that saving its tensor gives no warning.

    >>> torch.utils.hooks.unserializable_hook(lambda grad: grad).__torch_unserializable__
    True
    """
    f.__torch_unserializable__ = True
    return f


def warn_if_has_hooks(tensor):
    """Accepted for compatibility: hooks are never saved.

    >>> torch.utils.hooks.warn_if_has_hooks(torch.ones(2))
    """


class BackwardHookFunction(Function):
    """The identity: a node of the tape at which a module's hooks are called."""

    @staticmethod
    def forward(ctx, *args):
        ctx.mark_non_differentiable(*[x for x in args if not x.requires_grad])
        return args

    @staticmethod
    def backward(ctx, *grads):
        return grads


WRONG_INPUTS = "Backward hook returned an invalid number of grad_input, got {got}, but expected {expected}"
WRONG_OUTPUTS = "Backward pre hook returned an invalid number of grad_output, got {got}, but expected {expected}"
NO_INPUT_GRAD = (
    "Full backward hook is firing when gradients are computed with respect to module "
    "outputs since no inputs require gradients. See "
    "https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html"
    "#torch.nn.Module.register_full_backward_hook for more details."
)
MUST_BE_NONE = (
    "Backward hook for Modules where no input requires gradient should always return None or None for all gradients."
)


class BackwardHook:
    """The full backward hooks of one call of a module.

    The call's inputs and its outputs go through a node each. When the gradients pass the outputs'
    node they are remembered, and the pre-hooks run; when they pass the inputs' node the hooks run
    with both.

    >>> from torch.utils.hooks import BackwardHook
    >>> hook = BackwardHook(nn.Identity(), [lambda module, grad_input, grad_output: print(grad_input, grad_output)], [])
    >>> x, = hook.setup_input_hook((torch.ones(1, requires_grad=True),))
    >>> hook.setup_output_hook(x * 2).backward()
    (tensor([2.]),) (tensor([1.]),)
    """

    def __init__(self, module, user_hooks: Sequence, user_pre_hooks: Sequence):
        self.module, self.user_hooks, self.user_pre_hooks = module, user_hooks, user_pre_hooks
        self.grad_outputs = None
        self.n_inputs = self.n_outputs = -1
        self.input_places = self.output_places = None  # which arguments are tensors

    def setup_input_hook(self, args: tuple) -> tuple:
        """The arguments of the call, behind a node."""
        self.n_inputs = len(args)
        args, self.input_places = _behind_node(args, self._on_inputs)
        return args

    def setup_output_hook(self, result):
        """The result of the call, behind a node."""
        outputs = result if isinstance(result, tuple) else (result,)
        self.n_outputs = len(outputs)
        outputs, self.output_places = _behind_node(outputs, self._on_outputs)
        return outputs if isinstance(result, tuple) else outputs[0]

    def _on_inputs(self, grad_inputs, _):
        if self.grad_outputs is None:
            return None
        grads = _spread(self.input_places, grad_inputs, self.n_inputs)
        for hook in self.user_hooks:
            new = hook(self.module, grads, self.grad_outputs)
            grads = _replaced(grads, new, WRONG_INPUTS)
        self.grad_outputs = None
        return tuple([grads[i] for i in self.input_places])

    def _on_outputs(self, _, grad_outputs):
        grads = _spread(self.output_places, grad_outputs, self.n_outputs)
        for hook in self.user_pre_hooks:
            grads = _replaced(grads, hook(self.module, grads), WRONG_OUTPUTS)
        self.grad_outputs = grads
        if self.input_places is None:
            self._fire_without_inputs()
        return tuple([grads[i] for i in self.output_places])

    def _fire_without_inputs(self):
        warn(NO_INPUT_GRAD)
        nothing = (None,) * self.n_inputs
        for hook in self.user_hooks:
            found = hook(self.module, nothing, self.grad_outputs)
            if found is not None and not (isinstance(found, tuple) and set(found) <= {None}):
                raise RuntimeError(MUST_BE_NONE)
        self.grad_outputs = None


def _behind_node(args: tuple, hook: Callable):
    """(args with the tensors behind an identity that calls the hook, the tensors' places); the args
    themselves and None where nothing requires grad."""
    places = [i for i, x in enumerate(args) if isinstance(x, Tensor)]
    if not state.enabled or not any(args[i].requires_grad for i in places):
        return args, None
    out = list(args)
    for i, x in zip(places, BackwardHookFunction.apply(*[args[i] for i in places])):
        out[i] = x
    node = next(out[i].grad_fn for i in places if out[i].grad_fn is not None)
    node.register_hook(hook)
    return (tuple(out) if type(args) is tuple else type(args)(*out)), places


def _spread(places: Sequence[int], values: Sequence, size: int) -> tuple:
    spread = [None] * size
    for i, value in zip(places, values, strict=True):
        spread[i] = value
    return tuple(spread)


def _replaced(grads, new, message: str):
    if new is None:
        return grads
    if len(new) != len(grads):
        raise RuntimeError(message.format(got=len(new), expected=len(grads)))
    return new


__all__ = ["BackwardHook", "RemovableHandle", "unserializable_hook", "warn_if_has_hooks"]
