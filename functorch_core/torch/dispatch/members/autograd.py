"""What a tensor has to do with the tape: requires_grad, grad, backward, detach, hooks."""

from __future__ import annotations

from ....core import dtypes as dt
from ....core.trace import Traced
from ....core.warn import warn
from ...levels import levels as _levels
from ...tape.accumulate import AccumulateGrad, Unfollowed, freeze, is_of_leaf, own_copy, unfreeze
from ...tape.backward import backward as _backward
from ...tape.modes import state
from ...tape.node import Handle
from ...tensors.active import active
from ...tensors.base import Tensor
from ...tensors.explain import explain
from ...tensors.types import scalar_name
from ...views.cells import make_alias, see

NON_LEAF_GRAD = (
    "you can only change requires_grad flags of leaf variables. If you want to use a "
    "computed variable in a subgraph that doesn't require differentiation use "
    "var_no_grad = var.detach()."
)
IN_TRANSFORM = (
    "You are attempting to call Tensor.requires_grad_() (or perhaps using "
    "torch.autograd.functional.* APIs) inside of a function being transformed by a "
    "functorch transform. This is unsupported, please attempt to use the functorch "
    "transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) or call requires_grad_() "
    "outside of a function being transformed instead."
)
GRAD_DTYPE = (
    "attempting to assign a gradient with dtype '{found}' to a tensor with grad_dtype "
    "'{wanted}'. The gradient must match the tensor's grad_dtype (defaults to the tensor's "
    "dtype). You can set the tensor's grad_dtype attribute with a specific dtype, or None "
    "to allow any dtype. Set grad_dtype with caution. Diverging the dtypes of a tensor and "
    "its gradient may break downstream systems that assume they match."
)
GRAD_DEVICE = (
    "attempting to assign a gradient with device type '{found}' to a tensor with device "
    "type '{wanted}'. Please ensure that the gradient and the tensor are on the same "
    "device"
)
C_NAMES = {
    "float64": "double",
    "float32": "float",
    "float16": "c10::Half",
    "bfloat16": "c10::BFloat16",
    "complex32": "c10::complex<c10::Half>",
    "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
}
ONLY_FLOATING = "only Tensors of floating point and complex dtype can require gradients"
NO_LEAF = (
    "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. "
    "Its .grad attribute won't be populated during autograd.backward(). If you "
    "indeed want the .grad field to be populated for a non-leaf Tensor, use "
    ".retain_grad() on the non-leaf Tensor. If you access the non-leaf Tensor by "
    "mistake, make sure you access the leaf Tensor instead. See "
    "github.com/pytorch/pytorch/pull/30531 for more informations."
)
DETACHED_VIEW = (
    "Can't detach views in-place. Use detach() instead. If you are using "
    "DistributedDataParallel (DDP) for training, and gradient_as_bucket_view "
    "is set as True, gradients are views of DDP buckets, and hence detach_() "
    "cannot be called on these gradients. To fix this error, please refer to "
    "the Optimizer.zero_grad() function in torch/optim/optimizer.py as the "
    "solution."
)
OTHER_KIND = "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have incompatible tensor type."
NO_HOOK = "cannot register a hook on a tensor that doesn't require gradient"


