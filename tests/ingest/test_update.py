"""A source that lives: what has changed is replaced, what has gone is taken out, and nothing else is touched."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
import qdrant_client

from tests.conftest import TOLERANCE, LiveServer
from tests.ingest.program import Program
from tests.ingest.proxy import Proxy

pytestmark = pytest.mark.slow

Record = dict[str, Any]
CHANGES = ("--update", "--prune")
WORDS = "door red window green roof garden wall stone water bridge"


class Store:
    """A source, and the embedded Qdrant that it is kept in."""

    def __init__(self, folder: Path, url: str, *flags: str) -> None:
        self._folder = folder
        self.source = folder / "in.jsonl"
        self._arguments = (self.source, "--to", f"qdrant:{folder / 'q'}#docs", "--server", url, *flags)

    def write(self, *records: Record) -> None:
        self.source.write_text("".join(json.dumps(record) + "\n" for record in records))

    def run(self, *flags: str, code: int = 0) -> dict[str, Any]:
        return self.start(*flags).end(code)

    def start(self, *flags: str) -> Program:
        return Program(*self._arguments, *flags)

    def points(self) -> list[Any]:
        client: Any = qdrant_client.QdrantClient(path=str(self._folder / "q"))
        found, _ = client.scroll("docs", limit=100_000, with_vectors=True)
        client.close()
        return list(found)

    def texts(self) -> dict[str, tuple[str, Record]]:
        """Text and metadata by id; each once."""
        points = self.points()
        found = {point.payload["id"]: (point.payload["text"], point.payload["metadata"]) for point in points}
        assert len(found) == len(points)
        return found


@pytest.fixture
def store(builtin: LiveServer, tmp_path: Path) -> Store:
    return Store(tmp_path, builtin.url)


def test_changed_rows_are_replaced_changed_metadata_written_and_gone_rows_taken_out(
    store: Store, builtin: LiveServer
) -> None:
    rows: list[Record] = [{"id": number, "text": f"a door, no. {number}", "color": "red"} for number in range(6)]
    store.write(*rows)
    assert store.run()["points"] == 6
    rows[1]["text"], rows[2]["color"] = "a window", "green"
    rows[3] |= {"text": "a roof", "color": "blue"}
    del rows[4]
    rows.append({"id": "new", "text": "a garden", "color": "red"})
    store.write(*rows)
    stale = store.run(code=3)
    assert stale["failed_by_code"] == {"content_changed": 3}, "without the flag nothing is replaced"
    before = builtin.metric("cenote_batch_inputs_sum")
    end = store.run(*CHANGES)
    assert builtin.metric("cenote_batch_inputs_sum") - before <= 3, "a probe, and two texts"
    assert (end["points"], end["relabelled"], end["pruned"], end["already"]) == (2, 1, 1, 3)
    assert store.texts() == {str(row["id"]): (row["text"], {"color": row["color"]}) for row in rows}
    want = {text: builtin.vectors({"input": [text]})[0] for text in ("a window", "a roof", "a door, no. 2")}
    found = {point.payload["text"]: point.vector for point in store.points()}
    for text, vector in want.items():
        assert abs(vector - found[text]).max() < TOLERANCE
    again = store.run(*CHANGES)
    assert (again["points"], again["relabelled"], again["pruned"], again["already"]) == (0, 0, 0, 6)


def test_two_rows_of_one_id_are_not_an_update(store: Store) -> None:
    store.write({"id": 1, "text": "first"})
    store.run()
    store.write({"id": 1, "text": "first"}, {"id": 1, "text": "second"})
    for _ in range(2):
        assert store.run(*CHANGES, code=3)["failed_by_code"] == {"content_changed": 1}
        assert store.texts() == {"1": ("first", {})}
    store.write({"id": 1, "text": "second"})
    assert store.run(*CHANGES)["failed"] == 0
    assert store.texts() == {"1": ("second", {})}


def test_one_instruction_leaves_the_points_of_another_until_the_row_has_gone(store: Store) -> None:
    store.write({"id": 1, "text": "a"}, {"id": 2, "text": "b"})
    store.run("--instruction", "x")
    store.run("--instruction", "y", *CHANGES)
    assert len(store.points()) == 4
    store.write({"id": 2, "text": "b"})
    assert store.run("--instruction", "y", *CHANGES)["pruned"] == 2
    assert {point.payload["instruction"] for point in store.points()} == {"x", "y"}


def test_an_empty_source_takes_nothing_out(store: Store) -> None:
    store.write({"id": 1, "text": "a"})
    store.run()
    store.write()
    assert "--prune: the source has nothing of what the store has" in store.run(*CHANGES, code=1)["why"]
    assert len(store.points()) == 1


def test_a_row_that_failed_is_tried_again_when_it_is_another(store: Store) -> None:
    store.write({"id": 1, "text": "a"}, {"id": 2}, {"id": 3})
    assert store.run(code=3)["failed"] == 2
    store.write({"id": 1, "text": "a"}, {"id": 2, "text": "b"})
    end = store.run(*CHANGES)
    assert (end["points"], end["failed"]) == (1, 0), "what the source has no more does not fail"


def test_a_text_with_fewer_chunks_leaves_none_behind(store: Store) -> None:
    long = " ".join(f"word{number}" for number in range(300))
    flags = ("--chunk-chars", "200", "--update")
    store.write({"id": 1, "text": long}, {"id": 2, "text": long})
    num_chunks = store.run(*flags)["points"] // 2
    store.write({"id": 1, "text": long[:300]})
    end = store.run(*flags)
    assert (end["pruned"], len(store.points())) == (num_chunks - 2, num_chunks + 2), "row 2 has gone, and stays"
    assert store.run(*flags, "--prune")["pruned"] == num_chunks
    edited = long[:300].replace("word35", "other5")
    store.write({"id": 1, "text": edited})
    assert store.run(*flags)["points"] == 1, "the first chunk is what it was"


def test_files_are_known_by_their_content(builtin: LiveServer, tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    for name, text in (("a.md", "# A\n\nwords"), ("b.md", "# B\n\nwords"), ("c.txt", "words")):
        (docs / name).write_text(text)
    arguments = (docs, "--to", f"qdrant:{tmp_path / 'q'}#docs", "--server", builtin.url, *CHANGES)
    assert Program(*arguments).end()["points"] == 3
    (docs / "a.md").write_text("# A\n\nother")
    (docs / "b.md").write_text("# B\n\nwords")
    (docs / "c.txt").unlink()
    end = Program(*arguments).end()
    assert (end["points"], end["already"], end["pruned"]) == (1, 1, 1)
    (docs / "a.md").write_bytes(b"\0")
    assert Program(*arguments).end(3)["pruned"] == 0, "a file that cannot be read has not gone"


def test_killed_at_any_time_it_ends_where_it_would_have_ended(builtin: LiveServer, tmp_path: Path) -> None:
    rows: list[Record] = [{"id": str(n), "text": f"{WORDS} {n}", "shelf": str(n % 3)} for n in range(300)]
    slow = Proxy(builtin.url, dawdle_s=0.02)
    store = Store(tmp_path, slow.url, "--concurrency", "1", "--batch-inputs", "8")
    store.write(*rows)
    store.run()
    chance = random.Random(7)
    for number in range(5):
        for row in chance.sample(rows, 40):
            row["text"] = f"{row['text']} {number}"
        for row in chance.sample(rows, 40):
            row["shelf"] = str(number + 10)
        rows = [row for row in rows if chance.random() > 0.1]
        rows += [{"id": f"{number}-{n}", "text": f"new {n}", "shelf": "1"} for n in range(20)]
        store.write(*rows)
        run = store.start(*CHANGES)
        after = chance.choice(["points", "relabelled", "elapsed_s"])
        run.kill_when(lambda run=run, after=after: any(event[after] for event in run.events()))
    store.run(*CHANGES)
    assert store.texts() == {row["id"]: (row["text"], {"shelf": row["shelf"]}) for row in rows}
    again = store.run(*CHANGES)
    slow.stop()
    assert (again["points"], again["relabelled"], again["pruned"]) == (0, 0, 0)
