"""torch._logging.scribe: telemetry, which is not sent."""


def open_source_signpost(**kwargs):
    """No effect."""
