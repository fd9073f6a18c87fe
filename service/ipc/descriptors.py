"""Descriptors from one process to another: one packet each, in order. Knows neither connections nor engines.

Source: unix(7), `SCM_RIGHTS`; a packet arrives whole or not at all, with its descriptors.
"""

import asyncio
import socket  # noqa: TID251  # a socket pair
from collections.abc import Callable, Sequence

MAX_PACKET_BYTES = 64
MAX_DESCRIPTORS = 4
GUEST = b"guest"
"""Packet to an engine: a model that shares its weights comes in, by its socket, pipe, arena and the fronts' socket."""


def open_passing() -> tuple[socket.socket, socket.socket]:
    """Two ends; what is sent at one comes out at the other.

    Raises:
        OSError: the system has none; or no descriptors are left.
    """
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def pass_descriptors(sock: socket.socket, packet: bytes, descriptors: Sequence[int]) -> bool:
    """Send a packet without waiting; False while the other side has not taken enough of the earlier ones.

    Raises:
        OSError: the other side has closed.
    """
    try:
        socket.send_fds(sock, [packet], descriptors, socket.MSG_DONTWAIT)
    except BlockingIOError:
        return False
    return True


def watch_passing(sock: socket.socket, take: Callable[[bytes, list[int]], None]) -> None:
    """Have each packet handed to `take` on the running loop; the descriptors are its own from there on."""
    loop = asyncio.get_running_loop()
    sock.setblocking(False)

    def read() -> None:
        try:
            packet, descriptors, _, _ = socket.recv_fds(sock, MAX_PACKET_BYTES, MAX_DESCRIPTORS)
        except BlockingIOError:
            return
        except OSError:
            packet, descriptors = b"", []
        if packet:
            take(packet, descriptors)
        else:  # the other side has closed
            loop.remove_reader(sock)

    loop.add_reader(sock, read)
