"""Reductions over the elements that are there; a result is there if one of its elements was."""

REDUCE_NAMES = ["sum", "mean", "amin", "amax", "argmin", "argmax", "prod", "all", "norm", "var", "std"]
