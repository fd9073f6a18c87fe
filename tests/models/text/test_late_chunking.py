"""`late_chunking` over HTTP: the vectors of a plain forward of the whole text, and the mean of each chunk's tokens."""

import struct
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import msgspec
import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from schemas.endpoints.embeddings import EmbeddingResponse
from service.engine.scheduling.waiting import Waiting
from service.ipc.messages import Request
from service.model.heads.head import HeadRows
from service.outputs.dense import DenseAsk
from service.outputs.plan import TokenPlan
from service.prompt.conversation import Conversation
from service.prompt.truncation import Truncation
from tests.conftest import TOLERANCE, LiveServer, from_base64
from tests.models.text import checkpoints
from tests.models.text.checkpoints import RECIPES, make_checkpoint, reference
from tests.models.text.conftest import ServedText
from tests.models.text.late_chunking import late_vectors, windows
from tests.models.text.texts import SENTENCES, TEXTS

PREFIX = "passage: "
SHORT = 48
"""Tokens of the short window."""
FAMILIES = {"xlm-roberta": "xlm_roberta", "short": "short"}
"""Those that are asked over HTTP, each an engine; all others go through its runner."""
NAMES = tuple(FAMILIES)
MEAN = sorted(name for name, recipe in RECIPES.items() if recipe.pooling == "mean")
CHUNKS = [SENTENCES[0], *(f" {sentence}" for sentence in SENTENCES[1:11])]
"""One text, in sentences with their blanks."""
ORDINARY = list(TEXTS[20:32])


class Many:
    """One server of checkpoints of several families, and the reference of each."""

    def __init__(self, folder: Path, start_server: Callable[..., LiveServer]) -> None:
        self.folders = {name: folder / name for name in NAMES}
        recipes = {"short": replace(RECIPES["distilbert"], max_seq_length=SHORT)}
        for name, place in self.folders.items():
            checkpoints.RECIPES |= recipes
            make_checkpoint(FAMILIES[name], place)
        del checkpoints.RECIPES["short"]
        flags = [word for name, place in self.folders.items() for word in ("--model", f"{name}={place}")]
        self.server = start_server(*flags, "--result-cache-bytes", str(1 << 24)).wait_until_ready()
        self.references = {name: reference(place) for name, place in self.folders.items()}

    def check(self, name: str, chunks: list[str], prefix: str = "", **fields: Any) -> np.ndarray:
        """Fail where the vectors of a text's chunks are not the reference's, which are given back."""
        want = late_vectors(self.references[name], chunks, prefix)
        assert np.abs(vectors(ask(self.server, model=name, input=chunks, **fields)) - want).max() <= TOLERANCE
        return want


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory, start_server: Callable[..., LiveServer]) -> Iterator[Many]:
    many = Many(tmp_path_factory.mktemp("late"), start_server)
    yield many
    many.server.stop()


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def ask(server: LiveServer, **body: Any) -> EmbeddingResponse:
    answer = server.ask("/v1/embeddings", {"late_chunking": True, **body})
    return msgspec.json.decode(answer.content, type=EmbeddingResponse)


def vectors(answer: EmbeddingResponse) -> np.ndarray:
    return np.array([one.embedding for one in answer.data], np.float32)


def refusal(server: LiveServer, **body: Any) -> dict[str, Any]:
    return server.refusal("/v1/embeddings", {"late_chunking": True, **body})


def forwards(server: LiveServer, model: str) -> tuple[float, float]:
    """Forwards of a model so far, and the prompts in them."""
    return (
        server.metric("cenote_batch_inputs_count", model=model),
        server.metric("cenote_batch_inputs_sum", model=model),
    )


