"""What exists for PyTorch's surface and nothing below needs: fx, serialization, profilers, devices, ..."""
