"""The bar of `cenote ingest`: 2,000 images, 3 instructions, 3 kills, and nothing lost, doubled or encoded twice."""

import contextlib
import json
import random
import sqlite3
from pathlib import Path

import numpy as np
import qdrant_client

from tests.conftest import LiveServer, data_uri, image_part
from tests.ingest.folder import BROKEN, INSTRUCTIONS, asked, fill
from tests.ingest.program import Program, by_id, lines

NUM_IMAGES = 2000
NUM_KILLS = 3
WANTED = NUM_IMAGES * len(INSTRUCTIONS)
MAX_RSS_BYTES = 400 << 20
"""Of the program, all its libraries included; embedded Qdrant holds its 6,000 vectors and payloads in it."""
MAX_GROWTH_BYTES = 32 << 20
"""Of the same, from the first quarter of what a run writes to the last: 19 MiB, which are Qdrant's own."""
NUM_TEXTS = 20_000
MAX_TEXTS_GROWTH_BYTES = 16 << 20
"""The same where the sink is a file, which holds nothing: a long source."""


def stored(folder: Path, name: str = "cenote") -> int:
    """Points of an embedded collection, about, as another process sees them while it grows."""
    path = folder / "collection" / name / "storage.sqlite"
    with contextlib.suppress(sqlite3.OperationalError), sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
        return int(database.execute("SELECT max(rowid) FROM points").fetchone()[0] or 0)
    return 0


def test_killed_at_three_random_points_it_ends_with_6000_points_and_one_vision_run_an_image(
    live: LiveServer, tmp_path: Path
) -> None:
    names = fill(tmp_path / "images", NUM_IMAGES, seed=1)
    encoded = live.metric("cenote_vision_encodes_total")
    arguments = (tmp_path / "images", "--to", f"qdrant:{tmp_path / 'db'}", "--server", live.url, *asked())
    killed_at = []
    for threshold in sorted(random.sample(range(1, WANTED - 600), NUM_KILLS)):
        Program(*arguments).kill_when(lambda least=threshold: stored(tmp_path / "db") >= least)
        killed_at.append(stored(tmp_path / "db"))
    last = Program(*arguments)
    end = last.end(3)
    print(f"killed at {killed_at} points; the last run wrote {end['points']}, {end['rate']} a second")
    assert live.metric("cenote_vision_encodes_total") - encoded == NUM_IMAGES
    assert {name: line["code"] for name, line in by_id(tmp_path / "db.cenote.dead.jsonl").items()} == BROKEN
    store = qdrant_client.QdrantClient(path=str(tmp_path / "db"))
    points, _ = store.scroll("cenote", limit=2 * WANTED, with_vectors=True)
    store.close()
    assert len(points) == WANTED
    pairs = {(point.payload["id"], point.payload["instruction"]) for point in points if point.payload}
    assert pairs == {(name, instruction) for name in names for instruction in INSTRUCTIONS}
    some = points[0]
    assert some.payload is not None
    part = image_part(data_uri((tmp_path / "images" / some.payload["metadata"]["path"]).read_bytes()))
    (want,) = live.vectors({"inputs": [{"content": [part]}], "instruction": some.payload["instruction"]})
    np.testing.assert_allclose(some.vector, want, rtol=0, atol=1e-5)


def test_memory_of_one_whole_run_is_flat(live: LiveServer, tmp_path: Path) -> None:
    fill(tmp_path / "images", NUM_IMAGES, seed=1)
    run = Program(tmp_path / "images", "--to", f"qdrant:{tmp_path / 'db'}", "--server", live.url, *asked())
    growth = run.growth(lambda: stored(tmp_path / "db"))
    assert run.end(3)["points"] == WANTED
    assert max(run.rss_bytes) < MAX_RSS_BYTES
    assert growth < MAX_GROWTH_BYTES


def test_memory_of_a_long_source_into_a_file_is_flat(live: LiveServer, tmp_path: Path) -> None:
    source = tmp_path / "texts.jsonl"
    with source.open("w") as file:
        for number in range(NUM_TEXTS):
            file.write(json.dumps({"id": number, "text": f"door {number}", "n": number}) + "\n")
    sink = tmp_path / "out.jsonl"
    run = Program(source, "--to", sink, "--server", live.url, "--dimensions", "32", "--batch-inputs", "256")
    growth = run.growth(lambda: sink.stat().st_size if sink.exists() else 0)
    assert run.end()["points"] == NUM_TEXTS
    assert len({line["id"] for line in lines(sink)}) == NUM_TEXTS
    assert growth < MAX_TEXTS_GROWTH_BYTES
