"""torch.utils.deterministic."""

fill_uninitialized_memory = True  # torch.empty is zeros here in any case
