"""Python programs that a script starts: `torch` is this library in them, too.

`python -m functorch_core` puts this folder first on $PYTHONPATH, where Python looks for `sitecustomize` when it starts.
"""
