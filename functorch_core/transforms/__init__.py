"""Graph to graph: jvp, linearize, transpose, vjp, batch; and the primitives that hold graphs."""
