"""Features outlive the process that made them, and serve others: over HTTP, on a real disk and a real server."""

import fcntl
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from service.engine.shared_tiers.disk import FOLDER
from tests.at_start.environ import customized_environ
from tests.conftest import CHECKPOINT, Gained, LiveServer, image, image_part, plain_environ, until
from tests.service.engine.shared_tiers.redis_server import PASSWORD, RedisServer

pytestmark = pytest.mark.slow

Start = Callable[..., LiveServer]
NUM_KNOWN = 1
"""Images of the known question: each engine encodes them at its start, whatever is stored."""
TINY_CACHE_BYTES = 1000
"""Less than one image's features."""

PATIENT = customized_environ(Path(__file__).parent / "patient")
"""In which no look-up in a shared tier is given up that is merely slow."""

seeds = count(50_000)


def body(url: str | None, uuid: str | None = None) -> dict[str, Any]:
    part = {"type": "image_url", "uuid": uuid} if url is None else image_part(url)
    if uuid is not None:
        part["uuid"] = uuid
    return {"inputs": [{"content": [part]}]}


def counts(gained: Gained) -> tuple[int, int]:
    """Numbers of decoded and encoded images."""
    return gained("pictures_decoded_total"), gained("vision_encodes_total")


def cache_header(server: LiveServer, asked: dict[str, Any]) -> str:
    return server.ask("/v1/embeddings", asked).headers["x-encoder-cache"]


def tier(server: LiveServer, name: str, which: str) -> int:
    return int(server.metric(f"cenote_encoder_cache_tier_{name}", tier=which))


def wait_for_files(folder: Path, num: int) -> list[Path]:
    until(lambda: len(list((folder / FOLDER).glob("*.safetensors"))) >= num, f"{num} files")
    return sorted((folder / FOLDER).glob("*.safetensors"))


def stored_bytes(folder: Path) -> int:
    return sum(size_of(file) for file in (folder / FOLDER).glob("*.safetensors"))


def size_of(file: Path) -> int:
    """Bytes of a file; none when the engine has just removed it."""
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return 0


@pytest.fixture
def start(start_server: Start) -> Iterator[Start]:
    """Servers that end with the test, and wait for a slow disk unless told otherwise."""
    started: list[LiveServer] = []

    def one(*flags: str, is_patient: bool = True) -> LiveServer:
        env = PATIENT if is_patient else None
        started.append(start_server("--model", str(CHECKPOINT), *flags, env=env).wait_until_ready())
        return started[-1]

    yield one
    for server in started:
        if server.process.poll() is None:
            server.stop()


def test_features_survive_a_restart_on_disk_and_a_broken_file_is_made_again(start: Start, tmp_path: Path) -> None:
    flags = ("--disk-cache", str(tmp_path))
    urls = [image(next(seeds)) for _ in range(4)]
    first = start(*flags)
    want = [first.vectors(body(url)) for url in urls]
    files = wait_for_files(tmp_path, len(urls) + NUM_KNOWN)
    assert first.stop() == 0

    newest = max(files, key=lambda file: file.stat().st_mtime_ns)
    broken = bytearray(newest.read_bytes())
    broken[-1] ^= 1
    newest.write_bytes(broken)
    again = start(*flags)
    gained = Gained(again)
    for _ in range(2):
        for url, rows in zip(urls, want, strict=True):
            np.testing.assert_array_equal(again.vectors(body(url)), rows)
    assert counts(gained) == (4, 1)  # the pixels come along with what the front does not know; one image was broken
    assert tier(again, "hits_total", "disk") >= 3
    assert tier(again, "misses_total", "disk") >= 1
    wait_for_files(tmp_path, len(files))
    assert newest.read_bytes() != bytes(broken)


