"""The least that an HTTP service does: a bare application under uvicorn, which reads a body and writes given bytes."""

import socket
import subprocess
import sys
from typing import Any

import httpx
import msgspec
import uvicorn

from tests.bench.sides.over_http import OverHttp
from tests.conftest import ROOT


class BareHttp(OverHttp):
    """Such an application in a process of its own, on the front's event loop.

    Args:
        answer: whose headers and bytes it gives to whatever it is asked.
        parser: uvicorn's `h11`, which the front's connections are made of, or `httptools`.

    Attributes:
        process: its process.
    """

    def __init__(self, answer: httpx.Response, parser: str) -> None:
        headers = [pair for pair in answer.headers.raw if pair[0] != b"date"]  # uvicorn writes that
        command = [sys.executable, "-m", "tests.bench.sides.bare_http", parser]
        self.process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with self.process.stdin as told:
            told.write(msgspec.msgpack.encode((headers, answer.content)))
        with self.process.stdout as said:
            super().__init__(f"http://127.0.0.1:{int(said.readline())}")

    def close(self) -> None:
        super().close()
        self.process.terminate()
        self.process.wait()


def main() -> None:
    """Answer with what stdin says, on a port that stdout names."""
    headers, body = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=tuple[list[tuple[bytes, bytes]], bytes])

    async def answer(scope: Any, receive: Any, send: Any) -> None:
        read, is_whole = b"", False
        while not is_whole:
            message = await receive()
            read += message.get("body", b"")
            is_whole = not message.get("more_body", False)
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    options: dict[str, Any] = {"loop": "uvloop", "http": sys.argv[1], "ws": "none", "lifespan": "off"}
    options |= {"log_config": None, "access_log": False, "server_header": False}  # as the front's
    with socket.create_server(("127.0.0.1", 0)) as listening:
        print(listening.getsockname()[1], flush=True)
        uvicorn.Server(uvicorn.Config(answer, **options)).run([listening])


if __name__ == "__main__":
    main()
