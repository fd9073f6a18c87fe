"""The silence of a front, as the main process counts it."""

from service.front.admission.shared_table import SharedRows
from service.processes.front_process import LATE_S, STUCK_S, FrontProcess
from service.settings.settings import Settings


def silent_front() -> FrontProcess:
    front = FrontProcess(0, Settings(), 2, SharedRows(2), (-1,), lambda *_: None)
    front.is_serving = True
    return front


def test_a_front_is_late_once_it_was_not_heard_for_long() -> None:
    front = silent_front()
    for _ in range(int(LATE_S / 0.25)):
        assert not front.is_late
        front.look(0.25)
    assert front.is_late


def test_after_a_pause_of_the_whole_machine_no_front_is_late() -> None:
    front = silent_front()
    front.look(3600.0)
    assert not front.is_late


def test_a_front_that_starts_is_not_expected_to_speak() -> None:
    front = silent_front()
    front.is_serving = False
    for _ in range(2 * int(STUCK_S)):
        front.look(1.0)
    assert not front.is_late
