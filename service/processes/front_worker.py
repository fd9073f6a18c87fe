"""One of several fronts: `python -m service.processes.front_worker SOCKET_FD PASSING_FD COUNTS_FD ARENA_FD ...`.

Started by the main process alone; it ends with it.
"""

import asyncio
import logging
import os
import socket  # noqa: TID251  # socket pairs
import sys
from collections.abc import Sequence

from service import logs
from service.accounting import DEFERRED
from service.app import create_app
from service.front.serving.process_tuning import new_event_loop, return_large_blocks
from service.http.server.listening import allow_descriptors, connection_limits, peer_rule, server_config
from service.http.server.places import Places
from service.ipc.channel import AsyncChannel
from service.processes.adopting_server import AdoptingServer
from service.processes.main_link import MainLink
from service.processes.messages import Beat, Failed, FrontServing, StartFront, ToFront

logger = logging.getLogger("cenote.front")

BEAT_S = 0.5


def main() -> int:
    """Serve until told to end. Exit code 0 after a drain, 1 where it could not start."""
    socket_fd, passing_fd, counts_fd, *arena_fds = map(int, sys.argv[1:])
    return_large_blocks()
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        passing = socket.socket(fileno=passing_fd)
        return runner.run(_run(socket.socket(fileno=socket_fd), passing, counts_fd, arena_fds))


async def _run(sock: socket.socket, passing: socket.socket, counts_fd: int, arena_fds: Sequence[int]) -> int:
    channel: AsyncChannel[ToFront] = await AsyncChannel.over(sock, ToFront)  # type: ignore[arg-type]  # a union is a type to msgspec
    start = await channel.receive()
    if not isinstance(start, StartFront):
        return 1
    settings = start.settings
    logs.configure(settings.log_format, settings.log_level)
    allow_descriptors(settings.max_connections)
    link = MainLink(channel, start, counts_fd, arena_fds)
    app, serving = create_app(settings, link)
    places = Places(peer_rule(settings), link.connections_changed)
    server = AdoptingServer(
        server_config(app, settings, 0), serving, connection_limits(settings), places, link.connections_changed
    )

    def lost() -> None:
        DEFERRED.finish()
        logger.error("the main process exited; stopping this front")
        os._exit(1)

    link.adopt, link.closed, link.lost = server.adopt, server.no_more_come, lost
    hearing = asyncio.create_task(link.run(passing))
    tasks = [
        asyncio.create_task(_stop_when_ended(server, serving.ended)),
        asyncio.create_task(_tell_when_serving(server, link)),
        asyncio.create_task(_beat(link)),
    ]
    await server.serve([])
    if serving.failure:
        link.send(Failed())
        await asyncio.sleep(0)
    for task in (*tasks, hearing):
        task.cancel()
    return 1 if serving.failure else 0


async def _stop_when_ended(server: AdoptingServer, ended: asyncio.Event) -> None:
    await ended.wait()
    server.should_exit = True


async def _tell_when_serving(server: AdoptingServer, link: MainLink) -> None:
    while not server.started:
        await asyncio.sleep(0.01)
    link.send(FrontServing())


async def _beat(link: MainLink) -> None:
    """Let the main process know that this event loop runs."""
    while True:
        link.send(Beat())
        await asyncio.sleep(BEAT_S)


if __name__ == "__main__":
    sys.exit(main())
