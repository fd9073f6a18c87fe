"""The same prompt is computed once: at the same time for all who ask, and later from what was kept."""

import json
import time
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

import numpy as np
import pytest
from prometheus_client.parser import text_string_to_metric_families

from service.engine.scheduling.result_cache import ENTRY_BYTES
from service.front.admission.key_file import hash_key
from tests.conftest import CHECKPOINT, TOLERANCE, LiveServer, image, image_part, text_part

NUM_ENTRIES = 10
CAP_BYTES = NUM_ENTRIES * (128 * 4 + ENTRY_BYTES)
ON = ("--model", str(CHECKPOINT), "--result-cache-bytes", str(CAP_BYTES))
NUM_TWINS = 40
SERIES = ("hits_total", "misses_total", "bytes", "entries", "evictions_total")
SECRETS = {tenant: f"secret of {tenant}".ljust(43, "x") for tenant in ("acme", "bolt")}

numbers = count()
"""Each test asks what no other test has asked."""

FORMS: tuple[dict[str, Any], ...] = (
    {},
    {"dimensions": 96},
    {"dimensions": 64, "normalize": False},
    {"embed_dtype": "float16"},
    {"embed_dtype": "bfloat16", "dimensions": 64},
)


@pytest.fixture(scope="module")
def keeping(start_server: Callable[..., LiveServer]) -> LiveServer:
    """Keeps ten vectors and no features, and does not ask itself while steps are counted."""
    server = start_server(*ON, "--encoder-cache-bytes", "0", "--known-answer-s", "9999")
    assert [server.metric(f"cenote_result_cache_{name}") for name in SERIES] == [0] * len(SERIES)
    assert server.metric("cenote_requests_deduplicated_total") == 0
    return server.wait_until_ready()


@pytest.fixture(scope="module")
def strict(start_server: Callable[..., LiveServer], tmp_path_factory: pytest.TempPathFactory) -> LiveServer:
    """Has two tenants, and asks itself all the time."""
    keys = tmp_path_factory.mktemp("keys") / "keys.jsonl"
    lines = [{"tenant": tenant, "sha256": hash_key(secret.encode()).hex()} for tenant, secret in SECRETS.items()]
    keys.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return start_server(*ON, "--api-keys", str(keys), "--known-answer-s", "0.1").wait_until_ready()


def text() -> str:
    return f"what was asked the {next(numbers)}th time"


class Since:
    """Gain of a server's counters."""

    def __init__(self, server: LiveServer) -> None:
        self._server = server
        self._before = self._read()

    def _read(self) -> dict[str, float]:
        """Sums over each metric's series."""
        sums: defaultdict[str, float] = defaultdict(float)
        for family in text_string_to_metric_families(self._server.http.get("/metrics").text):
            for sample in family.samples:
                sums[sample.name] += sample.value
        return sums

    def __call__(self, name: str) -> int:
        return int(self._read()[f"cenote_{name}"] - self._before[f"cenote_{name}"])


def data(server: LiveServer, body: dict[str, Any]) -> list[Any]:
    entries: list[Any] = server.ask("/v1/embeddings", body | {"encoding_format": "base64"}).json()["data"]
    return entries


def test_a_prompt_that_comes_again_never_reaches_the_model_whatever_is_made_of_its_vector(
    keeping: LiveServer, bare_server: LiveServer
) -> None:
    asked = text()
    keeping.ask("/v1/embeddings", {"input": asked, "dimensions": 64})
    since = Since(keeping)
    for form in FORMS:
        body = {"input": asked, **form}
        assert data(keeping, body) == data(bare_server, body)  # a vector by itself, computed and kept: the same bits
    kinds = ["float", "int8", "uint8", "binary", "ubinary", "base64"]
    body = {"texts": [asked], "embedding_types": kinds, "output_dimension": 64}
    kept, fresh = (one.ask("/v2/embed", body).json()["embeddings"] for one in (keeping, bare_server))
    assert kept == fresh
    assert since("batch_tokens_count") == 0
    assert since("result_cache_hits_total") == len(FORMS) + 1
    assert since("result_cache_misses_total") == 0


