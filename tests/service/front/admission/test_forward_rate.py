"""Least time of prompts: by the best full forwards of their length, with what they share counted once."""

from collections.abc import Sequence

import pytest

from service.front.admission.forward_rate import LEAST_SAMPLES, MAX_KEPT_TOKENS, SAMPLE_S, WINDOW_S, ForwardRate

MAX_BATCH_TOKENS = 4096
FULL = 3000


class Clock:
    """A rate and the time that it goes by."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.rate = ForwardRate(MAX_BATCH_TOKENS, lambda: self.now_s)

    def ran(self, prompts: Sequence[list[int]], seconds: float, share: float = 1.0, times: int = LEAST_SAMPLES) -> None:
        for _ in range(times):
            self.now_s += SAMPLE_S
            self.rate.ran(prompts, share, seconds)


def prompts(num: int, num_tokens: int, shared: int = 0) -> list[list[int]]:
    """Texts that begin with `shared` equal tokens, and have nothing else in common."""
    return [[-1] * shared + [1 + number] * (num_tokens - shared) for number in range(num)]


def test_nothing_is_known_before_some_full_forwards_were_measured() -> None:
    clock = Clock()
    assert clock.rate.least_s(prompts(1000, FULL), 1.0) == 0
    clock.ran(prompts(1, FULL), 1.0, times=LEAST_SAMPLES - 1)
    assert clock.rate.least_s(prompts(1000, FULL), 1.0) == 0
    clock.ran(prompts(1, FULL), 1.0, times=1)
    assert clock.rate.least_s(prompts(1000, FULL), 1.0) == pytest.approx(1000)


def test_the_best_of_the_last_minutes_counts() -> None:
    clock = Clock()
    clock.ran(prompts(1, FULL), 10.0)
    clock.ran(prompts(1, FULL), 2.0)
    clock.ran(prompts(1, FULL), 10.0)
    assert clock.rate.least_s(prompts(10, FULL), 0.0) == pytest.approx(20)
    clock.now_s += WINDOW_S
    clock.ran(prompts(1, FULL), 10.0)
    assert clock.rate.least_s(prompts(10, FULL), 0.0) == pytest.approx(20)
    clock.now_s += WINDOW_S
    clock.ran(prompts(1, FULL), 10.0)
    assert clock.rate.least_s(prompts(10, FULL), 0.0) == pytest.approx(100)
    clock.now_s += 2 * WINDOW_S
    assert clock.rate.least_s(prompts(10, FULL), 0.0) == 0


def test_a_length_has_the_rate_of_the_next_shorter_one_that_is_known() -> None:
    clock = Clock()
    clock.ran(prompts(12, 250), 1.0)
    assert clock.rate.least_s(prompts(1, FULL), 0.0) == pytest.approx(1)
    clock.ran(prompts(1, FULL), 3.0)
    assert clock.rate.least_s(prompts(1, FULL), 0.0) == pytest.approx(3)
    assert clock.rate.least_s(prompts(12, 250), 0.0) == pytest.approx(1)
    assert clock.rate.least_s(prompts(100, 100), 0.0) == 0  # nothing as short is known


def test_a_forward_of_several_fronts_is_as_large_as_all_of_their_prompts() -> None:
    clock = Clock()
    clock.ran(prompts(1, FULL // 2), 1.0, share=0.5)
    assert clock.rate.least_s(prompts(2, FULL // 2), 0.0) == pytest.approx(1)


def test_equal_prompts_count_once_and_beginnings_once_a_forward() -> None:
    clock = Clock()
    clock.ran(prompts(1, FULL), 1.0)  # the same rate of all tokens and of its own
    assert clock.rate.least_s(prompts(1, FULL) * 50, 0.0) == pytest.approx(1)
    assert clock.rate.least_s([*prompts(8, FULL), *prompts(8, FULL)], 0.0) == pytest.approx(8)
    clock.ran(prompts(3, 1000), 1.0)
    together = clock.rate.least_s(prompts(16, 1000, shared=900), 0.0)  # four in a forward
    assert together == pytest.approx((16 * 100 + 900) / FULL)
    alone = clock.rate.least_s(prompts(16, FULL, shared=FULL - 100), 0.0)
    assert alone == pytest.approx((16 * (FULL - MAX_KEPT_TOKENS) + MAX_KEPT_TOKENS) / FULL)


def test_where_all_that_ran_shares_a_beginning_both_rates_count() -> None:
    """It is unknown if the model shares them: those that do not get the rate of those that did, at most."""
    clock = Clock()
    clock.ran(prompts(4, 1000, shared=900), 1.0)  # 4000 tokens, 1300 of their own
    assert clock.rate.least_s(prompts(4, 1000), 0.0) == pytest.approx(1)
    assert clock.rate.least_s(prompts(4, 1000, shared=900), 0.0) == pytest.approx(1)


def test_what_fits_need_not_be_known_exactly() -> None:
    clock = Clock()
    clock.ran(prompts(1, FULL), 1.0)
    assert clock.rate.least_s(prompts(1, FULL) * 50, 60.0) == pytest.approx(50)
    assert clock.rate.plain_s([FULL] * 50) == pytest.approx(50)
