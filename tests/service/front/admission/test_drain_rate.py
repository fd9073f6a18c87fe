"""Rate at which the queue empties, and the `Retry-After` of it."""

import pytest

from service.front.admission.budget import EVERYBODY, QUEUE, Budget, DrainRate
from service.front.admission.load import Load
from service.front.admission.shared_table import SharedTable


def test_when_to_come_back_is_what_waits_by_what_was_measured() -> None:
    now_s = [0.0]
    rate = DrainRate(SharedTable.of_one_front(), lambda: now_s[0])
    rate.clock(is_running=True)
    for _ in range(200):
        now_s[0] += 0.5
        rate.finished(250)  # 500 a second, encoding included
    assert rate.tokens_per_s == pytest.approx(500, rel=0.05)
    rate.clock(is_running=False)
    now_s[0] += 1000  # nobody was there meanwhile
    rate.clock(is_running=True)
    now_s[0] += 0.5
    rate.finished(250)
    assert rate.tokens_per_s == pytest.approx(500, rel=0.05)
    waits = [rate.retry_after_s(5000) for _ in range(200)]
    assert all(7 <= wait <= 13 for wait in waits)
    assert len({round(wait, 3) for wait in waits}) > 50
    for num_tokens in (0, 1, 10**9):
        assert all(1 <= rate.retry_after_s(num_tokens) <= 30 for _ in range(50))


def test_the_health_probes_of_an_idle_hour_say_nothing_of_how_fast_the_queue_empties() -> None:
    now_s = [0.0]
    queue = Budget(QUEUE, Load(10, 100_000, 1000), SharedTable.of_one_front(), now=lambda: now_s[0])

    def busy(seconds: int) -> None:
        with queue.take(EVERYBODY, Load(1)) as lease:
            lease.grow(Load(num_tokens=1000))
            for _ in range(seconds):
                now_s[0] += 1
                queue.rate.finished(1000)

    busy(60)
    for _ in range(60):
        now_s[0] += 60
        queue.rate.finished(20)  # the probe goes past the queue
    busy(1)
    assert queue.rate.tokens_per_s == pytest.approx(1000, rel=0.05)
