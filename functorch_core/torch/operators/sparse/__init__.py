"""Tensors of layout torch.sparse_coo."""
