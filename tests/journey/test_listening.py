"""Where a server listens: an address that is taken is said in a sentence, and a listener may wait for the model."""

import os
import pty
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from tests.conftest import CHECKPOINT, MODEST, READY_S, ROOT, LiveServer, free_ports, plain_environ, until

pytestmark = pytest.mark.slow
"""Servers that start again and again."""

SERVE = (sys.executable, "-m", "service", "serve", "--model", str(CHECKPOINT), *MODEST)


@pytest.fixture(autouse=True)
def _hangups_are_heard() -> Iterator[None]:
    """Whatever `nohup` or a job of CI has this process ignore, servers would inherit."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--port", "TAKEN"), ("--port TAKEN", "127.0.0.1:TAKEN", "in use")),
        (("--port", "0", "--metrics-port", "TAKEN"), ("--metrics-port TAKEN", "127.0.0.1:TAKEN", "in use")),
        (("--port", "TAKEN", "--listen", "when-ready"), ("--port TAKEN", "in use")),
        (("--port", "0", "--host", "192.0.2.1"), ("--host 192.0.2.1", "no address of this machine")),
        (("--port", "0", "--host", "none.invalid"), ("--host none.invalid", "not known")),
    ],
)
def test_an_address_that_cannot_be_had_is_one_sentence_and_code_1(
    flags: tuple[str, ...], words: tuple[str, ...]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        command = [*SERVE, *(flag.replace("TAKEN", port) for flag in flags)]
        ended = subprocess.run(command, cwd=ROOT, env=plain_environ(), capture_output=True, text=True, timeout=60)
    assert ended.returncode == 1, ended.stderr
    (line,) = ended.stderr.splitlines()
    assert [word for word in words if word.replace("TAKEN", port) not in line] == [], line


def started(log: Path, *flags: str) -> subprocess.Popen[bytes]:
    with log.open("wb") as file:
        return subprocess.Popen([*SERVE, *flags], cwd=ROOT, env=plain_environ(), stderr=file)


def test_a_listener_that_waits_refuses_connections_until_the_model_answers(tmp_path: Path) -> None:
    (port,) = free_ports()
    process = started(tmp_path / "log", "--port", str(port), "--listen", "when-ready")
    try:
        deadline_s = time.monotonic() + READY_S
        statuses: list[int] = []
        while not statuses:
            assert time.monotonic() < deadline_s, (tmp_path / "log").read_text()
            try:
                statuses.append(httpx.get(f"http://127.0.0.1:{port}/readyz").status_code)
            except httpx.ConnectError:
                time.sleep(0.01)
        assert statuses == [200], "who is let in finds the model"
        answer = httpx.post(f"http://127.0.0.1:{port}/v1/embeddings", json={"input": "x"}, timeout=60)
        assert answer.status_code == 200
    finally:
        process.terminate()
        assert process.wait(60) == 0


def test_a_waiting_listener_can_be_stopped(tmp_path: Path) -> None:
    process = started(tmp_path / "log", "--port", "0", "--listen", "when-ready")
    log = tmp_path / "log"
    until(lambda: "loading" in log.read_text(), "the load's beginning")
    process.terminate()
    assert process.wait(60) == 0
    assert "Traceback" not in log.read_text()


def test_a_listener_that_waits_ends_when_the_model_can_never_be_there(tmp_path: Path) -> None:
    process = started(tmp_path / "log", "--port", "0", "--listen", "when-ready", "--device", "cuda:99")
    assert process.wait(READY_S) == 1
    assert "cuda:99" in (tmp_path / "log").read_text()


def test_sighup_reads_the_keys_again_and_ends_nothing(start_server: Callable[..., LiveServer], tmp_path: Path) -> None:
    (tmp_path / "keys").write_text('{"tenant": "a", "sha256": "' + "0" * 64 + '"}\n')
    server = start_server("--model", str(CHECKPOINT), "--api-keys", str(tmp_path / "keys"), "--log-format", "human")
    server.wait_until_ready()
    server.process.send_signal(signal.SIGHUP)
    until(lambda: "API keys was read again: 1 key" in server.log.read_text(), "the line of the log")
    assert server.status("/readyz") == 200


def test_a_terminal_that_closes_ends_the_server_with_a_drain(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    (port,) = free_ports()
    process = subprocess.Popen([*SERVE, "--port", str(port)], cwd=ROOT, env=plain_environ(), stderr=theirs)
    os.close(theirs)
    deadline_s, said = time.monotonic() + READY_S, b""
    while b"listening on" not in said:
        assert time.monotonic() < deadline_s, said
        said += os.read(ours, 65536)
    os.close(ours)
    process.send_signal(signal.SIGHUP)
    assert process.wait(60) == 0
