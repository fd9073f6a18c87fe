"""Places of connections: whose a connection is, and who makes way."""

import subprocess
import sys

import pytest

from service.http.server.peers import PROXY, Arrival, ArrivalVerdict, PeerRule, Tally
from service.http.server.places import NUM_SPARE, Places
from service.settings.settings import Settings, SettingsError

RULE = PeerRule(max_connections=4, max_of_peer=2)


FEW_FILES = """
import logging, resource
resource.setrlimit(resource.RLIMIT_NOFILE, (256, 1024))
from service.http.server.listening import allow_descriptors, peer_rule
from service.settings.settings import Settings
logging.basicConfig(format="%(message)s")
allow_descriptors(Settings().max_connections)
print(peer_rule(Settings()).max_connections, peer_rule(Settings(max_connections=100)).max_connections)
"""


class Waiting:
    """A connection that waits; it may have an answer on its way out."""

    def __init__(self, *, may_make_way: bool = True) -> None:
        self.may_make_way = may_make_way
        self.has_made_way = False

    def make_way(self) -> None:
        self.has_made_way = True


def entered(places: Places, address: str, *, may_make_way: bool = True) -> tuple[Waiting, bool | None]:
    """A new connection, and whether its place is a spare one; None where it has none."""
    guest = Waiting(may_make_way=may_make_way)
    place = places.take(guest, places.arrival(address))
    return guest, place.is_spare if place else None


def test_a_peer_is_an_address_or_a_network_of_a_home_and_a_proxy_is_none() -> None:
    rule = PeerRule.of(Settings(proxies="10.0.0.0/8, 2001:db8::7"), 100)
    same = [("1.2.3.4", "::ffff:1.2.3.4"), ("2001:db8::1", "2001:db8::ffff:2"), ("10.0.0.1", "2001:db8::7")]
    for first, second in same:
        assert rule.arrival(first, []).peer == rule.arrival(second, []).peer
    assert rule.arrival("10.9.9.9", []).peer == PROXY
    assert rule.arrival("2001:db8:0:1::1", []).peer != rule.arrival("2001:db8::1", []).peer
    assert rule.max_of_peer == 50
    with pytest.raises(SettingsError, match=r"--proxies: expected addresses .*10.0.0.0/99"):
        PeerRule.of(Settings(proxies="10.0.0.0/99"), 100)


def test_a_share_is_of_all_processes_and_proxies_have_none() -> None:
    rule = PeerRule(4, 2, PeerRule.of(Settings(proxies="10.0.0.1"), 4).proxies)
    here, there = Tally(), Tally()
    here.change("1.1.1.1", 1)
    assert rule.arrival("1.1.1.1", [here, there]).verdict is ArrivalVerdict.FREE
    there.change("1.1.1.1", 1)
    assert rule.arrival("1.1.1.1", [here, there]).verdict is ArrivalVerdict.PEER_HAS_ITS_SHARE
    for _ in range(2):
        assert rule.arrival("10.0.0.1", [here, there]).verdict is ArrivalVerdict.FREE
        there.change(PROXY, 1)
    assert rule.arrival("10.0.0.1", [here, there]).verdict is ArrivalVerdict.ALL_TAKEN


def test_the_limit_is_what_there_are_files_for() -> None:
    """Else a connection that the system cannot open would be one of anybody's."""
    ended = subprocess.run([sys.executable, "-c", FEW_FILES], capture_output=True, text=True, check=True)
    assert ended.stdout == "512 100\n"
    assert "--max-connections 1024: a process may open 1024 files here (ulimit -n)" in ended.stderr


def test_one_whose_answer_is_on_its_way_does_not_make_way() -> None:
    places = Places(RULE)
    writing, _ = entered(places, "1.1.1.1", may_make_way=False)
    idle, _ = entered(places, "1.1.1.1")
    assert entered(places, "1.1.1.1")[1] is False
    assert (writing.has_made_way, idle.has_made_way) == (False, True)


def test_one_whose_request_is_under_way_does_not_make_way_nor_one_that_has_left() -> None:
    changes: list[tuple[str, int]] = []
    places = Places(RULE, lambda *change: changes.append(change))
    guests = [Waiting() for _ in range(4)]
    for guest, peer in zip(guests, "aabb", strict=True):
        place = places.take(guest, Arrival(peer, ArrivalVerdict.FREE))
        assert place is not None
        place.line.pop(guest)
    newest = Waiting()
    spare = places.take(newest, Arrival("c", ArrivalVerdict.ALL_TAKEN))
    assert spare is not None
    assert spare.is_spare
    places.leave(guests[0])
    places.leave(guests[0])
    places.leave(newest)
    assert changes == [("a", -1)]
    assert places.tally.of == {"a": 1, "b": 2}
    assert not any(guest.has_made_way for guest in guests)


def test_of_one_that_takes_anothers_place_both_are_told() -> None:
    changes: list[tuple[str, int]] = []
    places = Places(RULE, lambda *change: changes.append(change))
    for peer in "aab":
        assert places.take(Waiting(), Arrival(peer, ArrivalVerdict.FREE))
    assert places.take(Waiting(), Arrival("c", ArrivalVerdict.ALL_TAKEN))
    assert changes == [("a", -1), ("c", 1)]
    assert places.tally.of == {"a": 1, "b": 1, "c": 1}


def test_spare_places_are_given_up_by_those_that_wait() -> None:
    places = Places(PeerRule(1, 1))
    place = places.take(busy := Waiting(), places.arrival("1.1.1.1"))
    assert place is not None
    place.line.pop(busy)
    spare = [entered(places, "1.1.1.1") for _ in range(NUM_SPARE + 1)]
    assert [is_spare for _, is_spare in spare] == [True] * (NUM_SPARE + 1)
    assert [guest.has_made_way for guest, _ in spare] == [True] + [False] * NUM_SPARE
    for guest, _ in spare:
        guest.may_make_way = False
    assert entered(places, "1.1.1.1")[1] is None
