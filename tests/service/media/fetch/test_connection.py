"""The operating system's resolver: what it knows without a network, and what it does with a slow one."""

import asyncio
import threading
from ipaddress import ip_address
from socket import getaddrinfo
from typing import Any

import pytest

from service.fairness.fair_queue import open_party
from service.media.fetch import connection
from service.media.fetch.connection import FetchError, SystemResolver


async def test_the_machines_own_name_has_its_own_address_and_a_name_that_is_none_has_none() -> None:
    found = await SystemResolver().resolve("localhost")
    assert found
    assert set(found) <= {ip_address("127.0.0.1"), ip_address("::1")}
    with pytest.raises(FetchError, match="name_not_resolved"):
        await SystemResolver().resolve("nowhere.invalid")


async def test_a_look_up_that_nobody_waits_for_keeps_its_place_until_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    goes_on, asked = threading.Event(), list[bytes]()

    def blocked(name: bytes, *_: object, **__: object) -> list[object]:
        asked.append(name)
        goes_on.wait(30)
        return []

    monkeypatch.setattr(connection, "getaddrinfo", blocked)
    names = SystemResolver(max_look_ups=1)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(names.resolve("a.example"), 0.05)
    second = asyncio.create_task(names.resolve("b.example"))
    await asyncio.sleep(0.05)
    assert b"b.example" not in asked
    goes_on.set()
    with pytest.raises(FetchError):
        await second
    assert asked == [b"a.example", b"b.example"]


async def test_slow_name_servers_of_one_tenant_leave_look_ups_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    goes_on = threading.Event()

    def look_up(name: bytes, *given: Any, **named: Any) -> Any:
        if name.startswith(b"slow"):
            goes_on.wait(30)
        return getaddrinfo("127.0.0.1", *given, **named)

    monkeypatch.setattr(connection, "getaddrinfo", look_up)
    names = SystemResolver(max_look_ups=4)

    async def ask(tenant: str, name: str) -> None:
        open_party(tenant)
        await names.resolve(name)

    slow = [asyncio.create_task(ask("slow", f"slow{number}.test")) for number in range(10)]
    await asyncio.sleep(0)
    try:
        await asyncio.wait_for(asyncio.create_task(ask("quick", "quick.test")), 20)
    finally:
        goes_on.set()
    await asyncio.gather(*slow)
