"""Programs that need much memory, in plain PyTorch; `tests.benchmarks.memory` runs them."""
