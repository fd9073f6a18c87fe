"""Budgets: what is leased before anything is done for a request, for all and for each tenant, and given back.

Limits are the service's: where it has two fronts, each of two requests comes to another.
"""

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from service.errors import UnavailableError
from service.front.admission.budget import ANSWERS, EVERYBODY, QUEUE, SMALL_BYTES, Budget, DrainRate, Kind, Lease
from service.front.admission.load import ONE_BODY, ONE_MORE, Load
from service.front.admission.shared_table import SharedRows, SharedTable
from service.front.tenant import Tenant

LIMITS = Load(10, 100, 1000)
LARGE = 2 * SMALL_BYTES
ACME, OTHER = Tenant.named("acme"), Tenant.named("other")


Pair = Callable[..., tuple[Budget, Budget]]


@pytest.fixture(params=[1, 2], ids=["one_front", "two_fronts"])
def pair(request: pytest.FixtureRequest) -> Pair:
    """Makes the budget of a service as its first and its last front see it."""

    def make(kind: Kind = QUEUE, limits: Load = LIMITS, share: float = 1.0) -> tuple[Budget, Budget]:
        rows = SharedRows(request.param)
        first, *_, last = [
            Budget(kind, limits, SharedTable.inherited(rows.descriptor, index), share) for index in range(request.param)
        ] * 2
        return first, last

    return make


def test_a_full_queue_says_what_it_holds_and_when_to_come_back(pair: Pair) -> None:
    queue, other = pair()
    queue.rate.finished(50)
    with queue.take(EVERYBODY, Load(8)) as lease:
        lease.grow(Load(num_tokens=80))
        with pytest.raises(UnavailableError, match="8 inputs, 80 tokens") as caught, other.take(EVERYBODY, Load(3)):
            pass
        assert caught.value.code == "overloaded"
        assert 1 <= caught.value.retry_after_s <= 30
        with queue.take(EVERYBODY, Load(2)):
            pass


def test_one_request_over_a_limit_still_runs_when_it_is_alone(pair: Pair) -> None:
    queue, other = pair()
    with queue.take(EVERYBODY, Load(11)), pytest.raises(UnavailableError), other.take(EVERYBODY, Load(1)):
        pass
    with queue.take(EVERYBODY, Load(1)), pytest.raises(UnavailableError), other.take(EVERYBODY, Load(11)):
        pass


def body(queue: Budget, num_announced: int) -> Lease:
    """The leases of a request before its body is read."""
    return queue.take(EVERYBODY, ONE_BODY, ONE_MORE, Load(num_bytes=num_announced))


@contextmanager
def sent(queue: Budget, num_bytes: int) -> Iterator[Lease]:
    """A body that has come as a whole."""
    with body(queue, num_bytes) as room:
        room.add_bytes(num_bytes)
        yield room


def test_bodies_are_bounded_before_they_are_read(pair: Pair) -> None:
    queue, other = pair()
    with sent(queue, 900), sent(other, 100), pytest.raises(UnavailableError, match="1000 bytes"), body(queue, 1):
        pass
    with sent(queue, 5000), other.take(EVERYBODY, Load(1)):  # alone
        pass


def test_who_announces_much_and_sends_little_holds_little(pair: Pair) -> None:
    queue, other = pair()
    with body(queue, 1000) as slow, body(other, 1000), body(queue, 0) as unannounced:
        slow.add_bytes(10)
        unannounced.add_bytes(990)
        with pytest.raises(UnavailableError, match="1000 bytes"):
            slow.add_bytes(1)
    with sent(queue, 10), pytest.raises(UnavailableError), body(other, 991):  # told before it has sent a byte
        pass


def test_tokens_are_bounded_once_they_are_known(pair: Pair) -> None:
    queue, other = pair()
    with queue.take(EVERYBODY, Load(1)) as first, other.take(EVERYBODY, Load(1)) as second:
        first.grow(Load(num_tokens=500))  # alone
        with pytest.raises(UnavailableError):
            second.grow(Load(num_tokens=1))
    with queue.take(EVERYBODY, Load(1)) as third:
        third.grow(Load(num_tokens=100))


def test_the_bytes_of_large_answers_are_bounded_with_the_bodies(pair: Pair) -> None:
    queue, other = pair()
    with sent(queue, 400), other.take(EVERYBODY, Load(1)) as first, queue.take(EVERYBODY, Load(1)) as second:
        first.grow(Load(num_tokens=10, num_bytes=5000))  # alone: nobody else has tokens
        with pytest.raises(UnavailableError, match="5400 bytes"):
            second.grow(Load(num_tokens=1, num_bytes=1))
    with sent(queue, 400), other.take(EVERYBODY, Load(1)) as third, queue.take(EVERYBODY, Load(1)) as fourth:
        third.grow(Load(num_tokens=1, num_bytes=300))
        fourth.grow(Load(num_tokens=1, num_bytes=300))
        with pytest.raises(UnavailableError, match="1000 bytes"):
            fourth.grow(Load(num_tokens=1, num_bytes=1))


def test_bytes_that_a_request_fetches_are_bounded_unless_it_is_alone(pair: Pair) -> None:
    queue, other = pair()
    with sent(queue, 400), other.take(EVERYBODY, Load(1)) as first:
        first.add_bytes(5000)
        with pytest.raises(UnavailableError, match="5400 bytes"), queue.take(EVERYBODY, Load(1)):
            pass
    with (
        sent(queue, 900),
        sent(queue, 0),
        queue.take(EVERYBODY, Load(1)) as first,
        queue.take(EVERYBODY, Load(1)) as second,
    ):
        second.add_bytes(100)
        with pytest.raises(UnavailableError, match="1000 bytes"):
            first.add_bytes(1)


