"""The functions behind torch.nn.functional."""
