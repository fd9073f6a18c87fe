"""What tests of a server with two models share: the oracle's embedder as `search`, its reranker as `rank`."""

import shutil
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

COMMIT = "1" * 40

TEXTS = ["a green door", "a red bicycle", "a horse in a field"]
ASKED: dict[str, Any] = {"query": "something to ride", "documents": TEXTS}


def write_tables(folder: Path, more: str = "") -> tuple[str, str]:
    """Flags of a server with both."""
    config = folder / "models.toml"
    config.write_text(more + TABLES)
    return "--config", str(config)


def cached_reranker(model: str, home: Path) -> dict[str, str]:
    """Variables of a server that finds the oracle's reranker in the hub's cache, under the id of another."""
    folder = home / "hub" / f"models--{model.replace('/', '--')}"
    shutil.copytree(RERANKER, folder / "snapshots" / COMMIT)
    (folder / "refs").mkdir()
    (folder / "refs" / "main").write_text(COMMIT)
    return {"HF_HOME": str(home), "HF_HUB_OFFLINE": "1"}
