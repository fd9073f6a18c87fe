"""Destinations of vectors, one module for each kind of `--to`."""

from collections.abc import Callable

from service.ingest.sinks.jsonl import JsonlFile
from service.ingest.sinks.lancedb import LanceTable
from service.ingest.sinks.milvus import MilvusCollection
from service.ingest.sinks.parquet import ParquetFolder
from service.ingest.sinks.pgvector import PgTable
from service.ingest.sinks.qdrant import QdrantCollection
from service.ingest.sinks.sink import Sink
from service.ingest.sinks.target import Target

SINKS: dict[str, Callable[[Target], Sink]] = {
    "jsonl": JsonlFile,
    "parquet": ParquetFolder,
    "qdrant": QdrantCollection,
    "lancedb": LanceTable,
    "pgvector": PgTable,
    "milvus": MilvusCollection,
}


def make_sink(target: Target) -> Sink:
    """The sink that `--to` names."""
    return SINKS[target.kind](target)
