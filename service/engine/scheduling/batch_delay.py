"""The moment for which a forward waits for requests that are on their way.

Clients that wait for their answers ask again as soon as they have them, so the requests of one forward come back
together, within the time in which answers are written and requests are read. A forward that begins with the first of
them runs nearly empty, and the others wait for its end. Has no clock and knows no requests.
"""

MAX_SHARE = 0.25
"""A forward waits at most this part of what the last one took, counted from that one's end."""
MIN_SHARE = MAX_SHARE / 64
MAX_WAIT_S = 0.1
"""64 clients take some 40 ms to be answered and to ask again, where front and clients share two cores."""


READ_S = 0.0005
"""Time that a front takes for a short request, for each of a burst that comes after a pause."""


class BatchDelay:
    """Expects as many requests as were under way when the last forward ended; of a lone one it expects no other.

    Where it has waited and nobody came it waits half as long the next time, and twice as long once all have come:
    clients that think before they ask again cost nothing for long. After a pause the first waits for as many as were
    under way before it, but no longer than they take to be read.
    """

    def __init__(self) -> None:
        self._share = MAX_SHARE
        self._num_expected = 0
        self._num_first: int | None = None  # that were ready when it began to wait for those that come back
        self._most_s = 0.0
        self._until_s = 0.0
        self._is_first = True  # nobody has been ready since the last forward
        self._is_burst = False

    def ended(self, num_answered: int, num_left: int, seconds: float, now_s: float) -> None:
        """A forward has ended that took `seconds`, and its answers were sent; `now_s` is on any monotonic clock."""
        self._num_expected = num_answered + num_left if num_answered > 1 or num_left else 0
        self._num_first, self._is_first, self._is_burst = None, True, False
        self._most_s = min(MAX_WAIT_S, seconds * self._share)
        self._until_s = now_s + self._most_s

    def wait_s(self, num_ready: int, now_s: float) -> float:
        """Seconds that the next forward still waits for more than the requests that are ready; 0 when it may begin."""
        if self._is_first and now_s >= self._until_s:
            self._is_burst = True
            self._until_s = now_s + min(self._most_s, READ_S * self._num_expected)
        self._is_first = False
        wait_s = max(0.0, self._until_s - now_s)
        if self._is_burst:
            return wait_s if num_ready < self._num_expected else 0.0
        if wait_s and num_ready < self._num_expected:
            self._num_first = num_ready if self._num_first is None else self._num_first
            return wait_s
        if self._num_first is not None:  # it has waited, and does no longer
            if num_ready >= self._num_expected:
                self._share = min(MAX_SHARE, self._share * 2)
            elif num_ready <= self._num_first:
                self._share = max(MIN_SHARE, self._share / 2)
            self._num_first = None
        return 0.0
