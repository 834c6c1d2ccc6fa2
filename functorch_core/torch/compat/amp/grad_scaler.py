"""torch.amp.GradScaler: losses scaled up so that float16 gradients do not vanish."""

from __future__ import annotations

import enum
from collections import defaultdict

from ....core.warn import warn
from ... import isfinite
from ...tape.modes import no_grad
from ...tensors.base import Tensor
from ..devices.cuda import is_available

ALREADY = {
    "unscaled": "unscale_() has already been called on this optimizer since the last update().",
    "stepped": "unscale_() is being called after step().",
}


class OptState(enum.Enum):
    """What has been done for an optimizer since the last update()."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


def _fresh() -> dict:
    return {"stage": OptState.READY, "found_inf": None}


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
        self._scale, self._growth_tracker = float(init_scale), 0
        self._growth_factor, self._backoff_factor = growth_factor, backoff_factor
        self._growth_interval = growth_interval
        self._states: dict[int, dict] = defaultdict(_fresh)

    # ---- a training step

    def scale(self, outputs):
        """The tensor, or each tensor of a list or tuple, times the scale."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            return outputs * self._scale
        if isinstance(outputs, (list, tuple)):
            return type(outputs)(self.scale(x) for x in outputs)
        if hasattr(outputs, "__iter__"):
            return (self.scale(x) for x in outputs)
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def unscale_(self, optimizer):
        """Divide the gradients of an optimizer's parameters by the scale, to clip them, say."""
        if not self._enabled:
            return
        state = self._states[id(optimizer)]
        if state["stage"] is OptState.UNSCALED:
            raise RuntimeError(ALREADY["unscaled"])
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError(ALREADY["stepped"])
        state["found_inf"] = self._unscale(optimizer, allow_fp16=False)
        state["stage"] = OptState.UNSCALED

    def _unscale(self, optimizer, allow_fp16: bool) -> bool:
        """Divide; whether a gradient was infinite or nan."""
        grads = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        if not allow_fp16 and any(g.dtype.name == "float16" for g in grads):
            raise ValueError("Attempting to unscale FP16 gradients.")
        with no_grad():
            for g in grads:
                g.mul_(1.0 / self._scale)
            checks = [isfinite(g).all() for g in grads]
        return not all(bool(check) for check in checks)

    def step(self, optimizer, *args, **kwargs):
        """optimizer.step(), unless a gradient overflowed; what it returns, None if skipped."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        state = self._states[id(optimizer)]
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if state["stage"] is OptState.READY:
            self.unscale_(optimizer)
        result = None if state["found_inf"] else optimizer.step(*args, **kwargs)
        state["stage"] = OptState.STEPPED
        return result

    def update(self, new_scale=None):
        """Lower the scale after an overflow, raise it after growth_interval steps without one."""
        if not self._enabled:
            return
        found = [s["found_inf"] for s in self._states.values() if s["found_inf"] is not None]
        if new_scale is not None:
            self._scale = float(new_scale)
        elif not found:
            raise AssertionError("No inf checks were recorded prior to update.")
        elif any(found):
            self._scale, self._growth_tracker = self._scale * self._backoff_factor, 0
        else:
            self._grow()
        self._states.clear()

    def _grow(self):
        self._growth_tracker += 1
        if self._growth_tracker == self._growth_interval:
            self._scale, self._growth_tracker = self._scale * self._growth_factor, 0

    # ---- settings

    def get_scale(self) -> float:
        """The scale, 1.0 if disabled."""
        return self._scale if self._enabled else 1.0

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
            "scale": self._scale,
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._growth_tracker,
        }

    def load_state_dict(self, state_dict: dict):
        """Take over the scale and settings of another."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler."
            )
        self._scale = float(state_dict["scale"])
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._growth_tracker = int(state_dict["_growth_tracker"])