def test_whoever_leaves_by_an_error_leaves_whole(pair: Pair) -> None:
    queue, other = pair()

    def fail() -> None:
        with queue.take(EVERYBODY, Load(9)) as lease:
            lease.grow(Load(num_tokens=90))
            raise ValueError("oops")

    for _ in range(50):
        with pytest.raises(ValueError, match="oops"):
            fail()
    with other.take(EVERYBODY, Load(10)) as lease:
        lease.grow(Load(num_tokens=100))


def test_a_tenant_over_its_share_is_refused_and_the_others_get_in(pair: Pair) -> None:
    queue, other = pair(share=0.5)
    greedy, modest = Tenant.named("greedy"), Tenant.named("modest")
    with queue.take(greedy, Load(4)) as lease:
        lease.grow(Load(num_tokens=40))
        with pytest.raises(UnavailableError, match="this tenant holds 4 inputs") as caught, other.take(greedy, Load(2)):
            pass
        assert caught.value.code == "rate_limit_exceeded"
        with pytest.raises(UnavailableError), other.take(greedy, Load(1)) as more:
            more.grow(Load(num_tokens=20))
        with (
            other.take(modest, Load(5)),
            pytest.raises(UnavailableError) as caught,
            queue.take(Tenant.named("third"), Load(2)),
        ):
            pass
        assert caught.value.code == "overloaded"
    with queue.take(greedy, Load(5)), other.take(EVERYBODY, Load(5)):  # without keys nobody has a share
        pass
    everybodys, others = pair(share=0.1)
    with everybodys.take(EVERYBODY, Load(5)), others.take(EVERYBODY, Load(5)):
        pass


def test_a_full_queue_refuses_before_a_body_is_read(pair: Pair) -> None:
    queue, other = pair()
    with queue.take(EVERYBODY, Load(10)), pytest.raises(UnavailableError), body(other, 1):
        pass
    with queue.take(EVERYBODY, Load(1)) as lease:
        lease.grow(Load(num_tokens=100))
        with pytest.raises(UnavailableError), body(queue, 1):
            pass
    with body(queue, 1):
        pass


def test_a_models_queue_holds_nothing_of_what_the_service_refuses() -> None:
    service = Budget(QUEUE, LIMITS, SharedTable.of_one_front())
    own = Budget(QUEUE, Load(5, 100, 1000), SharedTable.of_one_front(), within=service, prefix="0/")
    with service.take(EVERYBODY, Load(9)):
        with pytest.raises(UnavailableError):
            own.take(EVERYBODY, Load(2))
        assert own.held.is_nothing()
    with (
        pytest.raises(UnavailableError, match="holds 1 inputs"),
        own.take(EVERYBODY, Load(1)),
        own.take(EVERYBODY, Load(5)),
    ):
        pass
    with own.take(EVERYBODY, Load(2)) as lease:
        lease.grow(Load(num_tokens=7))
        assert (service.held.num_tokens, own.held.num_tokens) == (7, 7)
    assert service.held.is_nothing()
    assert own.held.is_nothing()


def test_what_is_small_is_never_refused_and_what_is_large_only_beside_others(pair: Pair) -> None:
    answers, other = pair(ANSWERS, Load(num_bytes=LARGE))
    first = answers.take_answer(10 * LARGE, EVERYBODY)
    assert answers.take_answer(SMALL_BYTES, EVERYBODY).held.is_nothing()
    with pytest.raises(UnavailableError, match=f"hold {10 * LARGE} bytes") as caught:
        other.take_answer(LARGE, EVERYBODY)
    assert (caught.value.code, caught.value.retry_after_s) == ("overloaded", 2.0)
    first.keep(0)
    assert other.take_answer(LARGE, EVERYBODY).held.num_bytes == LARGE


def test_a_tenant_has_its_share_and_others_have_theirs(pair: Pair) -> None:
    answers, other = pair(ANSWERS, Load(num_bytes=4 * LARGE), 0.5)
    held = [answers.take_answer(LARGE, ACME), other.take_answer(LARGE, ACME)]
    with pytest.raises(UnavailableError, match="this tenant's answers") as caught:
        other.take_answer(LARGE, ACME)
    assert caught.value.code == "rate_limit_exceeded"
    held += [other.take_answer(LARGE, OTHER), answers.take_answer(LARGE, OTHER)]
    with pytest.raises(UnavailableError, match=f"answers hold {4 * LARGE} bytes"):
        other.take_answer(LARGE, EVERYBODY)
    assert len(held) == 4


def test_an_answer_that_is_dropped_gives_its_bytes_back() -> None:
    answers = Budget(ANSWERS, Load(num_bytes=LARGE), SharedTable.of_one_front(), 1.0)
    lease = answers.take_answer(LARGE, ACME)
    with pytest.raises(UnavailableError):
        answers.take_answer(LARGE, ACME)
    del lease
    gc.collect()
    again = answers.take_answer(LARGE, ACME)
    again.close()
    again.close()
    assert answers.take_answer(LARGE, ACME).held.num_bytes == LARGE


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
