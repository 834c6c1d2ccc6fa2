"""torch.amp.GradScaler: losses scaled up so that float16 gradients do not vanish."""

from __future__ import annotations

import enum
from collections import defaultdict

from ....annotations import lenient_signature
from ....core.warn import warn
from ... import float16, float32, full, int32, sparse_coo_tensor
from ...operators.pointwise.foreach import _amp_foreach_non_finite_check_and_unscale_, _amp_update_scale_
from ...tensors.base import Tensor
from ..devices.cuda import is_available

ALREADY = {
    "unscaled": "unscale_() has already been called on this optimizer since the last update().",
    "stepped": "unscale_() is being called after step().",
}


class OptState(enum.Enum):
    """What has been done for an optimizer since the last update().

    >>> from torch.amp.grad_scaler import OptState
    >>> OptState.READY.name
    'READY'
    """

    READY = 0
    UNSCALED = 1
    STEPPED = 2


TAKES_SCALER = (
    "GradScaler is going to stop passing itself as a keyword argument to the passed optimizer. In the near future "
    "GradScaler registers `grad_scale: Tensor` and `found_inf: Tensor` to the passed optimizer and let the optimizer "
    "use them directly."
)


def _refresh_per_optimizer_state() -> dict:
    return {"stage": OptState.READY, "found_inf_per_device": {}}


