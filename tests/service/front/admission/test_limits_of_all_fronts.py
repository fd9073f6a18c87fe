"""Limits hold for all fronts of a service together: the queue's, those of large answers, and an API key's."""

import asyncio
import gc
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from service.errors import UnavailableError
from service.front.admission.budget import ANSWERS, EVERYBODY, QUEUE, SMALL_BYTES, Budget
from service.front.admission.key_file import MIN_REQUESTS_PER_S, ApiKey, hash_key
from service.front.admission.key_meter import KeyMeter
from service.front.admission.load import Load
from service.front.admission.shared_table import SharedRows, SharedTable
from service.front.hub.hosted_front import HostedFront
from service.front.inputs.fetching import Fetching
from service.front.serving.serving import Serving
from service.front.tenant import Tenant
from service.metrics import REGISTRY
from service.settings.settings import Settings

LIMITS = Load(10, 100, 1000)
LARGE = 2 * SMALL_BYTES
ACME, OTHER = Tenant.named("acme"), Tenant.named("other")


def shared(num: int = 2) -> tuple[SharedRows, list[SharedTable]]:
    rows = SharedRows(num)
    return rows, [SharedTable.inherited(rows.descriptor, index) for index in range(num)]


def test_when_to_come_back_is_what_waits_at_all_fronts_by_what_the_engine_does_for_all() -> None:
    now_s, (_, (one, two, three)) = [0.0], shared(3)
    limits = Load(100, 100_000, 1000)
    first, second, third = (Budget(QUEUE, limits, table, now=lambda: now_s[0]) for table in (one, two, three))
    now_s[0] = 1000.0  # idle so far
    with first.take(EVERYBODY, Load(1)) as place, second.take(EVERYBODY, Load(1)) as other:
        place.grow(Load(num_tokens=6000))
        other.grow(Load(num_tokens=4000))
        for _ in range(100):
            now_s[0] += 0.5
            first.rate.finished(300)
            second.rate.finished(200)
        for queue in (first, second, third):  # the third had nothing to do
            assert queue.rate.tokens_per_s == pytest.approx(1000, rel=0.1)
        with pytest.raises(UnavailableError) as caught, third.take(EVERYBODY, Load(99)):
            pass
        assert caught.value.retry_after_s == pytest.approx(10, rel=0.4)  # 10,000 tokens wait, 25 % at random


def test_the_rate_takes_no_harm_from_a_front_that_dies() -> None:
    now_s = [0.0]
    rows, (one, two) = shared()
    limits = Load(100, 100_000, 1000)
    first, second = (Budget(QUEUE, limits, table, now=lambda: now_s[0]) for table in (one, two))
    with first.take(EVERYBODY, Load(1)) as place, second.take(EVERYBODY, Load(1)) as other:
        place.grow(Load(num_tokens=6000))
        other.grow(Load(num_tokens=6000))
        for _ in range(100):
            now_s[0] += 0.5
            second.rate.finished(250)
            first.rate.finished(250)
        rows.clear(1)
        for _ in range(100):
            now_s[0] += 0.5
            first.rate.finished(500)
            assert first.rate.tokens_per_s == pytest.approx(1000, rel=0.1)


def test_gauges_show_what_this_front_holds_itself() -> None:
    first, second = (front.queue for front in two_fronts(Settings()))  # the gauges ask the last one made
    with first.take(EVERYBODY, Load(3)), second.take(EVERYBODY, Load(2)):
        assert REGISTRY.get_sample_value("cenote_queue_inputs") == 2


async def test_a_dropped_answer_of_an_idle_front_does_not_count_for_long() -> None:
    first, second = (Budget(ANSWERS, Load(num_bytes=4 * LARGE), table) for table in shared()[1])
    held = first.take_answer(4 * LARGE, ACME)
    with pytest.raises(UnavailableError, match=f"answers hold {4 * LARGE} bytes"):
        second.take_answer(LARGE, EVERYBODY)
    watching = asyncio.ensure_future(first.watch())
    del held  # without `close`; nobody asks the first front for anything any more
    gc.collect()
    await asyncio.sleep(1.2)
    second.take_answer(LARGE, EVERYBODY)
    watching.cancel()


