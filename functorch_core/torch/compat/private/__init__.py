"""Private modules of PyTorch that its own test utilities and packages import.

What is small is here; what is a system of its own (`_prims`, `_decomp`, `_functorch`) stands in further_names.txt.
"""
