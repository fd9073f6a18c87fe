"""Shared by tests of a server with two models: the oracle's embedder as `search`, its reranker as `rank`."""

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

TEXTS = ["a green door", "a red bicycle", "a horse in a field"]
ASKED: dict[str, Any] = {"query": "something to ride", "documents": TEXTS}


def write_tables(folder: Path, more: str = "") -> tuple[str, str]:
    """Flags of a server with both."""
    config = folder / "models.toml"
    config.write_text(more + TABLES)
    return "--config", str(config)
