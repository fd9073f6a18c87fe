"""A service from its settings to its end, in this process or with several fronts below it."""

import asyncio
import logging
from collections.abc import Sequence

import uvicorn

from service.app import create_app
from service.front.hub.hosted_front import HostedFront
from service.front.hub.launch import Launched
from service.front.serving.process_tuning import new_event_loop, num_fronts, return_large_blocks
from service.front.serving.serving import Serving, check_local_files
from service.http.server.listening import (
    ListenError,
    allow_descriptors,
    bind,
    log_address,
    metrics_served,
    server_config,
)
from service.http.server.server import DrainingServer
from service.settings.settings import Settings

__all__ = ["ListenError", "serve"]

logger = logging.getLogger("cenote.cli")


def serve(settings: Settings, launched: Sequence[Launched]) -> int:
    """Serve until a signal, or until that can never work; the exit code.

    Args:
        launched: processes for the engines of the first models.

    Raises:
        CheckpointError: a model's files are not there, or not what they should be.
        ListenError: the address is not free.
    """
    check_local_files(settings)
    return_large_blocks()
    run = _serve_until_ended if num_fronts(settings) == 1 else _serve_by_fronts
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(run(settings, launched))


async def _serve_by_fronts(settings: Settings, launched: Sequence[Launched]) -> int:
    """Be the main process of several fronts."""
    from service.processes.main_process import MainProcess  # one front needs none of it

    create_app(settings, HostedFront(settings))  # raises what is wrong with the settings, before a front is started
    bound = bind(settings.host, settings.port)
    main_process = MainProcess(settings, bound, num_fronts(settings), launched)
    return await main_process.run()


async def _serve_until_ended(settings: Settings, launched: Sequence[Launched]) -> int:
    bound = bind(settings.host, settings.port)
    allow_descriptors(settings.max_connections)
    link = HostedFront(settings, launched)
    app, serving = create_app(settings, link)
    server = DrainingServer(server_config(app, settings, settings.port), serving)
    async with metrics_served(settings, link.scrape) as where:
        if where is not None:
            logger.info("metrics on %s", where)
        tasks = [
            asyncio.create_task(_stop_when_ended(server, serving)),
            asyncio.create_task(_log_address(server, serving)),
        ]
        await server.serve(bound)
        for task in tasks:
            task.cancel()
    return 1 if serving.failure or not (server.started or serving.is_draining) else 0


async def _stop_when_ended(server: uvicorn.Server, serving: Serving) -> None:
    await serving.ended.wait()
    server.should_exit = True


async def _log_address(server: uvicorn.Server, serving: Serving) -> None:
    """Log the address once the server listens: port 0 is resolved by then."""
    while not server.started:
        await asyncio.sleep(0.01)
    log_address(server.servers[0].sockets[0].getsockname(), [one.name for one in serving.models])
