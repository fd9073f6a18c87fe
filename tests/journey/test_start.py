"""A start goes right or stops with one line that names the setting; until the model is there the server says so."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from service.settings.serve_arguments import GROUPS
from service.settings.settings import FIELDS
from tests.conftest import CHECKPOINT, ROOT, LiveServer, plain_environ

pytestmark = pytest.mark.slow  # each starts a program, and several a server


def run(*arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "service", *arguments]
    return subprocess.run(
        command, cwd=ROOT, env=plain_environ() | env, capture_output=True, text=True, timeout=60, check=False
    )


def the_line(result: subprocess.CompletedProcess[str]) -> str:
    """The one line that a user's mistake gives, with exit code 2."""
    assert result.returncode == 2, result.stderr
    (line,) = result.stderr.splitlines()
    return line


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--dtype", "int4"), ("--dtype", "'int4'", "bfloat16", "float16", "float32")),
        (("--request-timeout-s", "0"), ("--request-timeout-s", "'0'", "a number from 0.001 to 86400")),
        (("--api-keys", "keys.txt"), ("--api-keys", "No such file")),
        (("--allow-media-hosts", "http://a.example"), ("--allow-media-hosts", "`*.example.com`")),
        (("--allow-private-media-hosts", "*"), ("--allow-private-media-hosts", "patterns are not accepted")),
        (("--allow-media-hosts", "*", "--media-ports", "80,0"), ("--media-ports", "from 1 to 65535")),
        (("--allow-media-hosts", "*", "--nat64-prefixes", "2001:db8::/33"), ("--nat64-prefixes", "length 32, 40")),
        (("--media-paths", "images"), ("--media-paths", "'images'", "absolute")),
        (("--media-paths", "/no/such/folder"), ("--media-paths", "/no/such/folder")),
        (("--model", "/no/such/folder"), ("--model", "/no/such/folder")),
        (("--config", "/no/such/file.toml"), ("--config", "/no/such/file.toml")),
    ],
)
def test_a_bad_flag_stops_the_start(flags: tuple[str, ...], words: tuple[str, ...]) -> None:
    line = the_line(run("serve", *flags))
    assert [word for word in words if word not in line] == [], line


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--dimension", "64"), ("--dimension", "unknown setting")),
        (("--prot=1",), ("--prot:", "did you mean --port?")),
        (("--max-batch-token", "1"), ("--max-batch-token:", "did you mean --max-batch-tokens?")),
        (("builtin",), ("'builtin'", "expected a flag")),
    ],
)
def test_an_unknown_flag_stops_the_start(arguments: tuple[str, ...], words: tuple[str, ...]) -> None:
    line = the_line(run("serve", *arguments))
    assert [word for word in words if word not in line] == [], line


def test_the_help_has_groups_choices_and_what_values_are() -> None:
    shown = run("serve", "--help", COLUMNS="200").stdout
    for words in (
        "usage: cenote serve [--config FILE] [--SETTING VALUE ...]\n",
        "--dtype auto|float32|bfloat16|float16",
        "--log-level debug|info|warning|error",
        "--decode-workers N",
        "--proxies ADDRESS,...",
        "--lame-duck-s SECONDS",
        "--api-keys FILE",
        "--strict-reference [true|false]",
        "CENOTE_PORT",
    ):
        assert words in shown
    for title in GROUPS.values():
        assert f"\n{title}:\n" in shown
    assert [name for name in FIELDS if name in GROUPS] == list(GROUPS), "each group begins where it says"


@pytest.mark.parametrize(("name", "value"), [("CENOTE_ENCODER_CACHE", "1"), ("CENOTE_PORT", "-1")])
def test_a_bad_environment_variable_stops_the_start(name: str, value: str) -> None:
    assert name in the_line(run("serve", **{name: value}))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("prot = 1", ("prot", "unknown setting", "did you mean port?")),
        ("port = '1'x", ("line 1",)),
        ("dtype = 'int4'", ("dtype", "'int4'", "float32")),
        ("strict-reference = 1", ("strict-reference", "true or false")),
    ],
)
def test_a_bad_file_stops_the_start(tmp_path: Path, content: str, words: tuple[str, ...]) -> None:
    file = tmp_path / "cenote.toml"
    file.write_text(content)
    line = the_line(run("serve", "--config", str(file)))
    assert [word for word in (str(file), *words) if word not in line] == [], line


def test_a_model_of_another_family_stops_the_start(tmp_path: Path) -> None:
    for name in ("config.json", "tokenizer.json"):
        shutil.copyfile(CHECKPOINT / name, tmp_path / name)
    config = json.loads((tmp_path / "config.json").read_text()) | {"model_type": "qwen9_vl"}
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "model.safetensors").write_bytes(b"")
    for command in (("models", str(tmp_path)), ("serve", "--model", str(tmp_path))):
        line = the_line(run(*command))
        assert "'qwen9_vl'" in line
        assert "'qwen3_vl'" in line
        assert "mpnet" not in line


