"""A front that does not take its ends of the lines to an engine is offered them again."""

import os
import socket
from typing import Any

from service.front.hub.engine_lines import EngineLines, EngineLink


class Busy:
    """A front that does not take descriptors at first."""

    index, is_serving = 1, True

    def __init__(self) -> None:
        self.links = [EngineLink(), EngineLink(is_loaded=True)]
        self.engines: list[tuple[int, int]] = []
        self.is_full = True

    def tell(self, message: Any) -> None:
        raise AssertionError("nothing is to be told")

    def connect(self, model: int, number: int, descriptors: tuple[int, int]) -> bool:
        assert [os.fstat(one) for one in descriptors]
        if not self.is_full:
            self.engines.append((model, number))
        return not self.is_full

    async def series(self) -> bytes:
        return b""

    async def find_uuid(self, tenant: bytes, uuid: str) -> bytes:
        return b""


def test_a_front_that_took_no_descriptors_is_connected_later_and_once() -> None:
    front = Busy()
    lines = EngineLines(1, [front])
    engine = lines.open()
    lines.attach()
    assert (front.engines, front.links[1].engine) == ([], 0)
    assert _line_is_open(engine) is False  # the engine sees that nobody came
    front.is_full = False
    lines.connect_all()
    lines.connect_all()
    assert (front.engines, front.links[1].engine) == ([(1, 1)], 1)
    assert front.links[0].engine == 0


def _line_is_open(passed: socket.socket) -> bool:
    name, descriptors, _, _ = socket.recv_fds(passed, 16, 2)
    assert name == b"1"
    line = socket.socket(fileno=descriptors[0])
    line.setblocking(False)
    os.close(descriptors[1])
    try:
        return line.recv(1) != b""
    except BlockingIOError:
        return True
    finally:
        line.close()
