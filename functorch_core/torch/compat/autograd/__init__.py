"""Modules of torch.autograd that are written with ops: gradcheck, functional, profilers."""
