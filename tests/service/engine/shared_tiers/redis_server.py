"""A real Valkey or Redis server for the tests of the tier that speaks to one."""

import shutil
import socket
import socketserver
import subprocess
import threading
import time
from pathlib import Path

import pytest

from tests.conftest import free_ports

BINARY = shutil.which("valkey-server") or shutil.which("redis-server")
READY_S = 20
PASSWORD = "hunter2-do-not-log"


class RedisServer:
    """One server process on loopback.

    Attributes:
        port: where it listens.
        url: with its password.
    """

    def __init__(self, folder: Path, *flags: str) -> None:
        pytest.importorskip("redis", reason="needs the extra `valkey`")
        if BINARY is None:
            pytest.skip("needs valkey-server or redis-server, of Debian's packages")
        (self.port,) = free_ports()
        self.url = f"valkey://:{PASSWORD}@127.0.0.1:{self.port}/0"
        self._command = [
            *(BINARY, "--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(folder), "--save", ""),
            *("--appendonly", "no", "--requirepass", PASSWORD, *flags),
        ]
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL)
        deadline_s = time.monotonic() + READY_S
        while not self._listens():
            assert self.process.poll() is None, "the server ended"
            assert time.monotonic() < deadline_s, "the server does not listen"
            time.sleep(0.02)

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()

    def _listens(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0


class RefusingServer(socketserver.ThreadingTCPServer):
    """Answers every command as a server does whose password is another one."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Refusal)
        self.url = f"valkey://:{PASSWORD}@127.0.0.1:{self.server_address[1]}/0"
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Refusal(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        while head := self.rfile.readline():
            for _ in range(int(head[1:])):
                self.rfile.read(int(self.rfile.readline()[1:]) + 2)
            self.wfile.write(b"-WRONGPASS invalid username-password pair or user is disabled.\r\n")
