"""The ops of the torch namespace, by family. Importing the package declares them all."""
from . import pointwise
from . import comparison, math, reduction
