"""The file of keys: what is in it, what is refused of it, and what happens when it changes."""

import asyncio
import logging
import os
import threading
import time
from pathlib import Path

import msgspec
import pytest

from service.errors import UnavailableError
from service.front.admission import api_keys
from service.front.admission.api_keys import Keyring
from service.front.admission.key_file import ApiKey, hash_key, new_key, read_key_file
from service.front.admission.shared_table import SharedTable
from service.settings.settings import SettingsError


def line(key: str, tenant: str = "acme", **limits: float) -> str:
    one = msgspec.convert({"tenant": tenant, "sha256": hash_key(key.encode()).hex(), **limits}, ApiKey)
    return msgspec.json.encode(one).decode() + "\n"


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    changed_ns = path.stat().st_mtime_ns + 1_000_000  # a clock may be too coarse to see two writes
    os.utime(path, ns=(changed_ns, changed_ns))
    return path


def test_every_key_of_the_file_opens_and_nothing_else(tmp_path: Path) -> None:
    keys = [new_key() for _ in range(5)]
    text = "# ours\n\n" + "".join(line(key, f"tenant-{i}") for i, key in enumerate(keys))
    ring = Keyring(write(tmp_path / "keys", text), SharedTable.of_one_front())
    found = [ring.find(key.encode()) for key in keys]
    assert [one.tenant.name for one in found if one] == [f"tenant-{i}" for i in range(5)]
    assert len({one.tenant.salt for one in found if one}) == 5
    for wrong in (b"", b"\xff\x00", keys[0].encode()[:-1], keys[0].encode() + b" ", "schlüssel".encode(), b"a" * 2**20):
        assert ring.find(wrong) is None


def test_a_tenant_with_two_keys_is_one_tenant(tmp_path: Path) -> None:
    old, new = new_key(), new_key()
    ring = Keyring(write(tmp_path / "keys", line(old) + line(new)), SharedTable.of_one_front())
    first, second = ring.find(old.encode()), ring.find(new.encode())
    assert first
    assert second
    assert first.tenant == second.tenant


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no key"),
        ("# nothing\n", "no key"),
        ("cen_a-key-in-the-clear\n", "line 1"),
        ('{"tenant": "a", "sha256": "abc"}\n', "line 1"),
        (line("k") + '{"tenant": "a b", "sha256": "' + "0" * 64 + '"}', "line 2"),
        (line("k").replace("tenant", "tenent"), "line 1"),
        (line("k") + line("k", "other"), "twice"),
        (line("k", max_requests_per_s=1.0).replace("1.0", "0"), "line 1"),
        (line("k", max_requests_per_s=1.0).replace("1.0", "1e-12"), "max_requests_per_s from 1e-05"),
    ],
)
def test_a_file_that_is_not_right_says_where_and_repeats_nothing(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(SettingsError, match=words) as caught:
        read_key_file(write(tmp_path / "keys", text))
    assert "in-the-clear" not in str(caught.value)
    with pytest.raises(SettingsError, match="No such file"):
        read_key_file(tmp_path / "none")


async def test_a_changed_file_counts_and_a_broken_one_does_not(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = write(tmp_path / "keys", line("one"))
    ring = Keyring(path, SharedTable.of_one_front())
    write(path, line("two"))
    await ring.reload_if_changed()
    assert (ring.find(b"one"), ring.find(b"two") is None) == (None, False)
    with caplog.at_level(logging.ERROR, "cenote.keys"):
        write(path, line("three") + "oops\n")
        await ring.reload_if_changed()
        await ring.reload_if_changed()
    errors = [record for record in caplog.records if record.levelno == logging.ERROR]  # others may have set the level
    assert [record.getMessage().partition(", ")[2][:6] for record in errors] == ["line 2"]  # once
    assert (ring.find(b"two") is None, ring.find(b"three")) == (False, None)
    path.unlink()
    await ring.reload_if_changed()
    assert ring.find(b"two") is not None
    write(path, line("four"))
    await ring.reload_if_changed()
    assert ring.find(b"four") is not None


async def test_an_edit_in_place_of_the_same_size_and_time_counts(tmp_path: Path) -> None:
    path = write(tmp_path / "keys", line("one"))
    ring, before = Keyring(path, SharedTable.of_one_front()), path.stat()
    time.sleep(0.05)  # more than the clock of a file system takes to tick
    with path.open("r+") as file:
        file.write(line("two"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = path.stat()
    assert (after.st_size, after.st_mtime_ns, after.st_ino) == (before.st_size, before.st_mtime_ns, before.st_ino)
    await ring.reload_if_changed()
    assert (ring.find(b"one"), ring.find(b"two") is None) == (None, False)


async def test_what_is_no_file_for_a_while_is_said_and_reloading_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Opening a pipe waits for a writer."""
    path = write(tmp_path / "keys", line("one"))
    ring = Keyring(path, SharedTable.of_one_front())
    path.unlink()
    os.mkfifo(path)
    await asyncio.wait_for(ring.reload_if_changed(), 20)
    assert "no regular file; the keys stay as they were" in caplog.text
    path.unlink()
    write(path, line("two"))
    await ring.reload_if_changed()
    assert ring.find(b"one") is None


def test_a_file_of_any_size_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(SettingsError, match="larger than the 16777216 bytes"):
        read_key_file(path)


async def test_a_read_that_hangs_is_said_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, may_go_on = write(tmp_path / "keys", line("one")), threading.Event()
    ring = Keyring(path, SharedTable.of_one_front())
    write(path, line("two"))

    def hung(path: Path) -> tuple[ApiKey, ...]:
        may_go_on.wait()
        return read_key_file(path)

    monkeypatch.setattr(api_keys, "LATE_S", 0.01)
    monkeypatch.setattr(api_keys, "read_key_file", hung)
    reading = asyncio.create_task(ring.reload_if_changed())
    while "is late" not in caplog.text:
        await asyncio.sleep(0.01)
    assert ring.find(b"one") is not None
    may_go_on.set()
    await reading
    assert ring.find(b"two") is not None


async def test_what_a_key_has_under_way_outlives_a_reload(tmp_path: Path) -> None:
    path = write(tmp_path / "keys", line("one", max_concurrent_requests=1))
    ring = Keyring(path, SharedTable.of_one_front())
    before = ring.find(b"one")
    assert before
    with before.meter.request():
        write(path, line("other") + line("one", max_concurrent_requests=2))
        await ring.reload_if_changed()
        after = ring.find(b"one")
        assert after
        with after.meter.request(), pytest.raises(UnavailableError), after.meter.request():
            pass
    with after.meter.request(), after.meter.request():
        pass
