"""Silence that an engine is allowed, never less than the floor and long for known long steps; and the breaker."""

import pytest

from service.front.hub.watchdog import NUM_REMEMBERED, UNKNOWN_S, Breaker, Watchdog
from service.ipc.messages import StepKind, StepStarted


@pytest.fixture
def dog() -> Watchdog:
    return Watchdog(10.0)


def start(dog: Watchdog, number: int, kind: StepKind, num_tokens: int, began_s: float) -> None:
    dog.heard(began_s, number - 1)
    dog.step = StepStarted(number=number, kind=kind, num_tokens=num_tokens, ids=[], began_s=began_s)


def learn(dog: Watchdog, kind: StepKind, num_tokens: int, seconds: float) -> None:
    start(dog, 0, kind, num_tokens, 0.0)
    dog.heard(seconds, 0)


def silent(dog: Watchdog, seconds: float) -> bool:
    """True if it barks within so many ticks of a second."""
    return any(dog.tick(1.0) for _ in range(int(seconds)))


def test_between_steps_the_floor_is_the_limit_and_any_sign_of_life_starts_the_count_again(dog: Watchdog) -> None:
    assert not silent(dog, 10)
    dog.heard(10.0, 0)
    assert not silent(dog, 10)
    assert silent(dog, 1)


def test_a_step_of_a_kind_that_was_never_seen_has_a_minute(dog: Watchdog) -> None:
    start(dog, 1, "encode", 4, 0.0)
    assert not silent(dog, 60)
    assert silent(dog, 1)


def test_a_large_step_is_expected_to_take_as_much_longer_as_it_is_larger(dog: Watchdog) -> None:
    """The known question has 4 visual tokens; the first real image on a slow CPU takes a minute, and may."""
    learn(dog, "encode", 4, 0.2)
    start(dog, 1, "encode", 2048, 0.0)
    assert dog.limit_s == pytest.approx(5 * 0.2 * 512)
    dog.heard(60.0, 1)
    start(dog, 2, "encode", 2048, 60.0)
    assert dog.limit_s == pytest.approx(5 * 60.0)  # of this size one has been seen: nothing is reckoned any more


def test_a_step_far_larger_than_all_before_is_an_unknown_one(dog: Watchdog) -> None:
    """Short prompts whose beginnings are kept take next to nothing; a long one has all of attention's square."""
    learn(dog, "forward", 30, 0.005)
    assert dog.expected_s("forward", 240) == pytest.approx(8 * 0.005)
    assert dog.expected_s("forward", 8192) == UNKNOWN_S
    learn(dog, "forward", 8192, 30.0)
    assert dog.expected_s("forward", 8192) == 30.0


def test_a_word_from_before_a_step_does_not_end_it(dog: Watchdog) -> None:
    learn(dog, "forward", 100, 8.0)
    start(dog, 1, "forward", 100, 0.0)
    start(dog, 2, "forward", 100, 3.0)  # both were read together, the answer to the first is read after them
    dog.heard(3.1, 1)
    assert dog.limit_s == 40.0
    dog.heard(7.0, 2)
    assert dog.limit_s == 10.0
    learn(dog, "forward", 100, 1.0)
    assert sorted(dog._seconds["forward", 7]) == [1.0, 3.0, 4.0, 8.0]


def test_quick_steps_are_held_to_the_floor(dog: Watchdog) -> None:
    for _ in range(NUM_REMEMBERED):
        learn(dog, "forward", 100, 0.01)
    start(dog, 1, "forward", 100, 0.0)
    assert dog.limit_s == 10.0


def test_neither_one_step_that_was_stopped_and_went_on_nor_another_kind_spoils_the_measure(dog: Watchdog) -> None:
    learn(dog, "encode", 100, 60.0)
    for seconds in [500.0, *[3.0] * (NUM_REMEMBERED - 1)]:
        learn(dog, "forward", 100, seconds)
    assert dog.expected_s("forward", 100) == 3.0


def test_a_front_that_was_stopped_itself_does_not_blame_the_engine(dog: Watchdog) -> None:
    assert not dog.tick(3600.0)


@pytest.mark.parametrize(
    ("max_deaths", "ends", "are_open"),
    [
        (5, [(0, 1), (10, 1), (20, 1), (30, 1), (59, 1)], [False] * 4 + [True]),
        (5, [(0, 1), (20, 1), (40, 1), (55, 1), (60, 1)], [False] * 5),  # in more than a minute
        (2, [(0, 0), (1, 0), (32, 0), (63, 0)], [False, True, True, True]),  # the one that is tried has one chance
        (2, [(0, 0), (1, 0), (200, 61), (201, 1)], [False, True, False, True]),  # one that has lived closes it
    ],
)
def test_the_breaker_is_open_after_too_many_ends_in_a_minute_until_an_engine_has_lived(
    max_deaths: int, ends: list[tuple[float, float]], are_open: list[bool]
) -> None:
    breaker = Breaker(max_deaths)
    assert [breaker.died(now_s, lived_s) for now_s, lived_s in ends] == are_open
