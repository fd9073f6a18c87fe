"""Finished vectors on a real Valkey or Redis server: what one service has answered, another need not run."""

import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.at_start.environ import customized_environ
from tests.conftest import CHECKPOINT, Gained, LiveServer, image, image_part, text_part, until
from tests.service.engine.shared_tiers.redis_server import PASSWORD, RedisServer

pytestmark = pytest.mark.slow

IMAGE = image(60_001)
BODY = {"inputs": [{"content": [image_part(IMAGE), text_part("shared")]}, {"content": [text_part("alone")]}]}
NAMES = "shared_vector_hits_total", "shared_vector_misses_total", "pictures_decoded_total"

CHANGE_ALL = """
for _, key in ipairs(redis.call('KEYS', 'cenote:vectors:1:*')) do
  local value = redis.call('GET', key)
  redis.call('SET', key, string.sub(value, 1, -2) .. string.char((string.byte(value, -1) + 1) % 256))
end
return 1
"""


class Pair:
    """Two services and the server between them."""

    def __init__(self, one: LiveServer, other: LiveServer, redis: RedisServer) -> None:
        self.one, self.other, self.redis = one, other, redis

    def ask_redis(self, *command: str) -> list[str]:
        """Lines that `redis-cli` prints."""
        line = ["redis-cli", "-p", str(self.redis.port), "-a", PASSWORD, "--no-auth-warning", *command]
        return subprocess.run(line, capture_output=True, text=True, check=True).stdout.split()

    def num_written(self) -> int:
        """Values written since the server between them started."""
        found = re.search(r"cmdstat_set:calls=(\d+)", " ".join(self.ask_redis("INFO", "commandstats")))
        return int(found[1]) if found else 0

    def asked(self, server: LiveServer, body: dict[str, Any]) -> tuple[list[int], np.ndarray]:
        """As `asked`; what was not known is, from now on: vectors are written after the answer."""
        before = self.num_written()
        told, rows = asked(server, body)
        until(lambda: self.num_written() >= before + told[1], f"{told[1]} vectors written")
        return told, rows


@pytest.fixture(scope="module")
def pair(start_server: Callable[..., LiveServer], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    redis = RedisServer(tmp_path_factory.mktemp("redis"))
    # Vectors only, and no device's own: `MODEST` switches kept vectors off, and here they are what is looked at.
    flags = ("--model", str(CHECKPOINT), "--valkey-url", redis.url, "--result-cache-bytes", "1MiB")
    patient = customized_environ(Path(__file__).parent / "patient")
    servers = [start_server(*flags, "--valkey-keeps", "vectors", env=patient) for _ in range(2)]
    yield Pair(*(server.wait_until_ready() for server in servers), redis)
    redis.stop()


def asked(server: LiveServer, body: dict[str, Any]) -> tuple[list[int], np.ndarray]:
    """Hits, misses and decodes that a request made, and its vectors."""
    gained = Gained(server)
    rows = server.vectors(body)
    return [gained(name) for name in NAMES], rows


def test_what_one_has_answered_the_other_answers_bit_for_bit_and_decodes_nothing(pair: Pair) -> None:
    first, want = pair.asked(pair.one, BODY)
    second, rows = pair.asked(pair.other, BODY)
    assert (first, second) == ([0, 2, 1], [2, 0, 0])
    np.testing.assert_array_equal(rows, want)
    answer = pair.other.ask("/v1/embeddings", BODY)
    assert answer.headers["x-encoder-cache"] == "hit=1, miss=0"
    usage = answer.json()["usage"]
    assert usage["prompt_tokens_details"]["cached_tokens"] == usage["prompt_tokens"]


def test_another_length_format_or_instruction_is_another_vector(pair: Pair) -> None:
    pair.asked(pair.one, BODY)
    for more in ({"dimensions": 64}, {"normalize": False}, {"instruction": "Represent the colors of the image."}):
        (hits, misses, _), _ = pair.asked(pair.other, BODY | more)
        assert (hits, misses) == (0, 2), more


def test_only_those_that_are_not_there_are_run_and_an_error_names_its_input(pair: Pair) -> None:
    known = {"content": [text_part("alone")]}
    pair.asked(pair.one, {"inputs": [known]})
    broken = {"content": [image_part(IMAGE[:-400])]}
    (hits, misses, _), rows = pair.asked(
        pair.other, {"inputs": [known, {"content": [text_part("never before")]}, known]}
    )
    assert (hits, misses) == (2, 1)
    np.testing.assert_array_equal(rows[0], rows[2])
    refused = pair.other.http.post("/v1/embeddings", json={"inputs": [known, known, broken]})
    assert (refused.status_code, refused.json()["error"]["index"]) == (422, 2)


def test_a_value_that_was_changed_or_moved_is_a_miss(pair: Pair) -> None:
    pair.asked(pair.one, {"input": "sealed"})
    _, want = pair.asked(pair.one, {"input": "sealed"})
    assert pair.ask_redis("EVAL", CHANGE_ALL, "0") == ["1"]
    (hits, misses, _), rows = pair.asked(pair.other, {"input": "sealed"})
    assert (hits, misses) == (0, 1)
    np.testing.assert_allclose(rows, want, rtol=0, atol=1e-6)


def test_a_server_that_has_gone_costs_nothing_but_misses(pair: Pair) -> None:
    asked(pair.one, {"input": "before"})
    pair.redis.stop()
    try:
        for number in range(6):
            (hits, misses, _), _ = asked(pair.other, {"input": f"gone {number}"})
            assert (hits, misses) == (0, 1)
        log = pair.other.log.read_text()
        assert "left alone" in log
        assert PASSWORD not in log
    finally:
        pair.redis.start()
