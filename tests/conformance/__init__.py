"""PyTorch's own test databases against this library, with the real PyTorch as oracle."""
