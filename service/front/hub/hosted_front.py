"""The only front of a service, in the same process as its hub: each calls the other."""

import os
import socket  # noqa: TID251  # of an engine
from collections.abc import Sequence

from service import metrics
from service.front.admission.shared_table import SharedTable
from service.front.engine_client.front_link import EngineNews, EngineReport, FollowsEngine
from service.front.hub.engine_lines import EngineLink
from service.front.hub.hub import Hub
from service.front.hub.launch import Launched
from service.front.inputs.uuids import UuidStore
from service.settings.settings import Settings


class HostedFront:
    """A `FrontLink` and the `HubFront` at its other end, the only front of `hub`."""

    index, num_fronts, first_id = 0, 1, 1
    is_serving = True

    def __init__(self, settings: Settings, launched: Sequence[Launched] = ()) -> None:
        self.owner_pid = os.getpid()
        self.table = SharedTable.of_one_front()
        self.links = [EngineLink() for _ in settings.of_each_model]
        self.hub = Hub(settings, [self], 1, launched)
        self._followers: dict[int, FollowsEngine] = {}

    # The front's side.

    def arena(self, model: int) -> int:
        """Descriptor of the shared memory for a model's pixels."""
        return self.hub.keepers[model].arena

    def follow(self, model: int, follower: FollowsEngine) -> None:
        """Tell `follower` of a model's engine."""
        self._followers[model] = follower

    def report(self, message: EngineReport) -> None:
        """Tell the keeper of a model's engine something."""
        self.hub.on_report(self, message)

    def share_uuids(self, store: UuidStore) -> None:
        """Do nothing: no other front asks."""

    async def find_uuid(self, tenant: bytes, uuid: str) -> bytes:
        """Nothing: there is no other front."""
        return b""

    async def scrape(self) -> bytes:
        """The series of the service."""
        return await self.hub.scrape()

    async def close(self) -> None:
        """End the hub with its only front."""
        await self.hub.end()

    # The hub's side.

    def tell(self, message: EngineNews) -> None:
        """Tell the front of an engine."""
        self._followers[message.model].on_news(message)

    def connect(self, model: int, number: int, descriptors: tuple[int, int]) -> bool:
        """Give it its ends of socket and pipe to an engine."""
        sock, pipe = map(os.dup, descriptors)
        self._followers[model].on_engine(number, socket.socket(fileno=sock), pipe)
        return True

    async def series(self) -> bytes:
        """Its own series."""
        return metrics.render(self.index)
