"""Threads and processes give the same pixels; a process that an image breaks is replaced, and only that image fails.

The broken processes are programs of this test in the place of the worker's: they speak its language and then misbehave.
"""

import asyncio
import gc
import os
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from service import metrics
from service.decode import image_decoder
from service.decode.image_decoder import ProcessDecoder, ThreadDecoder
from service.errors import MediaError, ModelError, UnavailableError
from service.fairness import room
from service.media.error_location import ErrorLocation
from service.media.image.decode import load_pixels
from service.media.image.header import DecodeLimits
from service.media.image.image_file import ImageFile, open_image
from service.media.item import ImageReadOptions
from service.media.resize.image_rule import PixelRule
from tests.builders import image_file, noise
from tests.conftest import children_of
from tests.service.decode import misbehaving
from tests.service.decode.starter import starter

MEDIA = Path(__file__).parents[2] / "models" / "golden" / "oracle" / "media"
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="these limits are Linux's")

Start = Callable[..., ProcessDecoder]


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    limits = {"num_workers": 1, "num_early": 2, "max_bytes": 64 << 20, "deadline_s": 10}
    with starter(ProcessDecoder, monkeypatch, **limits) as start:
        yield start


def item(side: int, seed: int = 0) -> ImageFile:
    return image_file(noise(side, side, seed), location=ErrorLocation(f"images[{side}]", side))


def replaced(reason: str) -> float:
    return metrics.REGISTRY.get_sample_value("cenote_decode_workers_replaced_total", {"reason": reason}) or 0.0


async def test_a_process_gives_the_pixels_of_a_thread(start: Start) -> None:
    decoder = start(num_workers=2, num_early=3)
    ways = (ImageReadOptions(), ImageReadOptions((10, 200, 30), upright=True), ImageReadOptions("stored"))
    for path in sorted(path for path in MEDIA.iterdir() if path.suffix in (".png", ".jpg", ".webp", ".gif")):
        for options in ways:
            one = open_image(path.read_bytes(), DecodeLimits(), PixelRule(), options=options)
            assert np.array_equal((await decoder.pixels(one)).reshape(*one.size, 3), load_pixels(one)), path.name


