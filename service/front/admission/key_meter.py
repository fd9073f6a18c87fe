"""The limits of one API key: its requests per second, and those under way."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from service.errors import UnavailableError
from service.front.admission.key_file import ApiKey
from service.front.admission.shared_table import SharedTable

BUSY_RETRY_S = 1.0
"""`Retry-After` at the limit of concurrent requests: when one ends is not known."""

BURST_NS = 1_000_000_000
"""A rate lets through so much at once, and at least one request."""


class KeyMeter:
    """Counts the requests of one key at all fronts; survives a reload of the file.

    The rate is a bucket of one second's worth, kept as the time that the requests so far have used up: one more moves
    it on by 1 / rate, and it may be ahead of the clock by a second. The latest of all fronts' times is the key's own.

    Source: the generic cell rate algorithm (ITU-T I.371), whose theoretical arrival time this is.

    Attributes:
        num_under_way: requests at this front.
        is_revoked: whether the file no longer has the key; long requests (streams) check it.
    """

    def __init__(self, key: ApiKey, table: SharedTable, now: Callable[[], float] = time.monotonic) -> None:
        self.key = key
        self.is_revoked = False
        self._now = now
        self._table = table
        self._name = f"key/{key.sha256}"
        self._used_up_ns = 0
        self.num_under_way = 0

    def take(self, key: ApiKey) -> None:
        """Go on with the limits that the file has now; a rate that was changed begins with a whole second's worth."""
        if key.max_requests_per_s != self.key.max_requests_per_s:
            self._used_up_ns = 0
        self.key = key
        self._show()
        if not key.is_limited:
            self._table.publish(self._name, 0)

    @contextmanager
    def request(self) -> Iterator[None]:
        """Count a request for the length of the `with`.

        Raises:
            UnavailableError: `rate_limit_exceeded`, at one of the key's limits.
        """
        if self.key.is_limited:
            most, rate = self.key.max_concurrent_requests, self.key.max_requests_per_s
            num_under_way = self.num_under_way + sum(one.first for one in self._table.others(self._name))
            if most is not None and num_under_way >= most:
                message = f"this key has {num_under_way} requests under way; it may have {most}"
                raise UnavailableError("rate_limit_exceeded", message, retry_after_s=BUSY_RETRY_S)
            if wait_s := self.due_s():
                message = f"this key may send {rate:g} requests a second"
                raise UnavailableError("rate_limit_exceeded", message, retry_after_s=wait_s)
        self.num_under_way += 1
        self._show()
        try:
            yield
        finally:
            self.num_under_way -= 1
            self._show()

    def due_s(self) -> float:
        """Charge a request if the rate allows it now; else return the seconds until it does."""
        rate = self.key.max_requests_per_s
        if rate is None:
            return 0.0
        now_ns, each_ns = int(self._now() * 1e9), int(1e9 / rate)
        burst_ns = max(BURST_NS, each_ns)
        theirs_ns = self._their_time_ns()
        used_up_ns = max(self._used_up_ns, theirs_ns)
        used_up_ns = min(max(used_up_ns, now_ns), now_ns + burst_ns)  # another front may have an older rate
        wait_ns = used_up_ns + each_ns - burst_ns - now_ns
        if wait_ns > 0:
            return wait_ns / 1e9
        self._used_up_ns = used_up_ns + each_ns
        self._show()
        again_ns = self._their_time_ns()
        if again_ns > max(theirs_ns, used_up_ns):  # both have charged from the same time: count both
            self._used_up_ns = again_ns + each_ns
            self._show()
        return 0.0

    def _their_time_ns(self) -> int:
        return max((one.until_ns for one in self._table.others(self._name)), default=0)

    def _show(self) -> None:
        if self.key.is_limited:
            self._table.publish(self._name, self.num_under_way, until_ns=self._used_up_ns)
