"""The learned ceiling falls at once and rises slowly; content that failed by itself is refused for a while."""

from service.engine.execution.isolation import RAISE_AFTER, Quarantine, TokenCeiling


def test_half_of_what_had_no_memory_is_the_ceiling() -> None:
    ceiling = TokenCeiling(8192)
    ceiling.ran_out(6000)
    assert ceiling.num_tokens == 3000
    ceiling.ran_out(5000)  # half of it is less than nothing new
    assert ceiling.num_tokens == 2500
    ceiling.ran_out(1)
    assert ceiling.num_tokens == 128  # the floor


def test_it_rises_by_a_tenth_after_many_steps_that_went_well_and_never_above_the_setting() -> None:
    ceiling = TokenCeiling(1000)
    ceiling.ran_out(1000)
    for _ in range(RAISE_AFTER - 1):
        ceiling.went_well()
    assert ceiling.num_tokens == 500
    ceiling.went_well()
    assert ceiling.num_tokens == 551
    for _ in range(100 * RAISE_AFTER):
        ceiling.went_well()
    assert ceiling.num_tokens == 1000


def test_content_is_refused_until_its_time_is_over_and_asking_does_not_prolong_it() -> None:
    quarantine = Quarantine(quarantine_s=60)
    quarantine.add(b"a", 0.0)
    assert [quarantine.holds(b"a", now_s) for now_s in (0.0, 30.0, 59.9, 60.0)] == [True, True, True, False]
    assert not quarantine.holds(b"b", 0.0)
    assert len(quarantine.until_s) == 0


def test_the_oldest_makes_room() -> None:
    quarantine = Quarantine(max_entries=3)
    for number in range(5):
        quarantine.add(bytes([number]), float(number))
    assert [quarantine.holds(bytes([number]), 5.0) for number in range(5)] == [False, False, True, True, True]
