"""LanceDB's registry of embedding functions: a table filled and asked through its "ollama" and its "openai"."""

from pathlib import Path
from typing import Any

import lancedb
import numpy as np
from lancedb.embeddings import get_registry
from lancedb.pydantic import LanceModel, Vector

from tests.clients.client_page import page_client
from tests.clients.plain import LONG_TEXTS, MINILM, Plain, assert_cut, assert_same, numbered_texts
from tests.clients.relay import Relay

OLLAMA, OPENAI = "lancedb with Ollama's function", "lancedb with OpenAI's function"


def filled(folder: Path, function: Any, texts: list[str]) -> Any:
    """A table of these texts."""

    class Row(LanceModel):
        text: str = function.SourceField()
        vector: Vector(function.ndims()) = function.VectorField()  # type: ignore[valid-type]

    table = lancedb.connect(folder).create_table("texts", schema=Row)
    table.add([{"text": text} for text in texts])
    return table


def check(table: Any, texts: list[str], want: np.ndarray) -> None:
    """The table has these vectors, and finds each text nearest to itself."""
    assert_same(table.to_arrow()["vector"].to_pylist(), want)
    for text in texts[:3]:
        (found,) = table.search(text).limit(1).to_list()
        assert found["text"] == text
        assert found["_distance"] < 1e-5


def test_the_pages_line_of_ollamas_function_fills_and_asks_a_table(relay: Relay, plain: Plain, tmp_path: Path) -> None:
    given = numbered_texts(40)
    table = filled(tmp_path, page_client(OLLAMA, relay.url, get_registry=get_registry), given)
    check(table, given, plain.vectors({"input": given}))
    assert {sent.path for sent in relay.sent} == {"/api/embed"}


def test_the_pages_line_of_openais_function_fills_and_asks_a_table(texts: Plain, tmp_path: Path) -> None:
    given = numbered_texts(40)
    table = filled(tmp_path, page_client(OPENAI, texts.url, get_registry=get_registry), given)
    check(table, given, texts.vectors({"model": MINILM, "input": given}))


def test_texts_over_the_limit_are_added_where_the_server_cuts_them(texts: Plain, tmp_path: Path) -> None:
    table = filled(tmp_path, page_client(OPENAI, texts.url, get_registry=get_registry), LONG_TEXTS)
    assert_cut(table.to_arrow()["vector"].to_pylist(), texts)
