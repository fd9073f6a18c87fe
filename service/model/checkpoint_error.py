"""The error of files that cannot be had or do not say what is needed. Imports nothing, so that all may raise it."""


class CheckpointError(Exception):
    """The model's files cannot be had, or are not as they must be; the message says which, and what was looked for."""