def test_a_kept_prompt_needs_no_image_and_its_images_count_as_hits(
    keeping: LiveServer, bare_server: LiveServer
) -> None:
    parts = [image_part(image(1)), text_part(text()), image_part(image(2))]
    body = {"inputs": [{"content": parts}]}
    want = data(bare_server, body)
    assert data(keeping, body) == want
    since = Since(keeping)
    again = keeping.ask("/v1/embeddings", body | {"encoding_format": "base64"})
    assert again.json()["data"] == want
    assert again.headers["x-encoder-cache"] == "hit=2, miss=0"
    assert (since("vision_encodes_total"), since("batch_tokens_count"), since("encoder_cache_hits_total")) == (0, 0, 2)
    assert keeping.metric("cenote_pixel_arena_bytes") == 0
    turned = {"inputs": [{"content": parts[::-1]}]}
    assert data(keeping, turned) != want  # the same images in another order are another prompt
    written = body | {"part_order": "as_written"}  # so are the same parts where each stays in its place
    assert data(keeping, written) == data(bare_server, written) != want
    assert data(keeping, body) == want


def test_one_list_with_repeated_texts_runs_each_once(keeping: LiveServer, bare_server: LiveServer) -> None:
    texts = [text() for _ in range(5)]
    num_tokens = keeping.ask("/tokenize", {"input": texts}).json()["count"]
    since = Since(keeping)
    vectors = keeping.vectors({"input": texts * NUM_TWINS})
    assert since("requests_deduplicated_total") == 5 * (NUM_TWINS - 1)
    assert since("batch_inputs_sum") == 5 * NUM_TWINS  # all of them were answered
    assert since("batch_tokens_sum") == num_tokens
    np.testing.assert_array_equal(vectors, np.tile(vectors[:5], (NUM_TWINS, 1)))
    alone = np.concatenate([bare_server.vectors({"input": one}) for one in texts])
    np.testing.assert_allclose(vectors[:5], alone, rtol=0, atol=TOLERANCE)


def test_many_who_ask_at_once_in_many_forms_each_get_their_own(server: LiveServer, bare_server: LiveServer) -> None:
    asked = [text() + " and so on" * 200 for _ in range(3)]
    bodies = [{"input": asked[i % 3], **FORMS[i % len(FORMS)]} for i in range(NUM_TWINS)]
    want = [bare_server.ask("/v1/embeddings", body).json()["data"][0]["embedding"] for body in bodies]
    since = Since(server)
    with ThreadPoolExecutor(NUM_TWINS) as pool:
        answers = list(pool.map(lambda body: server.ask("/v1/embeddings", body).json(), bodies))
    got = [answer["data"][0]["embedding"] for answer in answers]
    for one, other in zip(got, want, strict=True):
        # float16 and bfloat16 round; the last bit may fall either way
        np.testing.assert_allclose(one, other, rtol=2**-7, atol=TOLERANCE)
    assert since("requests_deduplicated_total") >= NUM_TWINS // 2


def test_the_cap_holds_and_what_was_pushed_out_is_computed_again(keeping: LiveServer, bare_server: LiveServer) -> None:
    texts, since = [text() for _ in range(25)], Since(keeping)
    for _ in range(2):
        got = [keeping.vectors({"input": one})[0] for one in texts]
        assert keeping.metric("cenote_result_cache_bytes") == CAP_BYTES
        assert keeping.metric("cenote_result_cache_entries") == NUM_ENTRIES
    np.testing.assert_array_equal(got, [bare_server.vectors({"input": one})[0] for one in texts])
    assert since("result_cache_hits_total") == 0  # asked in turn, the least recently used is always the next one
    assert since("result_cache_evictions_total") >= 40


def test_the_services_own_question_runs_the_model_each_time_and_is_not_kept(strict: LiveServer) -> None:
    since = Since(strict)
    deadline_s = time.monotonic() + 20
    while since("batch_tokens_count") < 4:
        assert time.monotonic() < deadline_s, "the question was answered from the cache"
        time.sleep(0.05)
    assert strict.metric("cenote_result_cache_entries") == 0
    assert since("result_cache_hits_total") == 0


def test_tenants_never_meet_what_another_has_computed(strict: LiveServer) -> None:
    asked, since = text(), Since(strict)

    def ask(tenant: str) -> Any:
        headers = {"authorization": f"Bearer {SECRETS[tenant]}"}
        answer = strict.http.post("/v1/embeddings", json={"input": asked}, headers=headers)
        assert answer.status_code == 200, answer.text
        return answer.json()["data"]

    first, other, again = ask("acme"), ask("bolt"), ask("acme")
    assert first == again  # the kept vector, bit for bit
    assert other[0]["embedding"] == pytest.approx(first[0]["embedding"], abs=TOLERANCE)  # a run of its own
    assert (since("result_cache_hits_total"), since("result_cache_misses_total")) == (1, 2)
