"""torch.nn.attention.experimental: nothing so far."""
