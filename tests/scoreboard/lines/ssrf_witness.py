"""Who sees where connections go: listeners on this machine, and Python's own audit of every `connect`.

The audit is heard below everything that the product does, and stops what would leave the machine.
"""

import sys
from collections.abc import Iterable
from typing import Any

from tests.media_host import MediaHost

LOOPBACK = ("127.0.0.1", "::1")


class Witness:
    """Hears every `connect` of this process.

    Attributes:
        strays: where connections were tried to that must not be.
        public: to which public stand-ins, at ports that are allowed; stopped too, and right.
    """

    def __init__(
        self, permitted: tuple[str, int], public: Iterable[str], ports: Iterable[int], canaries: list[MediaHost]
    ) -> None:
        self._permitted, self._public, self._ports = permitted, set(public), set(ports)
        self._canaries = canaries
        self._is_listening = False
        self.strays: list[tuple[str, int]] = []
        self.public: list[str] = []

    def __enter__(self) -> "Witness":
        self._is_listening = True
        sys.addaudithook(self._hear)
        return self

    def __exit__(self, *_: object) -> None:
        self._is_listening = False  # a hook cannot be taken back

    @property
    def num_packets(self) -> int:
        """Connections that the canaries took, and those that were stopped on their way elsewhere."""
        return len(self.strays) + sum(canary.num_connections for canary in self._canaries)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self._is_listening or event != "socket.connect" or not isinstance(arguments[1], tuple):
            return
        host, port = arguments[1][:2]
        if (host, port) == self._permitted:
            return
        if host in LOOPBACK and port in [canary.port for canary in self._canaries]:
            return  # let it arrive: the canary counts
        if host in self._public and port in self._ports:
            self.public.append(host)
        else:
            self.strays.append((host, port))
        raise PermissionError
