"""Products of matrices, factorizations, solvers, distances."""
