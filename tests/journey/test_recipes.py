"""The pages of docs/recipes that need nothing but httpx and numpy; tests/clients runs the others."""

import re
from pathlib import Path

import pytest

from tests.conftest import ROOT, LiveServer, image
from tests.recipe import RECIPES, assert_printed, blocks, run

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
