"""torch.autograd: the tape."""
