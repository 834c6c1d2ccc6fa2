"""Training programs in plain PyTorch: each module's `start()` gives a function that makes a step."""
