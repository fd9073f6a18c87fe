"""Finished vectors on a Valkey or Redis server: rows of bytes by name. Needs the extra `valkey`.

A server that is slow, full or down costs misses and nothing else: every call has a short deadline, and after
`MAX_FAILURES` failures in a row the server is not called for `REST_S`. Values are sealed under their names, so a value
that was cut, changed or moved is a miss. Eviction is the server's (`maxmemory-policy`). The URL may hold a password: it
is never logged, and neither are the client library's messages.
"""

import asyncio
import hashlib
import logging
import time
from collections.abc import Awaitable, Coroutine, Mapping, Sequence
from typing import Any

import msgspec

from service.engine_series import ClientSeries
from service.outputs.block import Row

logger = logging.getLogger("cenote.front")

PREFIX = b"cenote:vectors:1:"
TIMEOUT_S = 0.05
"""A vector is a few kilobytes: a server on the same network answers in one or two milliseconds."""
GREETING_TIMEOUT_S = 1.0
"""Of the call at start, which opens the first connection."""
KEPT_S = 7 * 24 * 3600
"""Lifetime of a value, so that vectors of a model that is no longer served expire."""
MAX_VALUE_BYTES = 256 << 10
MAX_WRITES = 64
"""Requests whose vectors wait to be written; beyond it vectors are dropped."""
MAX_FAILURES = 3
REST_S = 10.0
SEAL_BYTES = 16
SCHEMES = {"valkey": "redis", "valkeys": "rediss"}
"""The client library's names of these URL schemes; it knows `redis`, `rediss` and `unix` itself."""

_DECODER = msgspec.msgpack.Decoder(dict[str, bytes])


class VectorStore:
    """Vectors by name. Raises nothing: a failed read is a miss, a failed write is dropped."""

    def __init__(self, url: str, series: ClientSeries) -> None:
        """Keep vectors on the server at `url`, whose health is counted in `series`. Opens no connection."""
        from redis.asyncio import Redis
        from redis.asyncio.retry import Retry
        from redis.backoff import NoBackoff
        from redis.exceptions import RedisError

        scheme, _, rest = url.partition("://")
        self._client: Any = Redis.from_url(
            f"{SCHEMES.get(scheme, scheme)}://{rest}",
            retry=Retry(NoBackoff(), 0),
            max_connections=MAX_WRITES + 64,
            client_name="cenote-vectors",
        )
        self._errors = (RedisError, OSError, TimeoutError)
        self._tasks: set[asyncio.Task[None]] = set()
        self._up = series.vectors_up()
        self._last_success = series.vectors_last_success()
        self._corrupt = series.vectors_corrupt()
        self._num_failures = 0
        self._last_error = ""
        self._rests_until_s = 0.0

    def greet(self) -> None:
        """Call the server once in the background, so that a wrong address is logged at start."""
        self._start(self._greet())

    async def find(self, names: Mapping[int, bytes]) -> dict[int, dict[str, bytes]]:
        """Rows by number format, for each input of `names` whose vector the server has."""
        if not names or self._rests():
            return {}
        values = await self._call(self._client.mget([PREFIX + name for name in names.values()]), TIMEOUT_S) or ()
        found = {}
        for (index, name), value in zip(names.items(), values, strict=False):
            if value is None:
                continue
            rows = unsealed(name, value)
            if rows is None:
                self._corrupt.inc()
            else:
                found[index] = rows
        return found

    def keep(self, rows: Mapping[bytes, Mapping[str, Row]]) -> None:
        """Write rows by number format, by name, in the background; drop them when too many writes wait."""
        if not rows or len(self._tasks) >= MAX_WRITES or self._rests():
            return
        values = [(name, sealed(name, formats)) for name, formats in rows.items()]
        self._start(self._write([(name, value) for name, value in values if len(value) <= MAX_VALUE_BYTES]))

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _greet(self) -> None:
        if await self._call(self._client.ping(), GREETING_TIMEOUT_S) is None:
            at = self._client.connection_pool.connection_kwargs
            address = f"{at['host']}:{at['port']}" if "host" in at else at.get("path", "its socket")
            logger.warning(
                "the Valkey server at %s fails with %s; vectors are kept without it until it answers",
                address,
                self._last_error,
            )

    async def _write(self, values: Sequence[tuple[bytes, bytes]]) -> None:
        async def send() -> None:
            async with self._client.pipeline(transaction=False) as pipe:
                for name, value in values:
                    pipe.set(PREFIX + name, value, ex=KEPT_S)
                await pipe.execute()

        await self._call(send(), TIMEOUT_S)

    async def _call(self, call: Awaitable[Any], timeout_s: float) -> Any:
        """The server's answer; None when the call failed."""
        try:
            async with asyncio.timeout(timeout_s):
                answer = await call
        except self._errors as error:
            self._failed(type(error).__name__)
            return None
        self._num_failures = 0
        self._up.set(1)
        self._last_success.set_to_current_time()
        return answer

    def _rests(self) -> bool:
        return time.monotonic() < self._rests_until_s

    def _failed(self, kind: str) -> None:
        self._last_error = kind
        self._num_failures += 1
        self._up.set(0)
        if self._num_failures >= MAX_FAILURES:
            self._rests_until_s = time.monotonic() + REST_S
        if self._num_failures == MAX_FAILURES:
            logger.warning("the server of shared vectors fails with %s; it is not used for %g s", kind, REST_S)


def sealed(name: bytes, rows: Mapping[str, Row]) -> bytes:
    """Rows as a value: 16 bytes of BLAKE2b keyed with their name, then the rows as msgpack."""
    body = msgspec.msgpack.encode(rows)
    return _seal(name, body) + body


def unsealed(name: bytes, value: bytes) -> dict[str, bytes] | None:
    """The rows of a value; None when it is not what was stored under this name."""
    if value[:SEAL_BYTES] != _seal(name, value[SEAL_BYTES:]):
        return None
    try:
        return _DECODER.decode(value[SEAL_BYTES:])
    except msgspec.MsgspecError:
        return None


def _seal(name: bytes, body: bytes) -> bytes:
    return hashlib.blake2b(body, key=name, digest_size=SEAL_BYTES).digest()
