"""torch.backends.kleidiai: ARM's library of kernels is not used."""

from ._flags import answer as _answer

is_available = _answer(False, "Whether KleidiAI is used: no.", "kleidiai.is_available")
