"""jax.scipy.integrate: integrals of samples."""

from ..array.compose import missing_name as _missing_name
from ..numpy.calculus import trapezoid

__getattr__ = _missing_name(
    "scipy.integrate",
    {
        "trapz": "Use integrate.trapezoid.",
        "odeint solve_ivp": "fc.experimental.ode.odeint(lambda y, t: slope, y0, t).",
        "quad": "Sum over nodes with integrate.trapezoid, or call SciPy in fc.pure_callback.",
        "simpson": "Use integrate.trapezoid.",
    },
)

__all__ = ["trapezoid"]
