"""When to stop starting engines: after too many ends in a minute, and then after one more. Has no clock of its own."""

from collections import deque

WINDOW_S = 60.0


class Breaker:
    """Closed: engines are restarted. Open: one is tried after a while (half open); only if it lives, all is forgotten.

    Source: reference/security-reliability.md section 5, "engine crash"; Nygard, "Release It!", circuit breaker.
    """

    def __init__(self, max_deaths: int, *, window_s: float = WINDOW_S) -> None:
        self._max_deaths = max_deaths
        self._window_s = window_s
        self._deaths: deque[float] = deque()
        self._is_trial = False

    def died(self, now_s: float, lived_s: float) -> bool:
        """An engine has ended; whether the breaker is open now.

        Args:
            now_s: the time.
            lived_s: how long it had been ready; 0 when it never was.
        """
        if lived_s >= self._window_s:
            self._is_trial = False
        self._deaths.append(now_s)
        while now_s - self._deaths[0] >= self._window_s:
            self._deaths.popleft()
        if self._is_trial or len(self._deaths) >= self._max_deaths:
            self._deaths.clear()
            self._is_trial = True
        return self._is_trial
