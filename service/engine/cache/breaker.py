"""When to leave a tier alone: after some failures in a row, then for longer each time. Has no clock of its own."""

MAX_FAILURES = 3
FIRST_REST_S = 1.0
LONGEST_REST_S = 60.0


class TierBreaker:
    """Closed: the tier is used. Open: it is not, until one try after a rest is let through.

    Source: Nygard, "Release It!", circuit breaker.
    """

    def __init__(self) -> None:
        self._num_failures = 0
        self._rest_s = FIRST_REST_S
        self._rests_until_s = 0.0

    @property
    def is_up(self) -> bool:
        """Whether the tier did not fail when it was last tried."""
        return not self._num_failures

    def is_open(self, now_s: float) -> bool:
        """Whether the tier is to be left alone."""
        return now_s < self._rests_until_s

    def succeeded(self) -> None:
        """The tier has answered: all is forgotten."""
        self._num_failures = 0
        self._rest_s = FIRST_REST_S

    def failed(self, now_s: float) -> bool:
        """The tier has failed; whether it is left alone from now on, for the first time since it last answered."""
        self._num_failures += 1
        if self._num_failures < MAX_FAILURES:
            return False
        self._rests_until_s = now_s + self._rest_s
        self._rest_s = min(LONGEST_REST_S, 2 * self._rest_s)
        return self._num_failures == MAX_FAILURES
