"""Addresses taken before anything is loaded, so that one which cannot be had is said at once and in one sentence.

In: a host and a port. Out: sockets that are bound and do not listen yet: until they do, connections are refused.
"""

import errno
import os
import socket  # noqa: TID251  # of our own server
from typing import Any

REASONS = {
    errno.EADDRINUSE: "{flag}: {address} is in use by another program; stop that one, or give another port",
    errno.EADDRNOTAVAIL: "--host {host}: {address} is no address of this machine",
    errno.EACCES: "{flag}: this user may not listen on {address}; ports from 1024 up are for everybody",
}


class ListenError(Exception):
    """An address cannot be listened on; the message names the setting, the address and the reason."""


def bind(host: str, port: int, setting: str = "port") -> list[socket.socket]:
    """A socket for every address of a host, such as 127.0.0.1 and ::1 for `localhost`.

    Args:
        host: a name or an address; empty for every address of the machine.
        port: 0 takes a free one.
        setting: that the port came from.

    Raises:
        ListenError: the host has no address here, or one of them is taken.
    """
    try:
        found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise ListenError(f"--host {host}: {error.strerror}") from None
    addresses = list(dict.fromkeys((family, address) for family, _, _, _, address in found if _is_spoken(family)))
    if not addresses:
        raise ListenError(f"--host {host}: this machine does not speak IPv6")
    bound: list[socket.socket] = []
    for family, (name, number, *scope) in addresses:
        same_port = number or (bound[0].getsockname()[1] if bound else 0)
        try:
            bound.append(_bind(family, (name, same_port, *scope)))
        except OSError as error:
            raise listen_error(error, host, (name, same_port), f"--{setting} {port}") from None
    return bound


def listen_error(error: OSError, host: str, address: tuple[Any, ...], flag: str) -> ListenError:
    """What the system said of an address, in a sentence.

    Args:
        error: of `bind`, or of `listen` where another program has begun to listen in between.
        host: the setting.
        address: host and port.
        flag: the setting that the port came from.
    """
    name, port, *_ = address
    reason = REASONS.get(error.errno or 0, f"{{flag}}: cannot listen on {{address}}: {os.strerror(error.errno or 0)}")
    where = f"[{name}]:{port}" if ":" in str(name) else f"{name}:{port}"
    return ListenError(reason.format(flag=flag, host=host, address=where))


def _bind(family: int, address: tuple[Any, ...]) -> socket.socket:
    one = socket.socket(family, socket.SOCK_STREAM)
    try:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # else a port rests for a minute after its last use
        if family == socket.AF_INET6:
            one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        one.bind(address)
    except OSError:
        one.close()
        raise
    one.setblocking(False)
    return one


def _is_spoken(family: int) -> bool:
    """Whether the kernel has this kind of socket: `localhost` may have ::1 in a file, where IPv6 is off."""
    try:
        socket.socket(family, socket.SOCK_STREAM).close()
    except OSError:
        return False
    return True
