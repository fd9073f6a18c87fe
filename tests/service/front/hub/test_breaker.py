"""The breaker: open after too many ends in a minute, then after one, and closed again when an engine has lived."""

from service.front.hub.watchdog import Breaker


def test_five_ends_in_a_minute_open_it() -> None:
    breaker = Breaker(5)
    assert [breaker.died(second, 1.0) for second in (0.0, 10.0, 20.0, 30.0, 59.0)] == [False] * 4 + [True]


def test_five_ends_in_more_than_a_minute_do_not() -> None:
    breaker = Breaker(5)
    assert not any(breaker.died(second, 1.0) for second in (0.0, 20.0, 40.0, 55.0, 60.0))


def test_the_engine_that_is_tried_has_one_chance() -> None:
    breaker = Breaker(2)
    assert [breaker.died(second, 0.0) for second in (0.0, 1.0, 32.0, 63.0)] == [False, True, True, True]


def test_an_engine_that_lived_closes_it() -> None:
    breaker = Breaker(2)
    assert [breaker.died(0.0, 0.0), breaker.died(1.0, 0.0)] == [False, True]
    assert [breaker.died(200.0, 61.0), breaker.died(201.0, 1.0)] == [False, True]
