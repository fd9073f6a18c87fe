"""The main process, as its fronts see it: keeps the engines, gathers the series, asks one for another.

With one front the hub is in that front's process (`hosted_front.py`).
"""

import asyncio
from collections.abc import Sequence

from prometheus_client import generate_latest

from service import metrics
from service.front.engine_client.front_link import EngineReport, Loaded
from service.front.hub.engine_keeper import EngineKeeper
from service.front.hub.engine_lines import HubFront
from service.front.hub.launch import Launched
from service.settings.settings import Settings


class Hub:
    """The hub of a service.

    Args:
        fronts: of which some may be starting; they are filled in after this is made.
        launched: processes for the engines of the first models.
    """

    def __init__(
        self, settings: Settings, fronts: Sequence[HubFront], num_fronts: int, launched: Sequence[Launched] = ()
    ) -> None:
        self.keepers = [
            EngineKeeper(one, model, fronts, num_fronts, launched[model : model + 1])
            for model, one in enumerate(settings.of_each_model)
        ]
        self._fronts = fronts

    @property
    def has_failed(self) -> bool:
        """True if one of the models can never have an engine."""
        return any(keeper.has_failed for keeper in self.keepers)

    def on_report(self, front: HubFront, message: EngineReport) -> None:
        """Hear what a front says of an engine."""
        if isinstance(message, Loaded):
            self.keepers[message.model].host = self.keepers[message.host]
        self.keepers[message.model].on_report(front, message)

    async def scrape(self) -> bytes:
        """Every series of the service, in Prometheus' text format. A front that does not answer is left out."""
        of_fronts = await asyncio.gather(*[front.series() for front in self._fronts if front.is_serving])
        for keeper in self.keepers:
            keeper.look()
        return metrics.joined([generate_latest(metrics.SERVICE), *of_fronts])

    async def find_uuid(self, asking: HubFront, tenant: bytes, uuid: str) -> bytes:
        """Content that another front has bound a name to, as `UuidStore.packed` gives it; empty where none has."""
        others = [front for front in self._fronts if front is not asking and front.is_serving]
        found = await asyncio.gather(*[front.find_uuid(tenant, uuid) for front in others])
        return max(found, key=len, default=b"")

    async def end(self) -> None:
        """End the engines."""
        for keeper in self.keepers:
            await keeper.end()
