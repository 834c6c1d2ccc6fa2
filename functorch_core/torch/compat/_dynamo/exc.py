"""torch._dynamo.exc: errors that are never raised here, for `except`."""


class TorchDynamoException(RuntimeError):
    """Base of the others."""


class Unsupported(TorchDynamoException):
    """Something could not be traced."""


class BackendCompilerFailed(TorchDynamoException):
    """A backend failed."""


class InternalTorchDynamoError(TorchDynamoException):
    """The tracer failed."""


class UserError(Unsupported):
    """The program cannot be traced."""
