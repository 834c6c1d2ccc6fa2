"""SciPy's functions without SciPy's package: the same ones, and the package works after it."""

import subprocess
import sys

PROGRAM = """
import sys
from functorch_core import torch
x = torch.tensor([0.5])
found = [f(x).item() for f in (torch.nn.functional.gelu, torch.erf, torch.lgamma, torch.digamma, torch.special.ndtri)]
assert "scipy.special" not in sys.modules
assert "numpy.f2py" not in sys.modules or "scipy.linalg" in sys.modules  # which SciPy 1.18 loads with its functions
from scipy import special, stats
assert special.erf is sys.modules["scipy.special._ufuncs"].erf
expected = [0.5 * special.ndtr(0.5), special.erf(0.5), special.gammaln(0.5), special.psi(0.5), special.ndtri(0.5)]
assert max(abs(a - b) for a, b in zip(found, expected)) < 1e-6, (found, expected)
assert stats.norm.cdf(0.0) == 0.5
"""


def test_the_package_is_not_loaded():
    subprocess.run([sys.executable, "-c", PROGRAM], check=True)


def test_what_only_the_package_has():
    program = "from functorch_core.primitives.scipy_functions import scipy_function as f; f('multigammaln')(3.0, 2)"
    subprocess.run([sys.executable, "-c", program], check=True)
