"""Servers that are full, ask for keys, die and come again; and one of the program's own."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import LiveServer, children_of, command_of, until
from tests.ingest.folder import BROKEN, asked, fill
from tests.ingest.program import Program
from tests.ingest.proxy import Proxy

NUM_IMAGES = 300


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("images")
    fill(folder, NUM_IMAGES, seed=2)
    return folder


def test_a_full_server_and_a_key_with_a_rate_are_waited_for(
    start_server: Callable[..., LiveServer], images: Path, tmp_path: Path
) -> None:
    keys = tmp_path / "keys.jsonl"
    digest = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b"  # of "secret"
    keys.write_text(f'{{"tenant": "acme", "sha256": "{digest}", "max_requests_per_s": 3}}\n')
    server = start_server("--api-keys", str(keys), "--max-queue-requests", "100").wait_until_ready()
    arguments = (images, "--to", tmp_path / "out.jsonl", "--server", server.url, *asked(), "--batch-inputs", "30")
    assert "--api-key-env" in Program(*arguments, "--api-key-env", "NO_SUCH").end(2)["why"]
    assert "401" in Program(*arguments).end(1)["why"]
    run = Program(*arguments, "--concurrency", "12", "--api-key-env", "MY_KEY", env={"MY_KEY": "secret"})
    end = run.end(3)
    assert (end["points"], end["failed"]) == (3 * NUM_IMAGES, len(BROKEN))
    assert end["waited_s"] > 0
    assert server.stop() == 0


def test_an_engine_that_is_killed_costs_time_and_no_item(
    start_server: Callable[..., LiveServer], images: Path, tmp_path: Path
) -> None:
    server = start_server().wait_until_ready()
    slow = Proxy(server.url, dawdle_s=0.2)
    run = Program(images, "--to", tmp_path / "out.jsonl", "--server", slow.url, *asked(), "--batch-inputs", "9")
    while not (tmp_path / "out.jsonl").exists():
        time.sleep(0.01)
    time.sleep(0.5)
    os.kill(server.engine_pid(), signal.SIGKILL)
    assert run.process.poll() is None, "it had ended before the engine did"
    end = run.end(3)
    slow.stop()
    assert (end["points"], end["failed"]) == (3 * NUM_IMAGES, len(BROKEN))
    assert server.stop() == 0


def test_a_server_that_goes_ends_the_run_and_the_next_goes_on(
    start_server: Callable[..., LiveServer], images: Path, tmp_path: Path
) -> None:
    server = start_server().wait_until_ready()
    arguments = (images, "--to", tmp_path / "out.jsonl", *asked(), "--batch-inputs", "9", "--concurrency", "1")
    run = Program(*arguments, "--server", server.url, "--give-up-s", "3")
    while not (tmp_path / "out.jsonl").exists():
        time.sleep(0.01)
    server.process.kill()
    first = run.end(1)
    assert "has taken nothing for 3 s" in first["why"]
    second = Program(*arguments).end(3)  # a server of its own, of the same model
    assert (second["already"], second["already"] + second["points"]) == (first["points"], 3 * NUM_IMAGES)
    assert second["failed"] == len(BROKEN)


def test_a_server_of_its_own_ends_with_the_run_even_when_that_is_killed(images: Path, tmp_path: Path) -> None:
    run = Program(images, "--to", tmp_path / "out.jsonl", *asked())
    while not (children := [pid for pid in children_of(run.process.pid) if "serve" in command_of(pid)]):
        time.sleep(0.05)
    run.kill_when(lambda: (tmp_path / "out.jsonl").exists())
    until(lambda: not any("serve" in command_of(pid) for pid in children), "the server's end", 40)