@pytest.mark.parametrize("family", MEAN)
def test_windows_and_ordinary_texts_in_one_forward(served: Callable[[str], ServedText], family: str) -> None:
    """Every family, those with Dense modules and those that run by equal lengths among them; kept rows too."""
    one = served(family)
    made = one.builder.late_chunks(Conversation(None, ()), Truncation(512), ["input"] * len(CHUNKS))
    made.add(CHUNKS)
    (window,) = made.prompts()
    first, second, third = one.text_prompts(ORDINARY[:3])
    bare = msgspec.structs.replace(window, plan=msgspec.structs.replace(window.plan, spans=()))
    waiting = one.waiting([first, window, second, bare, third])
    runner, requests = one.runner, [each.request for each in waiting]
    found = runner.embed(waiting)
    whole = one.reference.encode("".join(CHUNKS))
    late, texts = late_vectors(one.reference, CHUNKS), one.reference.encode(ORDINARY[:3])
    want = np.concatenate([texts[:1], late, texts[1:2], whole[None], texts[2:]])
    kept = runner.to_keep(found)
    twice = runner.of(found, [0, 1, 1, 2, 3, 4])["dense"]
    assert len(twice.rows) == sum(twice.counts) == len(found["dense"].rows) + len(CHUNKS)
    for rows in (runner.finish(found, requests), runner.finish(runner.kept([row for row in kept if row]), requests)):
        got = np.concatenate([np.frombuffer(row["float32"], np.float32) for row in rows if row])
        assert np.abs(got.reshape(want.shape) - want).max() <= TOLERANCE


def test_a_chunk_whose_mean_is_not_finite_spoils_its_text_alone(served: Callable[[str], ServedText]) -> None:
    one = served("xlm_roberta")
    output = DenseAsk(dimensions=one.profile.dimensions)
    asked: list[tuple[tuple[int, int], ...]] = [(), ((0, 2), (2, 4)), ((0, 3), (3, 4))]
    requests = [
        Request(id=i, plan=TokenPlan([0, 5, 6, 2], spans=spans), asks=(output,)) for i, spans in enumerate(asked)
    ]
    dense = one.runner.embed([Waiting(request, 0.0, []) for request in requests])["dense"]
    rows = dense.rows.clone()
    rows[2, 0] = float("nan")
    found = {"dense": HeadRows(rows, dense.counts)}
    assert [row is None for row in one.runner.finish(found, requests)] == [False, True, False]
    assert [row is None for row in one.runner.to_keep(found)] == [False, True, False]


def test_chunks_have_the_means_of_one_forward_of_the_text(many: Many, name: str) -> None:
    want = many.check(name, CHUNKS)
    alone = many.server.vectors({"model": name, "input": CHUNKS})
    assert np.abs(alone - want)[1:].max(axis=1).min() > 100 * TOLERANCE, "and without the others each has another"


def test_among_ordinary_texts_of_other_requests_they_are_the_same(many: Many, name: str) -> None:
    """Both kinds stand in the same forwards: requests come while others run."""
    texts = many.references[name].encode(ORDINARY)
    chunks = late_vectors(many.references[name], CHUNKS)
    bodies = [{"input": ORDINARY[:6]}, {"input": CHUNKS, "late_chunking": True}, {"input": ORDINARY[6:]}] * 4

    def send(body: dict[str, Any]) -> np.ndarray:
        asked = {"model": name, "truncate_prompt_tokens": -1, **body}  # as the reference cuts its texts
        answer = httpx.post(f"{many.server.url}/v1/embeddings", json=asked, timeout=60)
        return np.array([one["embedding"] for one in answer.json()["data"]], np.float32)

    with ThreadPoolExecutor(len(bodies)) as pool:
        found = list(pool.map(send, bodies))
    for want, start in ((texts[:6], 0), (chunks, 1), (texts[6:], 2)):
        for got in found[start::3]:
            assert np.abs(got - want).max() <= TOLERANCE


def test_a_lone_chunk_has_the_bits_of_the_ordinary_vector(many: Many, name: str) -> None:
    for text in SENTENCES[:4]:
        ordinary = many.server.vectors({"model": name, "input": text})
        for lone in (text, [text]):
            late = many.server.vectors({"model": name, "input": lone, "late_chunking": True})
            assert late.tobytes() == ordinary.tobytes()


