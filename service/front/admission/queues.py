"""The queue of the service and, where it serves several models, that of one of them within it.

One model whose engine has gone, or that is flooded, fills its own queue and leaves the others' as they are.
"""

from typing import Self

import msgspec

from service.errors import UnavailableError
from service.front.admission.admission import Admission, Reservation
from service.front.admission.queue_rate import QueueRate
from service.front.tenant import Tenant


class Place(msgspec.Struct, frozen=True, eq=False):
    """What one request holds of both, until `close` or for the length of a `with`.

    Attributes:
        service: its part of the service's queue, which alone counts bytes.
        model: its part of the model's, or None where there is one model.
    """

    service: Reservation
    model: Reservation | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give it back."""
        self.service.close()
        if self.model is not None:
            self.model.close()

    def add_tokens(self, num_tokens: int, num_bytes: int = 0, *, is_checked: bool = True) -> None:
        """Add tokens, now that they are known, and the bytes of a large answer; see `Reservation.add_tokens`.

        Raises:
            UnavailableError: either queue is full of tokens.
        """
        if self.model is not None:
            self.model.add_tokens(num_tokens, is_checked=is_checked)
        self.service.add_tokens(num_tokens, num_bytes, is_checked=is_checked)


class Queues(msgspec.Struct, frozen=True, eq=False):
    """The queues that a model's requests wait in.

    Attributes:
        service: the queue of all models, with the limits of each added up.
        model: this model's own, or None where there is no other.
    """

    service: Admission
    model: Admission | None = None

    @property
    def rate(self) -> QueueRate:
        """At which the model's engine works; the service's hears of it too."""
        return (self.model or self.service).rate

    def place(self, num_inputs: int, tenant: Tenant) -> Place:
        """Reserve space for inputs.

        Raises:
            UnavailableError: either queue is full.
        """
        if self.model is None:
            return Place(self.service.place(num_inputs, tenant))
        own = self.model.place(num_inputs, tenant)
        try:
            return Place(self.service.place(num_inputs, tenant), own)
        except UnavailableError:
            own.close()
            raise

    def has_inputs(self) -> bool:
        """Whether anybody's inputs are under way."""
        return self.service.load.whole().num_inputs > 0

    def has_bulk_room(self, tenant: Tenant) -> bool:
        """Whether a stream may take more; see `Admission.has_bulk_room`."""
        return self.service.has_bulk_room(tenant) and (self.model is None or self.model.has_bulk_room(tenant))
