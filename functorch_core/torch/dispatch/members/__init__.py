"""The members of Tensor that are written by hand: a class for each subject, whose bodies
`operators/tensor_class.py` puts together."""

from ...tensors.base import Tensor
