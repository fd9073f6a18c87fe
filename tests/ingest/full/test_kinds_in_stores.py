"""Every kind of vector in every store that has a place for it: killed, resumed, read back and searched there."""

import json
import re
from pathlib import Path

import lancedb
import numpy as np
import psycopg
import pymilvus
import pytest

from tests.conftest import ROOT, LiveServer
from tests.ingest.program import Program, ran
from tests.ingest.test_kinds import NUM_TEXTS, check, m3, run_with_a_kill, source, wanted

__all__ = ["m3", "source"]

EVERY_ID = sorted(map(str, range(NUM_TEXTS)))
(MAX_SIM,) = re.findall(r"```sql\n(.*?)```", (ROOT / "docs/ingest.md").read_text(), re.DOTALL)


def test_pgvector_has_all_three(m3: LiveServer, source: Path, tmp_path: Path, postgres: str) -> None:
    run_with_a_kill(m3, source, f"pgvector:{postgres}#docs", tmp_path)
    with psycopg.connect(postgres) as database:
        rows = database.execute("SELECT id, dense::text, sparse::text, multi::text[] FROM docs").fetchall()
        assert sorted(row[0] for row in rows) == EVERY_ID
        for id_, dense, sparse, multi in rows[::20]:
            entries = [entry.split(":") for entry in sparse.partition("/")[0].strip("{}").split(",")]
            found = [int(index) - 1 for index, _ in entries], [float(value) for _, value in entries]
            check(m3, int(id_), json.loads(dense), found, [json.loads(one) for one in multi])
        (size,) = database.execute("SELECT format_type(atttypid, atttypmod) FROM pg_attribute "
                                   "WHERE attrelid = 'docs'::regclass AND attname = 'sparse'").fetchone()  # fmt: skip
        card = m3.http.get("/v1/models").json()["data"][0]
        assert size == f"sparsevec({card['sparse_dimensions']})"
        mine = "(SELECT sparse FROM docs WHERE id = '7')"
        weighed = database.execute(f"SELECT id, -(sparse <#> {mine}) FROM docs ORDER BY sparse <#> {mine}").fetchall()
        scores = dict(weighed)
        assert scores["7"] == pytest.approx(sum(value**2 for value in wanted(m3, 7)["sparse"]["values"]), rel=1e-4)
        tokens = wanted(m3, 7)["multi"]
        best = database.execute(MAX_SIM, ([str(token) for token in tokens],)).fetchone()
        assert best == ("7", pytest.approx(len(tokens), abs=1e-3))


def test_lancedb_has_dense_and_token_vectors(m3: LiveServer, source: Path, tmp_path: Path) -> None:
    run_with_a_kill(m3, source, f"lancedb:{tmp_path / 'lance'}#docs", tmp_path, "dense,multi")
    table = lancedb.connect(str(tmp_path / "lance")).open_table("docs")
    rows = table.to_arrow().to_pylist()
    assert sorted(row["id"] for row in rows) == EVERY_ID
    for row in rows[::20]:
        check(m3, int(row["id"]), row["dense"], None, row["multi"])
    tokens = np.array(wanted(m3, 7)["multi"], np.float32)
    found = table.search(tokens, vector_column_name="multi").distance_type("cosine").limit(1).to_list()
    assert found[0]["id"] == "7"


def test_milvus_lite_has_dense_and_sparse_vectors(m3: LiveServer, source: Path, tmp_path: Path) -> None:
    path = tmp_path / "milvus.db"
    run_with_a_kill(m3, source, f"milvus:{path}#docs", tmp_path, "dense,sparse")
    client = pymilvus.MilvusClient(str(path))
    client.load_collection("docs")
    rows = client.query("docs", filter="id != ''", output_fields=["id", "dense", "sparse"], limit=1000)
    assert sorted(row["id"] for row in rows) == EVERY_ID
    for row in rows[::20]:
        entries = sorted(row["sparse"].items())
        check(m3, int(row["id"]), row["dense"], ([i for i, _ in entries], [value for _, value in entries]), None)
    want = wanted(m3, 7)["sparse"]
    asked = dict(zip(want["indices"], want["values"], strict=True))
    found = client.search("docs", data=[asked], anns_field="sparse", limit=NUM_TEXTS, output_fields=["id"])[0]
    mine = next(one for one in found if one["entity"]["id"] == "7")
    assert mine["distance"] == pytest.approx(sum(value**2 for value in want["values"]), rel=1e-4)
    client.close()


@pytest.mark.parametrize(
    ("to", "outputs", "why"),
    [
        ("lancedb:l#docs", "dense,sparse", "LanceDB has neither a column nor a search for sparse vectors"),
        ("milvus:m.db#docs", "sparse,multi", "token vectors need Milvus's arrays of structs"),
    ],
)
def test_a_store_without_a_kind_is_refused_before_a_server_is_asked(to: str, outputs: str, why: str) -> None:
    ended = ran("-", "--to", to, "--server", "http://127.0.0.1:1", "--outputs", outputs)
    assert (ended.returncode, why in ended.stderr) == (2, True), ended.stderr


def test_a_store_with_other_vectors_is_refused_by_name(
    m3: LiveServer, source: Path, tmp_path: Path, postgres: str
) -> None:
    targets = {"qdrant": tmp_path / "q", "lancedb": tmp_path / "l", "milvus": tmp_path / "m.db", "pgvector": postgres}
    for kind, place in targets.items():
        outputs = "dense,multi" if kind in ("qdrant", "lancedb") else "dense,sparse"
        arguments = (source, "--to", f"{kind}:{place}#other", "--server", m3.url)
        Program(*arguments, "--ledger", tmp_path / f"{kind}.1").end()
        why = Program(*arguments, "--ledger", tmp_path / f"{kind}.2", "--outputs", outputs).end(1)["why"]
        assert "dense" in why, why
        assert "expected" in why, why
