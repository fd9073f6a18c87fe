"""Finished vectors on a Valkey or Redis server: rows of bytes by name. Needs the extra `valkey`.

A server that is slow, full or gone costs nothing but misses: each question has a short deadline, and after some
failures in a row none is asked for a while. Values are sealed under their names, so one that was cut, changed or moved
is a miss. What is too much is the server's to push out (`maxmemory-policy`). The URL may hold a password: it is never
logged, and neither is what the client library says.
"""

import asyncio
import hashlib
import logging
import time
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from service.ipc.messages import Row

logger = logging.getLogger("cenote.front")

PREFIX = b"cenote:vectors:1:"
TIMEOUT_S = 0.05
"""A vector is a few kilobytes: a server on the same network answers in one or two milliseconds."""
KEPT_S = 7 * 24 * 3600
"""How long a vector is kept: those of a model that is no longer served leave by themselves."""
MAX_VALUE_BYTES = 256 << 10
MAX_WRITES = 64
"""Requests whose vectors wait to be written; those of more are dropped."""
MAX_FAILURES = 3
REST_S = 10.0
SEAL_BYTES = 16
SCHEMES = {"valkey": "redis", "valkeys": "rediss"}
"""What the client library calls them; the two older names and `unix` are its own."""

_DECODER = msgspec.msgpack.Decoder(dict[str, bytes])


class VectorStore:
    """Vectors by name. Nothing is raised: what fails is a miss, or not kept."""

    def __init__(self, url: str) -> None:
        """Keep vectors on the server at `url`. Nothing is connected yet."""
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
        self._writes: set[asyncio.Task[None]] = set()
        self._num_failures = 0
        self._rests_until_s = 0.0

    async def find(self, names: Mapping[int, bytes]) -> dict[int, dict[str, bytes]]:
        """The rows that the server has, by number format.

        Args:
            names: by input.

        Returns:
            By input; those that are not there are left out.
        """
        if not names:
            return {}
        values = await self._ask("mget", [PREFIX + name for name in names.values()]) or ()
        found = ((index, unsealed(name, value)) for (index, name), value in zip(names.items(), values, strict=False))
        return {index: rows for index, rows in found if rows is not None}

    def keep(self, rows: Mapping[bytes, Mapping[str, Row]]) -> None:
        """Have rows written, unless too many wait.

        Args:
            rows: number format to bytes, by name.
        """
        if not rows or len(self._writes) >= MAX_WRITES or self._rests():
            return
        values = [(name, sealed(name, one)) for name, one in rows.items()]
        task = asyncio.create_task(self._write([one for one in values if len(one[1]) <= MAX_VALUE_BYTES]))
        self._writes.add(task)
        task.add_done_callback(self._writes.discard)

    async def _write(self, values: Sequence[tuple[bytes, bytes]]) -> None:
        async def send() -> None:
            async with self._client.pipeline(transaction=False) as pipe:
                for name, value in values:
                    pipe.set(PREFIX + name, value, ex=KEPT_S)
                await pipe.execute()

        await self._in_time(send())

    async def _ask(self, command: str, argument: Any) -> Any:
        return None if self._rests() else await self._in_time(getattr(self._client, command)(argument))

    async def _in_time(self, asked: Any) -> Any:
        try:
            async with asyncio.timeout(TIMEOUT_S):
                answer = await asked
        except self._errors as error:
            self._failed(type(error).__name__)
            return None
        self._num_failures = 0
        return answer

    def _rests(self) -> bool:
        return time.monotonic() < self._rests_until_s

    def _failed(self, kind: str) -> None:
        self._num_failures += 1
        if self._num_failures >= MAX_FAILURES:
            self._rests_until_s = time.monotonic() + REST_S
        if self._num_failures == MAX_FAILURES:
            logger.warning("the server of shared vectors fails with %s; it is left alone for %g s", kind, REST_S)


def sealed(name: bytes, rows: Mapping[str, Row]) -> bytes:
    """A value: BLAKE2b of the rows under their name, 16 bytes, then the rows as msgpack."""
    body = msgspec.msgpack.encode(rows)
    return _seal(name, body) + body


def unsealed(name: bytes, value: bytes | None) -> dict[str, bytes] | None:
    """The rows of a value; None when there is none, or it is not what was stored under this name."""
    if value is None or value[:SEAL_BYTES] != _seal(name, value[SEAL_BYTES:]):
        return None
    try:
        return _DECODER.decode(value[SEAL_BYTES:])
    except msgspec.MsgspecError:
        return None


def _seal(name: bytes, body: bytes) -> bytes:
    return hashlib.blake2b(body, key=name, digest_size=SEAL_BYTES).digest()
