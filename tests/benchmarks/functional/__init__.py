"""Research programs on names that JAX has, run by both libraries in turn; see __main__."""
