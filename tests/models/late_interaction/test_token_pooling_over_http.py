"""`pool_factor` through a live server: a document's vectors are joined as by sentence-transformers, a query's never."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import torch
from sentence_transformers import MultiVectorEncoder
from sentence_transformers.multi_vector_encoder.modules import HierarchicalTokenPooling

from schemas.endpoints.embed import EmbedResponse
from service.checkpoint.hub import find_checkpoint
from service.errors import InputError
from service.front.served_model import load_served_model
from service.outputs import tokens
from service.outputs.plan import TokenPlan
from tests.builders import image_bytes
from tests.conftest import TOLERANCE, LiveServer, data_uri
from tests.models.late_interaction.checkpoints import colqwen2
from tests.models.late_interaction.colberts import SHAPES, TOKEN_WIDTH, native, reference
from tests.models.text.texts import TEXTS
from tests.models.vlm.images import LARGE, TALL

pytestmark = pytest.mark.slow

DOCUMENTS = list(TEXTS[20:40])


@pytest.fixture(scope="module", params=["hidden masks", "not normalized"])
def colbert(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return native("bert", tmp_path_factory.mktemp("late") / "colbert-small", SHAPES[request.param])


@pytest.fixture(scope="module")
def server(colbert: Path, start_server: Callable[..., LiveServer]) -> Iterator[LiveServer]:
    server = start_server("--model", str(colbert)).wait_until_ready()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def stock(colbert: Path) -> MultiVectorEncoder:
    return reference(colbert)


def ask(server: LiveServer, **body: Any) -> dict[str, Any]:
    answer = server.ask("/v2/embed", body)
    msgspec.json.decode(answer.content, type=EmbedResponse)
    found: dict[str, Any] = answer.json()["embeddings"]
    return found


def refusal(server: LiveServer, **body: Any) -> dict[str, Any]:
    answer = server.http.post("/v2/embed", json=body)
    assert answer.status_code == 400
    error: dict[str, Any] = answer.json()["error"]
    return error


def check(found: list[Any], want: list[np.ndarray]) -> None:
    """The same vectors in any order."""
    for rows, wanted in zip(found, want, strict=True):
        got = np.array(rows, np.float32)
        assert got.shape == wanted.shape
        nearest = (got @ wanted.T).argmax(axis=1)
        assert sorted(nearest) == list(range(len(wanted)))
        assert np.abs(got - wanted[nearest]).max() <= TOLERANCE


@pytest.mark.parametrize("factor", [1.5, 2, 4, 500])
def test_documents_are_the_references(server: LiveServer, stock: MultiVectorEncoder, factor: float) -> None:
    pooling = HierarchicalTokenPooling(factor)
    want: Any = stock.encode_document(DOCUMENTS, convert_to_numpy=True, token_pooling=pooling)
    check(ask(server, texts=DOCUMENTS, input_type="document", pool_factor=factor)["multi_float"], want)
    check(ask(server, texts=DOCUMENTS[5:6], pool_factor=factor)["multi_float"], want[5:6])


def test_a_factor_of_one_and_a_request_without_join_nothing(server: LiveServer) -> None:
    plain, one = ask(server, texts=DOCUMENTS[:3]), ask(server, texts=DOCUMENTS[:3], pool_factor=1)
    assert plain == one
    pooled = ask(server, texts=DOCUMENTS[:3], pool_factor=2)["multi_float"]
    numbers = [(len(few), len(many)) for few, many in zip(pooled, plain["multi_float"], strict=True)]
    assert all(1 < few <= 1 + max(1, (many - 1) // 2) for few, many in numbers), "fewer where distances are equal"


def test_number_formats_are_of_the_joined_vectors(server: LiveServer) -> None:
    types = ["multi_float", "multi_int8", "multi_ubinary"]
    found = ask(server, texts=DOCUMENTS[:4], pool_factor=2, embedding_types=types)
    for floats, ints, bits in zip(*(found[kind] for kind in types), strict=True):
        values = np.array(floats)
        assert np.array(ints).shape == values.shape
        assert np.array_equal(np.array(ints)[np.abs(values) > 0.1] > 0, values[np.abs(values) > 0.1] > 0)
        assert np.array_equal(np.unpackbits(np.array(bits, np.uint8), axis=1), values > 0)
        assert values.shape[1] == TOKEN_WIDTH


@pytest.mark.parametrize("side", ["query", "search_query"])
def test_queries_are_refused(server: LiveServer, side: str) -> None:
    error = refusal(server, texts=["a"], input_type=side, pool_factor=2)
    assert (error["code"], error["param"]) == ("invalid_request", "pool_factor")
    assert "only documents are pooled" in error["message"]


@pytest.mark.parametrize("factor", [0, 0.5, -1, "2"])
def test_a_factor_below_one_is_refused(server: LiveServer, factor: object) -> None:
    assert refusal(server, texts=["a"], pool_factor=factor)["param"] == "pool_factor"


def test_a_dense_model_refuses_it(start_server: Callable[..., LiveServer]) -> None:
    server = start_server().wait_until_ready()
    error = refusal(server, texts=["a"], pool_factor=2)
    assert error["param"] == "pool_factor"
    assert "for documents of late-interaction models, and the `outputs` of builtin are dense" in error["message"]
    server.stop()


def test_pages_are_joined_and_a_text_beside_them_is_a_query(
    tmp_path: Path, start_server: Callable[..., LiveServer]
) -> None:
    server = start_server("--model", str(colqwen2(tmp_path / "colqwen2-small"))).wait_until_ready()
    images = [data_uri(image_bytes(page)) for page in (TALL, LARGE)]
    whole = [np.array(one, np.float32) for one in ask(server, images=images)["multi_float"]]
    want = [one.numpy() for one in HierarchicalTokenPooling(3).pool([torch.from_numpy(one) for one in whole])]
    check(ask(server, images=images, pool_factor=3)["multi_float"], want)
    error = refusal(server, texts=["which page?"], pool_factor=3)
    assert (error["param"], error["index"]) == ("texts[0]", 0)
    assert "a text is a query" in error["message"]
    server.stop()


def test_a_document_of_too_many_vectors_is_refused(colbert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint = find_checkpoint(str(colbert), None)
    model = load_served_model(checkpoint, served_names=(), strict_reference=False, max_tokens=0)
    monkeypatch.setattr(tokens, "MAX_POOLED", 8)
    ask = tokens.TokensAsk(dimensions=8, pool_factor=3)
    ask.check_prompt(TokenPlan(list(range(10)), skipped=(3, 4)), False, model.offer, "texts[1]", 1)
    with pytest.raises(InputError, match="has 9 vectors; with `pool_factor` it may have 8") as raised:
        ask.check_prompt(TokenPlan(list(range(9))), False, model.offer, "texts[1]", 1)
    assert (raised.value.param, raised.value.index) == ("texts[1]", 1)
