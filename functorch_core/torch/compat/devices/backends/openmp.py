"""torch.backends.openmp: the answer is that of PyTorch's builds; XLA has threads of its own."""

from ._flags import answer as _answer

is_available = _answer(True, "Whether computations use several threads: yes, XLA's.", "openmp.is_available")