class GradScaler:
    """Scales losses; skips steps whose gradients overflowed, and lowers the scale then.

    >>> scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    >>> scaler.scale(torch.tensor(2.0))
    tensor(16.)
    """

    __module__ = "torch.amp.grad_scaler"

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ):
        if growth_factor <= 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if backoff_factor >= 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._device, self._enabled = device, enabled
        if enabled and device == "cuda":
            if not is_available():
                warn("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.")
                self._enabled = False
        self._init_scale, self._init_growth_tracker = float(init_scale), 0
        self._scale: Tensor | None = None  # made by the first scale()
        self._growth_tracker: Tensor | None = None
        self._growth_factor, self._backoff_factor = growth_factor, backoff_factor
        self._growth_interval = growth_interval
        self._per_optimizer_states: dict[int, dict] = defaultdict(_refresh_per_optimizer_state)

    # ---- a training step

    def scale(self, outputs):
        """The tensor, or each tensor of a list or tuple, times the scale."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            if self._scale is None:
                self._lazy_init_scale_growth_tracker(outputs.device)
            return outputs * self._scale.to(outputs.device)
        if isinstance(outputs, (list, tuple)):
            return type(outputs)(self.scale(x) for x in outputs)
        if hasattr(outputs, "__iter__"):
            return (self.scale(x) for x in outputs)
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def _lazy_init_scale_growth_tracker(self, device):
        self._scale = full((), self._init_scale, dtype=float32, device=device)
        self._growth_tracker = full((), self._init_growth_tracker, dtype=int32, device=device)

    def _check_scale_growth_tracker(self, name: str) -> tuple[Tensor, Tensor]:
        """The scale and the number of steps without overflow; AssertionError before the first scale()."""
        if self._scale is None:
            raise AssertionError(
                f"Attempted {name} but _scale is None.  This may indicate your script did not use scaler.scale(loss or "
                "outputs) earlier in the iteration."
            )
        return self._scale, self._growth_tracker

    def unscale_(self, optimizer):
        """Divide the gradients of an optimizer's parameters by the scale, to clip them, say."""
        if not self._enabled:
            return
        scale, _ = self._check_scale_growth_tracker("unscale_")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.UNSCALED:
            raise RuntimeError(ALREADY["unscaled"])
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError(ALREADY["stepped"])
        inverse, found = scale.double().reciprocal().float(), full((), 0.0, device=scale.device)
        state["found_inf_per_device"] = self._unscale_grads_(optimizer, inverse, found, False)
        state["stage"] = OptState.UNSCALED

    def _unscale_grads_(self, optimizer, inv_scale: Tensor, found_inf: Tensor, allow_fp16: bool) -> dict:
        """Multiply gradients by inv_scale: device -> 1 if a gradient was infinite or nan, else 0."""
        grads: dict = {}
        sparse = []
        for p in (p for group in optimizer.param_groups for p in group["params"] if p.grad is not None):
            grad = p.grad
            if not allow_fp16 and grad.dtype is float16:
                raise ValueError("Attempting to unscale FP16 gradients.")
            if grad.is_sparse:
                if grad.dtype is float16:  # equal places are added up: the sum may overflow
                    p.grad = grad.coalesce()
                    grad = p.grad  # a sparse parameter keeps a copy
                whole, grad = grad, grad._values()
                sparse.append((whole, grad))
            grads.setdefault(grad.device, []).append(grad)
        found = {device: found_inf.to(device) for device in grads}
        for device, those in grads.items():
            _amp_foreach_non_finite_check_and_unscale_(those, found[device], inv_scale.to(device))
        for whole, values in sparse:
            whole.copy_(sparse_coo_tensor(whole._indices(), values, whole.shape, is_coalesced=whole.is_coalesced()))
        return found

    def step(self, optimizer, *args, **kwargs):
        """optimizer.step(), unless a gradient overflowed; what it returns, None if skipped.

        An optimizer with `_step_supports_amp_scaling` is given the scale and looks for itself.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._check_scale_growth_tracker("step")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if getattr(optimizer, "_step_supports_amp_scaling", False):
            result = self._step_of_scaling(optimizer, state, args, kwargs)
        else:
            if state["stage"] is OptState.READY:
                self.unscale_(optimizer)
            if not state["found_inf_per_device"]:
                raise AssertionError("No inf checks were recorded for this optimizer.")
            result = None if _any_of(state) else optimizer.step(*args, **kwargs)
        state["stage"] = OptState.STEPPED
        return result

    def _step_of_scaling(self, optimizer, state: dict, args, kwargs):
        """A step of an optimizer that takes the scale into account."""
        if "grad_scaler" in lenient_signature(optimizer.step).parameters:
            warn(TAKES_SCALER, FutureWarning)
            return optimizer.step(*args, **kwargs, grad_scaler=self)
        unscaled = state["stage"] is OptState.UNSCALED
        if not unscaled:
            self._check_inf_per_device(optimizer)
        found = [x.to(self._scale.device) for x in state["found_inf_per_device"].values()]
        optimizer.grad_scale = None if unscaled else self._scale
        optimizer.found_inf = sum(found)
        try:
            return optimizer.step(*args, **kwargs)
        finally:
            del optimizer.grad_scale, optimizer.found_inf

    def _check_inf_per_device(self, optimizer) -> dict:
        """Device -> whether a gradient is infinite or nan, of an optimizer that unscales by itself."""
        scale, _ = self._check_scale_growth_tracker("_check_inf_per_device")
        one, found = full((), 1.0, device=scale.device), full((), 0.0, device=scale.device)
        state = self._per_optimizer_states[id(optimizer)]
        state["found_inf_per_device"] = self._unscale_grads_(optimizer, one, found, True)
        return state["found_inf_per_device"]

    def _found_inf_per_device(self, optimizer) -> dict:
        return self._per_optimizer_states[id(optimizer)]["found_inf_per_device"]

    def update(self, new_scale=None):
        """Lower the scale after an overflow, raise it after growth_interval steps without one."""
        if not self._enabled:
            return
        scale, tracker = self._check_scale_growth_tracker("update")
        if new_scale is not None:
            scale.fill_(new_scale)
        else:
            found = [
                x.to(scale.device)
                for s in self._per_optimizer_states.values()
                for x in s["found_inf_per_device"].values()
            ]
            if not found:
                raise AssertionError("No inf checks were recorded prior to update.")
            settings = self._growth_factor, self._backoff_factor, self._growth_interval
            _amp_update_scale_(scale, tracker, sum(found), *settings)
        self._per_optimizer_states.clear()

    # ---- settings

    def get_scale(self) -> float:
        """The scale, 1.0 if disabled."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else self._scale.item()

    def _get_growth_tracker(self) -> int:
        return self._init_growth_tracker if self._growth_tracker is None else self._growth_tracker.item()

    def get_growth_factor(self) -> float:
        """The factor of growth."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float):
        """Change the factor of growth."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """The factor after an overflow."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float):
        """Change the factor after an overflow."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """Steps without overflow before the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int):
        """Change the steps without overflow before the scale grows."""
        self._growth_interval = new_interval

    def is_enabled(self) -> bool:
        """Whether it does anything."""
        return self._enabled

    def state_dict(self) -> dict:
        """The scale and settings, empty if disabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._get_growth_tracker(),
        }

    def load_state_dict(self, state_dict: dict):
        """Take over the scale and settings of another."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler."
            )
        self._init_scale = float(state_dict["scale"])
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._init_growth_tracker = int(state_dict["_growth_tracker"])
        if self._scale is not None:
            self._scale.fill_(self._init_scale)
            self._growth_tracker.fill_(self._init_growth_tracker)


def _any_of(state: dict) -> bool:
    """Whether a gradient of an optimizer overflowed."""
    return any([x.item() for x in state["found_inf_per_device"].values()])
