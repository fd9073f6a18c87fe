"""When a forward waits for more requests: only for those that were under way a moment ago, and not for long."""

import pytest

from service.engine.scheduling.batch_delay import MAX_SHARE, MAX_WAIT_S, MIN_SHARE, READ_S, BatchDelay


@pytest.fixture
def delay() -> BatchDelay:
    """Sixteen requests were answered at 100 s, by a forward of 80 ms."""
    delay = BatchDelay()
    delay.ended(num_answered=16, num_left=0, seconds=0.08, now_s=100.0)
    return delay


def test_a_few_wait_for_those_that_come_back_with_them(delay: BatchDelay) -> None:
    assert delay.wait_s(1, 100.004) == pytest.approx(0.08 * MAX_SHARE - 0.004)
    assert delay.wait_s(15, 100.004) > 0
    assert delay.wait_s(16, 100.004) == 0


def test_nobody_waits_for_long(delay: BatchDelay) -> None:
    assert delay.wait_s(1, 100.004) > 0
    assert delay.wait_s(1, 100 + 0.08 * MAX_SHARE) == 0
    delay.ended(16, 0, 60.0, 200.0)
    assert delay.wait_s(1, 200.0) == pytest.approx(MAX_WAIT_S)


def test_a_lone_request_waits_for_nobody(delay: BatchDelay) -> None:
    assert BatchDelay().wait_s(1, 5.0) == 0
    delay.ended(1, 0, 0.08, 100.0)
    assert delay.wait_s(1, 100.0) == 0


def test_those_that_were_left_are_under_way_too(delay: BatchDelay) -> None:
    delay.ended(1, 15, 0.08, 100.0)
    assert delay.wait_s(15, 100.001) > 0
    assert delay.wait_s(16, 100.001) == 0


def test_it_waits_less_where_nobody_comes_and_longer_again_where_all_do(delay: BatchDelay) -> None:
    waits = []
    for turn in range(10):
        now_s = 200.0 + turn
        delay.ended(4, 0, 0.1, now_s)
        waits.append(delay.wait_s(2, now_s))
        assert delay.wait_s(2, now_s + 1) == 0
    assert waits == pytest.approx([0.1 * max(MIN_SHARE, MAX_SHARE / 2**turn) for turn in range(10)])
    delay.ended(4, 0, 0.1, 300.0)
    shortest_s = delay.wait_s(2, 300.0)
    assert delay.wait_s(4, 300.0) == 0
    delay.ended(4, 0, 0.1, 301.0)
    assert delay.wait_s(2, 301.0) == pytest.approx(2 * shortest_s)


def test_some_who_come_late_are_no_reason_to_wait_less(delay: BatchDelay) -> None:
    delay.wait_s(1, 100.001)
    assert delay.wait_s(9, 100.1) == 0
    delay.ended(16, 0, 0.08, 200.0)
    assert delay.wait_s(1, 200.0) == pytest.approx(0.08 * MAX_SHARE)


def test_after_a_pause_the_first_of_a_burst_waits_while_the_others_are_read(delay: BatchDelay) -> None:
    assert delay.wait_s(1, 150.0) == pytest.approx(16 * READ_S)
    assert delay.wait_s(7, 150.002) == pytest.approx(16 * READ_S - 0.002)
    assert delay.wait_s(16, 150.004) == 0


def test_after_a_pause_a_lone_request_waits_a_moment_and_the_next_one_for_nothing(delay: BatchDelay) -> None:
    assert delay.wait_s(1, 150.0) > 0
    assert delay.wait_s(1, 150.0 + 16 * READ_S) == 0
    delay.ended(1, 0, 0.02, 150.03)
    assert delay.wait_s(1, 160.0) == 0


def test_a_burst_is_not_waited_for_longer_than_those_that_come_back(delay: BatchDelay) -> None:
    delay.ended(16, 0, 0.004, 200.0)
    assert delay.wait_s(1, 201.0) == pytest.approx(0.004 * MAX_SHARE)


def test_a_burst_that_does_not_come_is_no_reason_to_wait_less_for_those_that_come_back(delay: BatchDelay) -> None:
    assert delay.wait_s(1, 150.0) > 0
    assert delay.wait_s(1, 151.0) == 0
    delay.ended(16, 0, 0.08, 200.0)
    assert delay.wait_s(1, 200.0) == pytest.approx(0.08 * MAX_SHARE)
