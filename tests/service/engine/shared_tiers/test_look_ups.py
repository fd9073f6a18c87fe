"""Limits of look-ups: their number at once, and those that are late. The clock is a number."""

import math

from service.engine.shared_tiers.look_ups import MAX_LATE, REST_S, TIMEOUT_S, LookUps
from service.ipc.messages import Media
from tests.builders import media


class Asked:
    """Look-ups with a list of what was begun."""

    def __init__(self, max_held_tokens: int = 100, *, can_begin: bool = True) -> None:
        self.begun: list[str] = []
        self.can_begin = can_begin
        self.look_ups = LookUps(self._begin, max_held_tokens)
        assert not self.look_ups.ask(media("the known question's"))  # never looked up

    def _begin(self, media: Media) -> bool:
        if self.can_begin:
            self.begun.append(media.key.decode())
        return self.can_begin


def test_as_many_start_as_there_is_room_to_hold_and_the_rest_when_there_is() -> None:
    asked = Asked(max_held_tokens=25)
    assert [asked.look_ups.ask(media(name)) for name in "abcd"] == [True] * 4
    assert asked.look_ups.turn(0, 0.0) == []
    assert asked.begun == ["a", "b"]
    asked.look_ups.answered(b"a")
    asked.look_ups.turn(10, 0.0)  # a's features are held now
    assert asked.begun == ["a", "b"]
    asked.look_ups.turn(0, 0.0)
    assert asked.begun == ["a", "b", "c"]
    alone = Asked(max_held_tokens=25)
    for image in (media("large", num_tokens=1000), media("b")):
        alone.look_ups.ask(image)
    alone.look_ups.turn(0, 0.0)
    assert alone.begun == ["large"]


def test_one_that_is_not_answered_in_time_is_given_up() -> None:
    asked = Asked()
    asked.look_ups.ask(media("a"))
    asked.look_ups.turn(0, 100.0)
    assert asked.look_ups.wait_s(100.0) == TIMEOUT_S
    assert asked.look_ups.turn(0, 100.0 + TIMEOUT_S / 2) == []
    assert asked.look_ups.turn(0, 100.0 + TIMEOUT_S) == [b"a"]
    assert asked.look_ups.wait_s(101.0) == math.inf
    asked.look_ups.answered(b"a")  # late: passed over


def test_after_some_late_ones_in_a_row_nothing_is_looked_up_for_a_while_and_nobody_waits() -> None:
    asked = Asked(max_held_tokens=30)
    for name in "abcdef":
        asked.look_ups.ask(media(name))
    asked.look_ups.turn(0, 0.0)
    assert asked.begun == ["a", "b", "c"]
    assert asked.look_ups.turn(0, TIMEOUT_S) == [b"a", b"b", b"c", b"d", b"e", b"f"]
    for name in "abc":
        asked.look_ups.answered(name.encode())  # slow, not dead: it makes no difference
    assert not asked.look_ups.ask(media("g"))
    asked.look_ups.turn(0, TIMEOUT_S + REST_S)
    assert asked.look_ups.ask(media("g"))


def test_an_answer_in_time_forgives_the_late_ones() -> None:
    asked = Asked(max_held_tokens=10)
    now_s = 0.0
    for number in range(3 * MAX_LATE):
        asked.look_ups.ask(media(str(number)))
        asked.look_ups.turn(0, now_s)
        if number % MAX_LATE == 0:
            asked.look_ups.answered(str(number).encode())
        now_s += TIMEOUT_S
        asked.look_ups.turn(0, now_s)
        assert asked.look_ups.ask(media("probe"))
        asked.look_ups.turn(0, now_s)
        asked.look_ups.answered(b"probe")


def test_what_is_asked_for_twice_is_looked_up_once_and_what_cannot_begin_given_up_at_once() -> None:
    asked, hopeless = Asked(), Asked(can_begin=False)
    for _ in range(2):
        asked.look_ups.ask(media("a"))
    hopeless.look_ups.ask(media("a"))
    assert (asked.look_ups.turn(0, 0.0), hopeless.look_ups.turn(0, 0.0)) == ([], [b"a"])
    assert asked.begun == ["a"]
