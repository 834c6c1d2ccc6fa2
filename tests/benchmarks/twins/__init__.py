"""JAX twins of some of the benchmark's programs: `start()` gives a function that makes one step and returns its loss.

The same architecture, sizes and optimizer, written as JAX's users write them, one jitted step; their random numbers
are their own. They run in an environment that has JAX.
"""
