"""torch.cuda and its kin, torch.backends."""
