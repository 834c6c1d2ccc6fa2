"""PyTorch's modules that only gather names: torch.linalg, torch.fft, torch.autograd, ..."""
