"""The queue's bound, before anything is done for a request."""

import pytest

from service.errors import UnavailableError
from service.front.admission import Admission, QueueLimits


def admission() -> Admission:
    return Admission(QueueLimits(max_inputs=10, max_tokens=100, max_bytes=1000))


def test_a_full_queue_says_what_it_holds_and_when_to_come_back() -> None:
    queue = admission()
    queue.observe(50, 5.0)
    with queue.place(8, 10) as place:
        queue.add_tokens(place, 80)
        with pytest.raises(UnavailableError, match="8 inputs, 80 tokens") as caught, queue.place(3, 10):
            pass
        assert caught.value.code == "queue_full"
        assert 1 <= caught.value.retry_after_s <= 30
        with queue.place(2, 10):
            pass


@pytest.mark.parametrize("load", [(11, 0), (1, 1001)])
def test_one_request_over_a_limit_still_runs_when_it_is_alone(load: tuple[int, int]) -> None:
    queue = admission()
    with queue.place(*load), pytest.raises(UnavailableError), queue.place(1, 1):
        pass
    with queue.place(1, 0), pytest.raises(UnavailableError), queue.place(*load):
        pass


def test_tokens_are_bounded_once_they_are_known() -> None:
    queue = admission()
    with queue.place(1, 0) as first, queue.place(1, 0) as second:
        queue.add_tokens(first, 500)  # alone
        with pytest.raises(UnavailableError):
            queue.add_tokens(second, 1)
    with queue.place(1, 0) as third:
        queue.add_tokens(third, 100)


def test_whoever_leaves_by_an_error_leaves_whole() -> None:
    queue = admission()

    def fail() -> None:
        with queue.place(9, 900) as place:
            queue.add_tokens(place, 90)
            raise ValueError("oops")

    for _ in range(50):
        with pytest.raises(ValueError, match="oops"):
            fail()
    with queue.place(10, 1000) as place:
        queue.add_tokens(place, 100)
