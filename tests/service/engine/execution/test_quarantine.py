"""Content that failed by itself is refused for a while, and the table stays small."""

from service.engine.execution.isolation import Quarantine


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
