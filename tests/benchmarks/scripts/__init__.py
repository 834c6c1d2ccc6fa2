"""Whole scripts as users write them, run from process start to exit under both libraries; see __main__."""
