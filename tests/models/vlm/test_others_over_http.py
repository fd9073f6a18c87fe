"""VLM2Vec, nomic-embed-multimodal and jina-embeddings-v4 through live servers: told apart, checked, answering."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from PIL import Image

from tests.conftest import TOLERANCE, LiveServer
from tests.models.vlm.checkpoints import qwen2_5_vl, qwen2_vl
from tests.models.vlm.images import SMALL, WIDE
from tests.models.vlm.references import BiQwenScript, JinaScript, Reference, Vlm2VecScript
from tests.models.vlm.sent import body, v2

pytestmark = pytest.mark.slow


class Model(NamedTuple):
    make: Callable[..., Path]
    script: Callable[[Path], Any]
    flags: tuple[str, ...]
    prompt_format: str


MODELS = {
    "vlm2vec": Model(qwen2_vl, Vlm2VecScript, ("--family", "vlm2vec"), "vlm2vec"),
    "nomic": Model(qwen2_5_vl, BiQwenScript, ("--family", "nomic_multimodal"), "nomic-embed-multimodal"),
    "jina-v4": Model(qwen2_5_vl, JinaScript, (), "jina-embeddings-v4"),
}


class Running(NamedTuple):
    server: LiveServer
    script: Any
    model: Model


@pytest.fixture(scope="module", params=MODELS)
def running(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, start_server: Callable[..., LiveServer]
) -> Iterator[Running]:
    model = MODELS[request.param]
    folder = model.make(tmp_path_factory.mktemp("vlm") / ("checkpoint" if model.flags else "jina-embeddings-v4-small"))
    server = start_server("--model", str(folder), *model.flags).wait_until_ready()
    script: Reference = model.script(folder)
    yield Running(server, script, model)
    server.stop()


@pytest.mark.parametrize("case", [("a red circle", [], None), ("", [SMALL], None), ("", [WIDE], None)])
def test_both_routes_give_the_scripts_vector(running: Running, case: tuple[str, list[Image.Image], None]) -> None:
    instruction = "Represent the given image." if case[1] and running.model.prompt_format == "vlm2vec" else None
    want = running.script(*case[:2], instruction)
    assert np.abs(running.server.vectors(body(case))[0] - want).max() <= TOLERANCE
    asked = v2(running.server, body(case), "image" if case[1] else "search_query")
    assert np.abs(asked - want).max() <= TOLERANCE


def test_the_card_says_whose_prompts_it_takes(running: Running) -> None:
    card = running.server.http.get("/v1/models").json()["data"][0]
    assert (card["prompt_format"], card["modalities"]) == (running.model.prompt_format, ["text", "image"])


def test_a_conversation_is_refused_by_its_field(running: Running) -> None:
    turns = [{"role": "user", "content": "one"}, {"role": "assistant", "content": "two"}]
    answer = running.server.http.post("/v1/embeddings", json={"messages": turns})
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["param"]) == (400, "invalid_request", "messages")
