"""The errors of a checkpoint's files. Imports nothing, so that all may raise them."""


class CheckpointError(Exception):
    """The model's files cannot be had, or are not as they must be; the message says which, and what was looked for."""


class UnsupportedModelError(Exception):
    """A checkpoint that this release cannot serve rightly. Raised at start, never for a request."""
