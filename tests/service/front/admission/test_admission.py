"""The queue's bound, before anything is done for a request."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from service.errors import UnavailableError
from service.front.admission.admission import EVERYBODY, Admission, Reservation
from service.front.admission.load import QueueLimits
from service.front.admission.queues import Queues
from service.front.admission.shared_table import SharedTable
from service.front.tenant import Tenant


def admission() -> Admission:
    return Admission(QueueLimits(max_inputs=10, max_tokens=100, max_bytes=1000), SharedTable.of_one_front())


def test_a_full_queue_says_what_it_holds_and_when_to_come_back() -> None:
    queue = admission()
    queue.rate.finished(50)
    with queue.place(8) as place:
        place.add_tokens(80)
        with pytest.raises(UnavailableError, match="8 inputs, 80 tokens") as caught, queue.place(3):
            pass
        assert caught.value.code == "overloaded"
        assert 1 <= caught.value.retry_after_s <= 30
        with queue.place(2):
            pass


def test_one_request_over_a_limit_still_runs_when_it_is_alone() -> None:
    queue = admission()
    with queue.place(11), pytest.raises(UnavailableError), queue.place(1):
        pass
    with queue.place(1), pytest.raises(UnavailableError), queue.place(11):
        pass


@contextmanager
def sent(queue: Admission, num_bytes: int) -> Iterator[Reservation]:
    """A body that has come as a whole."""
    with queue.body(num_bytes) as room:
        room.add_bytes(num_bytes)
        yield room


def test_bodies_are_bounded_before_they_are_read() -> None:
    queue = admission()
    with sent(queue, 900), sent(queue, 100), pytest.raises(UnavailableError, match="1000 bytes"), queue.body(1):
        pass
    with sent(queue, 5000), queue.place(1):  # alone
        pass


def test_who_announces_much_and_sends_little_holds_little() -> None:
    queue = admission()
    with queue.body(1000) as slow, queue.body(1000), queue.body(0) as unannounced:
        slow.add_bytes(10)
        unannounced.add_bytes(990)
        with pytest.raises(UnavailableError, match="1000 bytes"):
            slow.add_bytes(1)
    with sent(queue, 10), pytest.raises(UnavailableError), queue.body(991):  # told before it has sent a byte
        pass


def test_tokens_are_bounded_once_they_are_known() -> None:
    queue = admission()
    with queue.place(1) as first, queue.place(1) as second:
        first.add_tokens(500)  # alone
        with pytest.raises(UnavailableError):
            second.add_tokens(1)
    with queue.place(1) as third:
        third.add_tokens(100)


def test_the_bytes_of_large_answers_are_bounded_with_the_bodies() -> None:
    queue = admission()
    with sent(queue, 400), queue.place(1) as first, queue.place(1) as second:
        first.add_tokens(10, 5000)  # alone: nobody else has tokens
        with pytest.raises(UnavailableError, match="5400 bytes"):
            second.add_tokens(1, 1)
    with sent(queue, 400), queue.place(1) as third, queue.place(1) as fourth:
        third.add_tokens(1, 300)
        fourth.add_tokens(1, 300)
        with pytest.raises(UnavailableError, match="1000 bytes"):
            fourth.add_tokens(1, 1)


def test_bytes_that_a_request_fetches_are_bounded_unless_it_is_alone() -> None:
    queue = admission()
    with sent(queue, 400), queue.place(1) as first:
        first.add_bytes(5000)
        with pytest.raises(UnavailableError, match="5400 bytes"), queue.place(1):
            pass
    with sent(queue, 900), sent(queue, 0), queue.place(1) as first, queue.place(1) as second:
        second.add_bytes(100)
        with pytest.raises(UnavailableError, match="1000 bytes"):
            first.add_bytes(1)


def test_whoever_leaves_by_an_error_leaves_whole() -> None:
    queue = admission()

    def fail() -> None:
        with queue.place(9) as place:
            place.add_tokens(90)
            raise ValueError("oops")

    for _ in range(50):
        with pytest.raises(ValueError, match="oops"):
            fail()
    with queue.place(10) as place:
        place.add_tokens(100)


def test_a_tenant_over_its_share_is_refused_and_the_others_get_in() -> None:
    queue = Admission(
        QueueLimits(max_inputs=10, max_tokens=100, max_bytes=1000), SharedTable.of_one_front(), tenant_share=0.5
    )
    greedy, modest = Tenant.named("greedy"), Tenant.named("modest")
    with queue.place(4, greedy) as place:
        place.add_tokens(40)
        with pytest.raises(UnavailableError, match="this tenant holds 4 inputs") as caught, queue.place(2, greedy):
            pass
        assert caught.value.code == "rate_limit_exceeded"
        with pytest.raises(UnavailableError), queue.place(1, greedy) as more:
            more.add_tokens(20)
        with queue.place(5, modest), pytest.raises(UnavailableError) as caught, queue.place(2, Tenant.named("third")):
            pass
        assert caught.value.code == "overloaded"
    with queue.place(5, greedy):
        pass


def test_where_there_are_no_keys_nobody_has_a_share() -> None:
    queue = Admission(
        QueueLimits(max_inputs=10, max_tokens=100, max_bytes=1000), SharedTable.of_one_front(), tenant_share=0.1
    )
    with queue.place(5), queue.place(5):
        pass


def test_a_full_queue_refuses_before_a_body_is_read() -> None:
    queue = admission()
    with queue.place(10), pytest.raises(UnavailableError), queue.body(1):
        pass
    with queue.place(1) as place:
        place.add_tokens(100)
        with pytest.raises(UnavailableError), queue.body(1):
            pass
    with queue.body(1):
        pass


def test_a_models_queue_holds_nothing_of_what_the_service_refuses() -> None:
    service, own = admission(), admission()
    queues = Queues(service, own)
    with service.place(9):
        with pytest.raises(UnavailableError):
            queues.place(2, EVERYBODY)
        assert own.load.is_nothing()
    with queues.place(2, EVERYBODY) as place:
        place.add_tokens(7)
        assert (service.load.num_tokens, own.load.num_tokens) == (7, 7)
    assert service.load.is_nothing()
    assert own.load.is_nothing()
