"""torch.cuda.jiterator: operators written as C++ for GPUs, which only PyTorch compiles."""

from __future__ import annotations

from ...._missing import MESSAGE


def _create_jit_fn(code_string: str, **kwargs):
    """A function that raises NotImplementedError when it is called: the code needs PyTorch's compiler."""

    def function(*tensors, **kwargs):
        raise NotImplementedError(
            MESSAGE.format(name="torch.cuda.jiterator._create_jit_fn") + ": write it with torch ops"
        )

    return function


def _create_multi_output_jit_fn(code_string: str, num_outputs: int, **kwargs):
    """The same for several outputs."""
    return _create_jit_fn(code_string, **kwargs)
