"""The rows as a page of Markdown and as JSON: what the repository keeps."""

import json
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version

import torch

from tests.gpu.row import Row

HEADER = ("what", "measured", "ceiling", "share", "wanted", "")
PACKAGES = ("torch", "transformers", "cuda-core", "cuda-bindings", "nvidia-cuda-nvrtc", "pillow", "numpy")


def facts() -> dict[str, str]:
    """The machine and the versions."""
    found = {"date": f"{datetime.now(UTC):%Y-%m-%d}", "python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    if torch.cuda.is_available():
        card = torch.cuda.get_device_properties(0)
        found["gpu"] = f"{card.name}, {card.multi_processor_count} SMs, {card.total_memory / 2**30:.0f} GiB"
    return found


def table(rows: Sequence[Row]) -> str:
    """The rows alone."""
    cells = [HEADER, ("---", "---", "---", "---:", "---", "---"), *(row.cells for row in rows)]
    return "\n".join(f"| {' | '.join(row)} |" for row in cells)


def page(rows: Sequence[Row], found: dict[str, str], said: str, seconds: float) -> str:
    """The whole page."""
    return f"""# On a GPU

Written by `make check-gpu`; do not edit. {said} {seconds:.0f} s in all.

{table(rows)}

{", ".join(f"{name} {value}" for name, value in found.items())}.

Every share is of what the same card did in the same run. Bytes moved are the fewest that must pass through device
memory: each input read once, each output written once. Weights are random, of the shape of Qwen3-VL-Embedding-2B.
"""


def as_json(rows: Sequence[Row], found: dict[str, str]) -> str:
    """The same for programs."""
    return json.dumps({"facts": found, "rows": [row.as_json() for row in rows]}, indent=1) + "\n"