class Autograd:
    """Gradients, hooks and history."""

    # ---- being on the tape

    @property
    def requires_grad(self) -> bool:
        """Whether gradients are computed for this tensor.

        >>> torch.ones(1, requires_grad=True).requires_grad
        True
        """
        view = self._view
        if view is not None and (view.base is not None or view.source is not None):
            self._read()  # the history may be another
        return self._ge is not None

    @requires_grad.setter
    def requires_grad(self, value: bool):
        if not is_of_leaf(self._ge):
            if not value:
                raise explain(RuntimeError(NON_LEAF_GRAD))
            return
        if state.transforms:
            raise RuntimeError(IN_TRANSFORM)
        if not value:
            if self._ge is not None and self._ge[0].followed:
                freeze(self)
        elif self._ge is None or not self._ge[0].followed:
            if self._is_inference and not state.inference:
                raise RuntimeError(
                    "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed."
                )
            if self._value.aval.dtype not in dt.INEXACT:
                raise explain(RuntimeError(ONLY_FLOATING))
            if self._view is not None and self._view.base is not None:
                self._view.base, self._view.skip = None, 0  # a leaf's history is its own, not its base's
            unfreeze(self)
        if self._view is not None:
            self._view.tell_views()
        if hasattr(self._level, "as_leaf"):  # a dual tensor
            self._level = self._level.as_leaf(self._ge)

    @requires_grad.deleter
    def requires_grad(self):
        raise RuntimeError("requires_grad must be a bool")

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Set requires_grad; returns the tensor.

        >>> torch.ones(1).requires_grad_()
        tensor([1.], requires_grad=True)
        """
        if requires_grad and self._value.aval.dtype not in dt.INEXACT:
            raise explain(RuntimeError("only Tensors of floating point dtype can require gradients"))
        self.requires_grad = requires_grad
        return self

    @property
    def is_leaf(self) -> bool:
        """Whether the tensor was made by the user rather than by an op on the tape.

        >>> x = torch.ones(1, requires_grad=True)
        >>> x.is_leaf, (2 * x).is_leaf
        (True, False)
        """
        view = self._view
        if view is not None and (view.base is not None or view.source is not None):
            view.settle(self)
        edge = self._ge
        return edge is None or isinstance(edge[0], AccumulateGrad)

    @property
    def grad_fn(self):
        """The node that made the tensor, None for a leaf.

        >>> torch.ones(1).grad_fn is None
        True
        """
        if self._view is not None:
            self._view.settle(self)
        return None if self.is_leaf else self._ge[0]

    @property
    def output_nr(self) -> int:
        """Which output of its node the tensor is.

        >>> torch.zeros(1).output_nr
        0
        """
        return self._ge[1] if self._ge is not None else 0

    def _edge(self) -> tuple | None:
        """The edge to the tape, of a view that is up to date."""
        if self._view is not None:
            self._read()
            if self._ge is not None:
                self._ge[0].check_followed()
        return self._ge

    def _own_edge(self) -> tuple:
        """The edge to the tape, which no other tensor has."""
        edge = self._edge()
        if not edge[0].followed:
            edge = self._ge = Unfollowed(), 0
        return edge

    def is_inference(self) -> bool:
        """Whether the tensor was made in inference mode.

        >>> with torch.inference_mode():
        ...   x = torch.ones(2)
        >>> x.is_inference()
        True
        """
        return self._is_inference

    # ---- the gradient

    def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
        """Add the gradient of this tensor by the leaves to their `.grad`.

        >>> x = torch.tensor(3., requires_grad=True)
        >>> (x * x).backward()
        >>> x.grad
        tensor(6.)
        """
        _backward(self, gradient, retain_graph, create_graph, inputs=inputs)

    @property
    def grad(self) -> Tensor | None:
        """The accumulated gradient, or None.

        >>> x = torch.tensor(2., requires_grad=True)
        >>> (3 * x).backward()
        >>> x.grad
        tensor(3.)
        """
        if self._grad is None and not self.is_leaf and not self._retains_grad:
            warn(NO_LEAF)
        return self._grad

    @grad.setter
    def grad(self, grad: Tensor | None):
        if grad is not None:
            _check_grad(self, grad)
            if active.births and grad._value.__class__ is Traced:  # which would outlive its trace
                active.levels.check_captured(self, "copy")
        self._grad = grad

    @grad.deleter
    def grad(self):
        self._grad = None

    # ---- keeping the gradient of a result

    def retain_grad(self):
        """Keep the gradient of a non-leaf tensor in `.grad`.

        >>> x = torch.ones(1, requires_grad=True)
        >>> y = 2 * x
        >>> y.retain_grad()
        >>> (3 * y).backward()
        >>> y.grad
        tensor([3.])
        """
        if not self.requires_grad:
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        if not self.is_leaf:
            self._retains_grad = True
            _retain_on_node(self)

    @property
    def retains_grad(self) -> bool:
        """Whether retain_grad() has been called.

        >>> x = torch.ones(2, requires_grad=True)
        >>> y = x * 2
        >>> y.retain_grad()
        >>> y.retains_grad
        True
        """
        return self._retains_grad

    def _retain(self, grad, create_graph: bool):
        """Add to `.grad` what a pass brings."""
        if grad is not None:
            grad = own_copy(grad, create_graph)
            self._grad = grad if self._grad is None else self._grad + grad

    def _retain_anew(self, before: tuple | None):
        """After an in-place op: what is retained is the gradient by the new value."""
        if before is not None and before[0].extras is not None:
            before[0].extras.retained.pop(before[1], None)
        if self._view is not None:  # of a view its own uses alone, not those of its base
            self._view.settle(self)
        if self._ge is not None:
            _retain_on_node(self)

    # ---- hooks

    def register_hook(self, hook) -> Handle:
        """Call hook(grad) when the gradient by this tensor is known; it may return another.

        >>> x = torch.ones(1, requires_grad=True)
        >>> handle = x.register_hook(lambda g: 2 * g)
        >>> (3 * x).backward()
        >>> x.grad
        tensor([6.])
        """
        if not self.requires_grad:
            raise RuntimeError(NO_HOOK)
        node, index = self._own_edge()
        return Handle(node.hooks_of_output(index), hook)

    def register_post_accumulate_grad_hook(self, hook) -> Handle:
        """Call hook(tensor) after a leaf's `.grad` has been added to.

        >>> x = torch.ones(2, requires_grad=True)
        >>> hook = x.register_post_accumulate_grad_hook(lambda p: print(p.grad))
        >>> (3 * x).sum().backward()
        tensor([3., 3.])
        """
        if not self.requires_grad:
            raise RuntimeError(NO_HOOK)
        if not self.is_leaf:
            raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
        node = self._own_edge()[0]
        return Handle(node.hold(), hook)

    # ---- without history

    def detach(self) -> Tensor:
        """The same memory, without history.

        >>> x = torch.ones(2, requires_grad=True)
        >>> x.detach()
        tensor([1., 1.])
        """
        return make_alias(self) if self._level is None else _levels.detach(self)

    def detach_(self) -> Tensor:
        """Cut the tensor off from its history.

        >>> (torch.ones(1, requires_grad=True) * 2).detach_().requires_grad
        False
        """
        if self._view is not None and self._view.is_view():
            raise RuntimeError(DETACHED_VIEW)
        if self.is_leaf:
            freeze(self)
        else:
            self._ge = None
        if self._view is not None:
            self._view.tell_views()
        return self

    @property
    def data(self) -> Tensor:
        """The same memory without history.

        >>> x = torch.ones(1, requires_grad=True)
        >>> x.data.requires_grad
        False
        """
        if self._level is not None:
            _levels.refuse_batched(self, "accessing `data` under vmap transform is not allowed")
        if self._level is not None or self._device is not None:
            return self.detach()
        out = make_alias(self)
        out._view.untracked = True
        return out

    @data.setter
    def data(self, new: Tensor):
        if not isinstance(new, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(new).__name__}")
        if new.is_meta != self.is_meta:
            raise RuntimeError(OTHER_KIND)
        if new.is_sparse != self.is_sparse:
            raise RuntimeError(OTHER_KIND)
        if self.requires_grad and new._aval.dtype not in dt.INEXACT:
            raise RuntimeError("data set to a tensor that requires gradients must be floating point or complex dtype")
        if self._level is not None:
            _levels.refuse_batched(self, "mutating directly with `.data` under vmap transform is not allowed.")
        if self._device is not None and new._device is not None:
            self._value, self._device = new._value, new._device  # attributes stay, as in PyTorch
            return
        version = 0 if self._is_inference else self._version
        see(self, new)
        self._is_inference = new._is_inference
        if not new._is_inference:
            self._view.earlier = version - self._version

    @data.deleter
    def data(self):
        raise RuntimeError("Deleting tensor data is not allowed. Delete tensor instead!")


def _check_grad(tensor: Tensor, grad):
    """TypeError or RuntimeError for what cannot be the tensor's gradient."""
    if grad is tensor:
        raise RuntimeError("can't assign Variable as its own grad")
    if not isinstance(grad, Tensor):
        raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {type(grad).__name__}")
    if grad.shape != tensor.shape:
        raise RuntimeError(
            f"attempting to assign a gradient of size '{list(grad.shape)}' to a "
            f"tensor of size '{list(tensor.shape)}'. Please ensure that the "
            "gradient and the tensor are the same size"
        )
    if grad.is_meta != tensor.is_meta:
        raise RuntimeError(GRAD_DEVICE.format(found=grad.device.type, wanted=tensor.device.type))
    if grad.dtype is not tensor.dtype:
        found, wanted = grad.dtype.numpy, scalar_name(tensor.dtype.numpy)
        raise RuntimeError(GRAD_DTYPE.format(found=C_NAMES.get(found.name, found.name), wanted=wanted))


def _retain_on_node(tensor: Tensor):
    node, index = tensor._ge
    node.retain(index, tensor)
