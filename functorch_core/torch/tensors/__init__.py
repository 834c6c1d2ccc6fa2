"""What a tensor is: its value, dtypes, devices, promotion, printing. Knows nothing of gradients."""
