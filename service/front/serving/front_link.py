"""What a front has of the others, where there are several."""

from typing import Protocol

from service.front.inputs.uuids import UuidStore


class FrontLink(Protocol):
    """Leads to the other fronts, by way of the main process."""

    def share_uuids(self, store: UuidStore) -> None:
        """Let names that are bound at one front be known at all."""
        ...

    async def scrape(self) -> bytes:
        """The series of all processes, in Prometheus' text format."""
        ...
