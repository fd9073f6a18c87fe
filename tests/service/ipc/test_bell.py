"""The bell between engine and front: heard while somebody listens, by everybody who does, and never waited for."""

import asyncio
import os
import subprocess
import sys

import pytest

from service.ipc.announcements import Announcer
from service.ipc.bell import Bell, ring

pytestmark = pytest.mark.skipif(not hasattr(os, "eventfd"), reason="no bells on this system")


async def rings(bell: Bell, heard: list[str]) -> list[str]:
    """What is heard of a ring, at the latest with the next turns of the loop."""
    ring(bell.descriptor)
    for _ in range(3):
        await asyncio.sleep(0)
    found = [*heard]
    heard.clear()
    return found


def test_whoever_listens_hears_it() -> None:
    async def check() -> None:
        bell, heard = Bell(), list[str]()
        first, second = lambda: heard.append("first"), lambda: heard.append("second")
        assert await rings(bell, heard) == []
        bell.listen(first)
        await asyncio.sleep(0)
        assert heard == []  # that was rung before
        bell.listen(second)
        assert await rings(bell, heard) == ["first", "second"]
        bell.leave(first)
        assert await rings(bell, heard) == ["second"]
        bell.leave(second)
        assert await rings(bell, heard) == []
        bell.close()

    asyncio.run(check())


def test_one_that_leaves_when_it_hears_takes_none_from_others() -> None:
    async def check() -> None:
        bell, heard = Bell(), list[str]()

        def once() -> None:
            heard.append("once")
            bell.leave(once)

        bell.listen(once)
        bell.listen(lambda: heard.append("always"))
        assert await rings(bell, heard) == ["once", "always"]
        assert await rings(bell, heard) == ["always"]
        bell.close()

    asyncio.run(check())


def test_another_process_rings_it() -> None:
    async def check() -> None:
        bell, heard = Bell(), asyncio.Event()
        bell.listen(heard.set)
        code = f"from service.ipc.bell import ring; ring({bell.descriptor})"
        subprocess.run([sys.executable, "-c", code], pass_fds=[bell.descriptor], check=True)
        await asyncio.wait_for(heard.wait(), 5)
        bell.close()

    asyncio.run(check())


def test_without_a_bell_nothing_is_rung_and_nothing_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "eventfd")
    bell = Bell()
    assert bell.descriptor == -1
    bell.listen(pytest.fail)
    ring(bell.descriptor)
    bell.leave(pytest.fail)
    bell.close()


def test_an_engines_announcer_rings_it() -> None:
    async def check() -> None:
        bell, heard = Bell(), asyncio.Event()
        bell.listen(heard.set)
        Announcer(-1, bell.descriptor).computed()
        await asyncio.wait_for(heard.wait(), 5)
        bell.close()
        Announcer(-1).computed()  # has none

    asyncio.run(check())
