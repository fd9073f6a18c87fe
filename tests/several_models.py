"""Shared by tests of a server with two models: the oracle's embedder as `search`, its reranker as `rank`."""

import json
from pathlib import Path
from typing import Any

from tests.conftest import CHECKPOINT, ROOT

RERANKER = ROOT / "tests" / "models" / "reranker" / "oracle" / "checkpoint"

TABLES = f"""
[models.search]
model = "{CHECKPOINT}"

[models.rank]
model = "{RERANKER}"
family = "qwen3_vl_reranker"
"""

_CASE = next(one for one in json.loads((RERANKER.parent / "oracle.json").read_text()) if one["name"] == "text_text")
TEXTS = [one["text"] for one in _CASE["documents"]]
ASKED: dict[str, Any] = {"query": _CASE["query"]["text"], "documents": TEXTS}
OFFICIAL: list[float] = _CASE["scores"]
"""The reranker's, by its own script."""


def write_tables(folder: Path, more: str = "") -> tuple[str, str]:
    """Flags of a server with both."""
    config = folder / "models.toml"
    config.write_text(more + TABLES)
    return "--config", str(config)
