"""Accepts connections and hands each to the front that has the fewest, in turns where several have as few.

One for which another has to make way goes to the front that has the most of the same peer; where all places are taken,
to the one that has the most of any peer.

A front that does not answer is passed over while another does.

While only some fronts have the engine's answer to the health probe, they get all: `/readyz` of one speaks for all.
"""

import asyncio
import logging
import socket  # noqa: TID251  # of our own server
from collections import deque
from collections.abc import Sequence

from service.http.server.peers import ArrivalVerdict, PeerRule
from service.processes.front_process import FrontProcess

logger = logging.getLogger("cenote.main")

BACKLOG = 2048
RETRY_S = 0.02
"""Until a connection that no front takes now is offered again."""
NO_DESCRIPTORS_S = 0.2
MAX_WAITING = 1024


class Dispatcher:
    """Hands over connections.

    Args:
        sockets: bound, and not yet listening.
        fronts: of which some may be starting.
        rule: who may have a connection, of all fronts; what it says goes along.
    """

    def __init__(self, sockets: Sequence[socket.socket], fronts: Sequence[FrontProcess], rule: PeerRule) -> None:
        self._sockets = sockets
        self._fronts = fronts
        self._rule = rule
        self._waiting: deque[tuple[socket.socket, str]] = deque()
        self._loop = asyncio.get_running_loop()
        self.is_listening = False
        self._next = 0
        self._is_retrying = False

    def listen(self) -> None:
        """Accept connections from now on. OSError: another program has begun to listen there."""
        self.is_listening = True
        for one in self._sockets:
            one.listen(BACKLOG)
        self._watch()

    def close(self) -> None:
        """Accept no more; those that no front has taken are closed."""
        for one in self._sockets:
            self._loop.remove_reader(one)
            one.close()
        self._offer()
        for one, _ in self._waiting:
            one.close()
        self._waiting.clear()

    def _watch(self) -> None:
        for one in self._sockets:
            if one.fileno() >= 0:
                self._loop.add_reader(one, self._accept, one)

    def _accept(self, listening: socket.socket) -> None:
        while len(self._waiting) < MAX_WAITING:
            try:
                connection, (address, *_) = listening.accept()
            except BlockingIOError:
                break
            except ConnectionError:
                continue
            except OSError:
                logger.exception("no connection could be accepted")
                for one in self._sockets:
                    self._loop.remove_reader(one)
                self._loop.call_later(NO_DESCRIPTORS_S, self._watch)
                break
            connection.setblocking(False)
            self._waiting.append((connection, address))
        self._offer()

    def _offer(self) -> None:
        while self._waiting and self._hand_over(*self._waiting[0]):
            self._waiting.popleft()[0].close()
        if self._waiting and not self._is_retrying:
            self._is_retrying = True
            self._loop.call_later(RETRY_S, self._offer_again)

    def _offer_again(self) -> None:
        self._is_retrying = False
        self._offer()

    def _hand_over(self, connection: socket.socket, address: str) -> bool:
        peer, verdict = self._rule.arrival(address, [one.connections for one in self._fronts])
        serving = [one for one in self._fronts if one.is_serving]
        num_ready = max((one.num_ready for one in serving), default=0)
        self._next += 1
        num = len(self._fronts)

        def order(one: FrontProcess) -> tuple[bool, int, int, int]:
            tally = one.connections
            num_waiting = 0
            if verdict is ArrivalVerdict.PEER_HAS_ITS_SHARE:
                num_waiting = tally.of[peer]
            elif verdict is ArrivalVerdict.ALL_TAKEN:
                num_waiting = max(tally.of.values(), default=0)
            return one.is_late, -num_waiting, tally.num, (one.index - self._next) % num

        for front in sorted((one for one in serving if one.num_ready == num_ready), key=order):
            if front.pass_descriptors(b"connection %d %s" % (verdict, peer.encode()), (connection.fileno(),)):
                if verdict is ArrivalVerdict.FREE:  # else it says itself whether another has made way
                    front.connections.change(peer, 1)
                return True
        return False
