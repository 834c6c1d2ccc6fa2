"""Making, copying, viewing and joining tensors."""