def two_fronts(settings: Settings) -> list[Serving]:
    links = [HostedFront(settings) for _ in range(2)]
    for link, table in zip(links, shared()[1], strict=True):
        link.table = table
    return [Serving(settings, link) for link in links]


def meters(now_s: list[float], **limits: float) -> tuple[SharedRows, list[KeyMeter]]:
    rows = SharedRows(2)
    key = ApiKey(tenant="acme", sha256="ab" * 32, **limits)  # type: ignore[arg-type]
    counts = [SharedTable.inherited(rows.descriptor, index, lambda: now_s[0]) for index in range(2)]
    return rows, [KeyMeter(key, one, lambda: now_s[0]) for one in counts]


def num_let_through(*ways: KeyMeter, most: int = 100) -> int:
    """Requests that a client gets through, one after the other, at these fronts in turn."""
    num = 0
    while num < most and ways[num % len(ways)].due_s() == 0:
        num += 1
    return num


def test_a_rate_is_the_same_at_any_front_and_at_all() -> None:
    now_s = [100.0]
    _, (first, second) = meters(now_s, max_requests_per_s=4.0)
    assert num_let_through(first, second) == 4
    assert first.due_s() == second.due_s() == pytest.approx(0.25)
    with pytest.raises(UnavailableError) as caught, first.request():
        pass
    assert (caught.value.code, caught.value.retry_after_s) == ("rate_limit_exceeded", pytest.approx(0.25))
    now_s[0] += 0.5
    assert num_let_through(second) == 2
    assert num_let_through(first) == 0
    now_s[0] += 3600.0
    assert num_let_through(first) == 4
    assert num_let_through(second) == 0
    for _ in range(1000):  # one front for a long time, then the other: no second burst
        now_s[0] += 0.25
        assert num_let_through(first) == 1
    assert num_let_through(second) == 0


def test_a_rate_below_one_a_second_and_one_that_is_changed() -> None:
    now_s = [100.0]
    _, (first, second) = meters(now_s, max_requests_per_s=0.1)
    assert num_let_through(first, second) == 1
    assert second.due_s() == pytest.approx(10)
    now_s[0] += 10
    assert num_let_through(second) == 1
    faster = ApiKey(tenant="acme", sha256="ab" * 32, max_requests_per_s=10.0)
    first.take(faster)  # it has read the file first; the second one's ten seconds are no longer the key's
    assert first.due_s() == pytest.approx(0.1)
    second.take(faster)
    assert num_let_through(first, second) == 10
    assert first.due_s() == second.due_s() == pytest.approx(0.1)
    _, (first, second) = meters([1e8], max_requests_per_s=MIN_REQUESTS_PER_S)  # the lowest that fronts can share
    assert num_let_through(first, second) == 1
    assert second.due_s() == pytest.approx(1 / MIN_REQUESTS_PER_S)


def test_requests_under_way_at_all_fronts_count() -> None:
    rows, (first, second) = meters([0.0], max_concurrent_requests=2)
    with first.request(), second.request():
        for meter in (first, second):
            with pytest.raises(UnavailableError, match="2 requests under way"), meter.request():
                pass
    with second.request(), second.request():
        with pytest.raises(UnavailableError), first.request():
            pass
        rows.clear(1)  # that front has died
        with first.request(), first.request():
            pass


