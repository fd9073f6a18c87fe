"""Every kind of vector into files and into Qdrant: one forward, the server's numbers, killed and resumed like dense."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
import pytest
import qdrant_client

from service.ingest.item import Ask, Point, SourceItem
from service.ingest.sinks.qdrant import MAX_MULTI_FLOATS, MAX_REQUEST_FLOATS, QdrantCollection, _requests
from service.ingest.sinks.target import Target
from service.ingest.vectors import Vectors
from tests.conftest import TOLERANCE, LiveServer, data_uri
from tests.ingest.folder import BROKEN, fill
from tests.ingest.program import Program, by_id, lines
from tests.ingest.proxy import Proxy
from tests.ingest.test_ledger import PLAN
from tests.models.hybrid.checkpoints import bge_m3
from tests.models.late.checkpoints import hf_colqwen2 as colqwen2

pytestmark = pytest.mark.slow  # runs that are killed and started again

EVERY = "dense,sparse,multi"
NUM_TEXTS = 60
TEXT = "a door with {} rooms behind it, and {} more"


@pytest.fixture(scope="module")
def m3(tmp_path_factory: pytest.TempPathFactory, start_server: Callable[..., LiveServer]) -> Iterator[LiveServer]:
    folder = bge_m3(tmp_path_factory.mktemp("m3") / "bge-m3-small")
    server = start_server("--model", str(folder)).wait_until_ready()
    yield server
    server.stop()


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in.jsonl"
    lines = [json.dumps({"id": n, "text": TEXT.format(n, n * 7)}) for n in range(NUM_TEXTS)]
    path.write_text("\n".join(lines) + "\n")
    return path


def wanted(server: LiveServer, number: int) -> dict[str, Any]:
    """A text's vectors as `/v2/embed` gives them."""
    body = {"texts": [TEXT.format(number, number * 7)], "embedding_types": ["float", "sparse", "multi_float"]}
    found = server.ask("/v2/embed", body).json()["embeddings"]
    return {"dense": found["float"][0], "sparse": found["sparse"][0], "multi": found["multi_float"][0]}


def check(server: LiveServer, number: int, dense: Any, sparse: tuple[Any, Any] | None, multi: Any) -> None:
    """Compare with what the server gives; None of a kind that was not asked for."""
    want = wanted(server, number)
    np.testing.assert_allclose(dense, want["dense"], rtol=0, atol=TOLERANCE)
    if multi is not None:
        np.testing.assert_allclose(np.array(multi), want["multi"], rtol=0, atol=TOLERANCE)
    if sparse is not None:
        assert list(sparse[0]) == want["sparse"]["indices"]
        np.testing.assert_allclose(sparse[1], want["sparse"]["values"], rtol=0, atol=TOLERANCE)


def run_with_a_kill(server: LiveServer, source: Path, to: str | Path, folder: Path, outputs: str = EVERY) -> None:
    """Kill it when something is written, resume, then run once more for nothing."""
    arguments = (source, "--to", to, "--ledger", folder / "ledger", "--outputs", outputs, "--batch-inputs", "4")
    slow = Proxy(server.url, dawdle_s=0.1, num_forwarded=12)
    killed = Program(*arguments, "--concurrency", "1", "--server", slow.url)
    killed.kill_when(lambda: any(event["points"] for event in killed.events()))
    slow.stop()
    end = Program(*arguments, "--server", server.url).end()
    assert end["points"] + end["already"] == NUM_TEXTS
    assert 0 < end["already"] < NUM_TEXTS
    assert Program(*arguments, "--server", server.url).end()["points"] == 0


def test_jsonl(m3: LiveServer, source: Path, tmp_path: Path) -> None:
    run_with_a_kill(m3, source, tmp_path / "out.jsonl", tmp_path)
    found = by_id(tmp_path / "out.jsonl")
    assert sorted(found) == sorted(map(str, range(NUM_TEXTS)))
    for line in list(found.values())[::20]:
        assert list(line)[-3:] == ["dense", "sparse", "multi"]
        sparse = line["sparse"]["indices"], line["sparse"]["values"]
        check(m3, int(line["id"]), line["dense"], sparse, line["multi"])


def test_parquet(m3: LiveServer, source: Path, tmp_path: Path) -> None:
    run_with_a_kill(m3, source, tmp_path / "out.parquet", tmp_path)
    table = pyarrow.parquet.read_table(tmp_path / "out.parquet")
    vectors, rows = table.schema.field("dense").type, table.to_pylist()
    assert (vectors.list_size, str(vectors.value_type)) == (len(rows[0]["dense"]), "float")
    assert sorted(row["id"] for row in rows) == sorted(map(str, range(NUM_TEXTS)))
    for row in rows[::20]:
        check(m3, int(row["id"]), row["dense"], (row["sparse"]["indices"], row["sparse"]["values"]), row["multi"])


def test_qdrant_and_its_hybrid_query(m3: LiveServer, source: Path, tmp_path: Path) -> None:
    run_with_a_kill(m3, source, f"qdrant:{tmp_path / 'q'}#texts", tmp_path)
    client: Any = qdrant_client.QdrantClient(path=str(tmp_path / "q"))
    models = qdrant_client.models
    points, _ = client.scroll("texts", limit=1000, with_vectors=True)
    assert sorted(point.payload["id"] for point in points) == sorted(map(str, range(NUM_TEXTS)))
    for point in points[::20]:
        sparse = point.vector["sparse"]
        check(
            m3, int(point.payload["id"]), point.vector["dense"], (sparse.indices, sparse.values), point.vector["multi"]
        )
    want = wanted(m3, 7)
    nearest = models.Prefetch(
        prefetch=[
            models.Prefetch(query=want["dense"], using="dense", limit=20),
            models.Prefetch(query=models.SparseVector(**want["sparse"]), using="sparse", limit=20),
        ],
        query=models.FusionQuery(fusion=models.Fusion.RRF),
        limit=10,
    )
    found = client.query_points("texts", prefetch=[nearest], query=want["multi"], using="multi", limit=3).points
    assert found[0].payload["id"] == "7"
    assert abs(found[0].score - len(want["multi"])) <= 1e-3, "each token finds itself"
    client.close()


