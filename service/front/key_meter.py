"""What one key may send: so many requests a second, and so many at once.

A token bucket that holds one second's worth, and a counter. In: the moment. Out: a place for one request, or how long
to wait. Knows no HTTP and no file.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from service.errors import UnavailableError
from service.front.key_file import ApiKey

BUSY_RETRY_S = 1.0
"""When a place among the concurrent ones is worth another try: nobody knows when one is free."""


class KeyMeter:
    """Counts the requests of one key; outlives a reload of the file.

    Attributes:
        key: the limits, as the file has them now.
        is_revoked: the file has the key no more; only who came before, and stays long, has to ask.
    """

    def __init__(self, key: ApiKey, now: Callable[[], float] = time.monotonic) -> None:
        self.key = key
        self.is_revoked = False
        self._now = now
        self._credit = self._most
        self._credited_s = now()
        self._num_under_way = 0

    @contextmanager
    def request(self) -> Iterator[None]:
        """A place for a request, for the length of the `with`.

        Raises:
            UnavailableError: `rate_limit_exceeded`: one of the key's limits is reached.
        """
        most = self.key.max_concurrent_requests
        if most is not None and self._num_under_way >= most:
            message = f"this key has {self._num_under_way} requests under way; it may have {most}"
            raise UnavailableError("rate_limit_exceeded", message, retry_after_s=BUSY_RETRY_S)
        self._pay()
        self._num_under_way += 1
        try:
            yield
        finally:
            self._num_under_way -= 1

    @property
    def _most(self) -> float:
        """A second's worth, and never less than one request."""
        return max(1.0, self.key.max_requests_per_s or 1.0)

    def due_s(self) -> float:
        """Pay for a request, if there is credit.

        Returns:
            Seconds until there is; 0 when it is paid.
        """
        rate = self.key.max_requests_per_s
        if rate is None:
            return 0.0
        now_s = self._now()
        self._credit = min(self._most, self._credit + (now_s - self._credited_s) * rate)
        self._credited_s = now_s
        if self._credit < 1.0:
            return (1.0 - self._credit) / rate
        self._credit -= 1.0
        return 0.0

    def _pay(self) -> None:
        if wait_s := self.due_s():
            message = f"this key may send {self.key.max_requests_per_s:g} requests a second"
            raise UnavailableError("rate_limit_exceeded", message, retry_after_s=wait_s)
