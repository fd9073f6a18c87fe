"""What large answers may hold: bounded for all and for each tenant, given back whatever becomes of an answer."""

import gc

import pytest

from service.errors import UnavailableError
from service.front.admission.answer_room import SMALL_BYTES, AnswerRoom
from service.front.admission.shared_table import SharedTable
from service.front.tenant import SERVICE, Tenant

LARGE = 2 * SMALL_BYTES
ACME, OTHER = Tenant.named("acme"), Tenant.named("other")


def test_what_is_small_is_never_refused_and_what_is_large_only_beside_others() -> None:
    room = AnswerRoom(LARGE, 1.0, SharedTable.of_one_front())
    first = room.hold(10 * LARGE, SERVICE.tenant)
    assert first is not None
    assert room.hold(SMALL_BYTES, SERVICE.tenant) is None
    with pytest.raises(UnavailableError, match=f"hold {10 * LARGE} bytes") as caught:
        room.hold(LARGE, SERVICE.tenant)
    assert (caught.value.code, caught.value.retry_after_s) == ("overloaded", 2.0)
    first.keep(0)
    assert room.hold(LARGE, SERVICE.tenant) is not None


def test_a_tenant_has_its_share_and_others_have_theirs() -> None:
    room = AnswerRoom(4 * LARGE, 0.5, SharedTable.of_one_front())
    held = [room.hold(LARGE, ACME), room.hold(LARGE, ACME)]
    with pytest.raises(UnavailableError) as caught:
        room.hold(LARGE, ACME)
    assert caught.value.code == "rate_limit_exceeded"
    held.append(room.hold(LARGE, OTHER))
    assert len(held) == 3


def test_an_answer_that_is_dropped_gives_its_bytes_back() -> None:
    room = AnswerRoom(LARGE, 1.0, SharedTable.of_one_front())
    hold = room.hold(LARGE, ACME)
    with pytest.raises(UnavailableError):
        room.hold(LARGE, ACME)
    del hold
    gc.collect()
    again = room.hold(LARGE, ACME)
    assert again is not None
    again.close()
    again.close()
    assert room.hold(LARGE, ACME) is not None
