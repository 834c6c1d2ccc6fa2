"""torch.backends.cusparselt: NVIDIA's library of sparse products is not used."""

from ._flags import answer as _answer

is_available = _answer(False, "Whether cuSPARSELt is used: no.", "cusparselt.is_available")
version = _answer(None, "The version of cuSPARSELt: none.", "cusparselt.version")
get_max_alg_id = _answer(None, "The number of its algorithms: none.", "cusparselt.get_max_alg_id")
