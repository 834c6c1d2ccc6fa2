"""The transforms of torch.func."""
