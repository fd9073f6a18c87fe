"""GME-Qwen2-VL gives the vectors of its own script, on a small checkpoint of the same architecture."""

from pathlib import Path

import pytest
import torch

from service.engine.startup.self_check import check_forward
from service.errors import ModelError
from service.model.stock.stock_vlm import StockVlm
from tests.conftest import TOLERANCE
from tests.models.vlm.checkpoints import qwen2_vl
from tests.models.vlm.images import CLEAR, EXACT, LARGE, SMALL, TALL, WIDE
from tests.models.vlm.references import GmeScript
from tests.models.vlm.served import Served

CASES = {
    "text": ("A lighthouse on a cliff above the sea.", [], None),
    "empty text": ("", [], None),
    "text of a newline": ("\nfirst line\n\n second", [], None),
    "text that other scripts have": ("Ein Leuchtturm über dem Meer, 灯台 и маяк.", [], None),
    "text under an instruction": ("a red circle", [], "Find an image that matches the given text"),
    "image": ("", [SMALL], None),
    "wide image": ("", [WIDE], None),
    "image of a whole size": ("", [EXACT], None),
    "image over the limit": ("", [LARGE], None),
    "image and text": ("What is above the square?", [TALL], None),
    "image and text under an instruction": ("the colors", [SMALL], "Represent the image."),
    "transparent image": ("", [CLEAR], None),
    "two images": ("", [SMALL, WIDE], None),
    "two images and text": ("Which is wider?", [WIDE, TALL], None),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return qwen2_vl(tmp_path_factory.mktemp("vlm") / "gme-Qwen2-VL-small")


@pytest.fixture(scope="module")
def served(folder: Path) -> Served:
    return Served(folder)


@pytest.fixture(scope="module")
def script(folder: Path) -> GmeScript:
    return GmeScript(folder)


@pytest.mark.parametrize("name", CASES)
def test_a_vector_is_the_scripts(served: Served, script: GmeScript, name: str) -> None:
    assert served.difference(script, CASES[name]) <= TOLERANCE


def test_a_batch_of_all_cases_gives_what_each_gives_alone(served: Served, script: GmeScript) -> None:
    cases = [case for name, case in CASES.items() if "limit" not in name]
    assert served.difference(script, *cases) <= TOLERANCE


def test_positions_that_see_the_image_would_give_another_vector(served: Served, script: GmeScript) -> None:
    case = CASES["image and text"]
    other = StockVlm(served.model.stock, served.model._patches)
    with served.running(other):
        assert served.difference(script, case) > 100 * TOLERANCE


def test_a_prompt_ends_in_the_token_that_is_pooled_and_counts_its_visual_tokens(served: Served) -> None:
    prompt = served.prompt("text", [SMALL])
    tokens = served.profile.layout.tokens
    assert prompt.plan.ids[-1] == tokens.end_of_text
    assert prompt.plan.ids.count(tokens.end_of_text) == 1
    assert [place.grid_thw for place in prompt.placeholders] == [(1, 4, 4)]
    assert [place.length for place in prompt.placeholders] == [4]


def test_the_known_answer_check_sees_a_packed_forward_that_differs(folder: Path) -> None:
    model = Served(folder).model
    check_forward(model)
    model._language.layers[0].self_attn.scaling *= 1.5
    model.stock_vector = StockVlm(Served(folder).model.stock, model._patches, counts_plainly=True).stock_vector
    with pytest.raises(ModelError, match="known-answer check"):
        check_forward(model)


def test_images_are_shared_by_the_content_of_their_pixels_and_the_towers_numbers(folder: Path) -> None:
    model = Served(folder).model
    assert model.tower.feature_width == 64
    assert "mean" in model.tower.config_json
    assert model.encode(torch.zeros(56, 84, 3, dtype=torch.uint8)).shape == (6, 64)
