"""When a refused client may come back: never too early, and spread, so that clients do not come back together."""

import random

import pytest

from service.errors import UnavailableError
from service.http.errors import JITTER, retry_headers


@pytest.mark.parametrize(("wait_s", "whole_s"), [(0.5, "1"), (2.0, "2"), (2.1, "3")])
def test_the_time_to_retry_is_spread_and_never_too_early(wait_s: float, whole_s: str) -> None:
    random.seed(0)
    answers = [retry_headers(UnavailableError("overloaded", "full", retry_after_s=wait_s)) for _ in range(100)]
    waits_ms = [int(headers["retry-after-ms"]) for headers in answers]
    assert {headers["Retry-After"] for headers in answers} == {whole_s}
    assert all(wait_s * 1000 <= wait_ms <= wait_s * 1000 * (1 + JITTER) + 1 for wait_ms in waits_ms)
    assert len(set(waits_ms)) > 50
