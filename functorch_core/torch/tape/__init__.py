"""Reverse mode: applying a graph to tensors, nodes, grad modes, the backward pass."""
