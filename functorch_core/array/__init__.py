"""fc.Array, the Array API namespace, and the transforms users call."""
