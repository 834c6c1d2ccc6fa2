"""torch.backends.openmp: OpenMP is not used; XLA has threads of its own."""
from ._flags import answer as _answer

is_available = _answer(False, "Whether OpenMP is used: no.")
