"""Every vector is the official embedder's own, whatever route carries the content.

Source: tests/models/golden/oracle, made by Qwen3-VL-Embedding's embedder (8ce3aab, transformers 4.57.3, float32).
"""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import (
    CHECKPOINT,
    ORACLE,
    TOLERANCE,
    LiveServer,
    data_uri,
    frames_part,
    from_base64,
    image_part,
    text_part,
)

Case = dict[str, Any]
Body = dict[str, Any]


def cases(name: str) -> list[Any]:
    return [pytest.param(c, id=c["name"]) for c in json.loads((ORACLE / name).read_text())]


@pytest.fixture(scope="module")
def server_without_end_token(start_server: Callable[..., LiveServer], tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("no_end_token") / "checkpoint"
    shutil.copytree(CHECKPOINT, folder)
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    steps = tokenizer["post_processor"]["processors"]
    kept = [step for step in steps if step["type"] != "TemplateProcessing"]
    assert len(kept) == len(steps) - 1
    tokenizer["post_processor"]["processors"] = kept
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    server = start_server("--model", str(folder)).wait_until_ready()
    yield server
    server.stop()


@pytest.mark.parametrize("case", cases("oracle.json"))
def test_every_route_gives_the_references_vector(server: LiveServer, case: Case) -> None:
    assert differences(server, case) == {}


@pytest.mark.parametrize("case", cases("oracle_no_end_token.json"))
def test_a_tokenizer_that_adds_no_end_token_gives_the_references_vector_too(
    server_without_end_token: LiveServer, case: Case
) -> None:
    assert differences(server_without_end_token, case) == {}


def test_a_missing_end_token_is_said_in_the_log(server: LiveServer, server_without_end_token: LiveServer) -> None:
    assert "appends no <|endoftext|>" in server_without_end_token.log.read_text()
    assert "appends no <|endoftext|>" not in server.log.read_text()


def test_the_two_oracles_differ_in_every_case() -> None:
    with_end, without_end = (
        {c["name"]: from_base64(c["embedding"]) for c in json.loads((ORACLE / name).read_text())}
        for name in ("oracle.json", "oracle_no_end_token.json")
    )
    assert all(np.abs(with_end[name] - without_end[name]).max() > 100 * TOLERANCE for name in with_end)


def differences(server: LiveServer, case: Case) -> dict[str, float]:
    """The routes whose vector is not the reference's, each with how far it is off."""
    want = from_base64(case["embedding"])
    off = {route: float(np.abs(get(server) - want).max()) for route, get in routes(case)}
    assert len(off) >= 5
    return {route: difference for route, difference in off.items() if not difference <= TOLERANCE}


def routes(case: Case) -> Iterator[tuple[str, Callable[[LiveServer], np.ndarray]]]:
    content = [frames_part([media(name) for name in names]) for names in case.get("video", [])]
    content += [image_part(media(name)) for name in case.get("image", [])]
    content += [text_part(case["text"])] if "text" in case else []
    extra = {"instruction": case["instruction"]} if "instruction" in case else {}
    system = [{"role": "system", "content": [text_part(case["instruction"])]}] if extra else []
    messages = [*system, {"role": "user", "content": content}]
    open_turn = [*messages, {"role": "assistant", "content": [text_part("")]}]
    recipe = {"messages": open_turn, "continue_final_message": True, "add_special_tokens": True}
    yield "messages", v1({"messages": messages})
    yield "two conversations", v1({"messages": [messages, [{"role": "user", "content": "another"}]]})
    yield "vLLM's recipe", v1(recipe)
    yield "inputs", v1({"inputs": [{"content": content}], **extra})
    yield "/v2/embed inputs", v2({"inputs": [{"content": content}], **extra})
    if not case.keys() & {"image", "video"}:
        yield "input", v1({"input": case["text"], **extra})
        yield "/v2/embed texts", v2({"texts": [case["text"]], **extra})
    if not case.keys() & {"text", "video"} and len(case["image"]) == 1:
        yield "/v2/embed images", v2({"images": [media(case["image"][0])], **extra})


def v1(body: Body) -> Callable[[LiveServer], np.ndarray]:
    return lambda server: server.vectors(body)[0]


def v2(body: Body) -> Callable[[LiveServer], np.ndarray]:
    asked = body | {"input_type": "search_document", "embedding_types": ["float"]}
    return lambda server: np.array(server.ask("/v2/embed", asked).json()["embeddings"]["float"][0], "<f4")


def media(name: str) -> str:
    path: Path = ORACLE / "media" / name
    return data_uri(path.read_bytes(), path.suffix.removeprefix("."))
