"""What gradcheck says."""

PRECISION = (
    "Input #{i} requires gradient and is not a double precision floating point or complex. This check will "
    "likely fail if all the inputs are not of double precision floating point or complex. "
)
STRIDE = (
    "The {i}th input has a dimension with stride 0. gradcheck only supports inputs that are non-overlapping to be "
    "able to compute the numerical gradients correctly. You should call .contiguous on the input before passing it "
    "to gradcheck."
)
NO_INPUT = "gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True."
SPARSE_OUTPUT = (
    "Sparse output is not supported at gradcheck yet. Please call to_dense(masked_grad=...) on the output of fn "
    "for gradcheck."
)
MISMATCH = (
    "Jacobian {mode}mismatch for output {i} with respect to input {j},\n"
    "numerical:{numerical}\nanalytical:{analytical}\n"
)
VARIES = (
    "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives "
    "different values, although analytical gradient matches numerical gradient."
    "The tolerance for nondeterminism was {}.\n\n"
    "If the operation is known to vary, pass nondet_tol=<tolerance>."
)
NOT_MULTIPLIED = "backward not multiplied by grad_output"
NOT_ZERO = "Expected all input grads to be undefined or zero when all output grads are undefined or zero."
UNDEFINED_REFUSED = "Expected backward function to handle undefined output grads."
OTHER_KIND = (
    "Expected `func` to return outputs with the same {0} when inputs are perturbed{1} by {2}, "
    "but got: {0}s {3} and {4}."
)
UNDEFINED_IS_NEW = (
    "Backwards compatibility: New undefined gradient support checking feature is enabled by default, but it may break "
    "existing callers of this function. If this is true for you, you can call this function with "
    '"check_undefined_grad=False" to disable the feature'
)
UNDEFINED = (
    ' Please look at "Notes about undefined output gradients" in "tools/autograd/derivatives.yaml". A backward '
    "gets None for an output without a gradient after ctx.set_materialize_grads(False)."
)
BATCHED = (
    "gradcheck or gradgradcheck failed while testing batched gradient computation: the backward pass does not "
    "work under vmap. Pass check_batched_grad=False to leave this out."
)
FAST = (
    "\nThe above quantities relating the numerical and analytical jacobians are computed \n"
    "in fast mode. Below, we recompute numerical and analytical jacobians in slow mode:\n\n"
    "Numerical:\n {numerical}\nAnalytical:\n{analytical}\n\n"
    "The max per-element difference (slow mode) is: {difference}.\n"
)
FAST_BUT_NOT_SLOW = (
    "Fast gradcheck failed but element-wise differences are small. This means that the\n"
    "test might've passed in slow_mode!\n"
)
