"""torch._dynamo.exc: errors of torch.compile; those of PyTorch's tracer are never raised here."""


class TorchDynamoException(RuntimeError):
    """Base of the others."""


class Unsupported(TorchDynamoException):
    """Something could not be traced."""


class InvalidBackend(TorchDynamoException):
    """There is no backend of that name."""


class ShortenTraceback(TorchDynamoException):
    """Base of errors that have another as their cause."""


class BackendCompilerFailed(ShortenTraceback):
    """A backend failed."""


class InternalTorchDynamoError(TorchDynamoException):
    """The tracer failed."""


class UserError(Unsupported):
    """The program cannot be traced."""
