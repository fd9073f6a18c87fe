"""`--late-chunking`: each chunk has its vector out of the whole text, also in a run that was killed and resumed."""

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import msgspec
import numpy as np
import pytest

from service.ingest.item import Ask, SourceItem
from service.ingest.sending.answers import ItemError
from service.ingest.sending.batching import Batcher
from service.ingest.sending.conversations import late_failures
from service.ingest.sending.handshake import form_of
from service.ingest.sending.sending import Bounds, TokenVectorSize
from service.ingest.sources import chunks
from service.ingest.sources.chunks import chunk_items, cut_by_chars
from tests.conftest import TOLERANCE, LiveServer
from tests.ingest.program import Program, lines
from tests.ingest.proxy import Proxy
from tests.ingest.test_ledger import PLAN
from tests.ingest.test_records import opened
from tests.models.text import checkpoints
from tests.models.text.checkpoints import RECIPES, make_checkpoint
from tests.models.text.texts import SENTENCES

pytestmark = pytest.mark.slow

NUM_TEXTS = 12
CHUNK_CHARS = 120
LATE_PLAN = msgspec.structs.replace(PLAN, late_chunking=True, chunk_chars=CHUNK_CHARS)
TEXTS = [
    "\n\n".join(f"{SENTENCES[(number + i) % 10]} {SENTENCES[(number * 3 + i) % 10]}" for i in range(8))
    for number in range(NUM_TEXTS)
]


@pytest.fixture(scope="module")
def mean(tmp_path_factory: pytest.TempPathFactory, start_server: Callable[..., LiveServer]) -> Iterator[LiveServer]:
    """A small model with a window that a text exceeds."""
    folder = tmp_path_factory.mktemp("late") / "distilbert-small"
    checkpoints.RECIPES["short window"] = replace(RECIPES["distilbert"], max_seq_length=160)
    make_checkpoint("short window", folder)
    del checkpoints.RECIPES["short window"]
    server = start_server("--model", str(folder)).wait_until_ready()
    yield server
    server.stop()


def written(folder: Path, texts: list[str]) -> Path:
    path = folder / "in.jsonl"
    path.write_text("".join(json.dumps({"id": n, "text": text}) + "\n" for n, text in enumerate(texts)))
    return path


def late_items(folder: Path, texts: list[str], num_chars: int = CHUNK_CHARS) -> list[SourceItem]:
    return [
        chunk
        for item in opened(written(folder, texts)).items()
        if isinstance(item, SourceItem) and item.text is not None
        for chunk in chunk_items(item, cut_by_chars(item.text, num_chars), late_chunking=True)
    ]


def check(server: LiveServer, items: list[SourceItem], found: list[dict[str, Any]], **fields: Any) -> None:
    """Every point has the vector that the server gives for its whole text."""
    known: dict[str, list[float]] = {}
    texts = {id(item.late.chunks): item.late.chunks for item in items if item.late is not None}
    for whole in texts.values():
        vectors = server.vectors({"input": list(whole), "late_chunking": True, **fields})
        own = [item.id for item in items if item.late is not None and item.late.chunks is whole]
        known |= dict(zip(own, vectors.tolist(), strict=True))
    assert {point["id"] for point in found} == set(known)
    for point in found:
        np.testing.assert_allclose(point["vector"], known[point["id"]], rtol=0, atol=TOLERANCE)


def test_chunks_that_are_read_together_are_the_text(tmp_path: Path) -> None:
    for item in late_items(tmp_path, [f"  \n{TEXTS[0]} ", *TEXTS[1:]]):
        assert item.late is not None
        text = TEXTS[int(item.metadata["chunk"]["of"])]
        assert "".join(item.late.chunks) == text
        assert item.late.chunks[item.late.index].strip() == item.text
        assert item.late.number == item.late.index + 1 == item.metadata["chunk"]["number"]
        assert len(item.late.chunks) == item.metadata["chunk"]["num_chunks"]


@pytest.mark.parametrize(("most", "most_chars"), [(5, 1 << 20), (1 << 20, 400)])
def test_a_text_that_no_request_holds_is_read_in_parts_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int, most_chars: int
) -> None:
    monkeypatch.setattr(chunks, "MAX_TOGETHER", most)
    monkeypatch.setattr(chunks, "MAX_TOGETHER_CHARS", most_chars)
    text = "\n\n".join(TEXTS[:3])
    items = late_items(tmp_path, [text])
    parts = list(dict.fromkeys(item.late.chunks for item in items if item.late is not None))
    assert len(parts) > 2
    assert max(map(len, parts)) <= most
    assert max(sum(map(len, part)) for part in parts) <= most_chars
    assert "".join("".join(part) for part in parts).replace("\n", "") == text.replace("\n", "")
    assert [item.late.number for item in items if item.late is not None] == list(range(1, len(items) + 1))


