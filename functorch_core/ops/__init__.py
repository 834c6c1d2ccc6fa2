"""The operations users call: pure functions of values, written with primitives, declared once."""
