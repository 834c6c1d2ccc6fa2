"""torch.utils.viz: pictures of objects that keep memory."""
