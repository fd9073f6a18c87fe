"""The same prompt is computed once: at the same time for all who ask, and later from what was kept."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

import numpy as np
import pytest

from service.engine.scheduling.result_cache import ENTRY_BYTES
from tests.conftest import CHECKPOINT, TOLERANCE, Gained, LiveServer, image, image_part, text_part, until

NUM_ENTRIES = 10
CAP_BYTES = NUM_ENTRIES * (128 * 4 + ENTRY_BYTES)
ON = ("--model", str(CHECKPOINT), "--result-cache-bytes", str(CAP_BYTES))
NUM_TWINS = 40
SERIES = ("hits_total", "misses_total", "bytes", "entries", "evictions_total")

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


def text() -> str:
    return f"what was asked the {next(numbers)}th time"


def data(server: LiveServer, body: dict[str, Any]) -> list[Any]:
    entries: list[Any] = server.ask("/v1/embeddings", body | {"encoding_format": "base64"}).json()["data"]
    return entries


def test_a_prompt_that_comes_again_never_reaches_the_model_whatever_is_made_of_its_vector(
    keeping: LiveServer, bare_server: LiveServer
) -> None:
    asked = text()
    keeping.ask("/v1/embeddings", {"input": asked, "dimensions": 64})
    since = Gained(keeping)
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
    since = Gained(keeping)
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
    since = Gained(keeping)
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
    since = Gained(server)
    with ThreadPoolExecutor(NUM_TWINS) as pool:
        answers = list(pool.map(lambda body: server.ask("/v1/embeddings", body).json(), bodies))
    got = [answer["data"][0]["embedding"] for answer in answers]
    for one, other in zip(got, want, strict=True):
        # float16 and bfloat16 round; the last bit may fall either way
        np.testing.assert_allclose(one, other, rtol=2**-7, atol=TOLERANCE)
    assert since("requests_deduplicated_total") >= NUM_TWINS // 2


def test_the_cap_holds_and_what_was_pushed_out_is_computed_again(keeping: LiveServer, bare_server: LiveServer) -> None:
    texts, since = [text() for _ in range(25)], Gained(keeping)
    for _ in range(2):
        got = [keeping.vectors({"input": one})[0] for one in texts]
        assert keeping.metric("cenote_result_cache_bytes") == CAP_BYTES
        assert keeping.metric("cenote_result_cache_entries") == NUM_ENTRIES
    np.testing.assert_array_equal(got, [bare_server.vectors({"input": one})[0] for one in texts])
    assert since("result_cache_hits_total") == 0  # asked in turn, the least recently used is always the next one
    assert since("result_cache_evictions_total") >= 40


@pytest.mark.slow
def test_the_services_own_question_runs_the_model_each_time_and_is_not_kept(
    start_server: Callable[..., LiveServer],
) -> None:
    asking = start_server(*ON, "--known-answer-s", "0.1").wait_until_ready()
    since = Gained(asking)
    until(lambda: since("batch_tokens_count") >= 4, "four questions, none of them answered from the cache")
    assert asking.metric("cenote_result_cache_entries") == 0
    assert since("result_cache_hits_total") == 0


INSTRUCTION = "Retrieve the passages that answer the question, and prefer those that name a place and a year."
TEXTS = [f"in which year was bridge number {number} built?" for number in range(6)]


def one_by_one(server: LiveServer) -> np.ndarray:
    return np.concatenate([server.vectors({"input": text, "instruction": INSTRUCTION}) for text in TEXTS])


@pytest.mark.slow
def test_an_instruction_is_computed_once(server: LiveServer, start_server: Callable[..., LiveServer]) -> None:
    """`server` keeps no beginnings."""
    keeping = start_server("--model", str(CHECKPOINT), "--prefix-cache-bytes", "64MiB").wait_until_ready()
    assert np.abs(one_by_one(keeping) - one_by_one(server)).max() <= 2e-6
    num_prompt = len(server.ask("/tokenize", {"input": INSTRUCTION}).json()["tokens"])
    assert keeping.metric("cenote_prefix_cache_tokens_total") >= (len(TEXTS) - 3) * num_prompt / 2
    assert server.metric("cenote_prefix_cache_tokens_total") == 0
