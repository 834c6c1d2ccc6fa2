"""torch._vendor: packages that PyTorch ships."""
