"""docs/stream.md: its call is made as it is printed, and answered as it says."""

import json
import re
import subprocess
from typing import Any

import pytest

from tests.conftest import ROOT, LiveServer
from tests.recipe import ADDRESS, TOLERANCE

PAGE = (ROOT / "docs" / "stream.md").read_text()
NUM_SHOWN = 2
"""Components of a vector that the page shows; an ellipsis stands for the others."""
SHOWN_COUNTS = ("prompt_tokens", "num_inputs")
"""Fields of `usage` that the page shows, likewise."""


def block(language: str) -> str:
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return str(found)


def shown(line: dict[str, Any]) -> dict[str, Any]:
    """A line of an answer as the page would show it."""
    if "embedding" in line:
        assert len(line["embedding"]) == 32
        numbers = [pytest.approx(number, abs=TOLERANCE) for number in line["embedding"][:NUM_SHOWN]]
        line |= {"embedding": [*numbers, "…"]}
    if "error" in line:
        assert re.fullmatch(r"[0-9a-f]{12,}", line["error"].pop("request_id"))
    if "usage" in line:
        line |= {"usage": {name: line["usage"][name] for name in SHOWN_COUNTS} | {"…": "…"}}
    if "fingerprint" in line:  # the weights', whose bytes a release may change
        assert re.fullmatch(r"[0-9a-f]{32}", line.pop("fingerprint"))
    return line


def test_the_sample_is_answered_as_the_page_says(builtin: LiveServer) -> None:
    script = block("sh").replace(ADDRESS, builtin.url)
    ran = subprocess.run(["sh", "-ec", script], capture_output=True, text=True, check=True, timeout=120)
    answered = [shown(json.loads(line)) for line in ran.stdout.splitlines()]
    told = [json.loads(line) for line in block("json").splitlines()]
    assert told[2]["error"].pop("request_id")
    assert told[3].pop("fingerprint")
    assert told == answered
