"""Other weights under the same name: no run mixes them, whatever part of the model they are in."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import safetensors.torch

from service.checkpoint.hub import CHECKPOINT
from tests.conftest import LiveServer, image, image_part, until
from tests.ingest.program import Program, lines
from tests.ingest.proxy import Proxy

pytestmark = pytest.mark.slow
"""Servers that start again and again."""

NAME = ("--served-name", "model")


def other_vision(folder: Path) -> Path:
    """The built-in model with another vision tower: a text's vector is the same to the last bit."""
    copy = Path(shutil.copytree(CHECKPOINT, folder / "checkpoint"))
    weights = safetensors.torch.load_file(copy / "model.safetensors")
    (name,) = (name for name in weights if name.endswith("visual.merger.linear_fc2.weight"))
    weights[name] = -weights[name]
    safetensors.torch.save_file(weights, copy / "model.safetensors", {"format": "pt"})
    return copy


@pytest.fixture(scope="module")
def servers(start_server: Callable[..., LiveServer], tmp_path_factory: pytest.TempPathFactory) -> list[LiveServer]:
    """One name, two towers."""
    folders = (CHECKPOINT, other_vision(tmp_path_factory.mktemp("other")))
    return [start_server("--model", str(folder), *NAME).wait_until_ready() for folder in folders]


def write_source(path: Path, num_images: int) -> Path:
    path.write_text("".join(json.dumps({"id": n, "image": image(n)}) + "\n" for n in range(num_images)))
    return path


def test_another_vision_tower_is_refused_by_the_ledger_though_every_text_is_the_same(
    servers: list[LiveServer], tmp_path: Path
) -> None:
    text = {"input": ["a pool of clear water"]}
    first, second = (server.vectors(text) for server in servers)
    np.testing.assert_array_equal(first, second)
    arguments = ("--to", tmp_path / "out.jsonl", "--server")
    Program(write_source(tmp_path / "in.jsonl", 3), *arguments, servers[0].url).end()
    before = (tmp_path / "out.jsonl").read_bytes()
    refused = Program(write_source(tmp_path / "in.jsonl", 6), *arguments, servers[1].url).end(1)
    assert "fingerprint was" in refused["why"]
    assert (tmp_path / "out.jsonl").read_bytes() == before
    assert Program(tmp_path / "in.jsonl", *arguments, servers[0].url).end()["points"] == 3, "the first one goes on"


def test_a_server_that_becomes_another_model_ends_the_run(servers: list[LiveServer], tmp_path: Path) -> None:
    proxy = Proxy(servers[0].url, dawdle_s=0.2)
    source, sink = write_source(tmp_path / "in.jsonl", 60), tmp_path / "out.jsonl"
    run = Program(source, "--to", sink, "--server", proxy.url, "--concurrency", "1", "--batch-inputs", "2")
    until(lambda: sink.exists() and sink.stat().st_size, "its first points")
    proxy.stand_before(servers[1].url)
    end = run.end(1)
    proxy.stop()
    assert "has changed since the run began" in end["why"]
    ours = {line["id"]: line["vector"] for line in lines(sink)}
    assert 0 < len(ours) < 60
    for id_, vector in ours.items():
        (want,) = servers[0].vectors({"inputs": [{"content": [image_part(image(int(id_)))]}]})
        np.testing.assert_allclose(vector, want, atol=1e-5)
