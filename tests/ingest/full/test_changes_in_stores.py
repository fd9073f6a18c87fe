"""`--update --prune` in every store, read back with its own client; how long a run takes that finds nothing to do."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lancedb
import psycopg
import pymilvus
import pytest
import qdrant_client
from milvus_lite.server_manager import server_manager_instance

from tests.conftest import LiveServer
from tests.ingest.program import Program

Found = dict[str, tuple[str, dict[str, Any], list[float]]]
"""Text, metadata and vector by id."""


def qdrant(place: str) -> Found:
    client: Any = qdrant_client.QdrantClient(path=place)
    points, _ = client.scroll("docs", limit=1000, with_vectors=True)
    client.close()
    return {p.payload["id"]: (p.payload["text"], p.payload["metadata"], p.vector) for p in points}


def lance(place: str) -> Found:
    rows = lancedb.connect(place).open_table("docs").to_arrow().to_pylist()
    return {row["id"]: (row["text"], json.loads(row["metadata"]), row["vector"]) for row in rows}


def pgvector(place: str) -> Found:
    with psycopg.connect(place) as database:
        rows = database.execute("SELECT id, text, metadata, vector::text FROM docs").fetchall()
    return {id_: (text, metadata, json.loads(vector)) for id_, text, metadata, vector in rows}


def milvus(place: str) -> Found:
    client = pymilvus.MilvusClient(place)
    client.load_collection("docs")
    fields = ["id", "text", "metadata", "vector"]
    rows = client.query("docs", filter="point != ''", output_fields=fields, limit=1000)
    client.close()
    server_manager_instance.release_all()  # the next run opens the file
    return {row["id"]: (row["text"], row["metadata"], [float(x) for x in row["vector"]]) for row in rows}


READERS: dict[str, Callable[[str], Found]] = {
    "qdrant": qdrant,
    "lancedb": lance,
    "pgvector": pgvector,
    "milvus": milvus,
}


@pytest.mark.parametrize("kind", READERS)
def test_changes_are_made_and_nothing_else(kind: str, live: LiveServer, tmp_path: Path, postgres: str) -> None:
    place = {"pgvector": postgres, "milvus": str(tmp_path / "m.db")}.get(kind, str(tmp_path / "store"))
    rows = [{"id": str(n), "text": f"door {n}", "n": n} for n in range(40)]
    source = tmp_path / "in.jsonl"

    def run(*flags: str) -> dict[str, Any]:
        source.write_text("".join(json.dumps(row) + "\n" for row in rows))
        arguments = (source, "--to", f"{kind}:{place}#docs", "--ledger", tmp_path / "ledger", "--server", live.url)
        return Program(*arguments, "--dead-letters", tmp_path / "dead", *flags).end()

    run()
    before = READERS[kind](place)
    assert len(before) == 40
    rows[3]["text"], rows[4]["n"] = "a window", "four"
    del rows[5]
    rows.append({"id": "new", "text": "a roof", "n": 0})
    end = run("--update", "--prune")
    assert (end["points"], end["relabelled"], end["pruned"]) == (2, 1, 1)
    after = READERS[kind](place)
    assert {id_: found[:2] for id_, found in after.items()} == {
        str(row["id"]): (row["text"], {"n": row["n"]}) for row in rows
    }
    same = before.keys() - {"3", "5"}
    assert {id_: before[id_][2] for id_ in same} == {id_: after[id_][2] for id_ in same}
    assert before["3"][2] != after["3"][2]
    again = run("--update", "--prune")
    assert (again["points"], again["relabelled"], again["pruned"], again["already"]) == (0, 0, 0, 40)
    print(f"{kind}: {again['elapsed_s']:.2f} s of a run with nothing to do")
