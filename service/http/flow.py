"""When a connection is read: not while its app has enough, and not while what it sent before waits to be parsed."""

from uvicorn.protocols.http.flow_control import FlowControl


class Flow(FlowControl):
    """uvicorn's, with a reason of ours not to read: what was read before has not been parsed.

    Attributes:
        is_held: there is that reason.
    """

    is_held = False

    def resume_reading(self) -> None:
        """Read again, where nothing holds it."""
        if not self.is_held:
            super().resume_reading()
