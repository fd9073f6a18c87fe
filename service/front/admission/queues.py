"""The queue of the service and, where it serves several models, that of one of them within it.

One model whose engine has gone, or that is flooded, fills its own queue and leaves the others' as they are.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from service.front.admission.admission import Admission, Reservation
from service.front.admission.queue_rate import QueueRate
from service.front.tenant import Tenant


@dataclass(frozen=True, slots=True)
class Place:
    """What one request holds of both.

    Attributes:
        service: its part of the service's queue, which alone counts bytes.
        model: its part of the model's, or None where there is one model.
    """

    service: Reservation
    model: Reservation | None = None

    def add_tokens(self, num_tokens: int, num_bytes: int = 0) -> None:
        """Add tokens, now that they are known, and the bytes of a large answer; see `Reservation.add_tokens`.

        Raises:
            UnavailableError: either queue is full of tokens.
        """
        if self.model is not None:
            self.model.add_tokens(num_tokens)
        self.service.add_tokens(num_tokens, num_bytes)

    def add_more(self, num_tokens: int) -> None:
        """Add tokens of a request that is under way; see `Reservation.add_more`."""
        for one in (self.model, self.service):
            if one is not None:
                one.add_more(num_tokens)


@dataclass(frozen=True, slots=True)
class Queues:
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

    @contextmanager
    def place(self, num_inputs: int, tenant: Tenant) -> Iterator[Place]:
        """Reserve space for inputs for the length of the `with`.

        Raises:
            UnavailableError: either queue is full.
        """
        if self.model is None:
            with self.service.place(num_inputs, tenant) as ours:
                yield Place(ours)
            return
        with self.model.place(num_inputs, tenant) as own, self.service.place(num_inputs, tenant) as ours:
            yield Place(ours, own)

    def has_bulk_room(self, tenant: Tenant) -> bool:
        """Whether a stream may take more; see `Admission.has_bulk_room`."""
        return self.service.has_bulk_room(tenant) and (self.model is None or self.model.has_bulk_room(tenant))