async def test_a_file_that_is_cut_is_refused_by_its_place_and_the_process_stays(start: Start) -> None:
    encoded = (MEDIA / "real0.jpg").read_bytes()
    broken = open_image(encoded[: len(encoded) // 2], DecodeLimits(), PixelRule(), ErrorLocation("images[3]", 3))
    decoder = start()
    before = replaced("lost")
    with pytest.raises(MediaError) as caught:
        await decoder.pixels(broken)
    assert (caught.value.code, caught.value.param, caught.value.index) == ("media_undecodable", "images[3]", 3)
    assert (await decoder.pixels(item(32))).size
    assert replaced("lost") == before


@LINUX
@pytest.mark.parametrize(
    ("what", "reason", "num_replaced", "words"),
    [
        ("ctypes.string_at(0)", "lost", 2, "damaged"),
        ("while True: pass", "deadline", 1, "within 1 s"),
        ("time.sleep(60)", "deadline", 1, "within 1 s"),
        ("return bytearray(4 << 30)", "lost", 0, "damaged"),
        ("return b'x' * 7", "lost", 2, "damaged"),
        ("os.write(3, b'\\xff' * 4096)", "lost", 2, "damaged"),
        ("open('/etc/passwd')", "lost", 2, "damaged"),
        ("__import__('socket').socket()", "lost", 2, "damaged"),
    ],
)
async def test_an_image_that_breaks_its_process_is_refused_and_the_others_are_answered(
    start: Start,
    tmp_path: Path,
    what: str,
    reason: str,
    num_replaced: int,
    words: str,
    capfd: pytest.CaptureFixture[str],
) -> None:
    if "4 << 30" in what:
        what = f"try:\n    {what}\nexcept MemoryError:\n    return b''"
    before = replaced(reason)
    decoder = start(num_workers=2, num_early=3, deadline_s=1, command=misbehaving.image_worker(tmp_path, what))
    async with asyncio.timeout(30):
        others = [decoder.pixels(item(32, seed)) for seed in range(12)]
        bad, *good = await asyncio.gather(decoder.pixels(item(64)), *others, return_exceptions=True)
    assert isinstance(bad, MediaError)
    assert (bad.code, bad.index) == ("media_undecodable", 64)
    assert words in bad.message
    assert [one.tobytes() for one in good] == [load_pixels(item(32, seed)).tobytes() for seed in range(12)]
    assert decoder.room.num_bytes_taken == 0
    assert replaced(reason) - before == num_replaced
    assert capfd.readouterr().err == ""


@LINUX
async def test_a_task_that_stays_in_an_extra_seat_is_begun_again_where_it_may_take_its_time(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "EXTRA_S", 0.05)
    before = replaced("time")
    decoder = start(command=misbehaving.image_worker(tmp_path, "time.sleep(1); return decode(task)"))
    begun = [asyncio.create_task(decoder.pixels(item(64, seed))) for seed in range(2)]
    assert [(await one).tobytes() for one in begun] == [load_pixels(item(64, seed)).tobytes() for seed in range(2)]
    assert decoder.room.num_bytes_taken == 0
    assert replaced("time") - before == 1


HOLDS = """
global held
held = bytearray(100 << 20)
held[::4096] = bytes(len(held[::4096]))
time.sleep(1)
pixels = decode(task)
{then}
return pixels
"""


@LINUX
async def test_memory_is_counted_as_it_is_taken_and_who_finds_none_begins_again(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "EXTRA_S", 30.0)
    before = replaced("memory")
    decoder = start(command=misbehaving.image_worker(tmp_path, HOLDS.format(then="del held")))
    await asyncio.gather(*(decoder.pixels(item(32, seed)) for seed in range(2)))  # both processes have started
    begun = [asyncio.create_task(decoder.pixels(item(64, seed))) for seed in range(2)]
    most = 0
    while not all(one.done() for one in begun):
        await asyncio.sleep(0.02)
        most = max(most, decoder.room.num_bytes_taken)
    assert [(await one).size for one in begun] == [item(64).num_slot_bytes] * 2
    assert 64 << 20 < most < 150 << 20, "one after the other"
    assert decoder.room.num_bytes_taken == 0
    assert replaced("memory") - before == 1


@LINUX
async def test_a_process_that_keeps_its_memory_is_replaced(start: Start, tmp_path: Path) -> None:
    before = replaced("memory")
    decoder = start(command=misbehaving.image_worker(tmp_path, HOLDS.format(then="")))
    for side in (64, 32):
        assert (await decoder.pixels(item(side))).size
        assert replaced("memory") - before == 1


@LINUX
async def test_a_process_that_was_killed_for_something_else_costs_its_image_nothing(start: Start) -> None:
    others = set(children_of(os.getpid()))
    decoder = start()
    assert (await decoder.pixels(item(32))).size
    workers = set(children_of(os.getpid())) - others
    for pid in workers:
        os.kill(pid, 9)
    while workers & set(children_of(os.getpid())):
        await asyncio.sleep(0.01)
    assert (await decoder.pixels(item(32))).size
    assert set(children_of(os.getpid())) - others


@LINUX
@pytest.mark.parametrize(
    "command",
    ["in the middle", [sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"]],
    ids=["while they decode", "while they start"],
)
async def test_when_processes_are_killed_from_outside_nothing_is_at_fault_and_it_is_worth_trying_again(
    start: Start, tmp_path: Path, command: str | list[str]
) -> None:
    """As the kernel does it when memory is short."""
    if isinstance(command, str):
        command = misbehaving.image_worker(tmp_path, "os.kill(os.getpid(), 9)")
    decoder = start(command=command)
    for _ in range(3):  # and no process is missing afterwards
        with pytest.raises(UnavailableError) as caught:
            await decoder.pixels(item(64))
        assert (caught.value.code, caught.value.retry_after_s) == ("overloaded", 2)
    assert decoder.room.num_bytes_taken == 0


@LINUX
async def test_when_no_process_can_be_made_it_is_worth_trying_again(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise BlockingIOError

    decoder = start()
    with monkeypatch.context() as full:
        full.setattr("subprocess.Popen.__init__", refuse)
        full.setattr("subprocess.Popen.poll", lambda _: 1)
        for _ in range(3):
            with pytest.raises(UnavailableError):
                await decoder.pixels(item(32))
    assert (await decoder.pixels(item(32))).size


async def test_a_process_that_cannot_start_is_our_fault_and_not_the_images(start: Start) -> None:
    decoder = start(command=[sys.executable, "-c", "raise SystemExit(3)"])
    with pytest.raises(ModelError):
        await decoder.pixels(item(32))


@LINUX
async def test_a_worker_ends_with_its_front_and_knows_nothing_of_its_environment(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "secret")
    others = set(children_of(os.getpid()))
    assert (await start().pixels(item(32))).size
    workers = set(children_of(os.getpid())) - others
    assert len(workers) == 3  # two of them for the extra seats
    for pid in workers:
        assert b"secret" not in Path(f"/proc/{pid}/environ").read_bytes()
    files = [sorted(path.name for path in Path(f"/proc/{pid}/fd").iterdir()) for pid in workers]
    assert ["0", "1", "2", "3"] in files  # the other may still be loading its codecs


async def test_the_gauge_shows_what_all_decoders_hold_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each model of a service has decoders of its own."""
    goes_on = threading.Event()
    monkeypatch.setattr(image_decoder, "load_pixels", lambda _: goes_on.wait(30))

    def num_bytes() -> float:
        return metrics.REGISTRY.get_sample_value("cenote_decode_bytes") or 0.0

    before = num_bytes()
    one, two = (ThreadDecoder(num_threads=1, max_bytes=1 << 30, deadline_s=30) for _ in range(2))
    small, large = item(800), item(1500)
    decoding = [asyncio.create_task(one.pixels(small)), asyncio.create_task(two.pixels(large))]
    await asyncio.sleep(0)
    assert num_bytes() - before == small.header.num_decode_bytes + large.header.num_decode_bytes
    goes_on.set()
    await asyncio.gather(*decoding)
    assert num_bytes() == before


async def test_a_thread_that_is_overdue_keeps_its_room_until_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    goes_on = threading.Event()
    monkeypatch.setattr(image_decoder, "load_pixels", lambda _: goes_on.wait(30))
    decoder = ThreadDecoder(num_threads=1, max_bytes=1 << 30, deadline_s=0.001)
    large = item(1500)
    with pytest.raises(MediaError, match=r"within 0\.001 s") as caught:
        await decoder.pixels(large)
    assert (caught.value.code, caught.value.index) == ("media_undecodable", 1500)
    assert decoder.room.num_bytes_taken == large.header.num_decode_bytes
    goes_on.set()
    async with asyncio.timeout(10):
        while decoder.room.num_bytes_taken:
            await asyncio.sleep(0.005)


async def assert_leaving_is_silent(decode: Callable[[], Awaitable[Any]], has_ended: Callable[[], bool]) -> None:
    """Its error, which comes when nobody waits any more, is not asyncio's to report."""
    reported: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))
    leaving = asyncio.ensure_future(decode())
    await asyncio.sleep(0.05)
    leaving.cancel()
    await asyncio.gather(leaving, return_exceptions=True)
    async with asyncio.timeout(30):
        while not has_ended():
            await asyncio.sleep(0.01)
    del leaving
    gc.collect()
    assert reported == []


@pytest.mark.parametrize("what", ["time.sleep(0.3); os.abort()", "time.sleep(60)"])
async def test_a_client_that_leaves_a_file_that_breaks_its_process_is_not_reported(
    start: Start, tmp_path: Path, what: str
) -> None:
    decoder = start(deadline_s=1, num_early=0, command=misbehaving.image_worker(tmp_path, what))
    await assert_leaving_is_silent(lambda: decoder.pixels(item(64)), lambda: not decoder.room.num_bytes_taken)


async def test_a_client_that_leaves_a_thread_that_fails_is_not_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(_: ImageFile) -> None:
        time.sleep(0.2)
        raise MediaError("media_undecodable", "broken")

    monkeypatch.setattr(image_decoder, "load_pixels", load)
    decoder = ThreadDecoder(num_threads=1, max_bytes=1 << 30, deadline_s=30)
    await assert_leaving_is_silent(lambda: decoder.pixels(item(64)), lambda: not decoder.room.num_bytes_taken)