def test_one_forward_a_window_and_usage_counts_each_window_once(many: Many, name: str) -> None:
    chunks = [f"{chunk}!" for chunk in CHUNKS[:8]]  # which no other test asks for
    wanted = windows(many.references[name], chunks)
    before = forwards(many.server, name)
    answer = ask(many.server, model=name, input=chunks)
    ran, prompts = (now - then for now, then in zip(forwards(many.server, name), before, strict=True))
    assert prompts == len(wanted)
    assert 1 <= ran <= len(wanted)
    assert len(wanted) == 1 or name == "short"
    num_tokens = sum(len(ids) for ids, _ in wanted)
    assert (answer.usage.prompt_tokens, answer.usage.num_inputs) == (num_tokens, len(chunks))
    again = ask(many.server, model=name, input=chunks)
    assert again.usage.prompt_tokens_details.cached_tokens == num_tokens
    assert np.array_equal(vectors(again), vectors(answer)), "kept vectors are the same, bit for bit"
    assert forwards(many.server, name) == (before[0] + ran, before[1] + prompts)


def test_the_same_tokens_in_other_chunks_are_another_prompt(many: Many, name: str) -> None:
    text = "One text of words that are cut in several ways."
    for chunks in ([text], [text[:8], text[8:]], [text[:22], text[22:]], [text[:8], text[8:22], text[22:]]):
        many.check(name, chunks)


@pytest.mark.parametrize(
    ("name", "chunks", "most", "least_windows"), [("short", CHUNKS, SHORT, 4), ("xlm-roberta", CHUNKS * 6, 512, 3)]
)
def test_a_long_text_goes_through_the_model_in_windows(
    many: Many, name: str, chunks: list[str], most: int, least_windows: int
) -> None:
    lengths = [len(ids) for ids, _ in windows(many.references[name], chunks)]
    assert len(lengths) >= least_windows
    assert max(lengths) <= most
    many.check(name, chunks)


@pytest.mark.parametrize("fields", [{"instruction": PREFIX}, {"input_type": "passage"}])
def test_the_prefix_of_a_side_stands_once_in_front(many: Many, fields: dict[str, str]) -> None:
    many.check("xlm-roberta", CHUNKS, PREFIX, **fields)


def test_each_entry_has_its_place_in_the_text(many: Many) -> None:
    chunks = ["Die Höhle", " war tief 🦊", " und kühl."]
    answer = ask(many.server, model="xlm-roberta", input=chunks)
    text = "".join(chunks)
    for entry, chunk in zip(answer.data, chunks, strict=True):
        assert entry.span
        assert text[entry.span.start : entry.span.end] == chunk
        stock = many.references["xlm-roberta"].tokenizer
        assert entry.span.num_tokens == len(stock(chunk, add_special_tokens=False)["input_ids"])
    ordinary = many.server.ask("/v1/embeddings", {"model": "xlm-roberta", "input": chunks}).json()
    assert all("span" not in entry for entry in ordinary["data"])


def test_vectors_depend_on_the_chunks_alone(many: Many) -> None:
    first = vectors(ask(many.server, model="short", input=CHUNKS))
    assert np.array_equal(first, vectors(ask(many.server, model="short", input=CHUNKS)))
    other = vectors(ask(many.server, model="short", input=CHUNKS[:-1]))
    kept = len(windows(many.references["short"], CHUNKS)[0][1])
    assert np.abs(first[:kept] - other[:kept]).max() <= TOLERANCE, "windows before a later chunk do not change"


