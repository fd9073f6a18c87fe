"""A front that does not take its ends of the lines to an engine is offered them again."""

import os
import socket
from collections.abc import Iterable
from typing import Any, cast

import msgspec

from service.processes.door import open_door
from service.processes.engine_sharing import EngineLink, EngineSharing


class Busy:
    """A front whose door is full at first."""

    index = 1

    def __init__(self) -> None:
        self.links = [EngineLink(), EngineLink(is_loaded=True)]
        self.packets: list[bytes] = []
        self.is_full = True

    def send(self, message: msgspec.Struct) -> None:
        raise AssertionError("nothing is to be told")

    def hand_over(self, packet: bytes, descriptors: Iterable[int]) -> bool:
        assert [os.fstat(one) for one in descriptors]
        if not self.is_full:
            self.packets.append(packet)
        return not self.is_full


def test_a_front_whose_door_was_full_is_connected_later_and_once() -> None:
    front = Busy()
    sharing = EngineSharing(1, -1, lambda: [front])
    sharing._door, engine = open_door()
    sharing.attach(cast(Any, object()))
    assert (front.packets, front.links[1].engine) == ([], 0)
    assert _line_is_open(engine) is False  # the engine sees that nobody came
    front.is_full = False
    sharing.connect_all()
    sharing.connect_all()
    assert (front.packets, front.links[1].engine) == ([b"engine 1 1"], 1)
    assert front.links[0].engine == 0


def _line_is_open(door: socket.socket) -> bool:
    name, descriptors, _, _ = socket.recv_fds(door, 16, 2)
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