def test_weights_that_are_cut_short_stop_the_start_before_a_port_is_opened(tmp_path: Path) -> None:
    shutil.copytree(CHECKPOINT, tmp_path / "checkpoint")
    weights = tmp_path / "checkpoint" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:100_000])
    for command in (("models", str(weights.parent)), ("serve", "--model", str(weights.parent), "--port", "0")):
        line = the_line(run(*command))
        assert "100000 bytes" in line
        assert "cut short" in line


def test_weights_of_another_model_end_the_server_with_one_sentence_and_code_1(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(CHECKPOINT, tmp_path / "checkpoint"))
    tensors = load_file(folder / "model.safetensors")
    save_file(tensors | {"experts.0.weight": torch.zeros(2)}, folder / "model.safetensors", {"format": "pt"})
    result = run("serve", "--model", str(folder), "--port", "0")
    assert result.returncode == 1
    assert "starting another" not in result.stderr, "trying again cannot help"
    assert "Traceback" not in result.stderr
    assert "1 tensors that its model does not know: experts.0.weight" in result.stderr.splitlines()[-1]


def test_a_device_that_is_not_there_ends_the_server_at_once_with_code_1() -> None:
    result = run("serve", "--model", str(CHECKPOINT), "--port", "0", "--device", "cuda:99")
    assert result.returncode == 1
    assert "starting another" not in result.stderr
    assert "cuda:99" in result.stderr.splitlines()[-1]


def test_models_says_what_a_folder_resolves_to() -> None:
    result = run("models", str(CHECKPOINT))
    assert result.returncode == 0
    for words in ("qwen3-vl-embedding", "last_token", "128 (matryoshka: any from 64 to 128)", "search_query"):
        assert words in result.stdout


def test_the_committed_document_is_the_one_that_is_printed(tmp_path: Path) -> None:
    assert run("openapi", "--check", "openapi.json").returncode == 0
    assert run("openapi").stdout.encode() == (ROOT / "openapi.json").read_bytes()
    other = tmp_path / "openapi.json"
    other.write_text("{}")
    assert run("openapi", "--check", str(other)).returncode == 1
    assert "/no/such.json" in the_line(run("openapi", "--check", "/no/such.json"))


def test_the_sdk_profile_is_printed_and_compared_too() -> None:
    assert run("openapi", "--profile", "sdk", "--check", "openapi-sdk.json").returncode == 0
    assert run("openapi", "--profile", "sdk", "--check", "openapi.json").returncode == 1


def test_a_flag_wins_over_the_environment_and_that_over_the_file_and_loading_is_said(
    start_server: Callable[..., LiveServer], tmp_path: Path
) -> None:
    file = tmp_path / "cenote.toml"
    lines = ('served_name = "file"', "max-tokens = 111", 'encoder_cache_bytes = "2KiB"', 'log_format = "json"')
    file.write_text("\n".join((f'model = "{CHECKPOINT}"', *lines)))
    env = {"CENOTE_SERVED_NAME": "environment", "CENOTE_MAX_TOKENS": "222"}
    server = start_server("--config", str(file), "--served-name", "flag", "--threads", "0", env=env)

    health = server.http.get("/readyz")
    assert (health.status_code, health.json()["status"]) == (503, "loading")
    assert int(health.headers["retry-after"]) > 0
    assert server.status("/livez") == 200
    for path, body in (("/v1/embeddings", {"input": "x"}), ("/v2/embed", {"texts": ["x"]})):
        early = server.http.post(path, json=body)
        assert (early.status_code, early.json()["error"]["code"]) == (503, "model_loading")
        assert int(early.headers["retry-after"]) > 0
    assert server.http.get("/v1/models").status_code == 503
    assert server.http.post("/v1/embeddings", json={}).status_code == 400, "what is wrong is said at once"

    server.wait_until_ready()
    card = server.http.get("/v1/models").json()["data"][0]
    assert (card["id"], card["max_tokens"], card["dtype"]) == ("flag", 222, "float32")
    assert server.http.get("/health").json() == {"status": "ok", "detail": None}
    refused = server.http.post("/v1/embeddings", json={"input": "word " * 300})
    assert "222" in refused.json()["error"]["message"]
    assert all(json.loads(line)["level"] for line in server.log_lines())

    assert server.stop() == 0


def test_every_served_name_is_served(start_server: Callable[..., LiveServer]) -> None:
    names = ("--served-name", "first", "--served-name", "second,third/name")
    server = start_server("--model", str(CHECKPOINT), *names).wait_until_ready()
    cards = {card["id"]: card for card in server.http.get("/v1/models").json()["data"]}
    assert {"first", "second", "third/name"} < set(cards)
    assert {card["root"] for card in cards.values()} == {"first"}
    for name in ("first", "second", "third/name"):
        assert server.http.get(f"/v1/models/{name}").json()["id"] == name
        assert server.ask("/v1/embeddings", {"input": "x", "model": name}).json()["model"] == name
        assert server.ask("/v2/embed", {"texts": ["x"], "model": name})
    assert server.ask("/v1/embeddings", {"input": "x"}).json()["model"] == "first"
    assert server.http.post("/v1/embeddings", json={"input": "x", "model": "fourth"}).status_code == 404
