"""The operating system's resolver: what it knows without a network, and what it does with a slow one."""

import asyncio
import time
from ipaddress import ip_address

import pytest

from service.media.fetch import connection
from service.media.fetch.connection import FetchError, SystemResolver


def test_the_machines_own_name_has_its_own_address() -> None:
    found = asyncio.run(SystemResolver().resolve("localhost"))
    assert set(found) <= {ip_address("127.0.0.1"), ip_address("::1")}
    assert found


def test_a_name_that_is_none_is_not_resolved() -> None:
    with pytest.raises(FetchError, match="name_not_resolved"):
        asyncio.run(SystemResolver().resolve("nowhere.invalid"))


def test_a_look_up_that_nobody_waits_for_keeps_its_place_until_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "getaddrinfo", lambda *_, **__: time.sleep(0.3) or [])
    names = SystemResolver(max_look_ups=1)

    async def leave_and_ask() -> tuple[bool, float]:
        began_s = time.monotonic()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(names.resolve("a.example"), 0.05)
        was_locked = names._places.locked()
        with pytest.raises(FetchError):
            await names.resolve("b.example")
        return was_locked, time.monotonic() - began_s

    was_locked, took_s = asyncio.run(leave_and_ask())
    assert was_locked
    assert took_s >= 0.6
