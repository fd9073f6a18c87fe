"""The digest of a checkpoint's bytes: every file that decides what its vectors are counts, and no other does."""

from pathlib import Path

import pytest

from service.checkpoint import content_digest as digests
from service.checkpoint.content_digest import content_digest

DECISIVE = (
    *("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "modules.json"),
    *("1_Dense/config.json", "1_Dense/model.safetensors", "config_sentence_transformers.json"),
    *("sentence_bert_config.json", "artifact.metadata", "sparse_linear.pt", "colbert_linear.pt"),
    *("colbert_linear.safetensors", "preprocessor_config.json", "cenote_calibration.json"),
    *("1_LogitScore/config.json", "chat_template.jinja", "additional_chat_templates/reranker.jinja"),
    *("chat_template.json", "special_tokens_map.json"),
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in (*DECISIVE, "README.md", "pytorch_model.bin"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(name.encode())
    return tmp_path


@pytest.mark.parametrize("name", DECISIVE)
def test_a_byte_of_a_file_that_is_read_counts(folder: Path, name: str) -> None:
    before = content_digest(folder, 2)
    (folder / name).write_bytes(name.encode()[:-1] + b"?")
    assert content_digest(folder, 2) != before


def test_a_file_that_is_not_read_does_not_count(folder: Path) -> None:
    before = content_digest(folder, 2)
    (folder / "README.md").write_text("another")
    (folder / "pytorch_model.bin").unlink()
    assert content_digest(folder, 1) == before


def test_a_large_file_counts_to_its_last_byte(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(digests, "PIECE_BYTES", 10)
    monkeypatch.setattr(digests, "BLOCK_BYTES", 4)
    weights = bytearray(range(35))
    found = set()
    for place in (0, 5, 9, 10, 34):
        changed = weights.copy()
        changed[place] ^= 1
        (folder / "model.safetensors").write_bytes(changed)
        found.add(content_digest(folder, 2))
    assert len(found) == 5
