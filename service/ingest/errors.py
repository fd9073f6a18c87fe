"""What ends a run, and what ends one item. Nothing here is an answer of the server's."""

from dataclasses import dataclass


class IngestError(Exception):
    """The run cannot start or go on; the message says why. What was written stays, and another run goes on from it."""


class CommandLineError(IngestError):
    """A flag or SOURCE is wrong, which is known before anything is begun."""


@dataclass(frozen=True, slots=True)
class Reason:
    """Why an item has no vector.

    Attributes:
        code: stable name: the server's `ErrorCode`, or one of ours (`invalid_record`, `content_changed`, ...).
        message: one sentence for people.
    """

    code: str
    message: str
