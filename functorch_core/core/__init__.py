"""Avals and dtypes, primitives and their rules, graphs and tracing."""
