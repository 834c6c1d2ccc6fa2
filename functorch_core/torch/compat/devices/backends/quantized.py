"""torch.backends.quantized: there are no quantized tensors."""

engine, supported_engines = "none", ["none"]
