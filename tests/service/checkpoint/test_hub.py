"""Where a model's files are found: the package, a folder, the hub's cache; and what is refused."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from huggingface_hub.utils import filter_repo_objects

from service.checkpoint.hub import CHECKPOINT, FILES, canonical_name, find_checkpoint, is_hub_id
from service.checkpoint.json_files import CheckpointError

ROOT = Path(__file__).parents[3]
ORACLE = ROOT / "tests/models/golden/oracle/checkpoint"
COMMIT = "9f2f7e7100000000000000000000000000000000"


def test_the_builtin_model_is_in_the_package() -> None:
    checkpoint = find_checkpoint("builtin", None)
    assert (checkpoint.name, checkpoint.folder) == ("builtin", CHECKPOINT)


def test_a_folder_is_called_by_its_name() -> None:
    checkpoint = find_checkpoint(str(ORACLE), None)
    assert (checkpoint.name, checkpoint.folder) == ("checkpoint", ORACLE)


def test_a_name_is_known_before_the_files_are_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ORACLE)
    for model in ("builtin", str(ORACLE), "."):
        assert canonical_name(model) == find_checkpoint(model, None).name
    assert canonical_name("Qwen/Qwen3-VL-Embedding-2B") == "Qwen/Qwen3-VL-Embedding-2B"


@pytest.mark.parametrize(
    ("model", "is_hub"),
    [("Qwen/Qwen3-VL-Embedding-2B", True), ("./a/b", False), ("/a/b", False), ("name", False), ("a/b/c", False)],
)
def test_a_hub_id_is_an_owner_and_a_name(model: str, is_hub: bool) -> None:
    assert is_hub_id(model) is is_hub
    if not is_hub:
        with pytest.raises(CheckpointError, match="no such folder"):
            find_checkpoint(model, None)


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ((), r" is empty; a checkpoint is config\.json, tokenizer\.json and \*\.safetensors in one folder"),
        (("model-Q8_0.gguf",), r"as GGUF \(model-Q8_0\.gguf\), llama\.cpp's format, .* serve the model"),
        (("config.json", "tokenizer.json", "model.gguf"), r"as GGUF \(model\.gguf\)"),
        (("config.json", "vocab.txt", "model.safetensors"), r"has vocab\.txt and no tokenizer\.json.*save_pretrained"),
        (("config.json", "tokenizer.model", "model.safetensors"), r"has tokenizer\.model and no tokenizer\.json"),
        (("config.json", "model.safetensors"), r"has no tokenizer\.json; transformers makes it"),
        (("README.md",), r"has no config\.json; a checkpoint is"),
        (("config.json", "tokenizer.json", "pytorch_model.bin"), "safetensors"),  # pickled weights are no substitute
    ],
)
def test_a_folder_in_another_form_is_refused_with_what_is_needed(
    tmp_path: Path, files: Sequence[str], said: str
) -> None:
    for name in files:
        (tmp_path / name).write_text("{}")
    with pytest.raises(CheckpointError, match=said):
        find_checkpoint(str(tmp_path), None)


def test_the_fingerprint_changes_with_the_weights(tmp_path: Path) -> None:
    copy = Path(shutil.copytree(ORACLE, tmp_path / "checkpoint"))
    before = find_checkpoint(str(copy), None).fingerprint()
    assert before == find_checkpoint(str(ORACLE), None).fingerprint()
    weights = bytearray((copy / "model.safetensors").read_bytes())
    weights[200_000] ^= 1
    (copy / "model.safetensors").write_bytes(weights)
    assert find_checkpoint(str(copy), None).fingerprint() != before


def test_what_is_read_is_downloaded_and_no_other_pickle_or_code() -> None:
    read = [
        "config.json",
        "model.safetensors",
        "1_Dense/config.json",
        "1_Dense/model.safetensors",
        "chat_template.jinja",
    ]
    read += ["artifact.metadata", "sparse_linear.pt", "colbert_linear.pt"]
    others = ["pytorch_model.bin", "training_args.pt", "optimizer.pt", "modeling.py", "onnx/model.onnx", "README.md"]
    assert [*filter_repo_objects([*read, *others], allow_patterns=FILES)] == read


def hub(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """`cenote models` with a hub cache of our own and no network."""
    snapshot = tmp_path / "hub/models--Owner--Vectors-2B/snapshots" / COMMIT
    if not snapshot.exists():
        shutil.copytree(ORACLE, snapshot)
        (tmp_path / "hub/models--Owner--Vectors-2B/refs").mkdir()
        (tmp_path / "hub/models--Owner--Vectors-2B/refs/main").write_text(COMMIT)
    environ = {**os.environ, "HF_HOME": str(tmp_path), "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, "-m", "service", "models", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)


def test_a_hub_id_in_the_cache_resolves_to_its_commit(tmp_path: Path) -> None:
    for revision in ([], ["--revision", COMMIT]):
        ran = hub(tmp_path, "Owner/Vectors-2B", *revision)
        assert ran.returncode == 0, ran.stderr
        assert "Owner/Vectors-2B" in ran.stdout
        assert COMMIT in ran.stdout


def test_a_hub_id_that_cannot_be_had_is_one_line_and_exit_code_2(tmp_path: Path) -> None:
    ran = hub(tmp_path, "Owner/Unknown")
    assert ran.returncode == 2
    assert len(ran.stderr.strip().splitlines()) == 1
    assert "--model Owner/Unknown" in ran.stderr
