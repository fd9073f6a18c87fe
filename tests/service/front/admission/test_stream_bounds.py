"""Bounds of a stream: its window, the part of the queue that it leaves alone, the toll of its key."""

import asyncio

import pytest

from schemas.limits import MAX_INPUTS
from service.errors import UnavailableError
from service.front.admission.budget import EVERYBODY, QUEUE, Budget
from service.front.admission.key_file import ApiKey
from service.front.admission.key_meter import KeyMeter
from service.front.admission.load import NOTHING, ONE_MORE, Load
from service.front.admission.shared_table import SharedRows, SharedTable
from service.front.admission.stream_bounds import StreamRateLimit, StreamWindow
from service.front.tenant import Tenant

LIMITS = Load(8, 80, 800)
ACME, OTHER = Tenant.named("acme"), Tenant.named("other")


def lines(num: int) -> Load:
    return Load(num, num, num)


async def waits(entering: asyncio.Future[None]) -> bool:
    await asyncio.wait([entering], timeout=0.1)
    return not entering.done()


async def test_a_window_takes_no_more_than_its_limits_until_something_has_left() -> None:
    queue = Budget(QUEUE, Load(100, 1000, 10_000), SharedTable.of_one_front())
    with queue.take(EVERYBODY, NOTHING, ONE_MORE) as lease:
        window = StreamWindow(LIMITS, lease, queue)
        await window.enter(lines(6))
        second = asyncio.ensure_future(window.enter(lines(3)))
        assert await waits(second)
        window.leave(lines(6))
        assert not await waits(second)
        window.leave(lines(3))
        await window.enter(lines(50))  # what is too large by itself passes alone
        assert lease.held.num_bytes == 50
    assert queue.has_bulk_room(ACME)


@pytest.mark.parametrize("num_fronts", [1, 2])
async def test_a_stream_waits_while_the_queue_is_half_full_of_others_unless_it_has_nothing_under_way(
    num_fronts: int,
) -> None:
    rows = SharedRows(num_fronts)
    tables = [SharedTable.inherited(rows.descriptor, index) for index in range(num_fronts)]
    queue, *_, other = [Budget(QUEUE, LIMITS, table) for table in tables] * 2
    with queue.take(EVERYBODY, NOTHING, ONE_MORE) as lease, other.take(EVERYBODY, Load(4)):
        window = StreamWindow(LIMITS, lease, queue)
        await window.enter(lines(1))
        second = asyncio.ensure_future(window.enter(lines(1)))
        assert await waits(second)
        window.leave(lines(1))
        second.cancel()


def test_streams_of_a_tenant_leave_half_of_its_share_alone() -> None:
    queue = Budget(QUEUE, LIMITS, SharedTable.of_one_front(), tenant_share=0.5)
    with queue.take(ACME, Load(1)):
        assert queue.has_bulk_room(ACME)
        with queue.take(ACME, Load(1)):
            assert not queue.has_bulk_room(ACME)
            assert queue.has_bulk_room(OTHER)
            with queue.take(ACME, Load(1)):
                pass  # who asks for one vector has the other half


def test_a_full_queue_takes_no_new_stream_and_bytes_of_a_line_that_has_begun_are_refused() -> None:
    queue = Budget(QUEUE, LIMITS, SharedTable.of_one_front())
    with queue.take(EVERYBODY, NOTHING, ONE_MORE) as lease, queue.take(EVERYBODY, NOTHING, ONE_MORE) as other:
        window = StreamWindow(LIMITS, lease, queue)
        other.grow(Load(num_bytes=500), is_checked=False)
        window.hold_begun(200)
        with pytest.raises(UnavailableError, match="the queue holds"):
            window.hold_begun(400)
        window.hold_begun(0)
        assert lease.held.num_bytes == 0
    with queue.take(EVERYBODY, Load(8)), pytest.raises(UnavailableError), queue.take(EVERYBODY, NOTHING, ONE_MORE):
        pass


def test_each_requests_worth_of_lines_pays_for_a_request() -> None:
    now = [0.0]
    meter = KeyMeter(
        ApiKey(tenant="acme", sha256="0" * 64, max_requests_per_s=2.0), SharedTable.of_one_front(), lambda: now[0]
    )
    with meter.request():
        toll = StreamRateLimit(meter)
        assert [toll.due_s(MAX_INPUTS // 2) for _ in range(4)] == [0.0] * 4  # its own request's, and one more
        assert toll.due_s(1) == pytest.approx(0.5)
        now[0] += 0.5
        assert toll.due_s(MAX_INPUTS) == 0.0
        assert toll.due_s(1) > 0.0


def test_without_keys_and_without_a_rate_lines_cost_nothing() -> None:
    unbounded = KeyMeter(ApiKey(tenant="acme", sha256="0" * 64), SharedTable.of_one_front())
    for toll in (StreamRateLimit(None), StreamRateLimit(unbounded)):
        assert [toll.due_s(MAX_INPUTS) for _ in range(5)] == [0.0] * 5
        assert not toll.is_void
    unbounded.is_revoked = True
    assert StreamRateLimit(unbounded).is_void