def test_a_lock_that_another_process_keeps_holds_up_no_engine(start: Start, tmp_path: Path) -> None:
    flags = ("--disk-cache", str(tmp_path), "--engine-stuck-s", "5")
    first = start(*flags)
    wait_for_files(tmp_path, NUM_KNOWN)
    first.stop()
    with (tmp_path / FOLDER / "lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        server = start(*flags)  # waits until it is ready
        server.vectors(body(image(next(seeds))))
    assert "held by another process" in server.log.read_text()
    assert "stuck" not in server.log.read_text()

    def writes() -> bool:
        server.vectors(body(image(next(seeds))))
        return len(list((tmp_path / FOLDER).glob("*.safetensors"))) > NUM_KNOWN

    until(writes, "a file, once the lock was free")


def test_two_servers_share_a_folder_and_those_of_another_number_format_do_not(start: Start, tmp_path: Path) -> None:
    flags = ("--disk-cache", str(tmp_path))
    one, other = start(*flags), start(*flags)
    url = image(next(seeds))
    assert cache_header(one, body(url)) == "hit=0, miss=1"
    wait_for_files(tmp_path, NUM_KNOWN + 1)
    gained = Gained(other)
    assert cache_header(other, body(url)) == "hit=1, miss=0"
    assert counts(gained) == (1, 0)
    one.stop()
    coarse = start(*flags, "--dtype", "bfloat16")
    assert cache_header(coarse, body(url)) == "hit=0, miss=1"
    num_files = 2 * (NUM_KNOWN + 1)  # beside the others, not in their place
    assert len(wait_for_files(tmp_path, num_files)) == num_files


def test_what_only_a_shared_tier_has_is_neither_decoded_nor_encoded_again_also_by_name(
    start: Start, tmp_path: Path
) -> None:
    tiny = ("--encoder-cache-bytes", str(TINY_CACHE_BYTES), "--known-answer-s", "3600")
    server = start("--disk-cache", str(tmp_path), *tiny)
    url, name = image(next(seeds)), "a-name"
    want = server.vectors(body(url, name))
    files = wait_for_files(tmp_path, NUM_KNOWN + 1)
    assert server.metric("cenote_encoder_cache_bytes") <= TINY_CACHE_BYTES
    gained = Gained(server)
    for asked in (body(url), body(None, name)):
        np.testing.assert_array_equal(server.vectors(asked), want)
        assert cache_header(server, asked) == "hit=1, miss=0"
    assert counts(gained) == (0, 0)
    assert tier(server, "rejected_total", "device") > 0

    for file in files:
        file.unlink()
    for number, asked in enumerate((body(url), body(None, name)), 1):  # gone from every tier: made again, no error
        np.testing.assert_array_equal(server.vectors(asked), want)
        assert counts(gained) == (number, number)
        for file in wait_for_files(tmp_path, 1):
            file.unlink()


def test_the_folder_never_passes_its_cap(start: Start, tmp_path: Path) -> None:
    server = start("--disk-cache", str(tmp_path), "--disk-cache-bytes", "60000")
    for _ in range(40):
        server.vectors(body(image(next(seeds))))
        assert stored_bytes(tmp_path) <= 60_000
    server.vectors({"input": "a step that reports"})
    assert tier(server, "evictions_total", "disk") > 0
    assert 0 < tier(server, "bytes", "disk") <= 60_000


def test_a_server_of_values_is_shared_and_may_hang_and_go_at_any_time(start: Start, tmp_path: Path) -> None:
    valkey = RedisServer(tmp_path)
    try:
        flags = ("--valkey-url", valkey.url, "--log-level", "debug")
        one, other = (start(*flags, is_patient=False) for _ in range(2))
        urls = [image(next(seeds)) for _ in range(6)]
        want = [one.vectors(body(url)) for url in urls]
        until(
            lambda: all(cache_header(other, body(url)) == "hit=1, miss=0" for url in urls), "all of them in the store"
        )
        assert tier(other, "hits_total", "valkey") >= 1
        valkey.process.send_signal(signal.SIGSTOP)
        hung = image(next(seeds))
        rows = one.vectors(body(hung))
        np.testing.assert_array_equal(other.vectors(body(hung)), rows)
        valkey.process.send_signal(signal.SIGCONT)
        valkey.stop()
        for url, rows in zip(urls, want, strict=True):
            np.testing.assert_array_equal(one.vectors(body(url)), rows)
        assert cache_header(one, body(image(next(seeds)))) == "hit=0, miss=1"
        assert one.status("/readyz") == other.status("/readyz") == 200
        for server in (one, other):
            assert PASSWORD not in server.log.read_text()
            assert PASSWORD not in server.http.get("/metrics").text
    finally:
        valkey.stop()


def test_every_tier_has_its_series_from_the_start(server: LiveServer) -> None:
    names = ("hits_total", "misses_total", "evictions_total", "rejected_total", "bytes", "entries")
    for which in ("device", "host", "disk", "valkey"):
        for name in names:
            assert tier(server, name, which) >= 0
    assert tier(server, "bytes", "device") == server.metric("cenote_encoder_cache_bytes")
    assert tier(server, "bytes", "host") == 0  # the device is the CPU


def test_a_wrong_setting_stops_the_start_and_no_password_is_printed() -> None:
    flags = ("--valkey-url", "http://user:secret-word@host")
    command = [sys.executable, "-m", "service", "serve", "--port", "0", *flags]
    ended = subprocess.run(command, env=plain_environ(), capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode != 0
    assert "--valkey-url" in ended.stderr
    assert "secret-word" not in ended.stdout + ended.stderr
    assert "Traceback" not in ended.stderr
