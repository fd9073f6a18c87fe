"""`--to`: kinds, names, and passwords that are not taken."""

from pathlib import Path

import pytest

from service.ingest.errors import CommandLineError, IngestError, load
from service.ingest.sinks.target import Target, parse_target


@pytest.mark.parametrize(
    ("written", "target", "beside"),
    [
        ("out.jsonl", Target("jsonl", "out.jsonl"), "out.jsonl"),
        ("jsonl:out", Target("jsonl", "out"), "out"),
        ("a/out.parquet", Target("parquet", "a/out.parquet"), "a/out.parquet"),
        ("qdrant:db", Target("qdrant", "db", "cenote"), "db.cenote"),
        ("qdrant:http://h:6333#docs", Target("qdrant", "http://h:6333", "docs"), "qdrant.docs"),
        ("pgvector:postgresql://me@h/d#t", Target("pgvector", "postgresql://me@h/d", "t"), "pgvector.t"),
        ("milvus:/x/m.db#c", Target("milvus", "/x/m.db", "c"), "/x/m.db.c"),
    ],
)
def test_each_kind_and_what_lies_beside_it(written: str, target: Target, beside: str) -> None:
    assert parse_target(written) == target
    assert target.beside == Path(beside)


@pytest.mark.parametrize("written", ["", "out", "out.csv", "redis:db", "qdrant:", "qdrant:db#a b", "pgvector:x#t;drop"])
def test_what_is_no_sink_is_refused(written: str) -> None:
    with pytest.raises(IngestError, match="--to"):
        parse_target(written)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("qdrant:127.0.0.1:6333#docs", "got 127.0.0.1:6333, expected http://HOST:6333 of a server, or a folder"),
        ("milvus:store#docs", "got store, expected http://HOST:19530 of a server, or a file whose name ends with .db"),
        ("pgvector:mydb#docs", "got mydb, expected postgresql://USER@HOST/DATABASE"),
    ],
)
def test_a_place_that_a_store_cannot_have_is_refused(written: str, expected: str) -> None:
    with pytest.raises(CommandLineError, match=expected):
        parse_target(written)


@pytest.mark.parametrize(
    "place", ["postgresql://me:hunter2@h/d", "host=h password=hunter2", "postgresql://h/d?password=hunter2"]
)
def test_a_password_is_refused_and_not_repeated(place: str) -> None:
    with pytest.raises(IngestError) as error:
        parse_target(f"pgvector:{place}#t")
    assert "hunter2" not in str(error.value)
    assert "PGPASSWORD" in str(error.value)


def test_a_library_that_is_not_there_is_named_with_its_extra() -> None:
    with pytest.raises(
        IngestError, match=r"no_such_store is not installed: pip install -e '\.\[qdrant\]' in the checkout"
    ):
        load("no_such_store", "qdrant")
