"""Tensors that share memory: cells, the kinds of views, strides."""
