"""The body of a stream, read chunk by chunk until it ends or must not be read on.

Reading stops early when the client is slow, the service is stopping, or the key has been revoked. What is not asked for
is not read: what the client sends then stays in its own buffers.
"""

import asyncio
from contextlib import suppress
from dataclasses import dataclass

from litestar.types import Receive

from service.errors import InputError, KeyRefusedError, ServiceError, UnavailableError
from service.front.admission.stream_bounds import StreamRateLimit, StreamWindow
from service.front.serving.serving import Serving
from service.http.request import BODY_TIMES
from service.http.stream.lines import LineBegun

TICK_S = 0.25
"""Between two checks whether to go on while no bytes come."""

LINGER_S = 2.0
"""After a stream was cut, its body is read for so long: its client may still send, and closing at once would take the
last line from it (a TCP reset drops what the other side has not read)."""

GOING = "the server is going and reads no more lines; send the rest to another"
REVOKED = "the API key of this stream is no more one that this server knows"
DRAINING_RETRY_S = 1


@dataclass(slots=True)
class StreamBody:
    """One request's body.

    Attributes:
        rate_limit: of its key.
        window: the lines under way: while there are any, a client that sends none may be waiting for their answers.
        is_over: the body has ended.
        is_silent: nothing came of it for too long.
    """

    receive: Receive
    serving: Serving
    rate_limit: StreamRateLimit
    window: StreamWindow
    is_over: bool = False
    is_silent: bool = False
    _waited_for: tuple[int, bool] = (0, False)
    _waited_s: float = 0.0
    _early: bytes = b""

    async def open(self) -> None:
        """Ask for bytes without waiting for any: a client that sent `Expect: 100-continue` gets its answer."""
        self._early = await self._within(0) or b""

    def reason_to_stop(self) -> ServiceError | None:
        """An error while the service wants the stream to end, else None."""
        if self.serving.is_draining:
            return UnavailableError("server_draining", GOING, retry_after_s=DRAINING_RETRY_S)
        return KeyRefusedError(REVOKED) if self.rate_limit.is_void else None

    async def next_chunk(self, line: LineBegun) -> bytes | None:
        """The next bytes; None at the end of the body.

        Args:
            line: the one that has begun, whose time limit counts.

        Raises:
            ServiceError: there is a reason not to go on.
        """
        if self.is_over and not self._early:
            return None
        if (line.index, line.is_inside) != self._waited_for:
            self._waited_for, self._waited_s = (line.index, line.is_inside), 0.0
        began_s = self._now_s()
        try:
            return await self._chunk_until(began_s + self._limit_s(line) - self._waited_s, line)
        finally:
            self._waited_s += self._now_s() - began_s  # and not the time in which nothing was read

    async def _chunk_until(self, until_s: float, line: LineBegun) -> bytes:
        while (reason := self.reason_to_stop()) is None:
            if not line.is_inside and self.window.is_used():
                until_s = self._now_s() + self.serving.settings.stream_idle_s
            left_s = until_s - self._now_s()
            chunk, self._early = self._early or await self._within(min(TICK_S, left_s)), b""
            if chunk is not None:
                return chunk
            if left_s <= TICK_S:
                self.is_silent = True
                what = "a line came too slowly" if line.is_inside else "no line came for too long"
                raise InputError("body_timeout", f"the stream: {what}")
        raise reason

    def _limit_s(self, line: LineBegun) -> float:
        """Seconds for the rest of a line that has begun, as for a whole body elsewhere, or for a line to begin."""
        settings = self.serving.settings
        fair_s = BODY_TIMES * settings.receive_timeout_s + line.num_bytes / settings.min_bytes_per_s
        return min(fair_s, settings.request_timeout_s) if line.is_inside else settings.stream_idle_s

    async def linger(self) -> None:
        """Discard what still comes, for a while or until it ends."""
        until_s = self._now_s() + LINGER_S
        while not self.is_over and self._now_s() < until_s:
            await self._within(until_s - self._now_s())

    async def _within(self, seconds: float) -> bytes | None:
        """Bytes that come in that time, else None; the server keeps bytes that come later."""
        with suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, seconds)):
                message = await self.receive()
                if message["type"] == "http.disconnect":
                    await asyncio.Event().wait()  # the server cancels the request of a client that has gone
                assert message["type"] == "http.request"
                self.is_over = not message.get("more_body")
                return message["body"]
        return None

    @staticmethod
    def _now_s() -> float:
        return asyncio.get_running_loop().time()
