"""Silence that an engine is allowed: never less than the floor, and long for steps that are known to be long."""

import pytest

from service.front.hub.watchdog import NUM_REMEMBERED, UNKNOWN_S, StepTimes, Watchdog
from service.ipc.messages import StepKind, StepStarted


def watchdog(times: StepTimes | None = None) -> Watchdog:
    return Watchdog(10.0, times=times)


def step(number: int, kind: StepKind, num_tokens: int, began_s: float) -> StepStarted:
    return StepStarted(number=number, kind=kind, num_tokens=num_tokens, ids=[], began_s=began_s)


def silent(dog: Watchdog, seconds: float) -> bool:
    """True if it barks within so many ticks of a second."""
    return any(dog.tick(1.0) for _ in range(int(seconds)))


def test_between_steps_the_floor_is_the_limit() -> None:
    dog = watchdog()
    assert not silent(dog, 10)
    assert silent(dog, 1)


def test_any_sign_of_life_starts_the_count_again() -> None:
    dog = watchdog()
    assert not silent(dog, 10)
    dog.heard(10.0, 0)
    assert not silent(dog, 10)


def test_a_step_of_a_kind_that_was_never_seen_has_a_minute() -> None:
    dog = watchdog()
    dog.started(step(1, "encode", 4, 0.0))
    assert not silent(dog, 60)
    assert silent(dog, 1)


def test_a_large_step_is_expected_to_take_as_much_longer_as_it_is_larger() -> None:
    """The known question has 4 visual tokens; the first real image on a slow CPU takes a minute, and may."""
    times = StepTimes()
    times.learn("encode", 4, 0.2)
    dog = watchdog(times)
    dog.started(step(1, "encode", 2048, 0.0))
    assert dog.limit_s == pytest.approx(5 * 0.2 * 512)
    dog.heard(60.0, 1)
    dog.started(step(2, "encode", 2048, 60.0))
    assert dog.limit_s == pytest.approx(5 * 60.0)  # of this size one has been seen: nothing is reckoned any more


def test_a_step_far_larger_than_all_before_is_an_unknown_one() -> None:
    """Short prompts whose beginnings are kept take next to nothing; a long one has all of attention's square."""
    times = StepTimes()
    times.learn("forward", 30, 0.005)
    assert times.expected_s("forward", 240) == pytest.approx(8 * 0.005)
    assert times.expected_s("forward", 8192) == UNKNOWN_S
    times.learn("forward", 8192, 30.0)
    assert times.expected_s("forward", 8192) == 30.0


def test_a_word_from_before_a_step_does_not_end_it() -> None:
    times = StepTimes()
    times.learn("forward", 100, 8.0)
    dog = watchdog(times)
    dog.started(step(1, "forward", 100, 0.0))
    dog.started(step(2, "forward", 100, 3.0))  # both were read together, the answer to the first is read after them
    dog.heard(3.1, 1)
    assert dog.limit_s == 40.0
    dog.heard(7.0, 2)
    assert dog.limit_s == 10.0
    times.learn("forward", 100, 1.0)
    assert sorted(times._seconds["forward", 7]) == [1.0, 3.0, 4.0, 8.0]


def test_quick_steps_are_held_to_the_floor() -> None:
    times = StepTimes()
    for _ in range(NUM_REMEMBERED):
        times.learn("forward", 100, 0.01)
    dog = watchdog(times)
    dog.started(step(1, "forward", 100, 0.0))
    assert dog.limit_s == 10.0


def test_one_step_that_was_stopped_and_went_on_does_not_spoil_the_measure() -> None:
    times = StepTimes()
    for seconds in [500.0, *[3.0] * (NUM_REMEMBERED - 1)]:
        times.learn("forward", 100, seconds)
    assert times.expected_s("forward", 100) == 3.0


def test_kinds_are_not_mixed() -> None:
    times = StepTimes()
    times.learn("encode", 100, 60.0)
    times.learn("forward", 100, 3.0)
    assert times.expected_s("forward", 100) == 3.0


def test_a_front_that_was_stopped_itself_does_not_blame_the_engine() -> None:
    assert not watchdog().tick(3600.0)
