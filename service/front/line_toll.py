"""What a stream's lines cost its key: as many requests as would have brought them.

In: how many lines come next. Out: how long to wait before them. A request of `/v1/embeddings` brings up to `MAX_INPUTS`
inputs, so each so many lines of a stream pay for one more; a key's rate then bounds both alike.
"""

from schemas.limits import MAX_INPUTS
from service.front.key_meter import KeyMeter


class LineToll:
    """The account of one stream, whose first lines its own request has paid for.

    Args:
        meter: of its key; None where there are no keys.
    """

    def __init__(self, meter: KeyMeter | None) -> None:
        self._meter = meter
        self._num_paid = MAX_INPUTS

    @property
    def is_void(self) -> bool:
        """The key is no more."""
        return self._meter is not None and self._meter.is_revoked

    def due_s(self, num_lines: int) -> float:
        """Pay for the next lines.

        Args:
            num_lines: how many, at most `MAX_INPUTS`.

        Returns:
            Seconds to wait and ask again; 0 when they are paid.
        """
        if self._meter is None:
            return 0.0
        if self._num_paid < num_lines:
            if wait_s := self._meter.due_s():
                return wait_s
            self._num_paid += MAX_INPUTS
        self._num_paid -= num_lines
        return 0.0