def test_a_service_hands_the_table_to_all_that_has_limits(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    key = ApiKey(tenant="acme", sha256=hash_key(b"secret").hex(), max_concurrent_requests=1)
    path.write_bytes(msgspec.json.encode(key))
    settings = Settings(api_keys=str(path), max_queue_requests=10, max_queue_bytes=LARGE, max_tenant_share=1.0)
    first, second = two_fronts(settings)
    alone = Serving(settings, HostedFront(settings))
    with (
        first.queue.take(EVERYBODY, Load(9)),
        pytest.raises(UnavailableError, match="9 inputs"),
        second.queue.take(EVERYBODY, Load(2)),
    ):
        pass
    with first.answers.take_answer(LARGE, EVERYBODY), pytest.raises(UnavailableError, match=f"answers hold {LARGE}"):
        second.answers.take_answer(LARGE, EVERYBODY)
    ways = [serving.keyring.find(b"secret") for serving in (first, second) if serving.keyring]
    assert ways[0] is not None
    assert ways[1] is not None
    with ways[0].meter.request(), pytest.raises(UnavailableError, match="1 requests"), ways[1].meter.request():
        pass
    with first.queue.take(EVERYBODY, Load(9)), alone.queue.take(EVERYBODY, Load(2)):
        pass


def test_fetches_by_url_are_split_evenly() -> None:
    settings = Settings(allow_media_hosts="a.example", max_media_fetches_per_host=8)
    parts = [Fetching.of(settings, num) for num in (1, 2, 4)]
    assert [part and (part.fetcher._hosts._max_each, part.fetcher._tenants._max_each) for part in parts] == [
        (8, 16),
        (4, 8),
        (2, 4),
    ]


HAMMER = """
import sys, time
from service.errors import UnavailableError
from service.front.admission.budget import EVERYBODY, QUEUE, Budget
from service.front.admission.key_file import MIN_REQUESTS_PER_S, ApiKey, hash_key
from service.front.admission.key_meter import KeyMeter
from service.front.admission.load import Load
from service.front.admission.shared_table import SharedTable
table = SharedTable.inherited(int(sys.argv[1]), int(sys.argv[2]))
queue = Budget(QUEUE, Load(8, 1000, 1000), table)
key = KeyMeter(ApiKey(tenant="acme", sha256="ab" * 32, max_requests_per_s=10_000.0), table)
print("ready", flush=True)
begin_s = float(sys.stdin.readline())
num_admitted = num_paid = most = 0
places = []
time.sleep(max(0.0, begin_s - time.monotonic()))
while (now_s := time.monotonic()) < begin_s + 1:
    num_paid += key.due_s() == 0
    try:
        place = queue.take(EVERYBODY, Load(1))
        places.append(place)
        num_admitted += 1
        most = max(most, queue.row.whole().num_inputs)  # its own stand still meanwhile, so the sum was true at one time
    except UnavailableError:
        if places:
            places.pop().close()
print(num_admitted, num_paid, most, flush=True)
"""


def test_two_processes_at_full_speed_exceed_a_limit_by_one_request_at_most_and_a_rate_by_little() -> None:
    rows = SharedRows(2)
    pipe = subprocess.PIPE
    children = [
        subprocess.Popen(
            [sys.executable, "-c", HAMMER, str(rows.descriptor), str(index)],
            stdin=pipe,
            stdout=pipe,
            text=True,
            pass_fds=[rows.descriptor],
        )
        for index in range(2)
    ]
    try:
        assert all(child.stdout and child.stdout.readline() == "ready\n" for child in children)
        begin_s = time.monotonic() + 0.2
        for child in children:
            assert child.stdin is not None
            child.stdin.write(f"{begin_s}\n")
            child.stdin.flush()
        ends = [[int(word) for word in child.communicate(timeout=30)[0].split()] for child in children]
    finally:
        for child in children:
            child.kill()
            child.wait()
    num_admitted, num_paid, _ = (sum(numbers) for numbers in zip(*ends, strict=True))
    most = max(most for _, _, most in ends)
    print(f"most at once {most} of 8; {num_admitted} admitted, {num_paid} paid of 20,000")
    assert num_admitted > 1000
    assert 8 <= most <= 9
    assert num_paid <= 20_000 * 1.05  # a second's worth at once, and a second
