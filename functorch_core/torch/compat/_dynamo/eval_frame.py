"""torch._dynamo.eval_frame: the class of compiled modules, for isinstance."""

from ..._missing import missing

# No module is one: torch.compile returns what it is given.
OptimizedModule = missing("torch._dynamo.eval_frame.OptimizedModule")
