"""The pages of docs/recipes that need nothing but httpx and numpy; tests/clients runs the others."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.conftest import ROOT, LiveServer, image
from tests.recipe import ADDRESS, RECIPES, TOLERANCE, assert_printed, blocks, run, serve_flags

INDEX = (RECIPES / "README.md").read_text()
ELSEWHERE = {"langchain": "langchain_openai", "llama-index": "llama_index", "small-vectors": "openai"}
"""A page, and the client whose environment it runs in."""


def test_an_image_is_encoded_once_for_all_instructions(builtin: LiveServer, tmp_path: Path) -> None:
    names = run("instructions.md", builtin.url, tmp_path)
    assert names["cache"] == "hit=72, miss=0"
    assert (names["together"].shape, names["same"]) == ((72, 256), True)
    assert names["found"] == [True] * 24

    new = [{"type": "image_url", "image_url": {"url": image(seed)}} for seed in range(7000, 7004)]
    asked = [
        [{"role": "system", "content": instruction}, {"role": "user", "content": [part]}]
        for part in new
        for instruction in names["INSTRUCTIONS"].values()
    ]
    together, cache = names["embed"]({"messages": asked})
    assert (len(together), cache) == (12, "hit=8, miss=4")


def test_features_give_the_vectors_of_their_images(builtin: LiveServer, tmp_path: Path) -> None:
    encoded = builtin.metric("cenote_vision_encodes_total")
    names = run("precomputed-features.md", builtin.url, tmp_path)
    assert builtin.metric("cenote_vision_encodes_total") == encoded + 8
    assert names["cosines"].min() > 0.9999


@pytest.mark.parametrize("page", ["pdf-library.md", pytest.param("video-library.md", marks=pytest.mark.slow)])
def test_a_question_finds_its_page_or_segment_which_is_shown(builtin: LiveServer, tmp_path: Path, page: str) -> None:
    assert serve_flags(page) == ["--model", "builtin"]
    names = run(page, builtin.url, tmp_path)
    best, scenes = names["best"], names["scenes"]
    number = best["page"] - 1 if "page" in best else int(best["start_s"] // 10)
    scene = scenes[20 * int(best["path"].removeprefix("book").removeprefix("film")[0]) + number]
    assert all(words in scene["caption"] for words in ("small yellow circle", "big yellow ring"))
    drawn = Image.open(tmp_path / "build" / page.removesuffix(".md") / "scenes" / scene["file"]).convert("RGB")
    shown = names["shown"]
    shown = shown.resize(drawn.size) if isinstance(shown, Image.Image) else shown
    assert np.abs(np.asarray(shown, float) - np.asarray(drawn, float)).mean() < 10


def test_every_page_is_listed_and_is_run_where_the_list_says() -> None:
    listed = dict(re.findall(r"^\| \[([a-z-]+)\]\(\1\.md\) \|.*\| `make ([a-z]+)` \|$", INDEX, re.MULTILINE))
    assert set(listed) == {path.stem for path in RECIPES.glob("*.md")} - {"README"}
    assert {page for page, target in listed.items() if target == "clients"} == set(ELSEWHERE)
    for page, client in ELSEWHERE.items():
        (test,) = (ROOT / "tests" / "clients" / client).glob("test_recipe.py")
        assert f'"{page}.md"' in test.read_text()


def test_a_page_that_prints_something_else_is_noticed() -> None:
    assert {block.language for block in blocks("instructions.md")} == {"sh", "python", "text"}
    assert_printed("a: 0.51\n", "a: 0.50\n", "page:1")
    for other in ("a: 0.60\n", "b: 0.50\n", "a: 0.50\nc\n", ""):
        with pytest.raises(AssertionError, match="page:1"):
            assert_printed(other, "a: 0.50\n", "page:1")


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
