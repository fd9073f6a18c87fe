"""The learned ceiling falls at once and rises slowly."""

from service.engine.execution.isolation import RAISE_AFTER, TokenCeiling


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
