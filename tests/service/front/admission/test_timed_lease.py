"""A lease for the length of a `with` ends by its deadline, and by nothing else than what ended it."""

import asyncio
import time

import pytest

from service.errors import DeadlineError, UnavailableError
from service.front.admission.budget import QUEUE, Budget, TimedLease
from service.front.admission.load import Load
from service.front.admission.shared_table import SharedTable
from service.front.tenant import SERVICE, Caller

LONG_S = 60.0


def queue() -> Budget:
    return Budget(QUEUE, Load(2, 100, 1000), SharedTable.of_one_front())


def hurried(seconds: float) -> Caller:
    return Caller(SERVICE.tenant, time.monotonic() + seconds, seconds)


def lease(of: Budget, num_inputs: int, caller: Caller, timeout_s: float) -> TimedLease:
    one = TimedLease(of, caller.tenant, caller, timeout_s)
    one.grow(Load(num_inputs))
    return one


async def stay(of: Budget, caller: Caller, timeout_s: float, seconds: float) -> None:
    with lease(of, 1, caller, timeout_s):
        await asyncio.sleep(seconds)


@pytest.mark.parametrize(("patience_s", "timeout_s"), [(0.02, LONG_S), (LONG_S, 0.03), (-1.0, LONG_S)])
async def test_time_is_up_for_who_has_less_of_it(patience_s: float, timeout_s: float) -> None:
    of = queue()
    with pytest.raises(DeadlineError, match=f"within {min(patience_s, timeout_s):g} s") as caught:
        await stay(of, hurried(patience_s), timeout_s, LONG_S)
    assert caught.value.is_final == (patience_s < timeout_s)
    task = asyncio.current_task()
    assert task is not None
    assert not task.cancelling()
    assert of.held.is_nothing()


async def test_who_leaves_in_time_hears_nothing_of_it() -> None:
    of = queue()
    await stay(of, hurried(0.03), LONG_S, 0.0)
    await asyncio.sleep(0.05)
    assert of.held.is_nothing()


@pytest.mark.parametrize("seconds", [LONG_S, 0.0])
async def test_a_cancellation_from_outside_stays_one_also_when_time_is_up(seconds: float) -> None:
    of = queue()
    task = asyncio.create_task(stay(of, hurried(seconds), LONG_S, LONG_S))
    await asyncio.sleep(0)  # it has begun; where it has no time, that is up in the next turn
    asyncio.get_running_loop().call_soon(task.cancel)
    with pytest.raises(asyncio.CancelledError):
        await task
    assert task.cancelled()
    assert of.held.is_nothing()


async def test_an_error_within_is_the_one_that_is_raised() -> None:
    of = queue()
    with pytest.raises(KeyError), lease(of, 1, hurried(LONG_S), LONG_S):
        raise KeyError
    with lease(of, 2, SERVICE, LONG_S), pytest.raises(UnavailableError), lease(of, 1, SERVICE, LONG_S):
        pass
    assert of.held.is_nothing()
