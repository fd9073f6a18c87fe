"""The code blocks of README.md and of the pages under docs/, run as they stand; other tests run the rest.

`tests/test_documents.py` has the list of which test runs the blocks of which page.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import CHECKPOINT, ROOT, LiveServer, image, plain_environ
from tests.ingest.test_chunks import CHUNK_KEYS
from tests.ingest.test_videos import SEGMENT_KEYS
from tests.recipe import ADDRESS

pytestmark = pytest.mark.slow

HERE = {"PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "kernels")))}


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)


def shell(script: str, folder: Path = ROOT) -> str:
    """Run a block; its standard output."""
    commands = script.replace(".venv/bin/cenote", "cenote").replace(".venv/bin/python", sys.executable)
    commands = re.sub(r"^cenote\b", f"{sys.executable} -m service", commands, flags=re.MULTILINE)
    ran = subprocess.run(
        ["sh", "-ec", commands], cwd=folder, capture_output=True, text=True, check=True, env=plain_environ() | HERE
    )
    return ran.stdout


def dry_run(command: str) -> str:
    """The line that a `make` of the README would run last, also where `make` runs the tests."""
    return shell(command.replace("make ", "env -u MAKEFLAGS -u MAKELEVEL -u ARGS make --dry-run ", 1)).splitlines()[-1]


def test_the_readmes_command_starts_the_default_models() -> None:
    (serve,) = [block for block in blocks("README.md", "sh") if block.startswith("make")]
    assert dry_run(serve).endswith("cenote serve ")


def test_make_passes_flags_on() -> None:
    chosen = "--model Qwen/Qwen3-VL-Embedding-2B"
    assert dry_run(f'make serve ARGS="{chosen}"').endswith(f"cenote serve {chosen}")


def test_the_container_of_the_readme_is_that_of_its_page() -> None:
    (block,) = [block for block in blocks("README.md", "sh") if block.startswith("docker")]
    page = (ROOT / "deploy" / "README.md").read_text()
    build, run = block.splitlines()
    assert run in page
    assert build.removesuffix(" .") in page


def test_the_examples_of_the_readme_compare_two_instructions_and_put_an_image_first(
    start_server: Callable[..., LiveServer],
) -> None:
    server = start_server(names_a_model=False).wait_until_ready()
    script, encoded = (
        "".join(blocks("README.md", "python")).replace(ADDRESS, server.url),
        server.metric("cenote_vision_encodes_total"),
    )
    ran = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    loaf, loan, cosine, *results = ran.stdout.splitlines()
    assert float(loaf.split()[0]) > float(loan.split()[0]) + 0.1
    assert -1 <= float(cosine) < 0.9
    assert results[0].startswith("1 "), "the image shows what the query says"
    assert len(results) == 3
    assert server.metric("cenote_vision_encodes_total") - encoded == 1, "one image, two instructions, two models"


def test_curl_embeds_one_image_under_two_instructions(start_server: Callable[..., LiveServer]) -> None:
    server = start_server("--model", "builtin").wait_until_ready()
    (block,) = blocks("docs/api.md", "sh")
    printed = shell(block.replace(ADDRESS, server.url))
    assert printed.count("HTTP/1.1 200 OK") == 2
    assert "x-encoder-cache: hit=0, miss=1" in printed
    assert "x-encoder-cache: hit=1, miss=0" in printed


def test_curl_puts_documents_in_order(builtin: LiveServer) -> None:
    (block,) = blocks("docs/rerank.md", "sh")
    results = json.loads(shell(block.replace(ADDRESS, builtin.url)))["results"]
    assert len(results) == 2
    assert results[0]["relevance_score"] >= results[1]["relevance_score"]


def test_a_key_is_made_and_a_server_takes_it(start_server: Callable[..., LiveServer], tmp_path: Path) -> None:
    (block,) = blocks("docs/tenants.md", "sh")
    new, serve = block.splitlines()
    shell(new, tmp_path)
    name, *flags = serve.split()[1:]
    assert name == "serve"
    server = start_server("--model", str(CHECKPOINT), *(flags[:-1]), str(tmp_path / flags[-1]))
    server.wait_until_ready()
    assert server.status("/v1/models") == 401
    assert json.loads((tmp_path / flags[-1]).read_text())["tenant"] == "acme"


def test_the_access_log_has_the_fields_of_its_page(start_server: Callable[..., LiveServer]) -> None:
    (block,) = blocks("docs/observability.md", "json")
    sample = json.loads(block)
    server = start_server("--model", str(CHECKPOINT), "--log-format", "json").wait_until_ready()
    parts = [[{"type": "image_url", "image_url": {"url": image(seed)}}] for seed in (1, 1, 2)]
    for inputs in (parts[:1], parts):
        server.http.post(
            sample["route"],
            json={"inputs": [{"content": content} for content in inputs]},
            headers={"x-request-id": sample["request_id"]},
        )
    server.stop()
    lines = [json.loads(line) for line in server.log_lines() if line.startswith("{")]
    requests = [line for line in lines if line["logger"] == sample["logger"] and line["level"] == "info"]
    assert list(requests[-1]) == list(sample)
    stages = [value for name, value in sample.items() if name in STAGES]
    assert sum(stages) == pytest.approx(sample["ms"], rel=0.05)
    for name in ("method", "status", "tenant", "inputs"):
        assert requests[-1][name] == sample[name]


STAGES = ("body_ms", "decode_ms", "prepare_ms", "media_ms", "engine_ms", "write_ms")


def test_a_folder_is_ingested_and_its_dead_letters_are_as_on_the_page(tmp_path: Path) -> None:
    (block,) = blocks("docs/ingest.md", "sh")
    document, segment, chunk, dead_letter, progress = (json.loads(block) for block in blocks("docs/ingest.md", "json"))
    assert set(segment) == SEGMENT_KEYS
    assert set(chunk) == set(document["chunk"]) == CHUNK_KEYS
    install, gallery, ingest = block.split("\n", 2)
    assert "pip install -e '.[qdrant]'" in install
    shell(gallery, tmp_path)
    broken = tmp_path / "images" / dead_letter["id"]
    broken.parent.mkdir()
    broken.write_text("no image")
    command = ingest.strip().replace(".venv/bin/cenote", f"{sys.executable} -m service")
    ran = subprocess.run(
        ["sh", "-ec", command + " --json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env=plain_environ() | HERE,
    )
    assert ran.returncode == 3, ran.stderr
    last = json.loads(ran.stdout.splitlines()[-1])
    assert last["event"] == "end"
    assert set(progress) <= set(last) | {"eta_s"}
    (letters,) = tmp_path.glob("*dead*")
    told = [json.loads(line) for line in letters.read_text().splitlines()]
    assert [letter["id"] for letter in told] == [dead_letter["id"]]
    assert set(told[0]) == set(dead_letter)
    assert (told[0]["code"], told[0]["message"]) == (dead_letter["code"], dead_letter["message"])
