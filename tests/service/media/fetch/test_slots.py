"""Slots of a host are shared by tenants: nobody holds all of them, and nobody waits without an end."""

import asyncio

import pytest

from service.errors import UnavailableError
from service.fairness.fair_queue import Party
from service.media.fetch.slots import Slots

HOST = "host.test"


class Holding:
    """Fetches that last until they are told to end, in the order in which they got their slots."""

    def __init__(self, max_each: int, max_wait_s: float = 600.0) -> None:
        self.slots = Slots(max_each, max_wait_s)
        self.held: list[str] = []
        self._ends: list[asyncio.Event] = []
        self._tasks: list[asyncio.Task[None]] = []

    async def begin(self, tenant: str, request: int = 0, num: int = 1) -> None:
        for _ in range(num):
            end = asyncio.Event()
            self._tasks.append(asyncio.create_task(self._hold(tenant, request, end)))
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    async def _hold(self, tenant: str, request: int, end: asyncio.Event) -> None:
        async with self.slots.hold(HOST, Party(tenant, request)):
            self.held.append(tenant)
            self._ends.append(end)
            await end.wait()

    async def end_first(self) -> None:
        self._ends.pop(0).set()
        for _ in range(5):
            await asyncio.sleep(0)

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        assert len(self.slots) == 0


@pytest.mark.parametrize(("max_each", "most"), [(8, 6), (16, 12), (4, 3), (2, 1), (1, 1)])
async def test_one_tenant_leaves_a_quarter_to_others(max_each: int, most: int) -> None:
    holding = Holding(max_each)
    await holding.begin("slow", num=40)
    assert holding.held == ["slow"] * most
    await holding.begin("quick")
    assert holding.held == ["slow"] * most + ["quick"] * (max_each > 1)
    await holding.close()


async def test_the_last_slots_go_to_tenants_that_have_none() -> None:
    holding = Holding(8)
    await holding.begin("a", num=40)
    await holding.begin("b", num=40)
    await holding.begin("c")
    assert holding.held == ["a"] * 6 + ["b", "c"]
    await holding.close()


async def test_a_slot_that_becomes_free_goes_to_a_tenant_that_has_none_and_all_come_in_the_end() -> None:
    holding = Holding(4)
    await holding.begin("a", num=4)  # one more than it may hold
    await holding.begin("b", request=1, num=3)
    await holding.begin("c")
    assert holding.held == ["a", "a", "a", "b"]
    for _ in range(8):
        await holding.end_first()
    assert holding.held[4] == "c"  # before more for those that have one
    assert sorted(holding.held) == [*"aaaabbbc"]
    await holding.close()


async def test_who_waits_too_long_is_refused_with_when_to_come_again() -> None:
    holding = Holding(1, max_wait_s=0.05)
    await holding.begin("slow")
    with pytest.raises(UnavailableError, match="waited too long") as caught:
        async with holding.slots.hold(HOST, Party("quick", 1)):
            pass
    assert (caught.value.code, caught.value.retry_after_s) == ("overloaded", 5.0)
    await holding.end_first()
    async with holding.slots.hold(HOST, Party("quick", 1)):
        pass
    await holding.close()


async def test_a_tenants_own_fetches_before_it_are_no_reason_to_refuse_it() -> None:
    slots = Slots(1, max_wait_s=0.2)

    async def fetch() -> None:
        async with slots.hold(HOST, Party("one", 1)):
            await asyncio.sleep(0.1)

    await asyncio.gather(*(fetch() for _ in range(6)))
    assert len(slots) == 0
