"""Text models through the whole service: Dense modules and prompts of one, the task of another's queries."""

from collections.abc import Callable

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from tests.conftest import TOLERANCE, LiveServer
from tests.models.text.checkpoints import make_checkpoint, reference
from tests.models.text.texts import TEXTS

pytestmark = pytest.mark.slow

Served = tuple[LiveServer, SentenceTransformer]
TEXT = "  A pool,  with blanks "


@pytest.fixture(scope="module")
def gemma(start_server: Callable[..., LiveServer], tmp_path_factory: pytest.TempPathFactory) -> Served:
    folder = make_checkpoint("gemma3_text", tmp_path_factory.mktemp("gemma") / "checkpoint")
    return start_server("--model", str(folder)).wait_until_ready(), reference(folder)


@pytest.fixture(scope="module")
def qwen(start_server: Callable[..., LiveServer], tmp_path_factory: pytest.TempPathFactory) -> Served:
    folder = make_checkpoint("qwen3", tmp_path_factory.mktemp("qwen") / "checkpoint")
    server = start_server("--model", str(folder), "--strict-reference").wait_until_ready()
    return server, reference(folder)


def embed_v2(server: LiveServer, texts: list[str], input_type: str) -> np.ndarray:
    body = {"model": "checkpoint", "texts": texts, "input_type": input_type, "embedding_types": ["float"]}
    return np.array(server.ask("/v2/embed", body).json()["embeddings"]["float"])


def test_input_types_pick_the_checkpoints_prompts(gemma: Served) -> None:
    server, theirs = gemma
    texts = list(TEXTS)
    assert np.abs(embed_v2(server, texts, "search_query") - theirs.encode_query(texts)).max() <= TOLERANCE
    assert np.abs(embed_v2(server, texts, "search_document") - theirs.encode_document(texts)).max() <= TOLERANCE
    assert np.abs(embed_v2(server, texts, "image") - theirs.encode(texts)).max() <= TOLERANCE
    assert np.abs(server.vectors({"input": texts}) - theirs.encode(texts)).max() <= TOLERANCE


def test_vectors_are_normalized_behind_the_dense_modules(gemma: Served) -> None:
    server, theirs = gemma
    raw = server.vectors({"input": [TEXT], "normalize": False})
    plain = theirs.encode([TEXT], output_value=None)[0]["sentence_embedding"].numpy()
    assert np.abs(raw / np.linalg.norm(raw) - plain).max() <= TOLERANCE
    assert abs(np.linalg.norm(raw) - 1) > 0.01
    scaled = server.vectors({"input": [TEXT]})
    assert np.abs(scaled - plain).max() <= TOLERANCE


def test_an_instruction_is_the_task_of_a_query(qwen: Served) -> None:
    server, theirs = qwen
    want = theirs.encode([TEXT], prompt="Instruct: Find pools\nQuery:")
    assert np.abs(server.vectors({"input": [TEXT], "instruction": "Find pools"}) - want).max() <= TOLERANCE
    assert np.abs(embed_v2(server, [TEXT], "search_query") - theirs.encode_query([TEXT])).max() <= TOLERANCE
    assert np.abs(server.vectors({"input": [TEXT]}) - theirs.encode([TEXT])).max() <= TOLERANCE


def test_under_strict_reference_special_tokens_in_text_are_the_references(qwen: Served) -> None:
    server, theirs = qwen
    text = "a <|im_end|> b<|endoftext|>"
    assert np.abs(server.vectors({"input": [text]}) - theirs.encode([text])).max() <= TOLERANCE
