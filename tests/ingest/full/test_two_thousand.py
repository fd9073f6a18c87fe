"""The bar of `cenote ingest`: 2,000 pictures, 3 instructions, 3 kills, and nothing lost, doubled or encoded twice."""

import json
import random
from pathlib import Path

import qdrant_client

from tests.conftest import LiveServer
from tests.ingest.folder import BROKEN, INSTRUCTIONS, asked, fill
from tests.ingest.full.test_ingest import lines, stored
from tests.ingest.program import Program, dead_letters

NUM_PICTURES = 2000
NUM_KILLS = 3
WANTED = NUM_PICTURES * len(INSTRUCTIONS)
MAX_RSS_BYTES = 400 << 20
"""Of the program, all its libraries included; embedded Qdrant holds its 6,000 vectors and payloads in it."""
MAX_GROWTH_BYTES = 48 << 20
"""From the first quarter of a run to its end, of the same."""
NUM_TEXTS = 20_000
MAX_TEXTS_GROWTH_BYTES = 16 << 20
"""The same where the sink is a file, which holds nothing: a long source."""


def test_killed_at_three_random_points_it_ends_with_6000_points_and_one_vision_run_a_picture(
    live: LiveServer, tmp_path: Path
) -> None:
    names = fill(tmp_path / "pictures", NUM_PICTURES, seed=1)
    encoded = live.metric("cenote_vision_encodes_total")
    arguments = (tmp_path / "pictures", "--to", f"qdrant:{tmp_path / 'db'}", "--server", live.url, *asked())
    killed_at = []
    for threshold in sorted(random.sample(range(1, WANTED - 600), NUM_KILLS)):
        Program(*arguments).kill_when(lambda least=threshold: stored(tmp_path / "db") >= least)
        killed_at.append(stored(tmp_path / "db"))
    last = Program(*arguments)
    end = last.end(2)
    print(f"killed at {killed_at} points; the last run wrote {end['points']}, {end['rate']} a second")
    assert live.metric("cenote_vision_encodes_total") - encoded == NUM_PICTURES
    assert {name: line["code"] for name, line in dead_letters(tmp_path / "db.cenote.dead.jsonl").items()} == BROKEN
    store = qdrant_client.QdrantClient(path=str(tmp_path / "db"))
    points, _ = store.scroll("cenote", limit=2 * WANTED)
    store.close()
    assert len(points) == WANTED
    pairs = {(point.payload["id"], point.payload["instruction"]) for point in points if point.payload}
    assert pairs == {(name, instruction) for name in names for instruction in INSTRUCTIONS}


def test_memory_of_one_whole_run_is_flat(live: LiveServer, tmp_path: Path) -> None:
    fill(tmp_path / "pictures", NUM_PICTURES, seed=1)
    run = Program(tmp_path / "pictures", "--to", f"qdrant:{tmp_path / 'db'}", "--server", live.url, *asked())
    assert run.end(2)["points"] == WANTED
    growth = _growth(run)
    assert max(run.rss_bytes) < MAX_RSS_BYTES
    assert growth < MAX_GROWTH_BYTES


def test_memory_of_a_long_source_into_a_file_is_flat(live: LiveServer, tmp_path: Path) -> None:
    source = tmp_path / "texts.jsonl"
    with source.open("w") as file:
        for number in range(NUM_TEXTS):
            file.write(json.dumps({"id": number, "text": f"door {number}", "n": number}) + "\n")
    run = Program(
        source, "--to", tmp_path / "out.jsonl", "--server", live.url, "--dimensions", "32", "--batch-inputs", "256"
    )
    assert run.end()["points"] == NUM_TEXTS
    assert len({line["id"] for line in lines(tmp_path / "out.jsonl")}) == NUM_TEXTS
    growth = _growth(run)
    assert growth < MAX_TEXTS_GROWTH_BYTES


def _growth(run: Program) -> int:
    """From the highest of the first quarter to the highest of the last."""
    quarter = len(run.rss_bytes) // 4
    early, late = max(run.rss_bytes[:quarter]), max(run.rss_bytes[-quarter:])
    print(
        f"MiB of RSS: {early >> 20} in the first quarter, {late >> 20} in the last, at most {max(run.rss_bytes) >> 20}"
    )
    return late - early
