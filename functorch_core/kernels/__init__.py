"""Functions of values, written once: what both faces, `ops` and `torch`, are signatures and checks around."""