def test_all_encodings_and_number_formats(many: Many) -> None:
    want = late_vectors(many.references["short"], CHUNKS)
    server, asked = many.server, {"model": "short", "input": CHUNKS, "late_chunking": True}
    for dtype, numpy_dtype, tolerance in (("float32", "<f4", TOLERANCE), ("float16", "<f2", 1e-3)):
        body = {**asked, "embed_dtype": dtype, "encoding_format": "base64"}
        entries = server.ask("/v1/embeddings", body).json()["data"]
        found = np.stack([from_base64(one["embedding"]).view(np.uint8).view(numpy_dtype) for one in entries])
        assert np.abs(found - want).max() <= tolerance
        raw = server.http.post("/v1/embeddings", json=body, headers={"accept": "application/octet-stream"})
        assert raw.headers["x-embedding-shape"] == f"{len(CHUNKS)},{want.shape[1]}"
        assert np.array_equal(np.frombuffer(raw.content, numpy_dtype).reshape(want.shape), found)
    entries = server.ask("/v1/embeddings", {**asked, "embed_dtype": "bfloat16", "encoding_format": "base64"}).json()
    assert all(len(one["embedding"]) == -(-2 * want.shape[1] // 3) * 4 for one in entries["data"])
    big = server.ask("/v1/embeddings", {**asked, "endianness": "big", "encoding_format": "base64"}).json()["data"]
    first = from_base64(big[0]["embedding"]).tobytes()
    assert np.abs(np.array(struct.unpack(f">{want.shape[1]}f", first)) - want[0]).max() <= TOLERANCE


def test_raw_means_and_normalized_ones(many: Many) -> None:
    raw = vectors(ask(many.server, model="xlm-roberta", input=CHUNKS, normalize=False))
    unit = raw / np.linalg.norm(raw, axis=1, keepdims=True)
    assert np.abs(unit - late_vectors(many.references["xlm-roberta"], CHUNKS)).max() <= TOLERANCE
    assert np.abs(np.linalg.norm(raw, axis=1) - 1).min() > 0.01


def test_a_chunk_over_the_window_is_refused_by_its_place_or_cut(many: Many) -> None:
    long = [*CHUNKS[:2], " word" * 100, *CHUNKS[2:4]]
    error = refusal(many.server, model="short", input=long)
    assert (error["code"], error["param"]) == ("context_length_exceeded", "input[2]")
    assert f"maximum context length is {SHORT} tokens" in error["message"]
    answer = ask(many.server, model="short", input=long, truncate_prompt_tokens=-1)
    assert [one.truncated for one in answer.data] == [False, False, True, False, False]
    assert answer.data[2].span
    assert answer.data[2].span.num_tokens == SHORT - 2


def test_tokenize_answers_with_the_windows(many: Many) -> None:
    body = {"model": "short", "input": CHUNKS, "late_chunking": True, "return_token_strs": True}
    answer = many.server.ask("/tokenize", body).json()
    assert [one["tokens"] for one in answer["data"]] == [ids for ids, _ in windows(many.references["short"], CHUNKS)]


@pytest.mark.parametrize(
    ("body", "param", "words"),
    [
        ({"messages": [{"role": "user", "content": "a"}]}, "late_chunking", "got `messages`"),
        ({"inputs": [{"content": [{"type": "text", "text": "a"}]}]}, "late_chunking", "got `inputs`"),
        ({"input": ["a", "b"], "on_error": "per_item"}, "on_error", "none has a vector without the others"),
        ({"input": ["a", "", "b"]}, "input[1]", "has no tokens"),
        ({"input": ["a"], "late_chunking": "yes"}, "late_chunking", "expected"),
    ],
)
def test_what_is_no_text_in_chunks_is_refused(many: Many, body: dict[str, Any], param: str, words: str) -> None:
    error = refusal(many.server, model="xlm-roberta", **body)
    assert error["param"] == param
    assert words in error["message"]


def test_a_stream_has_no_place_for_it(many: Many) -> None:
    headers = {"content-type": "application/x-ndjson"}
    path, line = "/v1/embeddings/stream?late_chunking=true", b'{"input": "a"}\n'
    answer = many.server.http.post(path, content=line, headers=headers)
    assert answer.status_code == 400
    assert "late_chunking" in answer.text


def test_models_say_whether_they_offer_it(many: Many) -> None:
    cards = many.server.http.get("/v1/models").json()["data"]
    assert {card["id"]: card["late_chunking"] for card in cards if card["id"] in NAMES} == dict.fromkeys(NAMES, True)


def test_a_model_that_pools_otherwise_refuses_it_before_any_work(server: LiveServer) -> None:
    error = refusal(server, input=["a", "b" * 10_000_000])
    assert error["param"] == "late_chunking"
    assert "builtin pools by `last_token`" in error["message"]
    assert server.http.get("/v1/models/builtin").json()["late_chunking"] is False


def test_references_are_those_of_sentence_transformers_for_a_lone_chunk(many: Many, name: str) -> None:
    """So that what the others are compared with is no other model."""
    stock: SentenceTransformer = many.references[name]
    for text in SENTENCES[:3]:
        assert np.abs(late_vectors(stock, [text])[0] - stock.encode(text)).max() <= TOLERANCE