def test_one_forward_gives_all_of_them(m3: LiveServer, source: Path, tmp_path: Path) -> None:
    before = m3.metric("cenote_batch_inputs_sum")
    Program(source, "--to", tmp_path / "out.jsonl", "--outputs", EVERY, "--dimensions", "32", "--server", m3.url).end()
    assert m3.metric("cenote_batch_inputs_sum") - before == NUM_TEXTS + 1, "and the probe"


def test_an_item_that_fails_is_a_dead_letter_and_the_others_are_written(m3: LiveServer, tmp_path: Path) -> None:
    source = tmp_path / "in.jsonl"
    (tmp_path / "a.png").write_bytes(b"x")
    records = ({"id": 0, "text": "a"}, {"id": 1, "image": "a.png"}, {"id": 2, "text": "b"})
    source.write_text("".join(json.dumps(record) + "\n" for record in records))
    end = Program(source, "--to", tmp_path / "out.jsonl", "--outputs", "multi,sparse", "--server", m3.url).end(3)
    assert (end["points"], end["failed"]) == (2, 1)
    letters = by_id(tmp_path / "out.jsonl.dead.jsonl")
    assert list(letters) == ["1"]
    assert letters["1"]["code"] == "unsupported_modality"
    assert all(list(line)[-2:] == ["sparse", "multi"] for line in lines(tmp_path / "out.jsonl")), (
        "in the order of columns"
    )


def test_an_answer_that_a_server_finds_too_large_is_asked_for_in_halves(
    source: Path, tmp_path: Path, start_server: Callable[..., LiveServer], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = bge_m3(tmp_path_factory.mktemp("m3") / "bge-m3-small")
    server = start_server("--model", str(folder), "--max-features-bytes", "60000").wait_until_ready()
    arguments = (source, "--to", tmp_path / "out.jsonl", "--outputs", EVERY, "--server", server.url)
    assert Program(*arguments).end()["points"] == NUM_TEXTS
    server.stop()


def test_other_outputs_are_another_plan(m3: LiveServer, source: Path, tmp_path: Path) -> None:
    arguments = (source, "--to", tmp_path / "out.jsonl", "--server", m3.url, "--outputs")
    Program(*arguments, "dense").end()
    why = Program(*arguments, "dense,sparse").end(1)["why"]
    assert 'outputs was ["dense"] and is ["dense","sparse"]' in why


def test_a_kind_that_the_model_lacks_is_refused_with_those_that_it_has(
    source: Path, tmp_path: Path, sparse: LiveServer
) -> None:
    for asked, lacked in (((), "dense"), (("--outputs", EVERY), "dense and no multi")):
        refused = Program(source, "--to", tmp_path / "no.jsonl", "--server", sparse.url, *asked).end(1)
        assert f"has no {lacked}" in refused["why"]
        assert "its outputs are sparse" in refused["why"]
        assert not (tmp_path / "no.jsonl").exists()
    end = Program(source, "--to", f"qdrant:{tmp_path / 'q'}#texts", "--server", sparse.url, "--outputs", "sparse").end()
    assert end["points"] == NUM_TEXTS


def point(num_floats: int) -> Point:
    ask = Ask(SourceItem("a", b"", 0), None, PLAN.point_id("a", None))
    return Point(ask, Vectors(multi=bytes(4 * num_floats)), b"")


def test_qdrant_gets_requests_below_its_limit_and_no_point_above_it(tmp_path: Path) -> None:
    size = MAX_REQUEST_FLOATS // 4
    assert [len(some) for some in _requests([point(size)] * 9 + [point(4 * size)])] == [4, 4, 1, 1]
    sink = QdrantCollection(Target("qdrant", str(tmp_path), "a"))
    assert sink.refuses(point(MAX_MULTI_FLOATS)) is None
    assert f"Qdrant holds {MAX_MULTI_FLOATS}" in str(sink.refuses(point(MAX_MULTI_FLOATS + 1)))


def test_token_vectors_of_images_are_those_of_the_server(
    tmp_path: Path, start_server: Callable[..., LiveServer]
) -> None:
    server = start_server("--model", str(colqwen2(tmp_path / "colqwen2-small"))).wait_until_ready()
    folder = tmp_path / "images"
    names = fill(folder, 3)
    to = ("--to", tmp_path / "out.jsonl", "--server", server.url)
    end = Program(folder, *to, "--outputs", "multi").end(3)
    assert (end["points"], end["failed"], end["misses"]) == (3, len(BROKEN), 3)
    assert {id_: letter["code"] for id_, letter in by_id(tmp_path / "out.jsonl.dead.jsonl").items()} == BROKEN
    found = by_id(tmp_path / "out.jsonl")
    assert sorted(found) == sorted(names)
    body = {"images": [data_uri((folder / names[0]).read_bytes())], "embedding_types": ["multi_float"]}
    (want,) = server.ask("/v2/embed", body).json()["embeddings"]["multi_float"]
    np.testing.assert_allclose(found[names[0]]["multi"], want, rtol=0, atol=TOLERANCE)
    server.stop()
