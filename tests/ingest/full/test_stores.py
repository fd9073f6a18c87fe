"""Every store, for real: killed in the middle, resumed, and read back with the store's own client."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lancedb
import numpy as np
import psycopg
import pymilvus
import pytest
import qdrant_client

from tests.conftest import ROOT, LiveServer
from tests.ingest.program import Program
from tests.ingest.proxy import Proxy

NUM_TEXTS = 1200
INSTRUCTIONS = ("for search", "for clusters")
WANTED = NUM_TEXTS * len(INSTRUCTIONS)
ASKED = [part for instruction in INSTRUCTIONS for part in ("--instruction", instruction)]

Row = tuple[str, str, str, dict[str, Any], np.ndarray]
"""Id, instruction, text, metadata, vector."""


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("texts") / "in.csv"
    rows = [f'k-{i},"a door, ""no. {i}""",{i % 7}' for i in range(NUM_TEXTS)]
    path.write_text("\n".join(["key,text,color", *rows]))
    return path


def run(live: LiveServer, source: Path, target: str, tmp_path: Path) -> None:
    """Kill it when the store holds something, then resume, then run once more for nothing."""
    arguments = (source, "--to", target, "--ledger", tmp_path / "ledger", "--id-field", "key", *ASKED)
    slow = Proxy(live.url, dawdle_s=0.05, num_forwarded=30)
    killed = Program(*arguments, "--server", slow.url, "--concurrency", "1")
    killed.kill_when(lambda: any(event["points"] for event in killed.events()))
    slow.stop()
    end = Program(*arguments, "--server", live.url).end()
    assert end["points"] + end["already"] == WANTED
    assert 0 < end["already"] < WANTED
    assert Program(*arguments, "--server", live.url).end()["points"] == 0


def check(live: LiveServer, rows: list[Row]) -> None:
    assert len(rows) == WANTED
    assert len({row[:2] for row in rows}) == WANTED
    found = {row[:2]: row for row in rows}
    for i in (0, 7, NUM_TEXTS - 1):
        for instruction in INSTRUCTIONS:
            *_, text, metadata, vector = found[f"k-{i}", instruction]
            assert (text, metadata) == (f'a door, "no. {i}"', {"color": str(i % 7)})
            (want,) = live.vectors({"input": [text], "instruction": instruction})
            np.testing.assert_allclose(vector, want, rtol=0, atol=1e-5)


def test_lancedb(live: LiveServer, source: Path, tmp_path: Path) -> None:
    run(live, source, f"lancedb:{tmp_path / 'lance'}#docs", tmp_path)
    rows = lancedb.connect(str(tmp_path / "lance")).open_table("docs").to_arrow().to_pylist()
    check(
        live, [(r["id"], r["instruction"], r["text"], json.loads(r["metadata"]), np.array(r["vector"])) for r in rows]
    )


def test_pgvector(live: LiveServer, source: Path, tmp_path: Path, postgres: str) -> None:
    run(live, source, f"pgvector:{postgres}#docs", tmp_path)
    with psycopg.connect(postgres) as database:
        rows = database.execute("SELECT id, instruction, text, metadata, vector::text FROM docs").fetchall()
        check(live, [(*row[:4], np.array(json.loads(row[4]))) for row in rows])
        mine = "SELECT vector FROM docs WHERE id = 'k-5' AND instruction = 'for search'"
        nearest = database.execute(f"SELECT id, instruction FROM docs ORDER BY vector <=> ({mine}) LIMIT 1").fetchone()
        assert nearest == ("k-5", "for search")


def test_milvus_lite(live: LiveServer, source: Path, tmp_path: Path) -> None:
    path = tmp_path / "milvus.db"
    run(live, source, f"milvus:{path}#docs", tmp_path)
    client = pymilvus.MilvusClient(str(path))
    client.load_collection("docs")
    fields = ["id", "instruction", "text", "metadata", "vector"]
    rows = [row for batch in _batches(client, fields) for row in batch]
    client.close()
    check(live, [(r["id"], r["instruction"], r["text"], r["metadata"], np.array(r["vector"])) for r in rows])


def _batches(client: Any, fields: list[str]) -> Iterator[list[dict[str, Any]]]:
    for i in range(7):
        yield client.query("docs", filter=f'metadata["color"] == "{i}"', output_fields=fields, limit=16_000)


@pytest.mark.parametrize(
    ("name", "place"), [("Qdrant", "store"), ("LanceDB", "store"), ("pgvector", ""), ("Milvus", "store.db")]
)
def test_a_search_of_the_page_finds_the_nearest(
    live: LiveServer, tmp_path: Path, postgres: str, monkeypatch: pytest.MonkeyPatch, name: str, place: str
) -> None:
    (cell,) = re.findall(rf"^\| {name} \| (`\w+ = .*`) \|$", (ROOT / "docs" / "ingest.md").read_text(), re.MULTILINE)
    *before, search = re.findall(r"`([^`]+)`", cell)
    monkeypatch.chdir(tmp_path)
    texts = [f"a {color} door" for color in ("red", "green", "blue", "yellow")]
    Path("in.jsonl").write_text("".join(json.dumps({"id": text, "text": text}) + "\n" for text in texts))
    target = f"{name.lower()}:{tmp_path / place if place else postgres}#docs"
    Program(tmp_path / "in.jsonl", "--to", target, "--ledger", tmp_path / "ledger", "--server", live.url).end()
    clients = {"QdrantClient": qdrant_client.QdrantClient, "MilvusClient": pymilvus.MilvusClient}
    names: dict[str, Any] = clients | {"lancedb": lancedb, "psycopg": psycopg}
    names["vector"] = live.vectors({"input": ["a green door"]})[0].tolist()
    for line in before:
        exec(line.replace("postgresql://USER@HOST/DATABASE", postgres), names)
    nearest = eval(search, names)[0]
    assert "'a green door'" in str(nearest)


def test_a_store_with_vectors_of_another_length_is_refused(live: LiveServer, tmp_path: Path, postgres: str) -> None:
    source = tmp_path / "in.jsonl"
    source.write_text('{"id":1,"text":"a door"}\n')
    targets = {"qdrant": tmp_path / "q", "lancedb": tmp_path / "l", "milvus": tmp_path / "m.db", "pgvector": postgres}
    for kind, place in targets.items():
        arguments = (source, "--to", f"{kind}:{place}#other", "--server", live.url)
        Program(*arguments, "--ledger", tmp_path / f"{kind}.1", "--dimensions", "64").end()
        why = Program(*arguments, "--ledger", tmp_path / f"{kind}.2").end(1)["why"]
        assert "64" in why, why
        assert "256" in why, why
