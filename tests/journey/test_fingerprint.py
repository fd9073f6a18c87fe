"""The model's fingerprint: the same wherever the same vectors come from, another wherever they might not."""

import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import CHECKPOINT, LiveServer, image, image_part

pytestmark = pytest.mark.slow
"""Servers that start again and again."""

HEADER = "x-model-fingerprint"
TEXT: dict[str, Any] = {"input": "a"}


def told(server: LiveServer) -> str:
    (found,) = {card["fingerprint"] for card in server.http.get("/v1/models").json()["data"]}
    assert len(found) == 32
    return str(found)


def flip_last_byte(path: Path) -> None:
    """Of a weight, far behind the headers and the first MiB; another value of the same size."""
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("route", "body", "accept"),
    [
        ("/v1/embeddings", TEXT, "application/json"),
        ("/v1/embeddings", TEXT, "application/octet-stream"),
        ("/v1/embeddings", {"input": ["a"] * 100}, "application/json"),
        ("/v2/embed", {"texts": ["a"], "embedding_types": ["float"]}, "*/*"),
        ("/v1/embed", {"texts": ["a"]}, "*/*"),
        ("/v1/image_embeds", {"images": [image_part(image(1))]}, "*/*"),
    ],
)
def test_every_answer_with_vectors_says_it(server: LiveServer, route: str, body: dict[str, Any], accept: str) -> None:
    answer = server.http.post(route, json=body, headers={"accept": accept})
    assert (answer.status_code, answer.headers[HEADER]) == (200, told(server))


def test_a_stream_says_it_first_and_last(server: LiveServer) -> None:
    headers = {"content-type": "application/x-ndjson"}
    answer = server.http.post("/v1/embeddings/stream", content=b'{"input":"a"}\n', headers=headers)
    last = answer.text.splitlines()[-1]
    assert answer.headers[HEADER] == told(server)
    assert f'"fingerprint":"{told(server)}"' in last


def test_it_is_of_content_and_not_of_a_name_or_a_device(
    server: LiveServer, start_server: Callable[..., LiveServer], tmp_path: Path
) -> None:
    copy = shutil.copytree(CHECKPOINT, tmp_path / "elsewhere")
    (copy / "notes.json").write_text("{}")
    same = start_server("--model", str(copy), "--threads", "2", "--max-image-bytes", "100000").wait_until_ready()
    assert told(same) == told(server)


@pytest.mark.parametrize(
    "change",
    ["weights", "tokenizer_config.json", "--dtype=bfloat16", "--image-background=#123456", "--strict-reference"],
)
def test_whatever_may_move_a_vector_makes_another(
    server: LiveServer, start_server: Callable[..., LiveServer], tmp_path: Path, change: str
) -> None:
    copy = shutil.copytree(CHECKPOINT, tmp_path / "checkpoint")
    if change == "weights":
        flip_last_byte(copy / "model.safetensors")
    elif not change.startswith("--"):
        (copy / change).write_text('{"do_lower_case": false}')
    flags = change.split("=") if change.startswith("--") else []
    other = start_server("--model", str(copy), *flags).wait_until_ready()
    assert told(other) != told(server)
    other.stop()


def test_an_engine_that_would_be_another_model_ends_the_service(
    start_server: Callable[..., LiveServer], tmp_path: Path
) -> None:
    """Files are exchanged below a running service, and its engine ends: no answer names one and is made by another."""
    copy = shutil.copytree(CHECKPOINT, tmp_path / "checkpoint")
    server = start_server("--model", str(copy)).wait_until_ready()
    flip_last_byte(copy / "model.safetensors")
    assert server.ask("/v1/embeddings", TEXT).headers[HEADER] == told(server)
    os.kill(server.engine_pid(), signal.SIGKILL)
    assert server.ended() == 1
    assert "not those that this service was started with" in server.log.read_text()
