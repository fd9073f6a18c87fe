"""Images that are looked for behind the cache, before anybody encodes them. Features are strings; no thread looks."""

import random
from typing import cast

from service.engine.encoder_cache.cache import EncoderCache
from service.engine.scheduling.scheduler import Scheduler
from service.engine.scheduling.waiting import EncodeStep, ForwardStep
from service.engine.shared_tiers.look_ups import LookUps
from service.ipc.messages import Media, PixelSlot
from tests.builders import engine_request, media


class Rig:
    """A scheduler, and what it has asked shared tiers for."""

    def __init__(self, max_bytes: int = 1000) -> None:
        self.asked: list[bytes] = []
        self.is_asking = True
        self.scheduler: Scheduler[str] = Scheduler(
            EncoderCache(max_bytes), max_batch_tokens=100, max_batch_requests=8, max_encoder_tokens=50
        )
        self.scheduler.images.look_ups = cast(LookUps, self)

    def ask(self, image: Media) -> bool:
        if self.is_asking:
            self.asked.append(image.key)
        return self.is_asking

    def add(self, id_: int, *names: str, start: int | None = None) -> list[int]:
        return self.scheduler.add(engine_request(id_, [0] * 10, *(media(name, start) for name in names)), 0.0)

    def found(self, name: str) -> list[int]:
        return self.scheduler.found(name.encode(), f"stored {name}", 100)


def test_a_round_counts_an_image_of_one_token_by_its_pixels() -> None:
    rig = Rig()
    rig.is_asking = False
    tokens = [20, 0, 20, 20, 0]  # that the pixels are worth, of 50 in a round
    for id_, worth in enumerate(tokens):
        slot = PixelSlot(id_, worth * 6_144 + 3_072)
        image = Media(key=b"%d" % id_, grid_thw=(1, 1, 1), offset=0, num_tokens=1, slot=slot)
        rig.scheduler.add(engine_request(id_, [0], image), 0.0)
    step = rig.scheduler.next_step()
    assert isinstance(step, EncodeStep)
    assert [encode.media.key for encode in step.encodes] == [b"0", b"1", b"2"]  # 20 + 1 + 20, and 20 more are too many


def counts(step: object) -> dict[int, tuple[int, int]]:
    assert isinstance(step, ForwardStep)
    everyone = [one for waiting in step.batch for one in waiting.group]
    return {one.request.id: (one.num_hits, one.num_misses) for one in everyone}


def test_while_it_is_looked_for_an_image_is_neither_encoded_nor_are_its_pixels_asked_for() -> None:
    rig = Rig()
    rig.add(1, "a", start=5)
    rig.add(2, "b")
    assert rig.asked == [b"a", b"b"]
    assert rig.scheduler.next_step() is None
    assert list(rig.scheduler.images.ask_for_pixels()) == []
    assert rig.found("a") == [5]
    assert rig.found("b") == []
    step = rig.scheduler.next_step()
    assert counts(step) == {1: (1, 0), 2: (1, 0)}
    assert b"a" in rig.scheduler.cache


def test_many_who_want_it_look_for_it_once_and_all_hit() -> None:
    rig = Rig()
    assert [rig.add(id_, "a", start=id_) for id_ in range(4)] == [[], [1], [2], [3]]
    assert rig.asked == [b"a"]
    assert rig.found("a") == [0]
    assert counts(rig.scheduler.next_step()) == dict.fromkeys(range(4), (1, 0))


def test_what_is_not_found_is_encoded_and_the_first_who_wanted_it_has_the_miss() -> None:
    rig = Rig()
    rig.add(1, "a", start=5)
    rig.add(2, "a", start=6)
    rig.scheduler.images.not_found(b"a")
    step = rig.scheduler.next_step()
    assert isinstance(step, EncodeStep)
    rig.scheduler.encoded(step.encodes[0], "made", 100)
    assert counts(rig.scheduler.next_step()) == {1: (0, 1), 2: (1, 0)}


def test_what_is_not_found_and_has_no_pixels_is_asked_for() -> None:
    rig = Rig()
    rig.add(1, "a")
    rig.scheduler.images.not_found(b"a")
    assert list(rig.scheduler.images.ask_for_pixels()) == [b"a"]
    assert rig.scheduler.images.supply(b"a", PixelSlot(7, 1))
    assert isinstance(rig.scheduler.next_step(), EncodeStep)


def test_what_is_found_after_the_deadline_still_spares_the_encoding() -> None:
    rig = Rig()
    rig.add(1, "a", start=5)
    rig.add(2, "b", start=6)
    rig.scheduler.images.not_found(b"a")
    assert rig.found("a") == [5]
    assert counts(rig.scheduler.next_step()) == {1: (0, 1)}  # it was counted when it was given up
    assert rig.scheduler.next_step() is None


def test_what_nobody_wants_any_more_is_passed_over_whatever_is_found() -> None:
    rig = Rig()
    rig.add(1, "a", start=5)
    assert rig.scheduler.abandon([1]) == [5]
    assert rig.found("a") == []
    rig.scheduler.images.not_found(b"a")
    assert rig.scheduler.next_step() is None
    assert b"a" not in rig.scheduler.cache


def test_whatever_happens_every_request_ends_and_every_slot_comes_back_once() -> None:
    draw, rig = random.Random(4), Rig(max_bytes=500)
    released: list[int] = []
    answered: set[int] = set()
    gone: set[int] = set()
    given = 0
    for id_ in range(3000):
        names = [str(draw.randrange(40)) for _ in range(draw.randrange(3))]
        rig.is_asking = draw.random() < 0.8
        start = None
        if len(names) == 1 and draw.random() < 0.7:
            start, given = given, given + 1
        released += rig.add(id_, *names, start=start)
        if draw.random() < 0.1:
            gone.add(id_)
            released += rig.scheduler.abandon([id_])
        for _ in range(draw.randrange(3)):
            released += _turn(rig, draw, answered)
    while len(answered | gone) < 3000:
        released += _turn(rig, draw, answered)
    for key in rig.asked:
        rig.scheduler.images.not_found(key)
    assert sorted(start for start in released if start >= 0) == list(range(given))


def _turn(rig: Rig, draw: random.Random, answered: set[int]) -> list[int]:
    released: list[int] = []
    if rig.asked and draw.random() < 0.7:
        key = rig.asked.pop(draw.randrange(len(rig.asked)))
        if draw.random() < 0.5:
            released += rig.scheduler.found(key, "stored", 100)
        else:
            rig.scheduler.images.not_found(key)
    for key in rig.scheduler.images.ask_for_pixels():
        assert rig.scheduler.images.supply(key, PixelSlot(-1, 1))
    step = rig.scheduler.next_step()
    if isinstance(step, EncodeStep):
        for encode in step.encodes:
            assert encode.slot is not None
            released.append(encode.slot.start)
            rig.scheduler.encoded(encode, "made", 100)
    elif isinstance(step, ForwardStep):
        ids = {one.request.id for waiting in step.batch for one in waiting.group}
        assert not ids & answered
        answered |= ids
    return released
