"""The shared tier on a Valkey or Redis server: one value for each image's features. Needs the extra `valkey`.

A server that is slow, full or gone costs nothing but misses: every call has a short deadline, and after some failures
in a row none is made for a while. What is too much for the server is the server's to push out (`maxmemory-policy`).
The URL may hold a password: it is never logged, and neither is what the client library says.
"""

import logging
import threading
import time
from collections.abc import Callable
from typing import Any

from service.engine.shared_tiers.health import TierBreaker, TierCounts
from service.ipc.reports import TierReport

logger = logging.getLogger("cenote.engine")

PREFIX = "cenote:features:1:"
TIMEOUT_S = 0.25
READ_BYTES = 1 << 20
"""Asked of the socket at once: values are megabytes."""
KEPT_S = 7 * 24 * 3600
"""Lifetime of a value: those of a model that is no longer served expire."""
MAX_VALUE_BYTES = 128 << 20
SCHEMES = {"valkey": "redis", "valkeys": "rediss"}
"""The client library's names of the schemes; the two older names and `unix` are its own."""


class ValkeyTier:
    """A `SharedTier` on a server."""

    def __init__(self, url: str) -> None:
        """Keep features on the server at `url`, which a thread greets, so that a wrong address is said."""
        from redis import Redis
        from redis.backoff import NoBackoff
        from redis.exceptions import OutOfMemoryError, RedisError
        from redis.retry import Retry

        scheme, _, rest = url.partition("://")
        self._client: Any = Redis.from_url(
            f"{SCHEMES.get(scheme, scheme)}://{rest}",
            socket_timeout=TIMEOUT_S,
            socket_connect_timeout=TIMEOUT_S,
            retry=Retry(NoBackoff(), 0),
            socket_read_size=READ_BYTES,
            max_connections=4,
            client_name="cenote",
        )
        self._errors = (RedisError, OSError)
        self._full = OutOfMemoryError
        self.counts = TierCounts("valkey")
        self._breaker = TierBreaker()
        self._last_error: Exception | None = None
        threading.Thread(target=self._greet, name="valkey-greet", daemon=True).start()

    def get(self, name: str) -> bytes | None:
        """The bytes under a name, or None."""
        blob: bytes | None = self._call(lambda: self._client.get(PREFIX + name))
        if blob is None:
            self.counts.add("num_misses")
        return blob

    def put(self, name: str, blob: bytes) -> None:
        """Store bytes, unless the server has them."""
        is_stored = len(blob) <= MAX_VALUE_BYTES and self._call(
            lambda: self._client.set(PREFIX + name, blob, ex=KEPT_S, nx=True) or True  # None: it was there already
        )
        if not is_stored:
            self.counts.add("num_rejected")

    def refuse(self, name: str) -> None:
        """Remove a value that was not valid."""
        self.counts.add("num_misses", "num_corrupt")
        self._call(lambda: self._client.delete(PREFIX + name))

    def report(self) -> TierReport:
        """Report the counts of this process; bytes and entries are the server's. Down until it has answered."""
        return self.counts.report(0, 0, is_up=self._breaker.is_up and self.counts.last_success_s > 0)

    def _call(self, ask: Callable[[], Any]) -> Any:
        """Ask the server; None when it does not answer, or must not be asked now."""
        if self._breaker.is_open(time.monotonic()):
            return None
        try:
            answer = ask()
        except self._full:  # it may still be read from
            answer = None
        except self._errors as error:
            self._failed(error)
            return None
        self._breaker.succeeded()
        self.counts.last_success_s = time.time()
        return answer

    def _greet(self) -> None:
        if self._call(self._client.ping) is None:
            at = self._client.connection_pool.connection_kwargs
            address = f"{at['host']}:{at['port']}" if "host" in at else at.get("path", "its socket")
            kind = type(self._last_error).__name__
            logger.warning(
                "the Valkey server at %s fails with %s; features are kept without it until it answers", address, kind
            )

    def _failed(self, error: Exception) -> None:
        self._last_error = error
        if self._breaker.failed(time.monotonic()):
            kind = type(error).__name__
            logger.warning("the Valkey server fails with %s; it is not used for a while", kind)