def test_the_chunks_of_a_text_stay_in_one_batch_and_are_one_request(tmp_path: Path) -> None:
    bounds = Bounds(8, 1 << 20, 0, 0, None, "", 1 << 20, TokenVectorSize(0, 0, 0))
    batcher = Batcher(bounds)
    asks = [[Ask(item, each, UUID(int=0)) for each in (None, "query: ")] for item in late_items(tmp_path, TEXTS[:3])]
    batches = [*(batch for one in asks for batch in batcher.add(one)), *batcher.flush()]
    assert [{ask.item.metadata["chunk"]["of"] for ask in batch.asks} for batch in batches] == [{"0"}, {"1"}, {"2"}]
    form = form_of("m", LATE_PLAN, truncate=False)
    for batch in batches:
        requests = form.requests(batch.asks)
        assert [len(request) for request in requests] == [len(batch.asks) // 2] * 2
        assert [request[0].instruction for request in requests] == [None, "query: "]
        bodies = [json.loads(form.body(request[3:4], {})) for request in requests]
        late = batch.asks[0].item.late
        assert late is not None
        assert [body["input"] for body in bodies] == [list(late.chunks)] * 2
        assert [body.get("instruction") for body in bodies] == [None, "query: "]


def test_the_plan_of_other_runs_is_what_it_was() -> None:
    assert b"late_chunking" not in msgspec.json.encode(PLAN)
    assert b"late_chunking" in msgspec.json.encode(LATE_PLAN)
    assert PLAN.point_id("a", None) != LATE_PLAN.point_id("a", None)


def test_a_run_that_is_killed_and_resumed_stores_the_vectors_of_whole_texts(mean: LiveServer, tmp_path: Path) -> None:
    items = late_items(tmp_path, TEXTS)
    arguments = (
        *(tmp_path / "in.jsonl", "--to", tmp_path / "out.jsonl", "--chunk-chars", str(CHUNK_CHARS)),
        *("--late-chunking", "--instruction", "a: ", "--instruction", "b: ", "--batch-inputs", "4"),
    )
    slow = Proxy(mean.url, dawdle_s=0.1, num_forwarded=10)
    killed = Program(*arguments, "--concurrency", "1", "--server", slow.url)
    killed.kill_when(lambda: any(event["points"] for event in killed.events()))
    slow.stop()
    end = Program(*arguments, "--server", mean.url).end()
    assert end["points"] + end["already"] == 2 * len(items)
    assert 0 < end["already"] < 2 * len(items)
    found = lines(tmp_path / "out.jsonl")
    assert len(found) == 2 * len(items)
    for instruction in ("a: ", "b: "):
        own = [point for point in found if point["instruction"] == instruction]
        check(mean, items, own, instruction=instruction)
    assert Program(*arguments, "--server", mean.url).end()["points"] == 0


def test_a_run_that_lacks_a_few_chunks_makes_them_of_the_whole_text(mean: LiveServer, tmp_path: Path) -> None:
    items = late_items(tmp_path, TEXTS[:3])
    arguments = (
        *(tmp_path / "in.jsonl", "--to", tmp_path / "out.jsonl", "--chunk-chars", str(CHUNK_CHARS)),
        *("--late-chunking", "--server", mean.url),
    )
    Program(*arguments).end()
    lost = {item.id for item in items[1::4]}
    before = {point["id"]: point for point in lines(tmp_path / "out.jsonl")}
    with closing(sqlite3.connect(tmp_path / "out.jsonl.ledger")) as ledger, ledger:
        for id_ in lost:
            ledger.execute("DELETE FROM done WHERE point = ?", (UUID(before[id_]["point"]).bytes,))
    end = Program(*arguments).end()
    assert (end["points"], end["already"]) == (len(lost), len(items) - len(lost))
    again = lines(tmp_path / "out.jsonl")[-len(lost) :]
    assert {point["id"] for point in again} == lost
    check(mean, items, [*before.values(), *again])


def test_a_chunk_over_the_window_is_split_again_and_others_are_as_they_were(mean: LiveServer, tmp_path: Path) -> None:
    plain = "\n\n".join([*SENTENCES[:4], *SENTENCES[:4]])
    texts = [plain, f"{plain}\n\n{'!' * 190}\n\n{plain}", plain[::-1]]  # each sign is a token
    arguments = (
        *(tmp_path / "in.jsonl", "--to", tmp_path / "out.jsonl", "--chunk-chars", "200"),
        *("--late-chunking", "--server", mean.url),
    )
    items = late_items(tmp_path, texts, 200)
    assert Program(*arguments).end()["points"] > len(items)
    found = lines(tmp_path / "out.jsonl")
    fine = [item for item in items if item.metadata["chunk"]["of"] != "1"]
    check(mean, fine, [point for point in found if point["metadata"]["chunk"]["of"] != "1"])
    places = [point["metadata"]["chunk"] for point in found if point["metadata"]["chunk"]["of"] == "1"]
    places.sort(key=lambda place: int(place["number"]))
    joined = "".join(texts[1][place["start"] : place["end"]] for place in places)
    assert "".join(joined.split()) == "".join(texts[1].split())
    cut = (tmp_path / "in.jsonl", "--to", tmp_path / "cut.jsonl", *arguments[3:], "--truncate")
    assert Program(*cut).end(0)["points"] == len(items)


def test_a_refusal_names_the_chunk_by_its_number_in_the_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "MAX_TOGETHER", 5)
    asks = [Ask(item, None, UUID(int=0)) for item in late_items(tmp_path, ["\n\n".join(TEXTS[:3])])[5:10]]
    error = ItemError("empty_input", "`input[2]`: has no tokens", 2, "input[2]")
    failures = late_failures(asks[1:3], error)
    assert [failure.reason.message for failure in failures] == ["chunk 8 of its text: has no tokens"] * 2
    assert [failure.ask for failure in failures] == asks[1:3]


def test_a_model_that_does_not_offer_it_is_refused_before_any_work(builtin: LiveServer, tmp_path: Path) -> None:
    arguments = (written(tmp_path, TEXTS), "--to", tmp_path / "out.jsonl", "--server", builtin.url)
    end = Program(*arguments, "--chunk-chars", "100", "--late-chunking").end(1)
    assert "--late-chunking: the model builtin pools by last_token" in end["why"]
    assert not (tmp_path / "out.jsonl").exists()
