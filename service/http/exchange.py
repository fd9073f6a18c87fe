"""One request and its answer, watched as they pass: what came, what went, and when."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from litestar.types import HTTPReceiveMessage, Message, Receive, Scope, Send, WebSocketReceiveMessage

from service.http.finished import Finished
from service.http.request_id import choose_request_id
from service.http.trace_context import trace_context
from service.stages import Stages, open_stages

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"})

HUNG_UP = 499
"""Of a request whose client went before it was answered; nobody reads it but the log."""

TENANT = "tenant"
LINES = "lines"
"""What only a stream tells: it goes on after its answer has begun, so the rest of its time is not that of writing."""


def told_of(scope: Mapping[str, Any]) -> dict[str, object]:
    """What a request's log line will tell beside its times: numbers, codes and configured names, nothing of a client's.

    Args:
        scope: of the request; what is told of one that has no line is lost.
    """
    told: dict[str, object] = scope.get("cenote_told", {})
    return told


@dataclass(slots=True)
class Exchange:
    """A request on its way.

    Attributes:
        scope: of the request.
        from_client: what the server gives.
        to_client: what the server takes.
        id: the request's.
        stages: where its time goes.
        told: what rings and routes tell of the request, for the log line: see `told_of`.
        status: of the answer; until there is one, that of a request that nobody answers.
    """

    scope: Scope
    from_client: Receive
    to_client: Send
    id: str = field(init=False)
    stages: Stages = field(default_factory=open_stages)
    told: dict[str, object] = field(default_factory=dict)
    status: int = 500
    _began_s: float = field(default_factory=time.perf_counter)
    _began_ns: int = field(default_factory=time.time_ns)
    _answering_s: float = 0.0

    def __post_init__(self) -> None:
        """Choose the id, and leave it where the answer is made."""
        self.id = choose_request_id(list(self.scope["headers"]))
        self.scope["cenote_request_id"] = self.id  # type: ignore[typeddict-unknown-key]  # ASGI lets servers add keys
        self.scope["cenote_told"] = self.told  # type: ignore[typeddict-unknown-key]

    async def receive(self) -> HTTPReceiveMessage | WebSocketReceiveMessage:
        """Hear the client, and whether it has gone."""
        message = await self.from_client()
        if message["type"] == "http.disconnect" and not self._answering_s:
            self.status = HUNG_UP
        return message

    async def send(self, message: Message) -> None:
        """Answer, with the id and the time so far among the headers."""
        if message["type"] == "http.response.start":
            self._answering_s = time.perf_counter()
            if self.status != HUNG_UP:
                self.status = message["status"]
            total_ms = f"{(self._answering_s - self._began_s) * 1e3:.1f}".encode()
            message["headers"] = [
                *message["headers"],
                (b"x-request-id", self.id.encode()),
                (b"x-total-time", total_ms),
            ]
        await self.to_client(message)

    def finished(self, route: str, other: str) -> Finished:
        """What is known now that it is over.

        Args:
            route: label of its path.
            other: label of a method that HTTP does not have.
        """
        ended_s = time.perf_counter()
        if self._answering_s and LINES not in self.told:
            self.stages.intervals.append(("write", self._answering_s, ended_s))
        method = str(self.scope.get("method"))
        return Finished(
            method=method if method in METHODS else other,
            route=route,
            status=self.status,
            began_s=self._began_s,
            began_ns=self._began_ns,
            total_s=ended_s - self._began_s,
            request_id=self.id,
            trace=trace_context(list(self.scope["headers"])),
            stages=self.stages,
            told=self.told,
        )
